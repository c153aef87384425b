//! Totals recomputed from tasks and nodes alone, and compared with what the ledger says.

use std::collections::BTreeMap;
use std::fmt::Debug;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{Res, World};

use crate::class::Classes;
use crate::interpod::SelectorRegistry;
use crate::resource::{Lanes, ResourceVec, Tail};
use crate::world::{
    Assumption, BudgetCounts, Cluster, DomainTotals, JobAllocated, NodeFlags, NodeReadOnlyItem,
    PodCounts, QueueUse, Stay, Symbol, TaskReadOnlyItem, TaskStatus, Unmeasured, charge,
    holds_of_group, node_debt,
};

/// Every total that differs from its recomputation, in words; empty is right.
pub(crate) fn audit(world: &mut World) -> Vec<String> {
    world.run_system_cached(compare).unwrap_or_else(|error| vec![error.to_string()])
}

fn compare(
    cluster: Cluster<'_, '_>,
    classes: Res<'_, Classes>,
    interpod: Res<'_, SelectorRegistry>,
) -> Vec<String> {
    let mut faults = Vec::new();
    check_neighbours(&mut faults, &cluster, &classes, &interpod);
    let rooms = node_rooms(&cluster);
    let mut tenants = node_tenants(&cluster);
    for node in &cluster.nodes {
        let want = &rooms[&node.entity];
        check(&mut faults, "node", &node.identity.name, &room(&node), want);
        let want = tenants.remove(&node.entity).unwrap_or_default();
        check(&mut faults, "tenants of", &node.identity.name, &node.tenants(), &want);
    }
    check_extras(&mut faults, &cluster);
    if cluster.groups.inheritance.is_some() {
        let want = group_uses(&cluster);
        check(&mut faults, "node groups", &"of queues", &cluster.groups.uses(), &want);
    }
    check_budgets(&cluster, &mut faults);
    let mut offered = ResourceVec::default();
    cluster.nodes.iter().for_each(|node| offered.add(&super::devices::offer(&cluster, &node)));
    check(&mut faults, "cluster", &"capacity", cluster.capacity(), &offered);
    let mut taken = ResourceVec::default();
    for room in rooms.values() {
        taken.add(&room.used);
    }
    check(&mut faults, "cluster", &"use", cluster.used(), &taken);
    let others = taken_by_others(&cluster);
    check(&mut faults, "cluster", &"use of others", cluster.taken_by_others(), &others);
    let mut sums = domain_sums(&cluster, &rooms);
    for domain in &cluster.domains {
        let want = sums.remove(&domain.entity).unwrap_or_default();
        check(&mut faults, "domain", &domain.spec.name, domain.totals(), &want);
    }
    let mut tallies = job_tallies(&cluster);
    let mut uses: BTreeMap<Entity, QueueUse> = BTreeMap::new();
    for job in &cluster.jobs {
        let tally = tallies.remove(&job.entity).unwrap_or_default();
        check(&mut faults, "job", &job.identity.key, job.held(), &tally.held);
        check(&mut faults, "job counts of", &job.identity.key, &job.counts().total, &tally.total);
        for (index, role) in job.counts().roles.iter().enumerate() {
            let counts = tally.roles.get(&index).copied().unwrap_or_default();
            check(&mut faults, "role counts of", &role.name, &role.counts, &counts);
        }
        for (index, group) in job.counts().subgroups.iter().enumerate() {
            let counts = tally.subgroups.get(&index).copied().unwrap_or_default();
            check(&mut faults, "sub-group counts of", &job.identity.key, &group.counts, &counts);
        }
        let charge = charge(job.spec, job.counts(), &tally.held);
        check(&mut faults, "charge of", &job.identity.key, &job.charge().0, &charge);
        let mut next = Some(job.spec.queue);
        while let Some(queue) = next {
            uses.entry(queue).or_default().add(&charge);
            next = cluster.queue(queue).spec.parent;
        }
    }
    for queue in &cluster.queues {
        let want = uses.remove(&queue.entity).unwrap_or_default();
        check(&mut faults, "queue", &queue.identity.name, queue.usage(), &want);
    }
    super::volumes::compare(&cluster, &mut faults);
    super::devices::compare(&cluster, &mut faults);
    faults
}

/// What tasks on nodes count for beside their requests, and what follows from it.
fn check_extras(faults: &mut Vec<String>, cluster: &Cluster<'_, '_>) {
    let mut unasked = node_unasked(cluster);
    let mut unmeasured = node_unmeasured(cluster);
    for node in &cluster.nodes {
        let want = unasked.remove(&node.entity).unwrap_or_default();
        check(faults, "unasked on", &node.identity.name, &node.unasked(), &want);
        let want = unmeasured.remove(&node.entity).unwrap_or_default();
        check(faults, "unmeasured on", &node.identity.name, node.load().unmeasured(), &want);
        let want = NodeFlags::default().with_object(node.identity, node.rules);
        let want = want.with_room(node.releasing(), node.pipelined(), node.unasked());
        check(faults, "oddities of", &node.identity.name, node.flags, &want);
    }
}

/// Every reservation that does not agree with its record, in words; empty is right. To be asked
/// between transactions: records follow what is committed.
///
/// Room is held for exactly the tasks that have a record of it, where the record says; and what was
/// made or read back is confirmed, given up or still held.
pub(crate) fn audit_reservations(world: &mut World) -> Vec<String> {
    world.run_system_cached(check_reservations).unwrap_or_else(|error| vec![error.to_string()])
}

fn check_reservations(cluster: Cluster<'_, '_>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut held = 0;
    for task in &cluster.tasks {
        let record = task.cold.nomination.0.map(|record| record.node);
        held += u64::from(record.is_some());
        let want = match task.assumed.0 {
            Some(Assumption::Pipelined(node) | Assumption::Moving(node)) => Some(node),
            // A bind keeps the record it began with until it is answered.
            Some(Assumption::Binding(node)) => record.map(|_| node),
            _ => None,
        };
        check(&mut faults, "reservation of", &task.identity.key, &record, &want);
    }
    check(&mut faults, "reservations", &"held", &cluster.reservations.counts.held(), &held);
    faults
}

/// Who matches what, and how many of them are on each node.
fn check_neighbours(
    faults: &mut Vec<String>,
    cluster: &Cluster<'_, '_>,
    classes: &Classes,
    interpod: &SelectorRegistry,
) {
    let mut wanted: BTreeMap<Entity, PodCounts> = BTreeMap::new();
    for task in &cluster.tasks {
        let (name, class) = (&task.identity.key, classes.get(task.membership.class));
        let live = class.matched_selectors().iter().filter(|&&selector| interpod.is_live(selector));
        let matched = interpod.matching(&name.namespace, &task.labels.0);
        check(faults, "selectors of", name, &live.copied().collect(), &matched);
        check(faults, "request of", name, task.request, &class.asked);
        if let Some(node) = task.heir_home() {
            let pod_counts = wanted.entry(node).or_default();
            let by = task.request.counted_by.count_ids().iter();
            by.for_each(|&tally| pod_counts.add(tally, Stay::Staying));
        }
        let (Some(node), status) = (task.home(), task.status().0) else { continue };
        let stay = match status {
            TaskStatus::Succeeded | TaskStatus::Failed | TaskStatus::Pending => continue,
            TaskStatus::Releasing if !task.timing.stuck => Stay::Leaving,
            _ => Stay::Staying,
        };
        let pod_counts = wanted.entry(node).or_default();
        task.request.counted_by.count_ids().iter().for_each(|&tally| pod_counts.add(tally, stay));
    }
    for node in &cluster.nodes {
        let want = wanted.remove(&node.entity).unwrap_or_default();
        check(faults, "neighbours on", &node.identity.name, node.pod_counts(), &want);
    }
}

/// What the tasks of one job make.
#[derive(Default)]
struct JobTally {
    held: JobAllocated,
    total: [u32; TaskStatus::COUNT],
    roles: BTreeMap<usize, [u32; TaskStatus::COUNT]>,
    subgroups: BTreeMap<usize, [u32; TaskStatus::COUNT]>,
}

fn job_tallies(cluster: &Cluster<'_, '_>) -> BTreeMap<Entity, JobTally> {
    let mut tallies: BTreeMap<Entity, JobTally> = BTreeMap::new();
    for task in &cluster.tasks {
        let Some(job) = task.membership.job else { continue };
        let tally = tallies.entry(job).or_default();
        let status = task.counted_status();
        tally.total[status as usize] += 1;
        tally.roles.entry(task.membership.role.into()).or_default()[status as usize] += 1;
        if let Some(subgroup) = task.membership.subgroup {
            tally.subgroups.entry(subgroup.into()).or_default()[status as usize] += 1;
        }
        if !status.is_ended() {
            tally.held.asked.add(&request(&task));
        }
        match status {
            TaskStatus::Pipelined => tally.held.reserved.add(&request(&task)),
            TaskStatus::Pending => {
                tally.held.waiting.add(&request(&task));
                if task.traits.gated {
                    tally.held.gated.add(&request(&task));
                }
            }
            status if status.is_allocated() => tally.held.allocated.add(&request(&task)),
            _ => {}
        }
    }
    tallies
}

fn domain_sums(
    cluster: &Cluster<'_, '_>,
    rooms: &BTreeMap<Entity, DomainTotals>,
) -> BTreeMap<Entity, DomainTotals> {
    let mut sums: BTreeMap<Entity, DomainTotals> = BTreeMap::new();
    for node in &cluster.nodes {
        for &domain in &node.domains.0 {
            add_room(sums.entry(domain).or_default(), &rooms[&node.entity]);
        }
    }
    sums
}

pub(super) fn check<T: PartialEq + Debug>(
    faults: &mut Vec<String>,
    kind: &str,
    name: &impl std::fmt::Display,
    have: &T,
    want: &T,
) {
    if have != want {
        faults.push(format!("{kind} {name}: the ledger has {have:?}, the tasks make {want:?}"));
    }
}

pub(super) fn room(node: &NodeReadOnlyItem<'_, '_>) -> DomainTotals {
    let vector = |hot: &Lanes, tail: &Tail| ResourceVec { hot: *hot, tail: tail.clone() };
    DomainTotals {
        allocatable: vector(node.allocatable(), &node.tails().allocatable),
        idle: vector(node.idle(), &node.tails().idle),
        used: vector(node.used(), &node.tails().used),
        releasing: vector(node.releasing(), &node.tails().releasing),
        pipelined: vector(node.pipelined(), &node.tails().pipelined),
        debt: node_debt(node.idle(), node.releasing(), node.pipelined()),
    }
}

fn node_tenants(cluster: &Cluster<'_, '_>) -> BTreeMap<Entity, u32> {
    let mut tenants = BTreeMap::new();
    for node in cluster.tasks.iter().flat_map(|task| [task.home(), task.heir_home()]).flatten() {
        *tenants.entry(node).or_default() += 1;
    }
    tenants
}

/// Budgets guard whom they say, and count them.
fn check_budgets(cluster: &Cluster<'_, '_>, faults: &mut Vec<String>) {
    for (id, budget) in cluster.budgets.iter() {
        let mut want = BudgetCounts::default();
        // A task that is gone has no uid until it is swept up.
        for task in cluster.tasks.iter().filter(|task| !task.identity.uid.is_empty()) {
            if budget.guards(&task.identity.key.namespace, task.labels) {
                let counted = BudgetCounts::of(task.status().0, task.assumed.0);
                want.expected += u32::from(counted[0]);
                want.healthy += u32::from(counted[1]);
                want.evicting += u32::from(counted[2]);
                let known = task.cold.guards.0.contains(&id);
                check(faults, "budget of", &task.identity.key, &known, &true);
            }
        }
        check(faults, "budget", &budget.facts.key, &budget.counts, &want);
    }
}

/// What tasks on each node count for above what they ask.
fn node_unasked(cluster: &Cluster<'_, '_>) -> BTreeMap<Entity, [i64; 2]> {
    let mut sums: BTreeMap<Entity, [i64; 2]> = BTreeMap::new();
    for task in &cluster.tasks {
        let (status, Some(node)) = task.status() else { continue };
        if !status.is_ended() && !matches!(status, TaskStatus::Pending | TaskStatus::Pipelined) {
            let sum = sums.entry(node).or_default();
            sum.iter_mut().zip(task.request.unasked).for_each(|(sum, more)| *sum += more);
        }
    }
    sums
}

/// What tasks on each node ask for that is in no measurement.
fn node_unmeasured(cluster: &Cluster<'_, '_>) -> BTreeMap<Entity, Unmeasured> {
    let mut sums: BTreeMap<Entity, Unmeasured> = BTreeMap::new();
    for task in cluster.tasks.iter().filter(|task| !task.timing.measured) {
        let (status, Some(node)) = task.status() else { continue };
        let stuck = status == TaskStatus::Releasing && task.timing.stuck;
        if stuck || status.is_allocated() || status == TaskStatus::Unknown {
            let (sum, more) = (sums.entry(node).or_default(), &task.request.unmeasured);
            for at in 0..2 {
                sum.requests[at] += more.requests[at];
                sum.limits[at] += more.limits[at];
            }
            sum.silent += more.silent;
        }
    }
    sums
}

/// What queues hold of groups of nodes.
pub(crate) fn group_uses(cluster: &Cluster<'_, '_>) -> BTreeMap<(Entity, Symbol), ResourceVec> {
    let mut uses: BTreeMap<(Entity, Symbol), ResourceVec> = BTreeMap::new();
    for task in &cluster.tasks {
        let (status, home) = (task.counted_status(), task.heir_home().or(task.status().1));
        let Some(node) = home else { continue };
        let (Some(job), true) = (task.membership.job, holds_of_group(status)) else { continue };
        if let Some(group) = cluster.node(node).rules.label(Symbol::NODE_GROUP) {
            let key = (cluster.job(job).spec.queue, group);
            uses.entry(key).or_default().add(&request(&task));
        }
    }
    uses.retain(|_, used| *used != ResourceVec::default());
    uses
}

/// What pods of other schedulers take of nodes.
fn taken_by_others(cluster: &Cluster<'_, '_>) -> ResourceVec {
    let mut taken = ResourceVec::default();
    for task in cluster.tasks.iter().filter(|task| task.membership.job.is_none()) {
        use TaskStatus::{Failed, Pending, Pipelined, Succeeded};
        let (status, node) = task.status();
        if node.is_some() && !matches!(status, Succeeded | Failed | Pending | Pipelined) {
            taken.add(&request(&task));
        }
    }
    taken
}

/// What each node's room must be, from its offer and the tasks on it.
fn node_rooms(cluster: &Cluster<'_, '_>) -> BTreeMap<Entity, DomainTotals> {
    let mut rooms: BTreeMap<Entity, DomainTotals> = cluster
        .nodes
        .iter()
        .map(|node| {
            let allocatable = room(&node).allocatable;
            let idle = allocatable.clone();
            (node.entity, DomainTotals { allocatable, idle, ..DomainTotals::default() })
        })
        .collect();
    for task in &cluster.tasks {
        if let Some(room) = task.heir_home().and_then(|node| rooms.get_mut(&node)) {
            room.pipelined.add(task.request.room());
        }
        let (status, Some(node)) = task.status() else { continue };
        let (Some(room), request) = (rooms.get_mut(&node), task.request.room().clone()) else {
            continue;
        };
        match status {
            TaskStatus::Pipelined => room.pipelined.add(&request),
            TaskStatus::Succeeded | TaskStatus::Failed | TaskStatus::Pending => {}
            _ => {
                room.used.add(&request);
                room.idle.sub(&request);
            }
        }
        if status == TaskStatus::Releasing && !task.timing.stuck {
            room.releasing.add(&request);
        }
    }
    super::devices::add_to_rooms(cluster, &mut rooms);
    for room in rooms.values_mut() {
        room.debt = node_debt(&room.idle.hot, &room.releasing.hot, &room.pipelined.hot);
    }
    rooms
}

fn add_room(total: &mut DomainTotals, room: &DomainTotals) {
    total.allocatable.add(&room.allocatable);
    total.idle.add(&room.idle);
    total.used.add(&room.used);
    total.releasing.add(&room.releasing);
    total.pipelined.add(&room.pipelined);
    total.debt.add(&room.debt);
}

pub(super) fn request(task: &TaskReadOnlyItem<'_, '_>) -> ResourceVec {
    task.whole_request()
}
