//! The loop: time moves on, the cluster changes, the scheduler runs a cycle, its calls are carried
//! out, and what must hold is checked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use muster_core::delta::{ClusterDelta, ObjectRef};
use muster_core::ids::{Name, ObjectKey, TimeMs};
use muster_core::intent::{Consultation, CycleOutcome, Decision, DecisionOp};
use muster_core::policy::SchedulerConfig;
use muster_core::report::{JobView, PodView, QueueView, ReservationView};
use muster_core::reservation::{ReservationCounts, time_left};
use muster_core::resource::ResourceNames;
use muster_core::scheduler::Scheduler;
use muster_core::verdict::Reason;
use rayon::ThreadPool;

use super::books::Books;
use super::cluster::Cluster;
use super::domains::DomainIndex;
use super::expect::{DeviceEvidence, Evidence, Judgement, Tally, judge, subject};
use super::expectation::Assertion;
use super::invariants::{Violation, Watch};
use super::scenario::{Checks, Scenario};
use super::{aside, clock, story};

/// Cycles a run without a fixed number takes at most.
const CYCLES_MAX: u32 = 500;
/// Cycles without any change after which such a run ends.
const QUIET_CYCLES: u32 = 3;

/// One cycle as it was.
#[derive(Debug)]
pub struct CycleRecord {
    /// Its number, from 1.
    pub cycle: u32,
    /// Virtual time.
    pub time_ms: i64,
    /// How long the scheduler took, in microseconds of real time.
    pub duration_us: u64,
    /// What happened in the cluster before it, in sentences.
    pub happenings: Vec<String>,
    /// What it decided.
    pub decisions: Vec<Decision>,
    /// Jobs that wait for another reason than before, in sentences; empty unless asked for.
    pub waits: Vec<String>,
}

/// Is the run narrated as it goes? Only then are the jobs' reasons read after every cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Narration {
    /// Only the end counts.
    Silent,
    /// Each cycle says who waits, and why; of a large cluster only the end is shown.
    Told,
}

/// Jobs up to which a run is shown cycle by cycle.
const TOLD_JOBS_MAX: usize = 200;

/// Why a pod waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodWait {
    /// Stable code.
    pub reason: Reason,
    /// The same as a sentence; where room is held, with the time left.
    pub message: String,
    /// Reason of its condition `PodScheduled=False`, where the scheduler has one to write, and the
    /// message that stays while the situation does.
    pub unscheduled: Option<(&'static str, String)>,
}

/// A pod with room held for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The pod.
    pub pod: ObjectKey,
    /// Its job.
    pub job: ObjectKey,
    /// Where, since when, until when, and what is waited for.
    pub room: ReservationView,
}

/// A run and how it came out.
#[derive(Debug)]
pub struct RunResult {
    /// Every cycle.
    pub cycles: Vec<CycleRecord>,
    /// The objects at the end.
    pub books: Books,
    /// Why pods wait at the end, those that do.
    pub waits: BTreeMap<ObjectKey, PodWait>,
    /// Pods with room held for them at the end, sorted by key.
    pub held: Vec<Held>,
    /// GPUs that pods share at the end, or will share.
    pub devices: BTreeMap<ObjectKey, Vec<Name>>,
    /// What became of all reservations, over every life of the scheduler.
    pub reservations: ReservationCounts,
    /// Objects set aside at the end, with the reason for each, sorted.
    pub set_aside: Vec<(ObjectRef, String)>,
    /// The scheduler's jobs at the end.
    pub jobs: Vec<JobView>,
    /// The scheduler's queues at the end.
    pub queues: Vec<QueueView>,
    /// Evictions by pod and job.
    pub tally: Tally,
    /// Expectations in file order.
    pub expect: Vec<Judgement>,
    /// Breaches of the invariants that were checked; `None` if none was.
    pub violations: Option<Vec<Violation>>,
    /// The invariants it was held to.
    pub checks: Checks,
    /// What the reader should know, one sentence each.
    pub warnings: Vec<String>,
}

impl RunResult {
    /// Do all expectations and invariants hold?
    pub fn passed(&self) -> bool {
        self.expect.iter().all(|judgement| judgement.pass)
            && self.violations.as_ref().is_none_or(Vec::is_empty)
    }
}

/// Runs a Scenario to its end. `on_cycle` hears the number of each finished cycle and, if it is
/// fixed, how many there will be.
pub fn run(
    scenario: &Scenario,
    config: &SchedulerConfig,
    pool: &Arc<ThreadPool>,
    narration: Narration,
    on_cycle: &mut dyn FnMut(u32, Option<u32>),
) -> RunResult {
    let clock = clock::of_day();
    let config = &SchedulerConfig { clock, ..config.clone() };
    let mut run = Run::new(scenario, config, pool, narration);
    let mut quiet = 0;
    for cycle in 1.. {
        let changed = run.cycle(cycle);
        on_cycle(cycle, scenario.cycles);
        quiet = if changed || run.is_more_coming() { 0 } else { quiet + 1 };
        let done = match scenario.cycles {
            Some(cycles) => cycle >= cycles,
            None => quiet >= QUIET_CYCLES || cycle >= CYCLES_MAX,
        };
        if done {
            break;
        }
    }
    run.finish(quiet >= QUIET_CYCLES)
}

struct Run<'a> {
    scenario: &'a Scenario,
    config: &'a SchedulerConfig,
    pool: &'a Arc<ThreadPool>,
    cluster: Cluster,
    scheduler: Scheduler,
    books: Books,
    domains: DomainIndex,
    watch: Watch,
    tally: Tally,
    cycles: Vec<CycleRecord>,
    expect: Vec<Option<Judgement>>,
    /// The next timeline entry.
    next_entry: usize,
    /// Deltas the books know and the scheduler does not yet.
    unfed: Vec<ClusterDelta>,
    warnings: Vec<String>,
    /// Reservations of earlier lives of the scheduler.
    reservations: ReservationCounts,
    narration: Narration,
    /// The reason last shown of each job.
    reasons: BTreeMap<ObjectKey, Option<Reason>>,
    /// GPUs that pods shared at time zero, each with its node.
    at_start: BTreeSet<(Name, Name)>,
}

impl<'a> Run<'a> {
    fn new(
        scenario: &'a Scenario,
        config: &'a SchedulerConfig,
        pool: &'a Arc<ThreadPool>,
        narration: Narration,
    ) -> Self {
        let mut run = Self {
            scenario,
            config,
            pool,
            cluster: Cluster::new(scenario).seen_by(config.view.clone()),
            scheduler: Scheduler::new(config, Arc::clone(pool)),
            books: Books::default(),
            domains: DomainIndex::default(),
            watch: Watch::default(),
            tally: Tally::default(),
            cycles: Vec::new(),
            expect: vec![None; scenario.expect.len()],
            next_entry: 0,
            unfed: Vec::new(),
            warnings: scenario.warnings.clone(),
            reservations: ReservationCounts::default(),
            narration,
            reasons: BTreeMap::new(),
            at_start: BTreeSet::new(),
        };
        let deltas = run.cluster.take_deltas();
        run.enter(deltas);
        run.at_start = run.books.shared_devices().collect();
        run
    }

    /// Tells the watch what queues are due where no queue takes more: there a victim may be needed for
    /// that alone.
    fn tell_dues(&mut self) {
        let mut plugins = self.config.tiers.iter().flatten();
        if plugins.any(|plugin| plugin.spec.name == "proportion") {
            let queues = self.scheduler.queues().into_iter();
            self.watch.hear_dues(queues.map(|queue| (queue.name, queue.deserved)).collect());
        }
    }

    /// Runs one cycle; true if anything changed in it.
    fn cycle(&mut self, cycle: u32) -> bool {
        let now_ms = i64::from(cycle - 1) * self.scenario.period_ms;
        let mut happenings = story::failures(&self.unfed);
        let restart = self.advance(now_ms, &mut happenings);
        if let Some(after) = self.config.pipeline.stuck_after_ms {
            self.books.give_up_on(TimeMs(now_ms.saturating_sub(after)));
        }
        let unfed = std::mem::take(&mut self.unfed);
        let mut changed = restart || !unfed.is_empty();
        if restart {
            happenings.push("the scheduler restarts with an empty memory".to_owned());
            self.reservations.add(&self.scheduler.reservations());
            self.books.forget_moves();
            self.scheduler = Scheduler::new(self.config, Arc::clone(self.pool));
            self.scheduler.feed(self.cluster.list());
        } else {
            self.scheduler.feed(unfed);
        }
        let begun = Instant::now();
        let CycleOutcome { intents, decisions, consultations, .. } =
            self.scheduler.run_cycle(TimeMs(now_ms));
        let duration_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);

        self.warn_of(&consultations);
        self.count(&decisions, cycle);
        self.domains.refresh(&self.books);
        if self.scenario.invariants.any() {
            if decisions.iter().any(|decision| decision.op == DecisionOp::Evict) {
                self.tell_dues();
            }
            self.watch.decided(&self.books, &self.domains, &decisions, cycle);
        }
        self.books.note_moves(&decisions);
        self.cluster.call(&intents, now_ms);
        let deltas = self.cluster.take_deltas();
        self.enter(deltas);
        changed |= !self.unfed.is_empty() || !decisions.is_empty();
        if self.scenario.invariants.any() {
            self.watch.settled(&self.books, &self.domains, &decisions);
            if changed {
                let faults = self.ledger_faults();
                self.watch.ledger(faults, cycle);
            }
        }
        let waits = if changed { self.tell_waits() } else { Vec::new() };
        let time_ms = now_ms;
        self.cycles.push(CycleRecord { cycle, time_ms, duration_us, happenings, decisions, waits });
        self.judge_at(Some(cycle));
        changed
    }

    /// Says what went wrong when plugins asked somebody outside, each thing once.
    fn warn_of(&mut self, consultations: &[(&'static str, Consultation)]) {
        for (plugin, consultation) in consultations {
            let Some(trouble) = &consultation.trouble else { continue };
            let warning = format!("{plugin}: {trouble}");
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// Lets everything happen that is due by now, in the order of its time; at the same time the
    /// timeline comes first. True if the scheduler loses its memory.
    fn advance(&mut self, now_ms: i64, happenings: &mut Vec<String>) -> bool {
        let mut restart = false;
        loop {
            let entry = self.scenario.timeline.get(self.next_entry);
            let entry = entry.filter(|entry| entry.at_ms <= now_ms);
            let due_ms = self.cluster.next_due_ms().filter(|&due_ms| due_ms <= now_ms);
            match (entry, due_ms) {
                (Some(entry), due_ms) if due_ms.is_none_or(|due_ms| entry.at_ms <= due_ms) => {
                    self.absorb(happenings);
                    self.watch.timeline(&self.books, entry);
                    self.cluster.apply(entry.apply.iter().cloned(), entry.at_ms);
                    self.cluster.delete(&entry.delete, entry.at_ms);
                    self.cluster.fail_bindings(&entry.fail_bind);
                    restart |= entry.restart;
                    self.next_entry += 1;
                }
                (_, Some(_)) => self.cluster.fire_next(),
                _ => break,
            }
        }
        self.absorb(happenings);
        self.warnings.append(&mut self.cluster.take_warnings());
        restart
    }

    /// Enters what changed, and tells it.
    fn absorb(&mut self, happenings: &mut Vec<String>) {
        let deltas = self.cluster.take_deltas();
        happenings.extend(story::happenings(&self.books, &deltas));
        self.enter(deltas);
    }

    /// Jobs that now wait for another reason than was last shown.
    fn tell_waits(&mut self) -> Vec<String> {
        if self.narration == Narration::Silent || self.books.jobs.len() > TOLD_JOBS_MAX {
            return Vec::new();
        }
        let mut waits = Vec::new();
        for job in self.scheduler.jobs() {
            let before = self.reasons.insert(job.key.clone(), job.reason).flatten();
            let Some(reason) = job.reason.filter(|reason| before != Some(*reason)) else {
                continue;
            };
            let message = job.message.unwrap_or_else(|| reason.as_str().to_owned());
            waits.push(format!("{} waits: {message}", job.key));
        }
        waits
    }

    /// Enters deltas into the books and keeps them for the scheduler.
    fn enter(&mut self, deltas: Vec<ClusterDelta>) {
        for delta in &deltas {
            self.books.apply(delta);
            if let ClusterDelta::SetAside { object: ObjectRef::Pod(key), .. } = delta
                && let Some(pod) = self.cluster.pod(key)
            {
                let uid = pod.metadata.uid.as_deref().unwrap_or_default();
                self.books.set_pod_aside(key, uid, aside::job_of(key, pod));
            }
        }
        self.unfed.extend(deltas);
    }

    fn is_more_coming(&self) -> bool {
        self.next_entry < self.scenario.timeline.len() || self.cluster.has_leaving_pods()
    }

    fn count(&mut self, decisions: &[Decision], cycle: u32) {
        if !decisions.is_empty() {
            self.tally.last_decision = cycle;
        }
        for decision in decisions.iter().filter(|decision| decision.op == DecisionOp::Evict) {
            self.tally.evictions += 1;
            *self.tally.by_pod.entry(decision.pod.clone()).or_default() += 1;
            *self.tally.by_job.entry(decision.job.clone()).or_default() += 1;
        }
    }

    /// The scheduler's own audit, and its queues against the books. A call that just failed is not
    /// known to the scheduler yet, so then the queues are compared after the next cycle.
    fn ledger_faults(&mut self) -> Vec<String> {
        let mut faults = self.scheduler.audit();
        let failed = |delta: &ClusterDelta| {
            matches!(delta, ClusterDelta::BindFailed { .. } | ClusterDelta::EvictFailed { .. })
        };
        if !self.unfed.iter().any(failed) {
            faults.extend(queue_faults(&self.books, &self.scheduler.queues()));
        }
        faults
    }

    /// Judges the expectations of that cycle; of the end for none.
    fn judge_at(&mut self, cycle: Option<u32>) {
        let due: Vec<usize> = (0..self.expect.len())
            .filter(|&at| self.expect[at].is_none() && self.scenario.expect[at].cycle == cycle)
            .collect();
        if due.is_empty() {
            return;
        }
        let asks = |wanted: fn(&Assertion) -> bool| {
            due.iter().any(|&at| wanted(&self.scenario.expect[at].assertion))
        };
        let about_jobs = |a: &_| matches!(a, Assertion::Phase { .. } | Assertion::Reason { .. });
        let jobs = if asks(about_jobs) {
            aside::jobs(&mut self.scheduler, &self.cluster)
        } else {
            Vec::new()
        };
        let queues = if asks(|a| matches!(a, Assertion::Queue { .. })) {
            self.scheduler.queues()
        } else {
            Vec::new()
        };
        let shares =
            |a: &Assertion| matches!(a, Assertion::Pipelined(count) if count.devices.is_some());
        let held = if asks(shares) { devices_of(&self.scheduler.pods()) } else { BTreeMap::new() };
        let devices = DeviceEvidence {
            expect: &self.scenario.expect,
            at_start: Some(&self.at_start),
            held: Some(&held),
        };
        let (books, domains, tally) = (&self.books, &self.domains, &self.tally);
        let evidence = Evidence { books, domains, tally, jobs: &jobs, queues: &queues, devices };
        for at in due {
            self.expect[at] = Some(judge(&self.scenario.expect[at], evidence));
        }
    }

    fn finish(mut self, settled: bool) -> RunResult {
        self.judge_at(None);
        self.judge_unreached(settled);
        if self.scenario.invariants.any() {
            self.watch.ledger(self.books.audit(), self.cycles.len() as u32);
            self.watch.finish(&self.books);
        }
        let (checks, violations) = (self.scenario.invariants.clone(), self.violations());
        let set_aside = self.scheduler.set_aside();
        let queues = self.scheduler.queues();
        let odd = queues.iter().flat_map(|queue| {
            let told = |text: &&String| !set_aside.iter().any(|(_, why)| why == *text);
            queue.warnings.iter().filter(told).map(|text| format!("Queue {}: {text}", queue.name))
        });
        self.warnings.extend(odd);
        let expect = self.scenario.expect.iter().zip(self.expect);
        let expect = expect
            .filter_map(|(expectation, judgement)| {
                let judgement = judgement?;
                let unknown = subject(expectation).filter(|key| !self.books.ever.contains(*key));
                Some(match unknown {
                    None => judgement,
                    Some(key) => Judgement {
                        pass: false,
                        got: format!("there never was a {key}"),
                        ..judgement
                    },
                })
            })
            .collect();
        self.reservations.add(&self.scheduler.reservations());
        let pods = self.scheduler.pods();
        let now = TimeMs(self.cycles.last().map_or(0, |cycle| cycle.time_ms));
        RunResult {
            held: held_of(&pods),
            devices: devices_of(&pods),
            reservations: self.reservations,
            waits: pod_waits(pods, &set_aside, now),
            set_aside,
            jobs: aside::jobs(&mut self.scheduler, &self.cluster),
            queues,
            cycles: self.cycles,
            books: self.books,
            tally: self.tally,
            expect,
            violations: checks.any().then_some(violations),
            checks,
            warnings: self.warnings,
        }
    }

    fn violations(&self) -> Vec<Violation> {
        let checks = &self.scenario.invariants;
        let seen = self.watch.violations().iter();
        seen.filter(|violation| checks.has(violation.invariant)).cloned().collect()
    }

    /// Expectations about cycles after the last one: a run that ended because nothing changes any
    /// more answers them with its end, one that was cut off cannot.
    fn judge_unreached(&mut self, settled: bool) {
        let ran = self.cycles.len();
        for at in 0..self.expect.len() {
            if self.expect[at].is_some() {
                continue;
            }
            let expectation = &self.scenario.expect[at];
            if settled {
                self.judge_at(expectation.cycle);
            } else {
                let assertion = expectation.text.clone();
                let got = format!("the run ended after cycle {ran}");
                self.expect[at] = Some(Judgement { assertion, pass: false, got });
            }
        }
    }
}

/// Pods with room held for them.
fn held_of(pods: &[PodView]) -> Vec<Held> {
    let held = pods.iter().filter_map(|pod| {
        let (job, room) = (pod.job.clone()?, pod.reservation.clone()?);
        Some(Held { pod: pod.key.clone(), job, room })
    });
    held.collect()
}

/// GPUs that pods share, or will share once they have their nodes.
fn devices_of(pods: &[PodView]) -> BTreeMap<ObjectKey, Vec<Name>> {
    let sharing = pods.iter().filter(|pod| !pod.devices.is_empty());
    sharing.map(|pod| (pod.key.clone(), pod.devices.clone())).collect()
}

/// Why each waiting pod waits.
fn pod_waits(
    pods: Vec<PodView>,
    set_aside: &[(ObjectRef, String)],
    now: TimeMs,
) -> BTreeMap<ObjectKey, PodWait> {
    let waits = pods.into_iter().filter_map(|pod| {
        let (reason, stable) = (pod.reason?, pod.message.unwrap_or_default());
        let left = pod.reservation.map(|room| time_left(room.until, now)).unwrap_or_default();
        let message = format!("{stable}{left}");
        let unscheduled = pod.unscheduled.map(|reason| (reason, stable));
        Some((pod.key, PodWait { reason, message, unscheduled }))
    });
    let aside = set_aside.iter().filter_map(|(object, why)| match object {
        ObjectRef::Pod(key) => {
            let (reason, unscheduled) = (Reason::SetAside, Some(("Unschedulable", why.clone())));
            Some((key.clone(), PodWait { reason, message: why.clone(), unscheduled }))
        }
        _ => None,
    });
    waits.chain(aside).collect()
}

/// Queues whose use, as the scheduler sees it, differs from what their pods add up to.
fn queue_faults(books: &Books, views: &[QueueView]) -> Vec<String> {
    let totals = books.queue_totals(|job| &job.allocated);
    let mut faults = Vec::new();
    for view in views {
        let Some(total) = totals.get(&view.name) else { continue };
        for dim in books.names.dims() {
            let name = books.names.name(dim);
            let seen = view.allocated.iter().find(|entry| entry.0 == *name);
            let seen = seen.map_or(0, |entry| ResourceNames::units(dim, entry.1));
            if seen != total.get(dim) {
                faults.push(format!(
                    "queue {}: the scheduler counts {name} {}, its pods add up to {}",
                    view.name,
                    books.names.display(dim, seen),
                    books.names.display(dim, total.get(dim)),
                ));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests;
