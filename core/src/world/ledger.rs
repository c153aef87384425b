//! Every total of the world, moved in one place: node, pod counts, job, role, queue path and domains.
//!
//! A task contributes to totals by its status, its node, its request and what counts it, and by nothing
//! else. Moving a task therefore means taking its contribution out, changing it, and putting it back
//! in.

mod bulk;
mod devices;
mod domains;
mod jobs;

pub(crate) use bulk::{BulkKey, BulkNodes, BulkPlace};
pub(crate) use devices::Holdings;
pub(crate) use domains::place_domains;

use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{EntityWorldMut, Query};

use super::budget::{BudgetCounts, Guards};
use super::cluster::Cluster;
use super::device::DeviceUse;
use super::domain::node_debt;
use super::job_charge::charge;
use super::queue::QueueUse;
use super::rows::{NodeItem, Queue, TaskItem};
use super::symbol::Symbol;
use super::task::{Assumed, Assumption, Request, TaskStatus};
use super::volume::{Choice, UseCounts, VolumeRules};
use crate::delta::GroupPhase;
use crate::ids::Name;
use crate::resource::{Lanes, ResourceVec, Tail};
use crate::world::{CountedBy, PodCounts, Stay, Unmeasured};

/// In or out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    In,
    Out,
}

impl Flow {
    fn lanes(self, total: &mut Lanes, amount: &Lanes) {
        match self {
            Self::In => total.add(amount),
            Self::Out => total.sub(amount),
        }
    }

    fn tail(self, total: &mut Tail, amount: &Tail) {
        match self {
            Self::In => total.add(amount),
            Self::Out => total.sub(amount),
        }
    }

    fn vector(self, total: &mut ResourceVec, amount: &ResourceVec) {
        self.lanes(&mut total.hot, &amount.hot);
        self.tail(&mut total.tail, &amount.tail);
    }

    fn pair(self, total: &mut [i64; 2], amount: [i64; 2]) {
        for (total, amount) in total.iter_mut().zip(amount) {
            *total = match self {
                Self::In => total.wrapping_add(amount),
                Self::Out => total.wrapping_sub(amount),
            };
        }
    }

    fn load(self, total: &mut Unmeasured, amount: &Unmeasured) {
        match self {
            Self::In => total.add(amount),
            Self::Out => total.remove(amount),
        }
    }

    fn count(self, total: &mut u32) {
        *total = match self {
            Self::In => *total + 1,
            Self::Out => *total - 1,
        };
    }

    fn neighbour(self, pod_counts: &mut PodCounts, counted_by: &CountedBy, stay: Stay) {
        for &count_id in counted_by.count_ids() {
            match self {
                Self::In => pod_counts.add(count_id, stay),
                Self::Out => pod_counts.remove(count_id, stay),
            }
        }
    }

    fn device(self, total: &mut DeviceUse, part: DeviceUse) {
        *total = match self {
            Self::In => total.and(part),
            Self::Out => total.without(part),
        };
    }

    fn amount(self, total: &mut u32, amount: u32) {
        *total = match self {
            Self::In => *total + amount,
            Self::Out => *total - amount,
        };
    }

    fn reverse(self) -> Self {
        match self {
            Self::In => Self::Out,
            Self::Out => Self::In,
        }
    }
}

/// What a task on a node takes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Charge {
    /// Room that is taken.
    Used,
    /// Room that is taken and will be free.
    Leaving,
    /// Room that is held.
    Held,
}

impl Charge {
    /// What a task in that status takes; one that is stuck is not counted on to leave.
    fn of(status: TaskStatus, stuck: bool) -> Option<Self> {
        match status {
            TaskStatus::Releasing if stuck => Some(Self::Used),
            TaskStatus::Succeeded | TaskStatus::Failed | TaskStatus::Pending => None,
            TaskStatus::Pipelined => Some(Self::Held),
            TaskStatus::Releasing => Some(Self::Leaving),
            TaskStatus::Allocated
            | TaskStatus::Binding
            | TaskStatus::Bound
            | TaskStatus::Running
            | TaskStatus::Unknown => Some(Self::Used),
        }
    }
}

impl Charge {
    /// How other pods count the task.
    fn stay(self) -> Stay {
        match self {
            Self::Used | Self::Held => Stay::Staying,
            Self::Leaving => Stay::Leaving,
        }
    }
}

/// What a task contributes to totals.
#[derive(Clone, Debug)]
struct Contribution {
    status: TaskStatus,
    home: Option<Entity>,
    /// Where room is held for the pod that comes in its place.
    heir_home: Option<Entity>,
    job: Option<Entity>,
    role: u16,
    subgroup: Option<u16>,
    gated: bool,
    /// It is leaving, and nobody counts on it any more.
    stuck: bool,
    request: Request,
    volumes: Option<Arc<VolumeRules>>,
    /// Devices it shares.
    devices: Vec<Name>,
    guards: Guards,
    /// What it uses is in what was measured of its node.
    measured: bool,
    /// What it counts for in its budgets.
    guarded: [bool; 3],
}

impl Contribution {
    fn of(task: &TaskItem<'_, '_>) -> Self {
        Self {
            status: task.status().0,
            home: task.home(),
            heir_home: task.heir_home(),
            job: task.membership.job,
            role: task.membership.role,
            subgroup: task.membership.subgroup,
            gated: task.traits.gated,
            stuck: task.timing.stuck,
            measured: task.timing.measured,
            request: task.request.clone(),
            volumes: task.cold.volumes.rules.clone(),
            devices: task.cold.devices.clone(),
            guards: task.cold.guards.clone(),
            guarded: BudgetCounts::of(task.status().0, task.assumed.0),
        }
    }

    /// What its job and its queue count it as.
    fn counted(&self) -> TaskStatus {
        if self.heir_home.is_some() { TaskStatus::Pipelined } else { self.status }
    }

    /// The nodes it concerns, with what it takes of each.
    fn charges(&self) -> impl Iterator<Item = (Entity, Option<Charge>)> {
        let own = self.home.map(|node| (node, Charge::of(self.status, self.stuck)));
        let heir = self.heir_home.map(|node| (node, Some(Charge::Held)));
        own.into_iter().chain(heir)
    }
}

impl Cluster<'_, '_> {
    /// Puts a task's contribution into every total.
    pub(crate) fn attach(&mut self, task: Entity) {
        self.flow(task, Flow::In);
    }

    /// Takes a task's contribution out of every total, so that any of its facts may change.
    pub(crate) fn detach(&mut self, task: Entity) {
        self.flow(task, Flow::Out);
    }

    fn flow(&mut self, task: Entity, flow: Flow) {
        let Ok(task) = self.tasks.get_mut(task) else { return };
        let contribution = Contribution::of(&task);
        self.post(&contribution, flow);
        self.settle(contribution.job);
    }

    /// Replaces what is assumed of a task and moves all totals with it; returns what was assumed.
    pub(crate) fn assume(
        &mut self,
        task: Entity,
        assumption: Option<Assumption>,
    ) -> Option<Assumption> {
        self.assume_with(task, assumption, None)
    }

    /// Puts back what was assumed of a task, with the very volumes and devices it held.
    pub(crate) fn restore(
        &mut self,
        task: Entity,
        assumption: Option<Assumption>,
        former: &Holdings,
    ) {
        self.assume_with(task, assumption, Some(former));
    }

    fn assume_with(
        &mut self,
        task: Entity,
        assumption: Option<Assumption>,
        former: Option<&Holdings>,
    ) -> Option<Assumption> {
        let Ok(mut item) = self.tasks.get_mut(task) else { return None };
        let before = item.assumed.0;
        if before == assumption {
            return before;
        }
        let old = Contribution::of(&item);
        *item.assumed = Assumed(assumption);
        let status = item.status().0;
        let guarded = BudgetCounts::of(status, item.assumed.0);
        let (home, heir_home) = (item.home(), item.heir_home());
        let mut new = Contribution { status, home, heir_home, guarded, ..old.clone() };
        let moved = item.cold.volumes.has_wishes() && old.home != new.home;
        if old.status.is_allocated() && new.status.is_allocated() && old.home == new.home {
            // A place that becomes a bind: nothing but the counts of its job moves.
            self.post_task(&old, Flow::Out);
            self.post_task(&new, Flow::In);
            self.note_job(new.job);
            return before;
        }
        self.post(&old, Flow::Out);
        if new.request.share().is_some() {
            self.move_devices(task, &old, &mut new, former);
        }
        self.post(&new, Flow::In);
        if moved {
            self.repick(task, former.map_or(Choice::Best, Holdings::volumes));
        }
        self.settle(new.job);
        before
    }

    /// Puts the job onto the list of active jobs.
    fn note_job(&mut self, job: Option<Entity>) {
        if let Some(job) = job {
            self.active_jobs.note(job);
        }
    }

    fn post(&mut self, contribution: &Contribution, flow: Flow) {
        for (node, charge) in contribution.charges() {
            self.post_node((node, charge), contribution, flow);
        }
        if self.groups.inheritance.is_some()
            && holds_of_group(contribution.counted())
            && let (Some(job), Some(node)) =
                (contribution.job, contribution.heir_home.or(contribution.home))
        {
            self.post_group(job, node, &contribution.request.amounts, flow);
        }
        self.post_task(contribution, flow);
    }

    /// What has nothing to do with the node: the job and the budgets of a task.
    fn post_task(&mut self, contribution: &Contribution, flow: Flow) {
        if let Some(job) = contribution.job {
            self.post_job(job, contribution, flow);
        }
        for &id in &contribution.guards.0 {
            let Some(counts) = self.budgets.counts_mut(id) else { continue };
            let totals = [&mut counts.expected, &mut counts.healthy, &mut counts.evicting];
            let counted = totals.into_iter().zip(contribution.guarded);
            counted.filter(|entry| entry.1).for_each(|entry| flow.count(entry.0));
        }
    }

    /// What the queue of a job holds of the group of a node.
    fn post_group(&mut self, job: Entity, node: Entity, amounts: &ResourceVec, flow: Flow) {
        let (Ok(job), Ok(node)) = (self.jobs.get(job), self.nodes.get(node)) else { return };
        if let Some(group) = node.rules.label(Symbol::NODE_GROUP) {
            flow.vector(self.groups.used_mut(job.spec.queue, group), amounts);
        }
    }

    fn post_node(
        &mut self,
        (node, charge): (Entity, Option<Charge>),
        contribution: &Contribution,
        flow: Flow,
    ) {
        let Ok(mut node) = self.nodes.get_mut(node) else { return };
        flow.count(&mut node.tenants.0);
        let Some(charge) = charge else { return };
        let request = contribution.request.room();
        let before = debt_of(&node);
        charge_node(&mut node, charge, request, flow);
        let shift = devices::post_devices(&mut node, contribution, charge, flow);
        let debts = (before, debt_of(&node));
        if charge != Charge::Held {
            flow.vector(&mut self.used.0, request);
            if contribution.job.is_none() {
                flow.vector(&mut self.capacity.by_others, &contribution.request.amounts);
            }
            flow.pair(&mut node.unasked.0, contribution.request.unasked);
        }
        if let Some(shift) = shift {
            shift.post_used(&mut self.used.0);
        }
        let unmeasured = &contribution.request.unmeasured;
        if charge == Charge::Used && !contribution.measured && *unmeasured != Unmeasured::NONE {
            flow.load(&mut node.load.unmeasured, unmeasured);
        }
        let (releasing, pipelined) = (&node.releasing.0, &node.pipelined.0);
        *node.flags = node.flags.with_room(releasing, pipelined, node.unasked.0);
        flow.neighbour(&mut node.pod_counts, &contribution.request.counted_by, charge.stay());
        if let Some(volumes) = &contribution.volumes {
            for &(driver, count) in &volumes.attach {
                charge_count(&mut node.attachments.entry(driver).counts, charge, count, flow);
            }
            node.attachments.prune();
            for &claim in &volumes.exclusive {
                charge_count(&mut self.volumes.shared.change(claim).counts, charge, 1, flow);
            }
        }
        self.log.touch(node.place.row);
        for &domain in &node.domains.0 {
            let Ok(mut domain) = self.domains.get_mut(domain) else { continue };
            let totals = &mut *domain.totals;
            match charge {
                Charge::Held => flow.vector(&mut totals.pipelined, request),
                Charge::Used | Charge::Leaving => {
                    flow.vector(&mut totals.used, request);
                    flow.reverse().vector(&mut totals.idle, request);
                }
            }
            if charge == Charge::Leaving {
                flow.vector(&mut totals.releasing, request);
            }
            if let Some(shift) = shift {
                shift.post(totals);
            }
            replace(&mut totals.debt, debts);
        }
    }

    fn post_job(&mut self, job: Entity, contribution: &Contribution, flow: Flow) {
        let Ok(mut job) = self.jobs.get_mut(job) else { return };
        jobs::count_task(&mut job.counts, contribution, flow);
        jobs::hold(&mut job.held, contribution, flow);
    }

    /// Writes the phase of a job; what it was promised changes with it.
    pub(crate) fn set_phase(&mut self, job: Entity, phase: GroupPhase) {
        let Ok(mut item) = self.jobs.get_mut(job) else { return };
        item.spec.phase = phase;
        self.settle(Some(job));
    }

    /// Brings what a job adds to its queues up to date with its columns: after its tasks, its phase or
    /// what it asks for have changed.
    pub(crate) fn settle(&mut self, job: Option<Entity>) {
        let Some(entity) = job else { return };
        let Ok(mut job) = self.jobs.get_mut(entity) else { return };
        self.active_jobs.note(entity);
        let queue = job.spec.queue;
        let now = charge(&job.spec, &job.counts, &job.held);
        let before = std::mem::replace(&mut job.charge.0, now);
        post_queue_path(&mut self.queues, queue, &before, &job.charge.0);
    }

    /// Replaces what a node offers and moves every total that counts it.
    pub(crate) fn offer(&mut self, node: Entity, offer: &ResourceVec) {
        let Ok(mut item) = self.nodes.get_mut(node) else { return };
        let before = ResourceVec { hot: item.allocatable.0, tail: item.tails.allocatable.clone() };
        let debt = debt_of(&item);
        item.allocatable.0 = offer.hot;
        item.tails.allocatable = offer.tail.clone();
        for (flow, amount) in [(Flow::Out, &before), (Flow::In, offer)] {
            flow.lanes(&mut item.idle.0, &amount.hot);
            flow.tail(&mut item.tails.idle, &amount.tail);
            flow.vector(&mut self.capacity.offered, amount);
            for &domain in &item.domains.0 {
                let Ok(mut domain) = self.domains.get_mut(domain) else { continue };
                flow.vector(&mut domain.totals.allocatable, amount);
                flow.vector(&mut domain.totals.idle, amount);
            }
        }
        let debts = (debt, debt_of(&item));
        for &domain in &item.domains.0 {
            let Ok(mut domain) = self.domains.get_mut(domain) else { continue };
            replace(&mut domain.totals.debt, debts);
        }
        self.log.touch(item.place.row);
    }

    /// Moves everything a job holds from the path of its queue, or onto it: before and after the
    /// job changes queues or a queue changes parents.
    pub(crate) fn detach_job(&mut self, job: Entity) {
        self.flow_job(job, Flow::Out);
    }

    /// The way back of [`Self::detach_job`].
    pub(crate) fn attach_job(&mut self, job: Entity) {
        self.flow_job(job, Flow::In);
    }

    fn flow_job(&mut self, job: Entity, flow: Flow) {
        let Ok(job) = self.jobs.get(job) else { return };
        let (queue, charge, nothing) = (job.spec.queue, job.charge.0.clone(), QueueUse::default());
        match flow {
            Flow::In => post_queue_path(&mut self.queues, queue, &nothing, &charge),
            Flow::Out => post_queue_path(&mut self.queues, queue, &charge, &nothing),
        }
    }
}

/// Forgets what a queue uses, before its jobs are attached to the new tree of queues.
pub(crate) fn clear_usage(queue: &mut EntityWorldMut<'_>) {
    if let Some(mut usage) = queue.get_mut::<QueueUse>() {
        *usage = QueueUse::default();
    }
}

/// Replaces one part of every queue's totals on a path by another.
fn post_queue_path(
    queues: &mut Query<'_, '_, Queue>,
    queue: Entity,
    before: &QueueUse,
    now: &QueueUse,
) {
    let (before, now) = (before.fields(), now.fields());
    let differs: [bool; QueueUse::FIELDS] = std::array::from_fn(|at| before[at] != now[at]);
    let mut next = Some(queue).filter(|_| differs.contains(&true));
    while let Some(queue) = next {
        let Ok(mut queue) = queues.get_mut(queue) else { break };
        let totals = queue.usage.fields_mut();
        for (at, total) in totals.into_iter().enumerate().filter(|&(at, _)| differs[at]) {
            total.sub(before[at]);
            total.add(now[at]);
        }
        next = queue.spec.parent;
    }
}

fn debt_of(node: &NodeItem<'_, '_>) -> Lanes {
    node_debt(&node.idle.0, &node.releasing.0, &node.pipelined.0)
}

/// Puts the second amount into a total in place of the first.
fn replace(total: &mut Lanes, (before, after): (Lanes, Lanes)) {
    if before != after {
        total.sub(&before);
        total.add(&after);
    }
}

/// Does a task in that status hold something of its node's group, for now or later?
pub(crate) fn holds_of_group(status: TaskStatus) -> bool {
    status.is_allocated() || status == TaskStatus::Pipelined
}

fn charge_node(node: &mut NodeItem<'_, '_>, charge: Charge, request: &ResourceVec, flow: Flow) {
    let deep = !request.tail.is_empty();
    if charge == Charge::Held {
        flow.lanes(&mut node.pipelined.0, &request.hot);
        if deep {
            flow.tail(&mut node.tails.pipelined, &request.tail);
        }
        return;
    }
    flow.lanes(&mut node.used.0, &request.hot);
    flow.reverse().lanes(&mut node.idle.0, &request.hot);
    if deep {
        flow.tail(&mut node.tails.used, &request.tail);
        flow.reverse().tail(&mut node.tails.idle, &request.tail);
    }
    if charge == Charge::Leaving {
        flow.lanes(&mut node.releasing.0, &request.hot);
        if deep {
            flow.tail(&mut node.tails.releasing, &request.tail);
        }
    }
}

fn charge_count(counts: &mut UseCounts, charge: Charge, amount: u32, flow: Flow) {
    match charge {
        Charge::Held => flow.amount(&mut counts.held, amount),
        Charge::Used => flow.amount(&mut counts.used, amount),
        Charge::Leaving => {
            flow.amount(&mut counts.used, amount);
            flow.amount(&mut counts.leaving, amount);
        }
    }
}
