//! Third pass: what nothing refers to goes, and what was derived from the whole is derived again.

use std::cmp::Ordering;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::World;

use super::intake::Intake;
use super::pods::resolve_priority;
use super::spawn::ROOT_QUEUE;
use super::{
    Dirty, default_spread, devices, domains, groups, loads, moves, selectors, shards, volumes,
};
use crate::class::Classes;
use crate::delta::ObjectRef;
use crate::evict::InfeasibleCache;
use crate::ids::Name;
use crate::ranking::Rankings;
use crate::resource::Format;
use crate::world::{
    Assumed, ChangeLog, ClassId, Directory, JobIdentity, JobMembers, JobSpec, Membership,
    NodeIdentity, NodePlace, QueueIdentity, QueueSpec, SetAside, TaskIdentity, clear_usage,
    is_vacant, priority_without_class,
};

pub(super) fn sweep(world: &mut World) {
    let mut dirty = std::mem::take(&mut *world.resource_mut::<Dirty>());
    if dirty.shards {
        shards::settle(world, &mut dirty);
    }
    if dirty.priorities {
        let run = world.run_system_cached(resolve_priorities);
        debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
    }
    volumes::look_again(world, &mut dirty);
    devices::settle(world, &dirty);
    loads::settle(world, &dirty);
    moves::settle(world, &mut dirty);
    for entity in std::mem::take(&mut dirty.vacant) {
        remove_if_vacant(world, entity, &mut dirty);
    }
    default_spread::look_again(world, &mut dirty);
    let scope =
        if dirty.namespaces { selectors::MatchScope::All } else { selectors::MatchScope::Fresh };
    selectors::settle(world, scope);
    if dirty.queues {
        settle_queues(world);
    }
    if dirty.nodes {
        number_nodes(world);
    }
    if dirty.nodes || dirty.queues || dirty.groups {
        groups::settle(world);
    }
    if dirty.nodes || dirty.domains {
        domains::rebuild(world, std::mem::take(&mut dirty.changed_nodes));
    }
    if dirty.nodes || dirty.volumes {
        volumes::restock(world);
    }
    drop_unused_classes(world);
}

/// Drops classes whose last task is gone, once there are many: looking at all tasks is then a small part
/// of what it took to make so many classes.
fn drop_unused_classes(world: &mut World) {
    if !world.resource::<Classes>().is_crowded() {
        return;
    }
    let mut tasks = world.query::<&Membership>();
    let in_use: Vec<ClassId> = tasks.iter(world).map(|membership| membership.class).collect();
    let gone = world.resource_mut::<Classes>().keep_only(in_use.into_iter());
    for class in gone {
        world.resource_mut::<Rankings>().forget(class);
        world.resource_mut::<InfeasibleCache>().forget(class);
    }
}

/// Removes the entity if nothing needs it, and marks what that touches.
fn remove_if_vacant(world: &mut World, entity: Entity, dirty: &mut Dirty) {
    let Ok(item) = world.get_entity(entity) else { return };
    if let Some(task) = item.get::<TaskIdentity>() {
        let holds_room = item.get::<Assumed>().is_some_and(|assumed| assumed.0.is_some());
        if task.uid.is_empty() && !holds_room {
            let key = task.key.clone();
            world.resource_mut::<Directory>().tasks.remove(&key);
            world.despawn(entity);
        }
    } else if let (Some(job), Some(members)) = (item.get::<JobIdentity>(), item.get::<JobMembers>())
    {
        let lone = matches!(job.key, crate::world::JobKey::Lone(_));
        if members.0.is_empty() && (lone || !job.present) {
            let key = job.key.clone();
            let queue = item.get::<JobSpec>().map(|spec| spec.queue);
            world.resource_mut::<Directory>().jobs.remove(&key);
            world.despawn(entity);
            dirty.queues |= queue.is_some_and(|queue| is_only_mentioned(world, queue));
        }
    } else if let Some(node) = item.get::<NodeIdentity>() {
        if !node.present && is_vacant(item) {
            let name = node.name.clone();
            world.resource_mut::<Directory>().nodes.remove(&name);
            world.despawn(entity);
            dirty.nodes = true;
        }
    } else {
        // A queue a job has left: whether others need it is seen when queues are settled.
        dirty.queues |= is_only_mentioned(world, entity);
    }
}

/// Is it a queue that has no object?
fn is_only_mentioned(world: &World, queue: Entity) -> bool {
    world.get::<QueueIdentity>(queue).is_some_and(|queue| !queue.present)
}

/// Numbers rows and ranks nodes by name; every reader of the change log starts over.
fn number_nodes(world: &mut World) {
    let mut query = world.query::<(&NodeIdentity, &mut NodePlace)>();
    let mut names: Vec<(Name, u32)> = Vec::new();
    for (row, (identity, mut place)) in query.iter_mut(world).enumerate() {
        place.row = row as u32;
        names.push((identity.name.clone(), row as u32));
    }
    names.sort_by(|a, b| natural_order(&a.0, &b.0));
    let mut ordinals = vec![0; names.len()];
    for (ordinal, (_, row)) in names.iter().enumerate() {
        ordinals[*row as usize] = ordinal as u32;
    }
    for (_, mut place) in query.iter_mut(world) {
        place.ordinal = ordinals[place.row as usize];
    }
    world.resource_mut::<ChangeLog>().renumber();
}

/// Compares names so that runs of digits count as numbers: n2 before n10.
pub(super) fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut a_rest, mut b_rest) = (a, b);
    loop {
        let (a_text, a_digits, a_after) = split(a_rest);
        let (b_text, b_digits, b_after) = split(b_rest);
        let step = a_text.cmp(b_text).then_with(|| by_value(a_digits, b_digits));
        if step != Ordering::Equal {
            return step;
        }
        if a_after.is_empty() || b_after.is_empty() {
            // Equal as numbers but not as text (01 and 1): any fixed order will do.
            return a_after.len().cmp(&b_after.len()).then_with(|| a.cmp(b));
        }
        (a_rest, b_rest) = (a_after, b_after);
    }
}

/// Compares runs of digits of any length as numbers: without leading zeros, the longer is larger.
fn by_value(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// A run of other characters, a run of digits, and what follows.
fn split(text: &str) -> (&str, &str, &str) {
    let digits = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let (head, rest) = text.split_at(digits);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, next) = rest.split_at(end);
    (head, number, next)
}

fn resolve_priorities(mut intake: Intake<'_, '_>) {
    let Intake { cluster, priority_classes, .. } = &mut intake;
    for mut task in &mut cluster.tasks {
        resolve_priority(&mut task.priority, priority_classes);
    }
    // A job that is only mentioned names no class and gets none, not even the default.
    let mut moved = Vec::new();
    for mut job in cluster.jobs.iter_mut().filter(|job| job.identity.present) {
        let own = job
            .members
            .0
            .first()
            .filter(|_| matches!(job.identity.key, crate::world::JobKey::Lone(_)));
        let explicit =
            own.and_then(|&task| cluster.tasks.get(task).ok().and_then(|task| task.priority.own));
        let class = priority_classes.value(job.spec.priority_class.as_ref());
        let without = priority_without_class(job.spec.tree.as_deref());
        let before = job.spec.is_preemptible();
        job.spec.priority = explicit.or(class).unwrap_or(without);
        if job.spec.is_preemptible() != before {
            moved.push(job.entity);
        }
    }
    for job in moved {
        cluster.settle(Some(job));
    }
    // No node has changed, but who may make way on any of them.
    cluster.log.renumber();
}

/// What is wrong with the parent a queue names, as its reason ends; what the outside has set aside
/// for other reasons stays so.
const AS_CHILD_OF_ROOT: &str = "it is treated as a child of root";

/// Puts parents in force, takes queues out of circles, drops queues nobody needs, and sums up what
/// each queue uses.
pub(crate) fn settle_queues(world: &mut World) {
    drop_unneeded_queues(world);
    let parents = parents_in_force(world);
    let mut faults: Vec<(Name, Option<String>)> = Vec::new();
    for Placing { queue, parent, fault } in parents {
        let Ok(mut item) = world.get_entity_mut(queue) else { continue };
        clear_usage(&mut item);
        if let Some(mut spec) = item.get_mut::<QueueSpec>() {
            spec.parent = parent;
            spec.fault.clone_from(&fault);
        }
        let fault = fault.or_else(|| item.get::<QueueSpec>().and_then(due_above_limit));
        if let Some(identity) = item.get::<QueueIdentity>() {
            faults.push((identity.name.clone(), fault));
        }
    }
    let mut set_aside = world.resource_mut::<SetAside>();
    for (name, fault) in faults {
        let queue = ObjectRef::Queue(name);
        if let Some(fault) = fault {
            set_aside.0.insert(queue, fault);
        } else if set_aside.0.get(&queue).is_some_and(|why| why.ends_with(AS_CHILD_OF_ROOT)) {
            set_aside.0.remove(&queue);
        }
    }
    let mut jobs = world.query_filtered::<Entity, bevy_ecs::prelude::With<JobSpec>>();
    let jobs: Vec<Entity> = jobs.iter(world).collect();
    let run = world.run_system_cached_with(attach_jobs, jobs);
    debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
}

/// The first resource of which the queue is due more than it may have, in words.
fn due_above_limit(spec: &QueueSpec) -> Option<String> {
    let (due, limits) = (spec.deserved.as_ref()?, spec.capability.as_ref()?);
    due.iter().find_map(|(name, due)| {
        let (_, limit) = limits.iter().find(|(other, limit)| other == name && limit < due)?;
        let [due, limit] = [due, limit].map(|amount| amount.format(Format::of(name)));
        Some(format!(
            "deserved {name} {due} is above capability {name} {limit}; it is due {name} {limit}"
        ))
    })
}

fn attach_jobs(
    bevy_ecs::prelude::In(jobs): bevy_ecs::prelude::In<Vec<Entity>>,
    mut cluster: crate::world::Cluster<'_, '_>,
) {
    for job in jobs {
        cluster.attach_job(job);
    }
}

/// Where a queue hangs.
struct Placing {
    queue: Entity,
    parent: Option<Entity>,
    /// Why not where it wants to.
    fault: Option<String>,
}

/// Every queue with the parent in force.
fn parents_in_force(world: &mut World) -> Vec<Placing> {
    let query = world.query::<(Entity, &QueueIdentity, &QueueSpec)>();
    let directory = world.resource::<Directory>();
    let root = directory.queues.get(ROOT_QUEUE).copied();
    let columns = |queue: Entity| query.query_manual(world).get_inner(queue).ok();
    let named = |queue: Entity| columns(queue).and_then(|(_, _, spec)| spec.wanted_parent.as_ref());
    let missing = |queue: Entity| {
        let parent = named(queue)?;
        let there = directory.queues.get(parent).and_then(|&parent| columns(parent));
        there.is_none_or(|(_, identity, _)| !identity.present).then_some(parent)
    };
    let wanted = |queue: Entity| -> Option<Entity> {
        if Some(queue) == root {
            return None;
        }
        let parent = named(queue).filter(|_| missing(queue).is_none());
        parent.and_then(|name| directory.queues.get(name).copied()).or(root)
    };
    let queues: Vec<Entity> = query.query_manual(world).iter_inner().map(|item| item.0).collect();
    let in_circle = |queue: Entity| {
        let mut at = wanted(queue);
        for _ in 0..=queues.len() {
            match at {
                None => return false,
                Some(parent) if parent == queue => return true,
                Some(parent) => at = wanted(parent),
            }
        }
        false
    };
    let place = |&queue: &Entity| {
        if Some(queue) != root
            && let Some(parent) = missing(queue)
        {
            let fault = format!("its parent {parent:?} does not exist; {AS_CHILD_OF_ROOT}");
            return Placing { queue, parent: root, fault: Some(fault) };
        }
        if in_circle(queue) {
            let fault = format!("its parents form a circle; {AS_CHILD_OF_ROOT}");
            return Placing { queue, parent: root, fault: Some(fault) };
        }
        Placing { queue, parent: wanted(queue), fault: None }
    };
    queues.iter().map(place).collect()
}

/// Queues that are only mentioned, by nobody any more.
fn drop_unneeded_queues(world: &mut World) {
    let mut needed: Vec<Entity> = Vec::new();
    let mut jobs = world.query::<&JobSpec>();
    needed.extend(jobs.iter(world).map(|job| job.queue));
    let mut queues = world.query::<(Entity, &QueueIdentity, &QueueSpec)>();
    let directory = world.resource::<Directory>();
    for (_, _, spec) in queues.iter_manual(world) {
        let parent = spec.wanted_parent.as_ref().and_then(|name| directory.queues.get(name));
        needed.extend(parent);
    }
    needed.sort_unstable();
    let gone: Vec<(Entity, Name)> = queues
        .iter(world)
        .filter(|(queue, identity, _)| !identity.present && needed.binary_search(queue).is_err())
        .map(|(queue, identity, _)| (queue, identity.name.clone()))
        .collect();
    for (queue, name) in gone {
        world.resource_mut::<Directory>().queues.remove(&name);
        world.despawn(queue);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn digits_in_names_compare_as_numbers() {
        let mut names = ["n10", "n2", "n1", "a", "n02", "n1b", "n1a10", "n1a9", ""];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["", "a", "n1", "n1a9", "n1a10", "n1b", "n02", "n2", "n10"]);
    }

    /// A name in pieces that compare by themselves: texts, and numbers as length and digits.
    fn pieces(name: &str) -> Vec<(String, usize, String)> {
        let mut pieces = Vec::new();
        let mut rest = name;
        while !rest.is_empty() {
            let (text, digits, after) = split(rest);
            let digits = digits.trim_start_matches('0').to_owned();
            pieces.push((text.to_owned(), digits.len(), digits));
            rest = after;
        }
        pieces
    }

    proptest! {
        #[test]
        fn natural_order_is_the_order_of_the_pieces(a in "[0-2a-]{0,8}", b in "[0-2a-]{0,8}") {
            let naive = pieces(&a).cmp(&pieces(&b)).then_with(|| a.cmp(&b));
            prop_assert_eq!(natural_order(&a, &b), naive);
        }
    }
}
