//! Order of queues and who may take back, asked of a small world.

use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{In, Res, World};
use bevy_ecs::system::RunSystemOnce;

use super::Hierarchy;
use crate::config::{ArgumentValue, Arguments, Gate};
use crate::delta::{ClusterDelta, QueueFacts};
use crate::ids::{Name, TimeMs};
use crate::policy::Policies;
use crate::policy::testing::{config, plugin};
use crate::resource::{Dim, Quantity, ResourceList, ResourceVec};
use crate::scheduler::Scheduler;
use crate::status::QueueState;
use crate::testing;
use crate::world::{Cluster, Directory};

fn cpu(units: i64) -> ResourceList {
    vec![("cpu".into(), Quantity::from_units(units))]
}

/// A queue: name, parent, due and ceiling in CPUs.
fn queue(
    name: &str,
    parent: Option<&str>,
    deserved: Option<i64>,
    capability: Option<i64>,
) -> QueueFacts {
    let queue = testing::queue(name).with(|queue| {
        queue.parent = parent.map(Name::from);
        queue.capability = capability.map(cpu);
        queue.deserved = deserved.map(cpu);
    });
    queue.facts()
}

/// A pod of that many CPUs that runs in a queue.
fn running(queue: &str, units: i64) -> ClusterDelta {
    let pod = testing::pod(&format!("run-{queue}")).queue(queue).running_on("n");
    pod.with(|pod| pod.request = cpu(units)).into()
}

/// A world of 100 CPUs in which the division has been made.
fn world(
    name: &str,
    hierarchy: Hierarchy,
    level: i64,
    queues: &[QueueFacts],
    pods: &[(&str, i64)],
) -> World {
    let level = ("ancestorReclaimLevel".into(), ArgumentValue::Int(level));
    let given = if name == "capacity" { vec![level] } else { Vec::new() };
    let mut plugin = plugin(name, Arguments(given));
    if hierarchy == Hierarchy::Tree {
        plugin.gates.open(Gate::Hierarchy);
    }
    let config = config(vec![plugin], &[]);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    let mut scheduler = Scheduler::new(&config, Arc::new(pool));
    scheduler.feed([testing::node("n").with(|node| node.allocatable = cpu(100)).into()]);
    scheduler.feed(queues.iter().map(|queue| ClusterDelta::from(queue.clone())));
    let asks = |queue: &QueueFacts| {
        let group = testing::group(&format!("asks-{}", queue.name), 1);
        group.with(|group| group.queue = Some(queue.name.clone())).into()
    };
    scheduler.feed(queues.iter().map(asks));
    scheduler.feed(pods.iter().map(|(queue, units)| running(queue, *units)));
    scheduler.run_cycle(TimeMs(0));
    assert_eq!(scheduler.audit(), Vec::<String>::new());
    scheduler.into_world()
}

fn entity(world: &World, name: &str) -> Entity {
    world.resource::<Directory>().queues[name]
}

/// May the queue take back room for that many CPUs?
fn may_take_back(world: &mut World, name: &str, units: i64) -> bool {
    let asked = (entity(world, name), units * 1000);
    let ask = |In((queue, milli)): In<(Entity, i64)>,
               cluster: Cluster<'_, '_>,
               policies: Res<'_, Policies>| {
        let mut request = ResourceVec::default();
        request.set(Dim::CPU, milli);
        request.set(Dim::PODS, 1);
        let mut jobs = cluster.jobs.iter();
        let job = jobs.find(|job| job.spec.queue == queue).expect("each queue has one");
        policies.preemptive(&cluster, &job, &request)
    };
    world.run_system_once_with(ask, asked).expect("queries of a world always run")
}

/// The queues in the order they are served.
fn served(world: &mut World, names: &[&str]) -> Vec<String> {
    let queues: Vec<Entity> = names.iter().map(|name| entity(world, name)).collect();
    let sort =
        |In(mut queues): In<Vec<Entity>>, cluster: Cluster<'_, '_>, policies: Res<'_, Policies>| {
            let standings = policies.standings(&cluster);
            queues.sort_by_key(|&queue| policies.queue_key(&cluster, &standings, queue, None));
            queues
                .iter()
                .map(|&queue| cluster.queue(queue).identity.name.to_string())
                .collect::<Vec<_>>()
        };
    world.run_system_once_with(sort, queues).expect("queries of a world always run")
}

#[test]
fn a_queue_takes_back_up_to_its_due_and_not_beyond() {
    let queues = [
        queue("q", None, Some(10), Some(20)),
        queue("tight", None, Some(10), Some(8)),
        queue("none", None, None, None),
        QueueFacts { state: QueueState::Closing, ..queue("shut", None, Some(10), None) },
    ];
    let mut world = world("capacity", Hierarchy::Flat, 0, &queues, &[("q", 6), ("tight", 6)]);
    for (name, asked, may) in [
        ("q", 4, true),
        ("q", 5, false),
        ("tight", 2, true),
        ("tight", 3, false),
        ("none", 1, false),
        ("shut", 1, false),
    ] {
        assert_eq!(may_take_back(&mut world, name, asked), may, "{name} asks {asked}");
    }
}

#[test]
fn a_parent_below_its_due_stands_in_as_far_up_as_configured() {
    let queues = [
        queue("a", None, Some(30), None),
        queue("b", Some("a"), Some(12), None),
        queue("c", Some("b"), Some(5), None),
    ];
    let pods = [("c", 11)];
    // c has more than its due; b has room for one more, a for 19.
    for (level, asked, may) in
        [(0, 1, false), (1, 1, true), (1, 2, false), (2, 2, true), (9, 20, false)]
    {
        let mut world = world("capacity", Hierarchy::Tree, level, &queues, &pods);
        assert_eq!(may_take_back(&mut world, "c", asked), may, "level {level} asks {asked}");
    }
    let mut flat = world("capacity", Hierarchy::Flat, 9, &queues, &pods);
    assert!(!may_take_back(&mut flat, "c", 1), "levels count with the hierarchy only");
}

#[test]
fn a_share_by_weight_takes_back_up_to_its_due() {
    let queues = [queue("q", None, None, Some(9))];
    let mut world = world("proportion", Hierarchy::Flat, 0, &queues, &[("q", 6)]);
    // It asks for what it has, so that is its due.
    assert!(!may_take_back(&mut world, "q", 1));
}

#[test]
fn queues_are_compared_where_their_paths_part() {
    let queues = [
        queue("a", None, Some(10), None),
        queue("a1", Some("a"), Some(8), None),
        queue("a2", Some("a"), Some(2), None),
        queue("b", None, Some(10), None),
        QueueFacts { priority: 1, ..queue("vip", None, Some(1), None) },
        queue("borrower", None, None, None),
    ];
    // a has 6 of 10 and b 5 of 10; below a, a1 has 4 of 8 and a2 2 of 2.
    let pods = [("a1", 4), ("a2", 2), ("b", 5), ("vip", 9)];
    let names = ["borrower", "a2", "a1", "b", "vip"];
    let mut tree = world("capacity", Hierarchy::Tree, 0, &queues, &pods);
    assert_eq!(served(&mut tree, &names), ["vip", "b", "a1", "a2", "borrower"]);
    let mut flat = world("capacity", Hierarchy::Flat, 0, &queues, &pods);
    let flat = served(&mut flat, &names);
    assert_eq!(flat[..1], ["vip"]);
    // Equal shares: the one that has a due goes first.
    assert_eq!(flat[3..], ["a2", "borrower"]);
}
