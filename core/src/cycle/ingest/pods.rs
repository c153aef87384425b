//! Second pass, pods: observation, membership, and which assumptions an observation ends.

use bevy_ecs::entity::Entity;

use super::intake::Intake;
use crate::class::{Asks, ClassId};
use crate::cycle::Role;
use crate::delta::{ObjectRef, Ownership, PodFacts, PodPhase, PreemptionPolicy, SubGroupPolicy};
use crate::ids::{Name, ObjectKey, TimeMs};
use crate::resource::ResourceVec;
use crate::world::{
    Assumed, Assumption, GroupRuleId, Guards, JobBackoff, JobKey, Labels, LastTransaction,
    Membership, Observed, PrioritySource, Request, RequestTail, RunsSince, TaskTraits, ToldWait,
    VolumeNeeds,
};

/// Priority of a pod nobody gave one, as in Volcano.
const UNSET_PRIORITY: i32 = 1;
/// First pause after a bind failed twice in a row; it doubles with every further failure.
const BACKOFF_FIRST_MS: i64 = 2_000;
/// Longest pause.
const BACKOFF_MAX_MS: i64 = 300_000;

/// The job a pod belongs to; none for a pod of another scheduler.
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
        self.set_aside.0.remove(&ObjectRef::Pod(facts.key.clone()));
        let Some(&task) = self.directory.tasks.get(&facts.key) else { return };
        let request = self.names.0.vector(&facts.request);
        let volumes = self.pod_claims(task, facts);
        let job = job_key(facts).and_then(|key| self.directory.jobs.get(&key).copied());
        // The node it was on may be needed by nobody else.
        self.dirty.vacant.extend(self.cluster.task(task).home());
        self.cluster.detach(task);
        self.leave_job_unless(task, job);
        let role = job.map_or(0, |job| self.join_job(task, job, facts));
        let queue = job.map(|job| self.cluster.job(job).spec.queue);
        let group = queue.and_then(|queue| self.cluster.groups.of(queue));
        let class = self.class_of(facts, &request, group, volumes.needs.clone());
        self.write_facts(task, facts, request);
        self.observe(task, facts);
        if let Ok(mut item) = self.cluster.tasks.get_mut(task) {
            *item.membership = Membership { job, role, subgroup: None, class };
            *item.marks = self.classes.get(class).marks.clone();
        }
        self.write_volumes(task, volumes);
        if let Some(job) = job {
            self.join_subgroup(task, job);
        }
        self.cluster.attach(task);
    }

    /// The class of a pod's tasks. Its own rules are learned first: it may match them itself.
    fn class_of(
        &mut self,
        facts: &PodFacts,
        request: &ResourceVec,
        group_rule: Option<GroupRuleId>,
        volumes: VolumeNeeds,
    ) -> ClassId {
        let (near, symbols) = (&mut *self.near, &mut *self.symbols);
        near.learn(&facts.constraints.near);
        let matched = near.matching(&facts.key.namespace, &facts.labels);
        let (request, constraints) = (request.clone(), facts.constraints.clone());
        let asks = Asks { request, constraints, group_rule, matched, volumes };
        self.classes.intern(asks, near, symbols)
    }

    /// Takes the task off the members of its job, unless that is the job given.
    fn leave_job_unless(&mut self, task: Entity, stays: Option<Entity>) {
        let item = self.cluster.task(task);
        let (old, seat) = (item.membership.job, item.seat.0 as usize);
        let Some(job) = old.filter(|_| old != stays) else { return };
        let Ok(mut item) = self.cluster.jobs.get_mut(job) else { return };
        item.members.0.swap_remove(seat);
        if let Some(&moved) = item.members.0.get(seat)
            && let Ok(mut moved) = self.cluster.tasks.get_mut(moved)
        {
            moved.seat.0 = seat as u32;
        }
        if let Ok(mut item) = self.cluster.tasks.get_mut(task) {
            item.membership.job = None;
        }
        self.dirty.vacant.push(job);
    }

    /// Adds the task to the members of a job if it is none of them yet; returns its role.
    fn join_job(&mut self, task: Entity, job: Entity, facts: &PodFacts) -> u16 {
        if self.cluster.task(task).membership.job != Some(job) {
            let mut item = self.cluster.job_mut(job);
            let seat = item.members.0.len() as u32;
            item.members.0.push(task);
            if let Ok(mut item) = self.cluster.tasks.get_mut(task) {
                item.seat.0 = seat;
            }
        }
        let lone = matches!(self.cluster.job(job).identity.key, JobKey::Lone(_));
        if lone {
            self.write_lone_job(job, facts);
        }
        self.cluster.job_mut(job).counts.role(&facts.role)
    }

    /// Puts the task into the sub-group the first matching policy of its job makes for it.
    fn join_subgroup(&mut self, task: Entity, job: Entity) {
        let Ok(mut task) = self.cluster.tasks.get_mut(task) else { return };
        let Ok(mut job) = self.cluster.jobs.get_mut(job) else { return };
        let found = job.spec.subgroups.iter().enumerate().find_map(|(at, policy)| {
            subgroup_values(policy, &task.labels).map(|values| (at as u16, values))
        });
        task.membership.subgroup =
            found.map(|(policy, values)| job.counts.subgroup(policy, values));
    }

    /// Replaces the policies of a job and sorts its tasks into sub-groups anew.
    pub(super) fn regroup(&mut self, job: Entity, policies: &[SubGroupPolicy]) {
        if self.cluster.job(job).spec.subgroups == policies {
            return;
        }
        let members = self.cluster.job(job).members.0.clone();
        for &task in &members {
            self.cluster.detach(task);
        }
        let mut item = self.cluster.job_mut(job);
        item.spec.subgroups = policies.to_vec();
        item.counts.subgroups.clear();
        for task in members {
            self.join_subgroup(task, job);
            self.cluster.attach(task);
        }
    }

    /// A pod without PodGroup says itself all there is to say of its job.
    fn write_lone_job(&mut self, job: Entity, facts: &PodFacts) {
        let priority =
            facts.priority.or_else(|| self.priorities.value(facts.priority_class.as_ref()));
        let queue = self.queue_named(facts.queue.as_ref());
        self.move_job(job, queue);
        let mut item = self.cluster.job_mut(job);
        item.identity.uid = facts.uid.clone();
        item.identity.created = facts.created;
        item.identity.present = true;
        item.spec.min_available = 1;
        item.spec.priority_class.clone_from(&facts.priority_class);
        item.spec.priority = priority.unwrap_or(0);
    }

    fn write_facts(&mut self, task: Entity, facts: &PodFacts, request: ResourceVec) {
        let source = PrioritySource {
            explicit: facts.priority,
            class: facts.priority_class.clone(),
            preempts: facts.preempts,
        };
        let (priority, preempts) = (self.task_priority(&source), self.preempts(&source));
        let Ok(mut item) = self.cluster.tasks.get_mut(task) else { return };
        *item.priority = source;
        *item.traits = TaskTraits {
            priority,
            best_effort: request.is_empty_but_pods(),
            gated: !facts.gates.is_empty(),
            ownership: facts.ownership,
            preemptable: facts.preemptable.unwrap_or(true),
            preempts,
            cooldown_ms: facts.cooldown_ms,
            unasked: facts.constraints.unasked,
        };
        *item.request = Request(request.hot);
        *item.tail = RequestTail(request.tail);
        item.labels.0.clone_from(&facts.labels);
        *item.guards = self.cluster.budgets.guards_of(&facts.key.namespace, &item.labels);
        item.identity.created = facts.created;
        item.identity.index = trailing_number(&facts.key.name);
    }

    /// The priority of a task: its own, else that of its class, else of the default class.
    pub(super) fn task_priority(&self, source: &PrioritySource) -> i32 {
        let of_class = || self.priorities.value(source.class.as_ref());
        source.explicit.or_else(of_class).unwrap_or(UNSET_PRIORITY)
    }

    /// May others be evicted for the task, by its own word or that of its class?
    pub(super) fn preempts(&self, source: &PrioritySource) -> PreemptionPolicy {
        source.preempts.unwrap_or_else(|| self.priorities.preempts(source.class.as_ref()))
    }

    fn observe(&mut self, task: Entity, facts: &PodFacts) {
        let node_named = |name: &Option<Name>| {
            name.as_ref().and_then(|name| self.directory.nodes.get(name)).copied()
        };
        let observed = Observed {
            phase: facts.phase,
            node: node_named(&facts.node),
            nominated: node_named(&facts.nominated),
            deleting: facts.deleting,
        };
        let Ok(mut item) = self.cluster.tasks.get_mut(task) else { return };
        let first_sight = item.identity.uid != facts.uid;
        let running = facts.phase == PodPhase::Running;
        let seen = item.since.0.filter(|_| !first_sight).or(Some(self.now.0));
        *item.since = RunsSince(seen.filter(|_| running));
        let others_decide = *self.role == Role::Follows;
        let assumed =
            if first_sight || others_decide { reserved(&observed) } else { item.assumed.0 };
        let confirmed = matches!(assumed, Some(Assumption::Binding(_))) && observed.node.is_some();
        item.identity.uid = facts.uid.clone();
        *item.observed = observed;
        *item.assumed = Assumed(assumed.filter(|&assumption| stands(assumption, &observed)));
        if first_sight {
            *item.last = LastTransaction(None);
            *item.told = ToldWait(None);
        }
        if let Some(old) = item.membership.job.filter(|_| confirmed) {
            *self.cluster.job_mut(old).backoff = JobBackoff::default();
        }
    }

    pub(super) fn pod_gone(&mut self, key: &ObjectKey) {
        self.set_aside.0.remove(&ObjectRef::Pod(key.clone()));
        let Some(&task) = self.directory.tasks.get(key) else { return };
        self.dirty.vacant.extend(self.cluster.task(task).home());
        self.cluster.detach(task);
        self.leave_job_unless(task, None);
        let Ok(mut item) = self.cluster.tasks.get_mut(task) else { return };
        item.identity.uid = Name::default();
        *item.observed = Observed::default();
        *item.assumed = Assumed(None);
        *item.guards = Guards::default();
        self.drop_claims(task);
        self.dirty.vacant.push(task);
    }

    pub(super) fn bind_failed(&mut self, pod: &ObjectKey, uid: &Name, _reason: &str) {
        let Some(task) = self.task_of(pod, uid) else { return };
        if !matches!(self.cluster.task(task).assumed.0, Some(Assumption::Binding(_))) {
            return;
        }
        self.dirty.vacant.extend(self.cluster.task(task).home());
        self.cluster.assume(task, None);
        let Some(job) = self.cluster.task(task).membership.job else { return };
        let now = self.now.0;
        let mut item = self.cluster.job_mut(job);
        item.backoff.failures += 1;
        let failures = item.backoff.failures;
        item.backoff.until = pause(failures).map(|pause| TimeMs(now.0 + pause));
        item.backoff.pause_ms = pause(failures).unwrap_or(0);
    }

    pub(super) fn evict_failed(&mut self, pod: &ObjectKey, uid: &Name) {
        let Some(task) = self.task_of(pod, uid) else { return };
        if self.cluster.task(task).assumed.0 == Some(Assumption::Evicting) {
            self.cluster.assume(task, None);
        }
    }

    fn task_of(&self, pod: &ObjectKey, uid: &Name) -> Option<Entity> {
        let task = self.directory.tasks.get(pod).copied()?;
        (self.cluster.task(task).identity.uid == *uid).then_some(task)
    }
}

/// The label values that put a pod into a sub-group of the policy; none if it belongs to none. A
/// policy without label keys makes no sub-groups, as upstream.
fn subgroup_values(policy: &SubGroupPolicy, labels: &Labels) -> Option<Vec<Name>> {
    let selected = policy.selector.as_ref().is_none_or(|requirements| {
        requirements.iter().all(|requirement| requirement.holds(labels.get(&requirement.key)))
    });
    let values = policy
        .match_label_keys
        .iter()
        .map(|key| labels.get(key).filter(|value| !value.is_empty()).cloned());
    let values: Option<Vec<Name>> = values.collect();
    values.filter(|values| selected && !values.is_empty())
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
        let said = reserved(item.observed).filter(there);
        if item.assumed.0 != said {
            intake.dirty.vacant.extend(item.home());
            cluster.assume(task, said);
        }
        if let Ok(mut item) = cluster.tasks.get_mut(task) {
            *item.told = ToldWait(None);
        }
    }
    for mut job in &mut cluster.jobs {
        job.identity.announced = None;
        *job.backoff = JobBackoff::default();
    }
}

/// How long a job pauses after so many failed binds in a row; the first is retried at once.
fn pause(failures: u32) -> Option<i64> {
    let doublings = failures.checked_sub(2)?.min(16);
    Some((BACKOFF_FIRST_MS << doublings).min(BACKOFF_MAX_MS))
}

/// A reservation made by an earlier life of the scheduler, or by the one that leads, read back from
/// the pod.
pub(super) fn reserved(observed: &Observed) -> Option<Assumption> {
    let waits =
        observed.node.is_none() && observed.phase == PodPhase::Pending && !observed.deleting;
    observed.nominated.filter(|_| waits).map(Assumption::Pipelined)
}

/// Does the assumption still stand after the observation? It ends when it is confirmed (the pod is
/// on a node, is leaving) or contradicted (it has ended); an observation that only has not caught up
/// with it changes nothing.
fn stands(assumption: Assumption, observed: &Observed) -> bool {
    if observed.deleting || !matches!(observed.phase, PodPhase::Pending | PodPhase::Running) {
        return false;
    }
    match assumption {
        Assumption::Evicting => observed.node.is_some(),
        Assumption::Allocated(_) | Assumption::Binding(_) | Assumption::Pipelined(_) => {
            observed.node.is_none()
        }
    }
}

/// The number a pod's name ends in, if the name has three dash-separated parts or more.
fn trailing_number(name: &str) -> Option<u64> {
    let mut parts = name.rsplit('-');
    let number = parts.next()?.parse().ok()?;
    parts.nth(1).map(|_| number)
}
