//! Random transactions against recomputation: totals are always right, and undoing leaves no trace.

use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::World;
use bevy_ecs::system::RunSystemOnce;
use proptest::prelude::*;

use super::{Checkpoint, Grounds, Plan, Statement};
use crate::config::{Arguments, Gates, PluginConfig, SchedulerConfig, Tuning, catalog};
use crate::delta::{
    BudgetFacts, ClusterDelta, Constraints, DomainFacts, DomainMember, GroupLimits, NodeFacts,
    NodeGroupFacts, Operator, Ownership, PodFacts, PodGroupFacts, PodPhase, QueueFacts, QueueState,
    Requirement, Share,
};
use crate::ids::{Name, ObjectKey, TimeMs};
use crate::intent::DecisionOp;
use crate::resource::{Quantity, ResourceList};
use crate::scheduler::{CycleOutcome, Scheduler};
use crate::world::{self, Cluster, TaskStatus};

fn amounts(pairs: &[(&str, i64)]) -> ResourceList {
    let mut list: ResourceList = pairs
        .iter()
        .map(|&(name, units)| (Name::from(name), Quantity::from_units(units)))
        .collect();
    list.sort();
    list
}

/// More names than lanes, so that the tail moves too.
fn offer() -> ResourceList {
    let mut pairs = vec![("cpu", 8), ("memory", 64), ("pods", 10), ("ephemeral-storage", 9)];
    pairs.extend(["a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7"].map(|name| (name, 8)));
    amounts(&pairs)
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

fn pod(group: &str, index: usize, node: Option<&str>) -> ClusterDelta {
    let name = format!("{group}-{index}");
    ClusterDelta::Pod(Box::new(PodFacts {
        key: key(&name),
        uid: name.as_str().into(),
        created: TimeMs(0),
        ownership: Ownership::Ours,
        group: Some(group.into()),
        queue: None,
        role: ["master", "worker"][index % 2].into(),
        priority: None,
        priority_class: None,
        preemptable: None,
        request: amounts(&[("cpu", 1), ("pods", 1), ("a/1", 1), ("a/6", 1), ("a/7", index as i64)]),
        constraints: Constraints { unasked: [0, 200 << 20], ..Constraints::default() },
        labels: vec![("app".into(), group.into())],
        gates: Vec::new(),
        phase: if node.is_some() { PodPhase::Running } else { PodPhase::Pending },
        node: node.map(Name::from),
        nominated: None,
        deleting: false,
    }))
}

fn group(name: &str, queue: &str) -> ClusterDelta {
    ClusterDelta::PodGroup(Box::new(PodGroupFacts {
        key: key(name),
        uid: name.into(),
        created: TimeMs(0),
        queue: Some(queue.into()),
        min_member: 2,
        min_task_member: vec![("master".into(), 1)],
        min_resources: None,
        priority_class: None,
        preemptable: None,
        topology: None,
        subgroups: Vec::new(),
        phase: crate::delta::GroupPhase::Inqueue,
    }))
}

fn queue(name: &str, parent: Option<&str>) -> ClusterDelta {
    ClusterDelta::Queue(Box::new(QueueFacts {
        name: name.into(),
        uid: name.into(),
        created: TimeMs(0),
        parent: parent.map(Name::from),
        weight: 1,
        priority: 0,
        capability: None,
        deserved: None,
        guarantee: None,
        reclaimable: true,
        state: QueueState::Open,
        hierarchy: Vec::new(),
        node_groups: NodeGroupFacts {
            anti_preferred: vec!["g1".into()],
            limits: GroupLimits::Given(vec![("g0".into(), amounts(&[("cpu", 2)]))]),
            ..NodeGroupFacts::default()
        },
    }))
}

fn domain(name: &str, tier: u32, members: Vec<DomainMember>) -> ClusterDelta {
    ClusterDelta::Domain(Box::new(DomainFacts {
        name: name.into(),
        tier,
        tier_name: None,
        members,
    }))
}

/// Four nodes in two racks under one spine, three jobs in nested queues, some pods running.
pub(crate) fn world() -> World {
    let groups = PluginConfig {
        spec: catalog::plugin("nodegroup").expect("in the catalogue"),
        gates: Gates::default(),
        arguments: Arguments::default(),
    };
    let tiers = vec![vec![groups]];
    let config = SchedulerConfig { actions: Vec::new(), tiers, tuning: Tuning::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    let mut scheduler = Scheduler::new(&config, Arc::new(pool));
    for index in 0..4 {
        scheduler.feed([ClusterDelta::Node(Box::new(NodeFacts {
            name: format!("n{index}").as_str().into(),
            labels: vec![("volcano.sh/nodegroup-name".into(), format!("g{}", index % 2).into())],
            taints: Vec::new(),
            unschedulable: false,
            allocatable: offer(),
            images: Vec::new(),
        }))]);
    }
    let node = |index: usize| DomainMember::Node(format!("n{index}").as_str().into());
    scheduler.feed([
        ClusterDelta::DisruptionBudget(Box::new(BudgetFacts {
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
        })),
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
    scheduler.run_cycle(TimeMs(0));
    scheduler.into_world()
}

/// One operation of a random transaction.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Allocate(usize, usize),
    Pipeline(usize, usize),
    Evict(usize),
    Unpipeline(usize),
    PipelineAll(usize),
    Mark,
    Rollback,
    SaveAndRecover,
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..12_usize, 0..4_usize).prop_map(|(task, node)| Step::Allocate(task, node)),
        4 => (0..12_usize, 0..4_usize).prop_map(|(task, node)| Step::Pipeline(task, node)),
        3 => (0..12_usize).prop_map(Step::Evict),
        2 => (0..12_usize).prop_map(Step::Unpipeline),
        1 => (0..3_usize).prop_map(Step::PipelineAll),
        2 => Just(Step::Mark),
        1 => Just(Step::Rollback),
        1 => Just(Step::SaveAndRecover),
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
    let mut marks = vec![Checkpoint::START];
    for step in steps {
        match *step {
            Step::Allocate(task, node) => {
                let _ = statement.allocate(cluster, cast.tasks[task], cast.nodes[node]);
            }
            Step::Pipeline(task, node) => {
                let _ = statement.pipeline(cluster, cast.tasks[task], cast.nodes[node]);
            }
            Step::Evict(task) => {
                let grounds = Grounds { beneficiary: key("a"), reason: "test".into() };
                let _ = statement.evict(cluster, cast.tasks[task], grounds);
            }
            Step::Unpipeline(task) => {
                let _ = statement.unpipeline(cluster, cast.tasks[task]);
            }
            Step::PipelineAll(job) => statement.pipeline_all_allocated(cluster, cast.jobs[job]),
            Step::Mark => marks.push(statement.checkpoint()),
            Step::Rollback => {
                let to = marks.pop().unwrap_or(Checkpoint::START);
                statement.rollback(cluster, to);
            }
            Step::SaveAndRecover => {
                let from = *marks.last().unwrap_or(&Checkpoint::START);
                let plan: Plan = statement.save(from);
                statement.rollback(cluster, from);
                statement.recover(cluster, &plan);
            }
        }
    }
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
        prop_assert_eq!(world::audit(&mut world), Vec::<String>::new());
    }

    #[test]
    fn discard_leaves_no_trace(steps in prop::collection::vec(step(), 0..40)) {
        let mut world = world();
        let before = world::fingerprint(&mut world);
        world.run_system_once(move |mut cluster: Cluster<'_, '_>| {
            let mut statement = Statement::new("test");
            perform(&mut cluster, &mut statement, &steps);
            statement.discard(&mut cluster);
        }).expect("runs");
        prop_assert_eq!(world::fingerprint(&mut world), before);
        prop_assert_eq!(world::audit(&mut world), Vec::<String>::new());
    }

    #[test]
    fn commit_announces_what_changed_and_nothing_else(steps in prop::collection::vec(step(), 0..40)) {
        let mut world = world();
        let (before, after, outcome) = world.run_system_once(move |mut cluster: Cluster<'_, '_>| {
            let states = |cluster: &Cluster<'_, '_>| {
                let cast = Cast::of(cluster);
                cast.tasks.iter().map(|&task| cluster.task(task).status()).collect::<Vec<_>>()
            };
            let before = states(&cluster);
            let mut statement = Statement::new("test");
            perform(&mut cluster, &mut statement, &steps);
            let mut outcome = CycleOutcome::default();
            statement.commit(&mut cluster, &mut outcome);
            (before, states(&cluster), outcome)
        }).expect("runs");
        let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count();
        prop_assert_eq!(outcome.decisions.len(), changed);
        let binds = outcome.decisions.iter().filter(|d| d.op == DecisionOp::Bind).count();
        let binding = after.iter().filter(|state| state.0 == TaskStatus::Binding).count();
        prop_assert_eq!(binds, binding);
        prop_assert!(after.iter().all(|state| state.0 != TaskStatus::Allocated));
        prop_assert_eq!(world::audit(&mut world), Vec::<String>::new());
    }
}
