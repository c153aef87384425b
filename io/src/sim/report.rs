//! The result as one JSON document.
//!
//! Keys stand in the order people read them, not sorted: the structs below are the format.

use std::collections::BTreeMap;
use std::io::{self, Write};

use muster_core::delta::{Ownership, UsedParts};
use muster_core::ids::Name;
use muster_core::intent::Decision;
use muster_core::report::{JobView, QueueView, ReservationView};
use muster_core::reservation::{Release, ReservationCounts};
use muster_core::resource::{Format, Quantity};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::objects::{phase_text, state_text};

use super::books::{Books, PodEntry};
use super::clock;
use super::expect::Judgement;
use super::invariants::Invariant;
use super::run::{CycleRecord, PodWait, RunResult};

/// Writes the result and a final newline.
pub fn write_json(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Document::of(result))?;
    writeln!(out)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    cycles: Vec<CycleLine<'a>>,
    pods: Pairs<Vec<(String, Pod<'a>)>>,
    jobs: Pairs<Vec<(String, Job<'a>)>>,
    queues: Pairs<Vec<(String, Queue<'a>)>>,
    invariants: InvariantCounts,
    expect: Vec<Assertion<'a>>,
    set_aside: Vec<Aside<'a>>,
    reservations: Reservations,
}

/// An object that could not be used, and why.
#[derive(Serialize)]
struct Aside<'a> {
    object: String,
    reason: &'a str,
}

impl<'a> Document<'a> {
    fn of(result: &'a RunResult) -> Self {
        // Pods of other schedulers that wait somewhere are nobody's business here.
        let shown = |pod: &PodEntry| pod.ownership == Ownership::Ours || pod.node.is_some();
        let pods = result.books.pods.iter().filter(|(_, pod)| shown(pod));
        let wait = |key| result.waits.get(key);
        let held: BTreeMap<_, _> = result.held.iter().map(|held| (&held.pod, &held.room)).collect();
        let room = |key| held.get(key).copied();
        let evictions = |key| result.tally.by_pod.get(key).copied().unwrap_or_default();
        Self {
            cycles: result.cycles.iter().map(CycleLine::of).collect(),
            pods: Pairs(
                pods.map(|(key, pod)| {
                    let devices = result.devices.get(key).map_or(&[][..], Vec::as_slice);
                    (key.to_string(), Pod::of(pod, evictions(key), wait(key), room(key), devices))
                })
                .collect(),
            ),
            jobs: Pairs(result.jobs.iter().map(|j| (j.key.to_string(), Job::of(j))).collect()),
            queues: Pairs(
                result
                    .queues
                    .iter()
                    .map(|q| (q.name.to_string(), Queue::of(q, &result.books)))
                    .collect(),
            ),
            invariants: invariant_counts(result),
            expect: assertions(&result.expect),
            set_aside: result
                .set_aside
                .iter()
                .map(|(object, reason)| Aside { object: object.to_string(), reason })
                .collect(),
            reservations: Reservations::of(&result.reservations),
        }
    }
}

/// What became of all reservations of the run.
#[derive(Serialize)]
struct Reservations {
    made: u64,
    restored: u64,
    confirmed: u64,
    released: Pairs<Vec<(String, u64)>>,
}

impl Reservations {
    fn of(counts: &ReservationCounts) -> Self {
        let causes =
            Release::ALL.map(|cause| (cause.as_str().to_owned(), counts.released_for(cause)));
        Self {
            made: counts.made,
            restored: counts.restored,
            confirmed: counts.confirmed,
            released: Pairs(causes.to_vec()),
        }
    }
}

/// Breaches by rule.
pub(crate) type InvariantCounts = Pairs<Vec<(String, usize)>>;

/// Breaches by rule, every rule that was checked listed.
pub(crate) fn invariant_counts(result: &RunResult) -> InvariantCounts {
    let mut counts: BTreeMap<Invariant, usize> = BTreeMap::new();
    for violation in result.violations.iter().flatten() {
        *counts.entry(violation.invariant).or_default() += 1;
    }
    let count = |rule| counts.get(&rule).copied().unwrap_or_default();
    let checked = Invariant::ALL.into_iter().filter(|rule| result.checks.has(*rule));
    Pairs(checked.map(|rule| (rule.as_str().to_owned(), count(rule))).collect())
}

/// Verdicts as the result lists them.
pub(crate) fn assertions(judgements: &[Judgement]) -> Vec<Assertion<'_>> {
    let lines = judgements.iter().map(|Judgement { assertion, pass, got }| Assertion {
        text: assertion,
        pass: *pass,
        got,
    });
    lines.collect()
}

/// A map written in the order of its entries.
#[derive(Default)]
pub(crate) struct Pairs<T>(T);

impl<V: Serialize> Serialize for Pairs<Vec<(String, V)>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CycleLine<'a> {
    #[serde(rename = "cycle")]
    number: u32,
    time: String,
    duration_us: u64,
    decisions: Vec<DecisionLine<'a>>,
}

impl<'a> CycleLine<'a> {
    fn of(record: &'a CycleRecord) -> Self {
        Self {
            number: record.cycle,
            time: clock::text(record.time_ms),
            duration_us: record.duration_us,
            decisions: record.decisions.iter().map(DecisionLine::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct DecisionLine<'a> {
    action: &'static str,
    op: &'static str,
    pod: String,
    node: &'a str,
    job: String,
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    beneficiary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> DecisionLine<'a> {
    fn of(decision: &'a Decision) -> Self {
        Self {
            action: decision.action,
            op: decision.op.as_str(),
            pod: decision.pod.to_string(),
            node: &decision.node,
            job: decision.job.to_string(),
            beneficiary: decision.beneficiary.as_ref().map(ToString::to_string),
            reason: decision.reason.as_deref(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Pod<'a> {
    status: &'static str,
    node: Option<&'a str>,
    nominated_node: Option<&'a str>,
    /// The GPU it shares, or all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_group: Option<OneOrMore<'a>>,
    evictions: u64,
    /// Why it waits, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// The same as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    /// What the scheduler says in the pod's conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<Condition<'a>>,
    /// The room held for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reservation: Option<Reservation<'a>>,
}

/// A name, or a list of several.
#[derive(Serialize)]
#[serde(untagged)]
enum OneOrMore<'a> {
    One(&'a str),
    More(Vec<&'a str>),
}

impl<'a> OneOrMore<'a> {
    fn of(names: &'a [Name]) -> Option<Self> {
        match names {
            [] => None,
            [one] => Some(Self::One(one)),
            more => Some(Self::More(more.iter().map(|name| &**name).collect())),
        }
    }
}

/// Room held for a pod.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reservation<'a> {
    node: &'a str,
    since: String,
    until: String,
    evicted: bool,
    waits_for: Vec<String>,
}

impl<'a> Reservation<'a> {
    fn of(room: &'a ReservationView) -> Self {
        Self {
            node: &room.node,
            since: clock::text(room.since.0),
            until: clock::text(room.until.0),
            evicted: room.evicted,
            waits_for: room.waits_for.iter().map(ToString::to_string).collect(),
        }
    }
}

/// A condition as Kubernetes writes it.
#[derive(Serialize)]
struct Condition<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    status: &'static str,
    reason: &'a str,
    message: &'a str,
}

impl<'a> Condition<'a> {
    fn of_job(held: &'a muster_core::status::Condition) -> Self {
        let (kind, reason, message) = (held.kind.as_str(), &*held.reason, held.message.as_str());
        Self { kind, status: "True", reason, message }
    }
}

impl<'a> Pod<'a> {
    fn of(
        pod: &'a PodEntry,
        evictions: u64,
        wait: Option<&'a PodWait>,
        room: Option<&'a ReservationView>,
        devices: &'a [Name],
    ) -> Self {
        let condition = wait.and_then(|wait| {
            let (kind, status) = ("PodScheduled", "False");
            let (reason, message) = wait.unscheduled.as_ref()?;
            Some(Condition { kind, status, reason, message })
        });
        Self {
            status: pod.status.as_str(),
            node: pod.node.as_deref(),
            nominated_node: pod.nominated.as_deref(),
            gpu_group: OneOrMore::of(devices),
            evictions,
            reason: wait.map(|wait| wait.reason.as_str()),
            message: wait.map(|wait| wait.message.as_str()),
            conditions: condition.into_iter().collect(),
            reservation: room.map(Reservation::of),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Job<'a> {
    queue: &'a str,
    phase: &'static str,
    min_available: u32,
    ready: u32,
    pipelined: u32,
    pending: u32,
    reason: Option<&'static str>,
    message: Option<&'a str>,
    conditions: Vec<Condition<'a>>,
}

impl<'a> Job<'a> {
    fn of(job: &'a JobView) -> Self {
        Self {
            queue: &job.queue,
            phase: phase_text(job.phase),
            min_available: job.min_available,
            ready: job.ready,
            pipelined: job.pipelined,
            pending: job.pending,
            reason: job.reason.map(muster_core::verdict::Reason::as_str),
            message: job.message.as_deref(),
            conditions: job.conditions.iter().map(Condition::of_job).collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Queue<'a> {
    allocated: Pairs<Vec<(String, String)>>,
    deserved: Pairs<Vec<(String, String)>>,
    /// What is due to a queue of KAI's.
    #[serde(skip_serializing_if = "Option::is_none")]
    fair_share: Option<Pairs<Vec<(String, String)>>>,
    /// The part of the cluster it used of late.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Pairs<Vec<(String, f64)>>>,
    share: f64,
    state: &'static str,
    /// What it uses beyond its due.
    borrowed: Pairs<Vec<(String, String)>>,
    /// What is odd about its limits or its place in the tree.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

impl<'a> Queue<'a> {
    fn of(queue: &'a QueueView, books: &Books) -> Self {
        Self {
            allocated: amounts(&queue.allocated),
            deserved: amounts(&queue.deserved),
            fair_share: books.is_kai_queue(&queue.name).then(|| amounts(&queue.deserved)),
            usage: used_parts(queue.past),
            share: queue.share_ppm as f64 / 1e6,
            state: state_text(queue.state),
            borrowed: amounts(&queue.borrowed),
            warnings: &queue.warnings,
        }
    }
}

/// Parts of the cluster that were used of late, if any was.
fn used_parts(past: UsedParts) -> Option<Pairs<Vec<(String, f64)>>> {
    let named = ["cpu", "memory", "nvidia.com/gpu"].into_iter().zip(past);
    let parts = named.map(|(name, millionths)| (name.to_owned(), millionths as f64 / 1e6));
    (past != [0; 3]).then(|| Pairs(parts.collect()))
}

/// Amounts that are not zero, as Kubernetes writes them.
fn amounts(list: &[(Name, Quantity)]) -> Pairs<Vec<(String, String)>> {
    let some = list.iter().filter(|entry| !entry.1.is_zero());
    Pairs(some.map(|(name, amount)| (name.to_string(), amount.format(Format::of(name)))).collect())
}

/// One expectation and how it came out.
#[derive(Serialize)]
pub(crate) struct Assertion<'a> {
    #[serde(rename = "assertion")]
    text: &'a str,
    pass: bool,
    got: &'a str,
}
