//! Second pass, pods: observation, membership, and which assumptions an observation ends.

use std::num::NonZero;

use bevy_ecs::entity::Entity;

use super::default_spread;
use super::intake::Intake;
use super::moves::Kinship;
use crate::class::{Asks, Kin};
use crate::config::Persistence;
use crate::cycle::Leadership;
use crate::delta::{Ownership, PodFacts, PodPhase, PriorityClassFacts};
use crate::ids::{Name, ObjectKey};
use crate::reservation::Release;
use crate::resource::ResourceVec;
use crate::world::{
    Annotated, Assumed, Assumption, Catalog, ClassId, Cold, DeviceAsk, End, GroupRuleId, Guards,
    JobBackoff, JobKey, Labels, LastTransaction, Membership, Mirror, Observed, OptionTime,
    ReportedWait, Said, Say, TaskCold, TaskPriority, TaskTraits, Timing, ToldGang, VolumeNeeds,
};

/// Priority of a pod nobody gave one, as in Volcano.
const UNSET_PRIORITY: i32 = 1;

/// The job a pod belongs to; `None` for a pod of another scheduler.
pub(super) fn job_key(facts: &PodFacts) -> Option<JobKey> {
    if facts.ownership == Ownership::Foreign {
        return None;
    }
    let group = facts.group.as_ref();
    Some(match group {
        Some(group) => JobKey::Group(ObjectKey::new(facts.key.namespace.clone(), group.clone())),
        None => JobKey::Lone(facts.key.clone()),
    })
}

impl Intake<'_, '_> {
    pub(super) fn pod(&mut self, facts: &PodFacts) {
        let Some(&task) = self.directory.tasks.get(&facts.key) else { return };
        if self.is_old_news(task, facts) {
            return;
        }
        let mut request = self.names.0.vector(&facts.request);
        let devices = self.device_ask(facts.devices, &mut request);
        let volumes = self.pod_claims(task, facts);
        let job = job_key(facts).and_then(|key| self.directory.jobs.get(&key).copied());
        let home = self.cluster.task(task).home();
        // The node it was on may be needed by nobody else.
        self.note_nodes_left(task);
        self.cluster.detach(task);
        let before = *self.cluster.task(task).membership;
        self.leave_job_unless(task, job);
        let role = job.map_or(0, |job| self.join_job(task, job, facts));
        let queue = job.map(|job| self.cluster.job(job).spec.queue);
        let group = queue.and_then(|queue| self.cluster.groups.of(queue));
        let class = self.class_of(facts, (&request, devices), group, volumes.needs.clone());
        let siblings = job.map(|job| &self.cluster.job(job).members.0);
        let sibling = siblings.and_then(|tasks| tasks.iter().copied().find(|&other| other != task));
        self.write_facts(task, facts, &request, sibling);
        if self.cluster.task(task).identity.uid != facts.uid {
            let alike = before.job == job && before.class == class && before.role == role;
            self.meet(task, facts, if alike { Kinship::Alike } else { Kinship::Other });
        }
        self.observe(task, facts);
        if let Ok(mut item) = self.cluster.tasks.get_mut(task) {
            let seat = item.membership.seat;
            *item.membership = Membership { job, seat, role, subgroup: None, class };
            *item.request = self.classes.get(class).asked.clone();
        }
        self.cluster.observe_devices(task, home, &facts.shared_devices);
        self.write_volumes(task, volumes);
        if let Some(job) = job {
            self.join_subgroup(task, job);
        }
        if let Ok(mut item) = self.cluster.tasks.get_mut(task) {
            item.cold.trim();
        }
        self.cluster.attach(task);
    }

    /// The class of a pod's tasks. Its own rules are learned first: it may match them itself.
    fn class_of(
        &mut self,
        facts: &PodFacts,
        (request, devices): (&ResourceVec, Option<Box<DeviceAsk>>),
        group_rule: Option<GroupRuleId>,
        volumes: VolumeNeeds,
    ) -> ClassId {
        let default_spread = self.default_spread_of(facts);
        let (interpod, symbols) = (&mut *self.interpod, &mut *self.symbols);
        interpod.learn(&facts.constraints.interpod);
        let matched = interpod.matching(&facts.key.namespace, &facts.labels);
        let (request, constraints) = (request.clone(), facts.constraints.clone());
        let kin = self.classes.reads().kin.then(|| Kin::of(facts));
        let asks = Asks {
            request,
            constraints,
            group_rule,
            matched,
            volumes,
            default_spread,
            devices,
            kin,
        };
        self.classes.intern(asks, interpod, symbols)
    }

    /// Takes the task off the members of its job, unless that is the job given.
    fn leave_job_unless(&mut self, task: Entity, stays: Option<Entity>) {
        let old = self.cluster.task(task).membership.job;
        if old != stays {
            let left = self.cluster.leave_job(task);
            self.dirty.vacant.extend(left);
        }
    }

    /// Nodes a task is about to leave may be needed by nobody else.
    fn note_nodes_left(&mut self, task: Entity) {
        let item = self.cluster.task(task);
        self.dirty.vacant.extend(item.home().into_iter().chain(item.heir_home()));
    }

    /// Adds the task to the members of a job if it is none of them yet; returns its role.
    fn join_job(&mut self, task: Entity, job: Entity, facts: &PodFacts) -> u16 {
        if self.cluster.task(task).membership.job != Some(job) {
            let mut item = self.cluster.job_mut(job);
            let seat = item.members.0.len() as u32;
            item.members.0.push(task);
            if let Ok(mut item) = self.cluster.tasks.get_mut(task) {
                item.membership.seat = seat;
            }
        }
        let lone = matches!(self.cluster.job(job).identity.key, JobKey::Lone(_));
        if lone {
            self.write_lone_job(job, facts);
        }
        self.cluster.job_mut(job).join_role(&facts.role)
    }

    /// A pod without PodGroup says itself all there is to say of its job.
    fn write_lone_job(&mut self, job: Entity, facts: &PodFacts) {
        let priority =
            facts.priority.or_else(|| self.priority_classes.value(facts.priority_class.as_ref()));
        let queue = self.queue_named(facts.queue.as_ref());
        self.move_job(job, queue);
        let mut item = self.cluster.job_mut(job);
        item.identity.uid = facts.uid.clone();
        item.identity.created = facts.created;
        item.identity.present = true;
        item.spec.min_available = 1;
        item.spec.priority_class.clone_from(&facts.priority_class);
        item.spec.priority = priority.unwrap_or(0);
        item.spec.preemptable = facts.preemptable;
    }

    fn write_facts(
        &mut self,
        task: Entity,
        facts: &PodFacts,
        request: &ResourceVec,
        sibling: Option<Entity>,
    ) {
        let sibling = sibling.and_then(|sibling| self.cluster.tasks.get(sibling).ok());
        let labels = Labels::like(&facts.labels, sibling.map(|task| task.labels));
        let Ok(mut item) = self.cluster.tasks.get_mut(task) else { return };
        item.priority.own = facts.priority;
        item.priority.own_preempts = facts.preempts;
        item.priority.class.clone_from(&facts.priority_class);
        resolve_priority(&mut item.priority, &self.priority_classes);
        *item.traits = TaskTraits {
            best_effort: request.is_empty_but_pods() && facts.devices.is_none(),
            gated: !facts.gates.is_empty(),
            qos: facts.qos,
            ownership: facts.ownership,
            preemptable: facts.preemptable,
            borrows: facts.constraints.borrows,
            cooldown_ms: facts.cooldown_ms,
        };
        *item.labels = labels;
        let guards = self.cluster.budgets.guards_of(&facts.key.namespace, &item.labels);
        if guards != item.cold.guards {
            item.cold.guards = guards;
        }
        let owner = default_spread::owner_that_counts(facts);
        if owner != item.cold.owner.as_ref() {
            item.cold.owner = owner.cloned();
        }
        item.identity.created = facts.created;
        item.identity.index = trailing_number(&facts.key.name).unwrap_or(0);
    }

    /// Is something at least as new known of the same pod? Watches are resumed, objects are listed
    /// again, and events may overtake each other.
    fn is_old_news(&self, task: Entity, facts: &PodFacts) -> bool {
        let known = self.cluster.task(task).identity;
        let newer = known.version.zip(facts.version).is_none_or(|(known, told)| told > known.get());
        known.uid == facts.uid && !newer
    }

    fn observe(&mut self, task: Entity, facts: &PodFacts) {
        let (observed, said) = (self.observation(facts), self.said(facts));
        let first_sight = self.cluster.task(task).identity.uid != facts.uid;
        let heir_home = self.cluster.task(task).heir_home();
        let leave_by = facts.leave_by.filter(|_| observed.deleting && observed.node.is_some());
        self.cluster.reservations.note_leave_by(task, leave_by);
        let persistence = self.cluster.reservations.rules.persistence;
        let Ok(mut item) = self.cluster.tasks.get_mut(task) else { return };
        let running = facts.phase == PodPhase::Running;
        // What the pod itself says outlives a restart of the scheduler.
        let seen = || item.timing.running.get().filter(|_| !first_sight);
        let since = facts.placed.or_else(seen).unwrap_or(self.now.0);
        item.timing.running = running.then_some(since).into();
        // One that ran before anybody looked is taken to be in what was measured.
        item.timing.measured = running && (first_sight || item.timing.measured);
        *item.observed = observed;
        item.identity.uid = facts.uid.clone();
        item.identity.version = facts.version.and_then(NonZero::new);
        let confirmed =
            matches!(item.assumed.0, Some(Assumption::Binding(_))) && observed.node.is_some();
        let outlives = heir_home.filter(|_| observed.deleting && observed.node.is_some());
        item.assumed.0 = match outlives.filter(|_| is_alive(&observed)) {
            // That it leaves is seen now; the room held for who comes after it is not.
            Some(node) => Some(Assumption::Pipelined(node)),
            None => item.assumed.0.filter(|&assumption| stands(assumption, &observed)),
        };
        if item.assumed.0.is_none() {
            item.timing.answer_by = OptionTime::NONE;
        }
        let leaves = observed.deleting && observed.node.is_some();
        let leaves = leaves || item.assumed.0.is_some_and(Assumption::is_eviction);
        let since = item.timing.leaving.get().unwrap_or(self.now.0);
        item.timing.leaving = leaves.then_some(since).into();
        item.timing.stuck &= leaves;
        let (before, mut mirror) = (item.cold.said, item.cold.mirror);
        let mut news = mirrored(&mut mirror, &before, &said, first_sight);
        if (said, mirror) != (before, item.cold.mirror) {
            (item.cold.said, item.cold.mirror) = (said, mirror);
        }
        if *self.role == Leadership::Follows {
            // Another one decides: what it has written of the pod counts, and nothing else.
            news = Observation::ALL;
            item.assumed.0 = None;
        }
        let held = item
            .assumed
            .0
            .is_none()
            .then(|| reserved(&observed, said, news, persistence))
            .flatten();
        let job = item.membership.job.filter(|_| confirmed);
        let kept =
            |node: Entity| item.assumed.0.is_some() || held.is_some_and(|it| it.node == node);
        let record = item.cold.nomination.0.filter(|_| item.heir_home().is_none());
        let end = record.and_then(|record| {
            let withdrawn = Some(End::Released(Release::Withdrawn));
            end_of(record.node, &observed).or(withdrawn.filter(|_| !kept(record.node)))
        });
        if let Some(held) = held {
            item.assumed.0 = Some(Assumption::Pipelined(held.node));
        }
        if let Some(end) = end {
            self.cluster.end_reservation(task, end);
        }
        if let Some(Annotated { node, evicted }) = held {
            self.cluster.restore_reservation(task, node, evicted);
        } else if said.annotated.is_some() {
            self.cluster.reservations.touch(task);
        }
        if let Some(job) = job {
            *self.cluster.job_mut(job).backoff = JobBackoff::default();
        }
    }

    pub(super) fn observation(&self, facts: &PodFacts) -> Observed {
        let named = |name: &Name| self.directory.nodes.get(name).copied();
        let node = facts.node.as_ref().and_then(named);
        Observed { phase: facts.phase, node, deleting: facts.deleting }
    }

    /// What the pod says of its reservation.
    fn said(&self, facts: &PodFacts) -> Said {
        let named = |name: &Name| self.directory.nodes.get(name).copied();
        let annotated = facts.annotated.as_ref();
        Said {
            nominated: facts.nominated.as_ref().and_then(named),
            annotated: annotated.and_then(|annotated| {
                let node = named(&annotated.node)?;
                Some(Annotated { node, evicted: annotated.evicted })
            }),
        }
    }

    /// Drops all that was decided about a pod that is no more.
    pub(super) fn forget_pod(&mut self, task: Entity) {
        self.cluster.end_reservation(task, End::Released(Release::PodGone));
        self.cluster.reservations.note_leave_by(task, None);
        let Ok(mut item) = self.cluster.tasks.get_mut(task) else { return };
        item.identity.uid = Name::default();
        item.identity.version = None;
        *item.observed = Observed::default();
        *item.assumed = Assumed(None);
        *item.timing = Timing::default();
        if item.cold.moved != OptionTime::NONE {
            item.cold.moved = OptionTime::NONE;
        }
        if !item.cold.devices.is_empty() {
            item.cold.devices.clear();
        }
        forget_sayings(&mut item.cold);
    }

    pub(super) fn pod_gone(&mut self, key: &ObjectKey) {
        let Some(&task) = self.directory.tasks.get(key) else { return };
        let item = self.cluster.task(task);
        if item.is_vacancy() {
            return;
        }
        self.note_nodes_left(task);
        if self.cluster.task(task).heir_home().is_some() {
            self.vacate(task);
            return;
        }
        self.cluster.detach(task);
        self.leave_job_unless(task, None);
        self.forget_pod(task);
        let Ok(mut item) = self.cluster.tasks.get_mut(task) else { return };
        item.cold.guards = Guards::default();
        self.drop_claims(task);
        self.dirty.vacant.push(task);
    }

    pub(super) fn bind_failed(&mut self, pod: &ObjectKey, uid: &Name, _reason: &str) {
        let Some(task) = self.task_of(pod, uid) else { return };
        if !matches!(self.cluster.task(task).assumed.0, Some(Assumption::Binding(_))) {
            return;
        }
        self.dirty.vacant.extend(self.cluster.task(task).home());
        self.cluster.bind_refused(task);
    }

    pub(super) fn evict_failed(&mut self, pod: &ObjectKey, uid: &Name) {
        let Some(task) = self.task_of(pod, uid) else { return };
        if self.cluster.task(task).assumed.0.is_some_and(Assumption::is_eviction) {
            self.cluster.stay(task);
        }
    }

    fn task_of(&self, pod: &ObjectKey, uid: &Name) -> Option<Entity> {
        let task = self.directory.tasks.get(pod).copied()?;
        (self.cluster.task(task).identity.uid == *uid).then_some(task)
    }
}

/// The priority of a task, and whether others may be evicted for it: its own word, else that of its
/// class, else of the default class.
pub(super) fn resolve_priority(priority: &mut TaskPriority, classes: &Catalog<PriorityClassFacts>) {
    let of_class = || classes.value(priority.class.as_ref());
    priority.value = priority.own.or_else(of_class).unwrap_or(UNSET_PRIORITY);
    let preempts = || classes.preempts(priority.class.as_ref());
    priority.preempts = priority.own_preempts.unwrap_or_else(preempts);
}

/// Ends every assumption that is not what the pod itself says, and forgets what was told.
pub(super) fn give_up(mut intake: Intake<'_, '_>) {
    let cluster = &mut intake.cluster;
    let tasks: Vec<Entity> = cluster.tasks.iter().map(|task| task.entity).collect();
    for task in tasks {
        let item = cluster.task(task);
        // A node that is gone since is held for nobody.
        let there = |assumption: &Assumption| match assumption {
            Assumption::Pipelined(node) => cluster.nodes.contains(*node),
            _ => true,
        };
        let persistence = cluster.reservations.rules.persistence;
        let held = reserved(item.observed, item.cold.said, Observation::ALL, persistence);
        let said = held.map(|held| Assumption::Pipelined(held.node)).filter(there);
        if item.assumed.0 != said {
            intake.dirty.vacant.extend(item.home());
            cluster.end_reservation(task, End::Released(Release::Withdrawn));
            cluster.assume(task, said);
            if let (Some(_), Some(Annotated { node, evicted })) = (said, held) {
                cluster.restore_reservation(task, node, evicted);
            }
            cluster.close_vacancy(task);
        }
        if let Ok(mut item) = cluster.tasks.get_mut(task) {
            forget_words(&mut item.cold);
            item.cold.trim();
            item.timing.answer_by = OptionTime::NONE;
        }
    }
    for mut job in &mut cluster.jobs {
        cluster.active_jobs.note(job.entity);
        job.identity.announced = None;
        job.identity.told = ToldGang::unsure(job.spec.tree.as_deref());
        *job.backoff = JobBackoff::default();
    }
}

/// Forgets all that was told of a pod, what it said and what was in mind for it.
pub(super) fn forget_sayings(cold: &mut Cold<TaskCold>) {
    forget_words(cold);
    if cold.last != LastTransaction::default() || cold.said != Said::default() {
        (cold.last, cold.said) = (LastTransaction(None), Said::default());
    }
}

/// Forgets what was told of a pod and what it was asked to say.
fn forget_words(cold: &mut Cold<TaskCold>) {
    if cold.told != ReportedWait::default() || cold.mirror != Mirror::default() {
        (cold.told, cold.mirror) = (ReportedWait::default(), Mirror::default());
    }
}

/// What is new about the mirrors of a reservation in its pod.
#[derive(Clone, Copy)]
struct Observation {
    nominated: bool,
    annotated: bool,
}

impl Observation {
    /// Whatever the pod says.
    const ALL: Self = Self { nominated: true, annotated: true };
}

/// Compares what the pod says of its reservation with what it said before, and with what it was asked
/// to say: until that is seen, whatever comes is older than our own wish and no news.
fn mirrored(mirror: &mut Mirror, before: &Said, said: &Said, first: bool) -> Observation {
    let (asked_node, asked_notes) = (mirror.nominated, mirror.annotated);
    if asked_node == Say::This(said.nominated) {
        mirror.nominated = Say::Anything;
    }
    if asked_notes == Say::This(said.annotated) {
        mirror.annotated = Say::Anything;
    }
    let changed_node = first || said.nominated != before.nominated;
    let changed_notes = first || said.annotated != before.annotated;
    Observation {
        nominated: asked_node == Say::Anything && changed_node,
        annotated: asked_notes == Say::Anything && changed_notes,
    }
}

/// A reservation made by another life of the scheduler, read from the pod: when it is first seen, and
/// when somebody else has written it since. The annotations come first.
fn reserved(
    observed: &Observed,
    said: Said,
    news: Observation,
    persistence: Persistence,
) -> Option<Annotated> {
    let waits =
        observed.node.is_none() && observed.phase == PodPhase::Pending && !observed.deleting;
    let noted = said.annotated.filter(|_| news.annotated && persistence.annotates());
    let named = said.nominated.filter(|_| news.nominated && persistence.nominates());
    let named = named.map(|node| Annotated { node, evicted: false });
    noted.or(named).filter(|_| waits)
}

/// How the observation ends a reservation on that node, if it does.
fn end_of(node: Entity, observed: &Observed) -> Option<End> {
    if observed.deleting || !matches!(observed.phase, PodPhase::Pending | PodPhase::Running) {
        return Some(End::Released(Release::PodGone));
    }
    match observed.node? {
        seen if seen == node => Some(End::Confirmed),
        _ => Some(End::Released(Release::BoundElsewhere)),
    }
}

/// Does the assumption still stand after the observation? It ends when it is confirmed (the pod is
/// on a node, is leaving) or contradicted (it has ended); an observation that only has not caught up
/// with it changes nothing.
fn stands(assumption: Assumption, observed: &Observed) -> bool {
    if observed.deleting || !is_alive(observed) {
        return false;
    }
    match assumption {
        Assumption::Evicting | Assumption::Moving(_) => observed.node.is_some(),
        Assumption::Allocated(_) | Assumption::Binding(_) | Assumption::Pipelined(_) => {
            observed.node.is_none()
        }
    }
}

/// Has the pod neither ended nor been lost?
pub(super) fn is_alive(observed: &Observed) -> bool {
    matches!(observed.phase, PodPhase::Pending | PodPhase::Running)
}

/// The number a pod's name ends in, if the name has three dash-separated parts or more.
fn trailing_number(name: &str) -> Option<u64> {
    let mut parts = name.rsplit('-');
    let number = parts.next()?.parse().ok()?;
    parts.nth(1).map(|_| number)
}
