//! Totals recomputed from tasks and nodes alone, and compared with what the ledger says.

use std::collections::BTreeMap;
use std::fmt::Debug;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::World;

use super::cluster::Cluster;
use super::domain::DomainTotals;
use super::job::JobAllocated;
use super::queue::QueueUse;
use super::rows::{NodeReadOnlyItem, TaskReadOnlyItem};
use super::stake::stake;
use super::task::TaskStatus;
use crate::resource::ResourceVec;

/// Every total that differs from its recomputation, in words; empty is right.
pub fn audit(world: &mut World) -> Vec<String> {
    world.run_system_cached(compare).unwrap_or_else(|error| vec![error.to_string()])
}

fn compare(cluster: Cluster<'_, '_>) -> Vec<String> {
    let mut faults = Vec::new();
    let rooms = node_rooms(&cluster);
    let mut tenants = node_tenants(&cluster);
    for node in &cluster.nodes {
        let want = &rooms[&node.entity];
        check(&mut faults, "node", &node.identity.name, &room(&node), want);
        let want = tenants.remove(&node.entity).unwrap_or_default();
        check(&mut faults, "tenants of", &node.identity.name, &node.tenants.0, &want);
    }
    let mut offered = ResourceVec::default();
    cluster.nodes.iter().for_each(|node| offered.add(&room(&node).allocatable));
    check(&mut faults, "cluster", &"capacity", &cluster.capacity.0, &offered);
    let mut taken = ResourceVec::default();
    for room in rooms.values() {
        taken.add(&room.used);
    }
    check(&mut faults, "cluster", &"use", &cluster.used.0, &taken);
    let mut sums = domain_sums(&cluster, &rooms);
    for domain in &cluster.domains {
        let want = sums.remove(&domain.entity).unwrap_or_default();
        check(&mut faults, "domain", &domain.spec.name, domain.totals, &want);
    }
    let mut tallies = job_tallies(&cluster);
    let mut uses: BTreeMap<Entity, QueueUse> = BTreeMap::new();
    for job in &cluster.jobs {
        let tally = tallies.remove(&job.entity).unwrap_or_default();
        check(&mut faults, "job", &job.identity.key, job.held, &tally.held);
        check(&mut faults, "job counts of", &job.identity.key, &job.counts.total, &tally.total);
        for (index, role) in job.counts.roles.iter().enumerate() {
            let counts = tally.roles.get(&index).copied().unwrap_or_default();
            check(&mut faults, "role counts of", &role.name, &role.counts, &counts);
        }
        for (index, group) in job.counts.subgroups.iter().enumerate() {
            let counts = tally.subgroups.get(&index).copied().unwrap_or_default();
            check(&mut faults, "sub-group counts of", &job.identity.key, &group.counts, &counts);
        }
        let stake = stake(job.spec, job.counts, &tally.held);
        check(&mut faults, "stake of", &job.identity.key, &job.stake.0, &stake);
        let mut next = Some(job.spec.queue);
        while let Some(queue) = next {
            let usage = uses.entry(queue).or_default();
            for (total, part) in usage.fields_mut().into_iter().zip(stake.fields()) {
                total.add(part);
            }
            next = cluster.queue(queue).spec.parent;
        }
    }
    for queue in &cluster.queues {
        let want = uses.remove(&queue.entity).unwrap_or_default();
        check(&mut faults, "queue", &queue.identity.name, queue.usage, &want);
    }
    faults
}

/// What the tasks of one job make.
#[derive(Default)]
struct Tally {
    held: JobAllocated,
    total: [u32; TaskStatus::COUNT],
    roles: BTreeMap<usize, [u32; TaskStatus::COUNT]>,
    subgroups: BTreeMap<usize, [u32; TaskStatus::COUNT]>,
}

fn job_tallies(cluster: &Cluster<'_, '_>) -> BTreeMap<Entity, Tally> {
    let mut tallies: BTreeMap<Entity, Tally> = BTreeMap::new();
    for task in &cluster.tasks {
        let Some(job) = task.membership.job else { continue };
        let tally = tallies.entry(job).or_default();
        let status = task.status().0;
        tally.total[status as usize] += 1;
        tally.roles.entry(task.membership.role.into()).or_default()[status as usize] += 1;
        if let Some(subgroup) = task.membership.subgroup {
            tally.subgroups.entry(subgroup.into()).or_default()[status as usize] += 1;
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

fn check<T: PartialEq + Debug>(
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
    let vector = |hot, tail: &crate::resource::Tail| ResourceVec { hot, tail: tail.clone() };
    DomainTotals {
        allocatable: vector(node.allocatable.0, &node.tails.allocatable),
        idle: vector(node.idle.0, &node.tails.idle),
        used: vector(node.used.0, &node.tails.used),
        releasing: vector(node.releasing.0, &node.tails.releasing),
        pipelined: vector(node.pipelined.0, &node.tails.pipelined),
    }
}

fn node_tenants(cluster: &Cluster<'_, '_>) -> BTreeMap<Entity, u32> {
    let mut tenants = BTreeMap::new();
    for node in cluster.tasks.iter().filter_map(|task| task.home()) {
        *tenants.entry(node).or_default() += 1;
    }
    tenants
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
        let (status, Some(node)) = task.status() else { continue };
        let (Some(room), request) = (rooms.get_mut(&node), request(&task)) else { continue };
        match status {
            TaskStatus::Pipelined => room.pipelined.add(&request),
            TaskStatus::Succeeded | TaskStatus::Failed | TaskStatus::Pending => {}
            _ => {
                room.used.add(&request);
                room.idle.sub(&request);
            }
        }
        if status == TaskStatus::Releasing {
            room.releasing.add(&request);
        }
    }
    rooms
}

fn add_room(total: &mut DomainTotals, room: &DomainTotals) {
    total.allocatable.add(&room.allocatable);
    total.idle.add(&room.idle);
    total.used.add(&room.used);
    total.releasing.add(&room.releasing);
    total.pipelined.add(&room.pipelined);
}

pub(super) fn request(task: &TaskReadOnlyItem<'_, '_>) -> ResourceVec {
    ResourceVec { hot: task.request.0, tail: task.tail.0.clone() }
}
