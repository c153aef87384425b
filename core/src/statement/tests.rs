//! Random transactions against recomputation: totals are always right, and undoing leaves no trace.

use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::World;
use bevy_ecs::system::RunSystemOnce;
use proptest::prelude::*;

use super::{Checkpoint, Grounds, Plan, Statement};
use crate::config::Arguments;
use crate::delta::{
    AccessModes, BindingMode, BudgetFacts, ClaimFacts, ClaimOrigin, ClaimState, ClusterDelta,
    CsiNodeFacts, DevicePart, DeviceRequest, DeviceShare, DomainMember, GroupLimits, GroupPhase,
    Heed, HostPort, InterPodFacts, InterPodTerm, NodeGroupFacts, NodeTerm, Operator, PodClaim,
    PodSelector, Protocol, Requirement, SelectorPart, Share, Spread, StorageClassFacts, Unmet,
    VolumeFacts, VolumeMode, VolumeState,
};
use crate::ids::{Name, TimeMs};
use crate::intent::{CycleOutcome, DecisionOp};
use crate::policy::testing::{config, plugin};
use crate::reservation::Release;
use crate::resource::{Quantity, ResourceList};
use crate::scheduler::Scheduler;
use crate::testing::{self, amounts, key};
use crate::world::{BulkKey, BulkNodes, BulkPlace, Cluster, TaskStatus};

/// More names than lanes, so that the tail moves too.
fn offer() -> ResourceList {
    let mut pairs = vec![("cpu", 8), ("memory", 64), ("pods", 10), ("ephemeral-storage", 9)];
    pairs.push(("nvidia.com/gpu", 2));
    pairs.extend(["a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7"].map(|name| (name, 8)));
    amounts(pairs)
}

fn pod(group: &str, index: usize, node: Option<&str>) -> ClusterDelta {
    let pod = testing::pod(&format!("{group}-{index}")).group(group).ask("cpu", 1).ask("a/1", 1);
    let pod = pod.ask("a/6", 1).ask("a/7", index as i64).role(["master", "worker"][index % 2]);
    let pod = pod.on(node).with(|pod| {
        pod.constraints.interpod = rules(group, index);
        pod.constraints.unasked = [0, 200 << 20];
        pod.claims = claims(group, index);
        pod.labels = vec![("app".into(), group.into())];
        pod.devices = devices(group, index);
        if node.is_some() && pod.devices.is_some() {
            pod.shared_devices = vec!["shared".into()];
        }
    });
    pod.into()
}

/// Two that run share a device of one node; of those that wait one of each job asks for a part of a device,
/// of two devices, or for memory of one.
fn devices(group: &str, index: usize) -> Option<DeviceRequest> {
    let (devices, part) = match (group, index) {
        ("a", 1 | 3) => (1, DevicePart::Milli(500)),
        ("b", 1) => (1, DevicePart::Memory(400)),
        ("b", 3) => (2, DevicePart::Milli(300)),
        ("c", 3) => (1, DevicePart::Memory(600)),
        _ => return None,
    };
    Some(DeviceRequest::Share(DeviceShare { devices, part }))
}

/// Requirement on one label.
fn labelled(value: &str) -> PodSelector {
    let app = Requirement { key: "app".into(), operator: Operator::In, values: vec![value.into()] };
    PodSelector(vec![SelectorPart {
        namespaces: vec!["default".into()],
        namespace_labels: None,
        labels: Some(vec![app]),
    }])
}

/// Rules of every kind, in both directions, on labels of single nodes and of several.
fn rules(group: &str, index: usize) -> InterPodFacts {
    let term =
        |app: &str, key: &str| InterPodTerm { pods: labelled(app), topology_key: key.into() };
    let spread = |key: &str, unmet| Spread {
        pods: labelled(group),
        topology_key: key.into(),
        max_skew: 1,
        min_domains: None,
        unmet,
        node_affinity: Heed::Honor,
        node_taints: Heed::Ignore,
    };
    let port = HostPort { port: 80, protocol: Protocol::Tcp, address: None };
    let mut rules = InterPodFacts::default();
    match (group, index) {
        ("a", 0 | 2) => {
            rules.anti_affinity = vec![term("a", "host"), term("b", "zone"), term("c", "rack")];
        }
        ("a", _) => rules.ports = vec![port],
        ("b", 0 | 2) => rules.affinity = vec![term("b", "zone"), term("b", "rack")],
        ("b", _) => rules.preferred = vec![(30, term("b", "host")), (-70, term("c", "zone"))],
        (_, 0 | 2) => rules.spread = vec![spread("zone", Unmet::Wait), spread("host", Unmet::Wait)],
        _ => {
            rules.spread =
                ["zone", "rack", "host"].map(|key| spread(key, Unmet::GoAnyway)).to_vec();
        }
    }
    rules
}

/// A waiting pod with one claim.
pub(crate) fn claimant(name: &str, claim: &str) -> ClusterDelta {
    let claims = vec![PodClaim { name: claim.into(), origin: ClaimOrigin::Named }];
    let pod = testing::pod(name).group(name).ask("cpu", 1).ask("a/1", 1).ask("a/6", 1);
    pod.ask("a/7", 0).role("master").with(|pod| pod.claims = claims).into()
}

/// The third pod of each job has a claim of its own, the fourth one that all jobs have in common.
fn claims(group: &str, index: usize) -> Vec<PodClaim> {
    let name = match index {
        2 => format!("{group}-2"),
        3 => "common".to_owned(),
        _ => return Vec::new(),
    };
    vec![PodClaim { name: name.into(), origin: ClaimOrigin::Named }]
}

pub(crate) fn claim(name: &str, modes: AccessModes) -> ClusterDelta {
    ClusterDelta::from(ClaimFacts {
        key: key(name),
        uid: name.into(),
        owner: None,
        state: ClaimState::Pending,
        volume: None,
        class: Some("local".into()),
        size: Quantity::from_units(1),
        modes,
        mode: VolumeMode::Filesystem,
        selector: None,
        selected_node: None,
    })
}

/// A volume that the node reaches, or every node.
fn volume(name: &str, node: Option<&str>, size: i64) -> ClusterDelta {
    let term = |node: &str| NodeTerm {
        labels: Vec::new(),
        fields: vec![Requirement {
            key: "metadata.name".into(),
            operator: Operator::In,
            values: vec![node.into()],
        }],
    };
    ClusterDelta::from(VolumeFacts {
        name: name.into(),
        labels: Vec::new(),
        capacity: Quantity::from_units(size),
        modes: AccessModes::ONCE.with(AccessModes::ONCE_POD),
        mode: VolumeMode::Filesystem,
        class: "local".into(),
        claim: None,
        affinity: node.map(|node| vec![term(node)]),
        driver: None,
        state: VolumeState::Usable,
    })
}

/// A few volumes of a class that makes no more for any node here, and as many claims.
pub(crate) fn storage() -> Vec<ClusterDelta> {
    let class = ClusterDelta::from(StorageClassFacts {
        name: "local".into(),
        created: TimeMs(0),
        provisioner: Some("d".into()),
        binding: BindingMode::WaitForFirstConsumer,
        is_default: false,
        topologies: vec![NodeTerm::default()],
    });
    let limits = CsiNodeFacts { node: "n0".into(), limits: vec![("d".into(), 1)] };
    vec![
        class,
        ClusterDelta::from(limits),
        volume("v0", Some("n0"), 1),
        volume("v1", Some("n1"), 1),
        volume("v2", Some("n1"), 2),
        volume("v3", None, 3),
        claim("a-2", AccessModes::ONCE),
        claim("b-2", AccessModes::ONCE),
        claim("c-2", AccessModes::ONCE),
        claim("common", AccessModes::ONCE_POD),
    ]
}

fn group(name: &str, queue: &str) -> ClusterDelta {
    let group = testing::group(name, 2).queue(queue).role_min("master", 1).with(|group| {
        // Promises move with what is placed, too.
        group.min_resources = (name != "c").then(|| amounts([("cpu", 3), ("a/6", 1), ("a/7", 2)]));
        group.phase = Some(GroupPhase::Inqueue);
    });
    group.into()
}

fn queue(name: &str, parent: Option<&str>) -> ClusterDelta {
    let queue = testing::queue(name).with(|queue| {
        queue.parent = parent.map(Name::from);
        queue.node_groups = NodeGroupFacts {
            anti_preferred: vec!["g1".into()],
            limits: GroupLimits::Given(vec![("g0".into(), amounts([("cpu", 2)]))]),
            ..NodeGroupFacts::default()
        };
    });
    queue.into()
}

fn domain(name: &str, tier: u32, members: Vec<DomainMember>) -> ClusterDelta {
    members.into_iter().fold(testing::domain(name, tier), testing::Built::member).into()
}

/// Four nodes in two racks under one spine and in two zones, three jobs in nested queues, some pods running.
pub(crate) fn world() -> World {
    let config = config(vec![plugin("nodegroup", Arguments::default())], &[]);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    let mut scheduler = Scheduler::new(&config, Arc::new(pool));
    for index in 0..4 {
        let name = format!("n{index}");
        let node =
            testing::node(&name).label("host", &name).label("rack", &format!("r{}", index % 2));
        let node = node.label("volcano.sh/nodegroup-name", &format!("g{}", index % 2));
        let node = node.label("zone", &format!("z{}", index / 3));
        let node = node.with(|node| {
            node.allocatable = offer();
            node.devices.memory = Some(1000);
        });
        scheduler.feed([node.into()]);
    }
    let node = |index: usize| DomainMember::Node(format!("n{index}").as_str().into());
    scheduler.feed([
        ClusterDelta::from(BudgetFacts {
            key: key("budget"),
            selector: Some(vec![Requirement {
                key: "app".into(),
                operator: Operator::In,
                values: vec!["a".into(), "b".into()],
            }]),
            min_available: Some(Share::Percent(50)),
            max_unavailable: None,
            allowed: None,
            disrupted: Vec::new(),
        }),
        queue("outer", None),
        queue("inner", Some("outer")),
        group("a", "inner"),
        group("b", "outer"),
        group("c", "default"),
        domain("rack0", 1, vec![node(0), node(1)]),
        domain("rack1", 1, vec![node(2), node(3)]),
        domain(
            "spine",
            2,
            vec![DomainMember::Domain("rack0".into()), DomainMember::Domain("rack1".into())],
        ),
    ]);
    for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
        let on = format!("n{at}");
        scheduler.feed([
            pod(name, 0, Some(&on)),
            pod(name, 1, Some("n3")),
            pod(name, 2, None),
            pod(name, 3, None),
        ]);
    }
    scheduler.feed(storage());
    scheduler.run_cycle(TimeMs(0));
    scheduler.into_world()
}

/// One operation of a random transaction.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Allocate(usize, usize),
    Pipeline(usize, usize),
    Evict(usize),
    Relocate(usize, usize),
    Spare(usize),
    Unpipeline(usize),
    PipelineAll(usize),
    Mark,
    Rollback,
    SaveAndRecover,
    /// Places for waiting tasks of a job that are alike, a node each, some nodes left out.
    Alike(usize, usize),
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..12_usize, 0..4_usize).prop_map(|(task, node)| Step::Allocate(task, node)),
        4 => (0..12_usize, 0..4_usize).prop_map(|(task, node)| Step::Pipeline(task, node)),
        3 => (0..12_usize).prop_map(Step::Evict),
        4 => (0..12_usize, 0..4_usize).prop_map(|(task, node)| Step::Relocate(task, node)),
        1 => (0..12_usize).prop_map(Step::Spare),
        2 => (0..12_usize).prop_map(Step::Unpipeline),
        1 => (0..3_usize).prop_map(Step::PipelineAll),
        2 => Just(Step::Mark),
        1 => Just(Step::Rollback),
        1 => Just(Step::SaveAndRecover),
        3 => (0..3_usize, 0..4_usize).prop_map(|(job, node)| Step::Alike(job, node)),
    ]
}

fn sorted<T: Ord>(mut named: Vec<(T, Entity)>) -> Vec<Entity> {
    named.sort();
    named.into_iter().map(|entry| entry.1).collect()
}

struct Cast {
    tasks: Vec<Entity>,
    nodes: Vec<Entity>,
    jobs: Vec<Entity>,
}

impl Cast {
    fn of(cluster: &Cluster<'_, '_>) -> Self {
        Self {
            tasks: sorted(
                cluster.tasks.iter().map(|task| (task.identity.key.clone(), task.entity)).collect(),
            ),
            nodes: sorted(
                cluster
                    .nodes
                    .iter()
                    .map(|node| (node.identity.name.clone(), node.entity))
                    .collect(),
            ),
            jobs: sorted(
                cluster.jobs.iter().map(|job| (job.identity.key.clone(), job.entity)).collect(),
            ),
        }
    }
}

/// Does the steps; steps that do not fit a task's status must change nothing.
pub(crate) fn perform(cluster: &mut Cluster<'_, '_>, statement: &mut Statement, steps: &[Step]) {
    let cast = Cast::of(cluster);
    let mut counted_by = vec![Checkpoint::START];
    for step in steps {
        match *step {
            Step::Allocate(task, node) => {
                let _ = statement.allocate(cluster, cast.tasks[task], cast.nodes[node]);
            }
            Step::Pipeline(task, node) => {
                let _ = statement.pipeline(cluster, cast.tasks[task], cast.nodes[node]);
            }
            Step::Evict(task) => {
                let grounds = Grounds { beneficiary: Some(key("a")), reason: "test".into() };
                let _ = statement.evict(cluster, cast.tasks[task], grounds);
            }
            Step::Relocate(task, node) => {
                let _ = statement.relocate(cluster, cast.tasks[task], cast.nodes[node]);
            }
            // Only what the transaction itself has evicted may be spared.
            Step::Spare(task) => {
                let own = statement.victims(cluster).any(|victim| victim == cast.tasks[task]);
                let _ = own.then(|| statement.spare(cluster, cast.tasks[task]));
            }
            Step::Unpipeline(task) => {
                let _ = statement.unpipeline(cluster, cast.tasks[task], Release::Uncovered);
            }
            Step::PipelineAll(job) => statement.pipeline_all_allocated(cluster, cast.jobs[job]),
            Step::Mark => counted_by.push(statement.checkpoint()),
            Step::Rollback => {
                let to = counted_by.pop().unwrap_or(Checkpoint::START);
                statement.rollback(cluster, to);
            }
            Step::SaveAndRecover => {
                let from = *counted_by.last().unwrap_or(&Checkpoint::START);
                let plan: Plan = statement.save(from);
                statement.rollback(cluster, from);
                statement.recover(cluster, &plan);
            }
            Step::Alike(job, node) => allocate_alike(cluster, statement, cast.jobs[job], node),
        }
    }
}

/// Places equal tasks in bulk.
fn allocate_alike(
    cluster: &mut Cluster<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    first: usize,
) {
    let Some(columns) = cluster.task_columns() else { return };
    let members = cluster.job(job).members.0.clone();
    let kind = |task: &Entity| BulkKey::of_waiting(&columns, cluster.row(*task));
    let Some(shared) = members.iter().find_map(kind) else { return };
    let alike: Vec<Entity> =
        members.iter().copied().filter(|task| kind(task) == Some(shared)).collect();
    let request = cluster.task(alike[0]).request.clone();
    // Only where there is room, now and later.
    let columns = cluster.columns();
    let fits = |row: &usize| {
        let later = columns.future(*row);
        request.amounts.hot.fits(&columns.idle[*row]) && request.amounts.fits(&later)
    };
    let rows: Vec<usize> = (0..columns.len()).filter(fits).collect();
    let Cluster { nodes, log, .. } = cluster;
    let Some(mut free) = BulkNodes::of(nodes, log) else { return };
    let places = alike.into_iter().zip(rows.into_iter().skip(first));
    let places: Vec<BulkPlace> =
        places.map(|(task, row)| (task, free.take(row as u32, &request))).collect();
    let asked = request.amounts.times(places.len() as u32).expect("small amounts");
    statement.allocate_alike(cluster, shared, &places, &request.amounts, &asked);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn totals_are_right_after_any_operations(steps in prop::collection::vec(step(), 0..40)) {
        let mut world = world();
        world.run_system_once(move |mut cluster: Cluster<'_, '_>| {
            let mut statement = Statement::new("test");
            perform(&mut cluster, &mut statement, &steps);
        }).expect("runs");
        prop_assert_eq!(crate::inspect::audit(&mut world), Vec::<String>::new());
    }

    #[test]
    fn discard_leaves_no_trace(steps in prop::collection::vec(step(), 0..40)) {
        let mut world = world();
        let before = crate::inspect::fingerprint(&mut world);
        world.run_system_once(move |mut cluster: Cluster<'_, '_>| {
            let mut statement = Statement::new("test");
            perform(&mut cluster, &mut statement, &steps);
            statement.discard(&mut cluster);
        }).expect("runs");
        prop_assert_eq!(crate::inspect::fingerprint(&mut world), before);
        prop_assert_eq!(crate::inspect::audit(&mut world), Vec::<String>::new());
    }

    #[test]
    fn commit_announces_what_changed_and_nothing_else(steps in prop::collection::vec(step(), 0..40)) {
        let mut world = world();
        let (before, after, outcome) = world.run_system_once(move |mut cluster: Cluster<'_, '_>| {
            let states = |cluster: &Cluster<'_, '_>| {
                let cast = Cast::of(cluster);
                let tasks = cast.tasks.iter().map(|&task| cluster.task(task));
                tasks.map(|task| (task.status(), task.heir_home())).collect::<Vec<_>>()
            };
            let before = states(&cluster);
            let mut statement = Statement::new("test");
            perform(&mut cluster, &mut statement, &steps);
            let mut outcome = CycleOutcome::default();
            statement.commit(&mut cluster, &mut outcome);
            (before, states(&cluster), outcome)
        }).expect("runs");
        // A pod that is moved is evicted, and room is held for the one that comes in its place.
        let changed = before.iter().zip(&after).map(|(before, after)| {
            usize::from(before.0 != after.0) + usize::from(before.1 != after.1)
        });
        prop_assert_eq!(outcome.decisions.len(), changed.sum::<usize>());
        let binds = outcome.decisions.iter().filter(|d| d.op == DecisionOp::Bind).count();
        let binding = after.iter().filter(|state| state.0.0 == TaskStatus::Binding).count();
        prop_assert_eq!(binds, binding);
        prop_assert!(after.iter().all(|state| state.0.0 != TaskStatus::Allocated));
        prop_assert_eq!(crate::inspect::audit(&mut world), Vec::<String>::new());
        prop_assert_eq!(crate::inspect::audit_reservations(&mut world), Vec::<String>::new());
    }

    #[test]
    fn an_attempt_that_is_undone_leaves_reservations_and_their_records_alone(
        first in prop::collection::vec(step(), 0..30),
        second in prop::collection::vec(step(), 0..30),
    ) {
        let mut world = world();
        let records = |cluster: &Cluster<'_, '_>| {
            let cast = Cast::of(cluster);
            let counts = cluster.reservations.counts;
            let record = |&task: &Entity| cluster.task(task).cold.nomination.0;
            (counts, cast.tasks.iter().map(record).collect::<Vec<_>>())
        };
        let before = world.run_system_once(move |mut cluster: Cluster<'_, '_>| {
            let mut statement = Statement::new("test");
            perform(&mut cluster, &mut statement, &first);
            statement.commit(&mut cluster, &mut CycleOutcome::default());
            records(&cluster)
        }).expect("runs");
        let text = crate::inspect::fingerprint(&mut world);
        let after = world.run_system_once(move |mut cluster: Cluster<'_, '_>| {
            let mut statement = Statement::new("test");
            perform(&mut cluster, &mut statement, &second);
            statement.discard(&mut cluster);
            records(&cluster)
        }).expect("runs");
        prop_assert_eq!(after, before);
        prop_assert_eq!(crate::inspect::fingerprint(&mut world), text);
        prop_assert_eq!(crate::inspect::audit_reservations(&mut world), Vec::<String>::new());
    }
}
