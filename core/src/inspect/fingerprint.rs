//! The world as text, to compare two worlds by.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{Res, World};

use super::audit::{request, room};
use crate::class::{Class, Classes};
use crate::ids::Name;
use crate::interpod::{SelectorId, SelectorRegistry};
use crate::resource::ResourceVec;
use crate::world::{
    Cluster, DomainReadOnlyItem, DomainTotals, JobAllocated, JobReadOnlyItem, Names, PodCounts,
    PodSets, Presence, QueueUse, Symbols, TaskReadOnlyItem,
};

/// All that is known and assumed, in an order that depends on names alone: two worlds that know the
/// same have the same text, whatever order they learned it in.
pub(crate) fn fingerprint(world: &mut World) -> String {
    world.run_system_cached(describe).unwrap_or_else(|error| error.to_string())
}

fn describe(
    cluster: Cluster<'_, '_>,
    names: Res<'_, Names>,
    (interpod, classes): (Res<'_, SelectorRegistry>, Res<'_, Classes>),
    symbols: Res<'_, Symbols>,
    pod_sets: Res<'_, PodSets>,
) -> String {
    let of_tasks = cluster.tasks.iter().map(|task| classes.get(task.membership.class));
    // A selector nobody uses any more may be remembered or not.
    let mut used: Vec<SelectorId> = of_tasks.flat_map(Class::own_selectors).copied().collect();
    used.sort_unstable();
    used.dedup();
    let writer =
        Writer { cluster: &cluster, names: &names, interpod: &interpod, classes: &classes, used };
    let mut lines: Vec<String> = pod_sets.describe().collect();
    for node in &cluster.nodes {
        let (name, present) = (&node.identity.name, node.identity.present);
        let (rank, tenants) = (node.place.ordinal, node.tenants());
        let room = writer.totals(&room(&node));
        let interpod = writer.pod_counts(node.pod_counts());
        let attached = node.attachments().0.iter();
        let load = node.load().shares();
        let attached: BTreeMap<_, _> = attached
            .map(|entry| (symbols.text(entry.driver), (entry.limit, entry.counts)))
            .collect();
        lines.push(format!(
            "node {name} {present} #{rank} {room:?} {tenants} {interpod:?} {attached:?} {load:?} {:?}",
            node.devices().shared(),
        ));
    }
    lines.extend(cluster.tasks.iter().map(|task| writer.task(&task)));
    lines.extend(cluster.jobs.iter().map(|job| writer.job(&job)));
    for queue in &cluster.queues {
        let parent = queue.spec.parent.map(|parent| cluster.queue(parent).identity.name.clone());
        let QueueUse { allocated, reserved, requested, elastic, .. } = queue.usage();
        // What is promised to admitted jobs follows from their phases, which remember the past.
        let usage = [allocated, reserved, requested, elastic].map(|total| writer.amounts(total));
        let (name, present) = (&queue.identity.name, queue.identity.present);
        lines.push(format!("queue {name} {present} {parent:?} {usage:?}"));
    }
    for (_, budget) in cluster.budgets.iter() {
        lines.push(format!("budget {} {:?}", budget.facts.key, budget.counts));
    }
    lines.extend(cluster.domains.iter().map(|domain| writer.domain(&domain)));
    lines.sort();
    lines.join("\n")
}

struct Writer<'a, 'w, 's> {
    cluster: &'a Cluster<'w, 's>,
    names: &'a Names,
    interpod: &'a SelectorRegistry,
    classes: &'a Classes,
    /// Selectors rules of tasks use, sorted.
    used: Vec<SelectorId>,
}

impl Writer<'_, '_, '_> {
    fn amounts(&self, vector: &ResourceVec) -> BTreeMap<Name, i64> {
        vector.iter().map(|(dim, amount)| (self.names.0.name(dim).clone(), amount)).collect()
    }

    fn totals(&self, totals: &DomainTotals) -> [BTreeMap<Name, i64>; 5] {
        [&totals.allocatable, &totals.idle, &totals.used, &totals.releasing, &totals.pipelined]
            .map(|vector| self.amounts(vector))
    }

    fn pod_counts(&self, pod_counts: &PodCounts) -> BTreeMap<String, Presence> {
        let named =
            |(tally, count)| self.interpod.describe(tally, &self.used).map(|text| (text, count));
        pod_counts.iter().filter_map(named).collect()
    }

    fn node(&self, node: Option<Entity>) -> Option<Name> {
        node.and_then(|node| self.cluster.nodes.get(node).ok())
            .map(|node| node.identity.name.clone())
    }

    fn task(&self, task: &TaskReadOnlyItem<'_, '_>) -> String {
        let (status, node) = task.status();
        let job = task.membership.job.map(|job| self.cluster.job(job));
        let role =
            job.as_ref().map(|job| &job.counts().roles[usize::from(task.membership.role)].name);
        let default_spread = self.classes.get(task.membership.class).default_spread();
        format!(
            "task {} {} {status:?} on {:?} to {:?} of {:?} {role:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            task.identity.key,
            task.identity.uid,
            self.node(node),
            self.node(task.heir_home()),
            job.as_ref().map(|job| &job.identity.key),
            task.priority,
            task.traits,
            self.amounts(&request(task)),
            task.request.unasked,
            task.cold.volumes.trouble,
            self.cluster.claims_to_fix(&task.cold.volumes),
            task.cold.devices,
            default_spread
                .and_then(|default_spread| self.interpod.describe_selector(default_spread)),
        )
    }

    fn job(&self, job: &JobReadOnlyItem<'_, '_>) -> String {
        let queue = &self.cluster.queue(job.spec.queue).identity.name;
        let used = |counts: &[u32]| counts.iter().any(|&count| count > 0);
        let roles = job.counts().roles.iter().filter(|role| role.min > 0 || used(&role.counts));
        let roles: BTreeMap<_, _> =
            roles.map(|role| (&role.name, (role.min, role.counts))).collect();
        let groups = job.counts().subgroups.iter().filter(|group| used(&group.counts));
        let groups: BTreeMap<_, _> =
            groups.map(|group| ((group.policy, &group.values), group.counts)).collect();
        let JobAllocated { allocated, reserved, asked, .. } = job.held();
        let held = [allocated, reserved, asked].map(|vector| self.amounts(vector));
        let (min, priority, phase) = (job.spec.min_available, job.spec.priority, job.spec.phase);
        format!(
            "job {:?} {} in {queue} {min} {priority} {phase:?} {:?} {roles:?} {groups:?} {held:?} \
             {:?} of {}",
            job.identity.key,
            job.identity.present,
            job.counts().total,
            (&job.spec.min_quota, job.spec.wait_ms),
            job.members.0.len(),
        )
    }

    fn domain(&self, domain: &DomainReadOnlyItem<'_, '_>) -> String {
        let inside = |row: &u32| domain.spot.rows.binary_search(row).is_ok();
        let members = self.cluster.nodes.iter().filter(|node| inside(&node.place.row));
        let mut members: Vec<Name> = members.map(|node| node.identity.name.clone()).collect();
        members.sort();
        format!(
            "domain {} {:?} {} {members:?} {:?} {:?}",
            domain.spec.name,
            domain.spec.level,
            domain.spot.tier,
            domain.spot.set_aside,
            self.totals(domain.totals()),
        )
    }
}
