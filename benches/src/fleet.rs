//! A large cluster with queues, running gangs and waiting ones, told in batches.
//!
//! Unlike [`Shape`](crate::Shape) its pods look like those of a real cluster: long uids, labels, owners
//! in several queues. Running pods are dealt out at random and never overfill a node.

use muster_core::delta::{
    ClusterDelta, Constraints, GroupPhase, NodeDeviceFacts, NodeFacts, ObjectRef, Ownership,
    PodFacts, PodPhase, QosClass,
};
use muster_core::ids::{Name, ObjectKey, TimeMs};
use muster_core::resource::{Quantity, ResourceList};
use muster_core::status::{Condition, GroupReport};
use muster_core::testing as build;

pub use muster_core::testing::amounts;

use crate::cluster::Dice;
use crate::echo::Echo;

/// Cores, GiB of memory, pods and GPUs of a node.
pub const NODE: [i64; 4] = [32, 128, 110, 8];
/// Pods of a gang that runs.
const RUNNING_GANG: usize = 100;
/// The namespace of all pods.
const NAMESPACE: &str = "batch";

/// How large the cluster is and what is in it.
#[derive(Clone, Copy, Debug)]
pub struct Fleet {
    /// Nodes.
    pub nodes: usize,
    /// Gangs that wait.
    pub gangs: usize,
    /// Pods of each, all needed.
    pub members: usize,
    /// Different requests among the waiting gangs.
    pub classes: usize,
    /// Pods that run.
    pub running: usize,
    /// Queues of equal weight, which gangs are dealt out to in turn.
    pub queues: usize,
}

impl Fleet {
    /// Pods that wait.
    pub fn waiting_pods(self) -> usize {
        self.gangs * self.members
    }

    /// Queues and nodes.
    pub fn ground(self) -> Vec<ClusterDelta> {
        let queues = (0..self.queues).map(|index| queue(&queue_name(index)));
        queues.chain((0..self.nodes).map(node)).collect()
    }

    /// Gangs that wait, with their pods.
    pub fn waiting(self) -> Vec<ClusterDelta> {
        let mut deltas = Vec::with_capacity(self.gangs * (self.members + 1));
        for gang in 0..self.gangs {
            let name = waiting_gang(gang);
            let created = TimeMs(gang as i64);
            let queue = queue_name(gang % self.queues.max(1));
            deltas.push(group(&name, created, queue, self.members as u32, None));
            let request = Self::request_of(gang % self.classes.max(1));
            for member in 0..self.members {
                let pod = Pod { gang: &name, member, created, request: &request, node: None };
                deltas.push(pod.delta());
            }
        }
        deltas
    }

    /// Those gangs go again, with their pods.
    pub fn withdrawn(self) -> Vec<ClusterDelta> {
        let pods = (0..self.waiting_pods())
            .map(|pod| ClusterDelta::Gone(ObjectRef::Pod(self.waiting_pod(pod))));
        let gone = |gang| {
            ClusterDelta::Gone(ObjectRef::PodGroup(ObjectKey::new(NAMESPACE, waiting_gang(gang))))
        };
        pods.chain((0..self.gangs).map(gone)).collect()
    }

    /// One more gang of pods, of the first class, that comes later.
    pub fn newcomers(self, round: usize, members: usize) -> Vec<ClusterDelta> {
        self.latecomers(round, members, 0)
    }

    /// One more gang of pods of any class.
    pub fn latecomers(self, round: usize, members: usize, class: usize) -> Vec<ClusterDelta> {
        let name = late_name(round);
        let created = TimeMs((self.gangs + round) as i64);
        let queue = queue_name(round % self.queues.max(1));
        let mut deltas = vec![group(&name, created, queue, members as u32, None)];
        let request = &Self::request_of(class);
        let pod = |member| Pod { gang: &name, member, created, request, node: None }.delta();
        deltas.extend((0..members).map(pod));
        deltas
    }

    /// So many pods end, and as many come: pods that ran from the start first, those that waited
    /// where none did.
    pub fn churn(self, echo: &mut Echo, round: usize, pods: usize) -> Vec<ClusterDelta> {
        let first = round * pods;
        let ends = (first..first + pods).filter_map(|index| {
            let pod = if self.running == 0 { self.waiting_pod(index) } else { running_pod(index) };
            echo.change(&pod, |facts| facts.phase = PodPhase::Succeeded)
        });
        let mut deltas: Vec<ClusterDelta> = ends.collect();
        let comes = self.newcomers(round, pods);
        echo.note(&comes);
        deltas.extend(comes);
        deltas
    }

    /// The key of a pod that waited at first.
    fn waiting_pod(self, index: usize) -> ObjectKey {
        let (gang, member) = (waiting_gang(index / self.members), index % self.members);
        ObjectKey::new(NAMESPACE, format!("{gang}-worker-{member}"))
    }

    /// What the pods of a class ask for: no two classes the same.
    fn request_of(class: usize) -> ResourceList {
        let mut request = amounts([("cpu", 1 + class as i64 % 2), ("pods", 1)]);
        let memory = Quantity::from_units((1 << 30) + ((class as i64) << 12));
        request.push(("memory".into(), memory));
        request.sort();
        request
    }

    /// Pods that run, with their gangs, so many at a time.
    pub fn running(self, batch: usize) -> Running {
        Running { fleet: self, batch, next: 0, dice: Dice(42), taken: vec![[0; 2]; self.nodes] }
    }
}

/// Deals out running pods. See [`Fleet::running`].
pub struct Running {
    fleet: Fleet,
    batch: usize,
    next: usize,
    dice: Dice,
    /// Cores and pods of each node that are taken.
    taken: Vec<[i64; 2]>,
}

impl Running {
    /// A node with room for so many cores: the one the dice show, or the first after it.
    fn seat(&mut self, cores: i64) -> Option<usize> {
        let first = self.dice.below(self.fleet.nodes);
        let nodes = (first..self.fleet.nodes).chain(0..first);
        let node = nodes.into_iter().find(|&node| {
            let [taken, pods] = self.taken[node];
            taken + cores <= NODE[0] && pods < NODE[2]
        })?;
        self.taken[node][0] += cores;
        self.taken[node][1] += 1;
        Some(node)
    }

    fn gang(&mut self, gang: usize, deltas: &mut Vec<ClusterDelta>) {
        let name = Name::from(format!("run-{gang}"));
        let queue = queue_name(gang % self.fleet.queues.max(1));
        let left = self.fleet.running - gang * RUNNING_GANG;
        let members = left.min(RUNNING_GANG);
        deltas.push(group(&name, TimeMs(0), queue, 1, Some(members as u32)));
        for member in 0..members {
            let cores = 1 + self.dice.below(3) as i64;
            let Some(node) = self.seat(cores) else { continue };
            let request = amounts([("cpu", cores), ("memory", 1 << 30), ("pods", 1)]);
            let request = &request;
            let pod = Pod { gang: &name, member, created: TimeMs(0), request, node: Some(node) };
            deltas.push(pod.delta());
        }
    }
}

impl Iterator for Running {
    type Item = Vec<ClusterDelta>;

    fn next(&mut self) -> Option<Vec<ClusterDelta>> {
        let gangs = self.fleet.running.div_ceil(RUNNING_GANG);
        let end = (self.next + self.batch.div_ceil(RUNNING_GANG)).min(gangs);
        if self.next == end {
            return None;
        }
        let mut deltas = Vec::new();
        for gang in std::mem::replace(&mut self.next, end)..end {
            self.gang(gang, &mut deltas);
        }
        Some(deltas)
    }
}

/// The key of a pod that runs from the start.
pub fn running_pod(index: usize) -> ObjectKey {
    let (gang, member) = (index / RUNNING_GANG, index % RUNNING_GANG);
    ObjectKey::new(NAMESPACE, format!("run-{gang}-worker-{member}"))
}

fn waiting_gang(index: usize) -> Name {
    format!("wait-{index}").into()
}

fn late_name(round: usize) -> Name {
    format!("late-{round}").into()
}

/// The key of a gang that came later.
pub fn late_gang(round: usize) -> ObjectKey {
    ObjectKey::new(NAMESPACE, late_name(round))
}

/// The key of a pod of a gang that came later.
pub fn late_pod(round: usize, member: usize) -> ObjectKey {
    ObjectKey::new(NAMESPACE, format!("{}-worker-{member}", late_name(round)))
}

fn queue_name(index: usize) -> Name {
    format!("q{index}").into()
}

/// A queue of weight one.
pub fn queue(name: &str) -> ClusterDelta {
    build::queue(name).into()
}

/// A node that is free.
pub fn node(index: usize) -> ClusterDelta {
    let [cores, gib, pods, gpus] = NODE;
    let name = Name::from(format!("n{index}"));
    ClusterDelta::from(NodeFacts {
        labels: vec![
            ("kubernetes.io/hostname".into(), name.clone()),
            ("zone".into(), format!("z{}", index % 16).into()),
        ],
        name,
        taints: Vec::new(),
        unschedulable: false,
        allocatable: amounts([
            ("cpu", cores),
            ("memory", gib << 30),
            ("pods", pods),
            ("nvidia.com/gpu", gpus),
        ]),
        capacity: [None; 2],
        images: Vec::new(),
        devices: NodeDeviceFacts::default(),
    })
}

/// A PodGroup: with its number of running pods if it runs, else one that waits.
pub fn group(
    name: &Name,
    created: TimeMs,
    queue: Name,
    min_member: u32,
    running: Option<u32>,
) -> ClusterDelta {
    let scheduled = running.map(|running| GroupReport {
        running,
        conditions: vec![Condition::scheduled()],
        ..GroupReport::default()
    });
    let facts = build::group(name, min_member).queue(&queue).with(|group| {
        group.key = ObjectKey::new(NAMESPACE, name.clone());
        group.uid = uid(name);
        group.created = created;
        group.phase = running.map(|_| GroupPhase::Running);
        group.report = scheduled.unwrap_or_default();
    });
    facts.into()
}

/// A pod of a gang.
#[derive(Clone, Copy, Debug)]
pub struct Pod<'a> {
    /// Its PodGroup.
    pub gang: &'a Name,
    /// Its number in the gang.
    pub member: usize,
    /// When it was made.
    pub created: TimeMs,
    /// What it asks for.
    pub request: &'a ResourceList,
    /// Where it runs, if it does.
    pub node: Option<usize>,
}

impl Pod<'_> {
    /// The pod as the cluster tells of it.
    pub fn delta(self) -> ClusterDelta {
        let name = format!("{}-worker-{}", self.gang, self.member);
        ClusterDelta::from(PodFacts {
            uid: uid(&name),
            key: ObjectKey::new(NAMESPACE, name),
            created: self.created,
            ownership: Ownership::Ours,
            group: Some(self.gang.clone()),
            queue: None,
            role: "worker".into(),
            priority: None,
            priority_class: None,
            preemptable: None,
            preempts: None,
            cooldown_ms: 0,
            request: self.request.clone(),
            devices: None,
            shared_devices: Vec::new(),
            qos: QosClass::Burstable,
            constraints: Constraints::default(),
            claims: Vec::new(),
            inline_drivers: Vec::new(),
            labels: vec![("app".into(), self.gang.clone()), ("role".into(), "worker".into())],
            gates: Vec::new(),
            phase: if self.node.is_some() { PodPhase::Running } else { PodPhase::Pending },
            node: self.node.map(|node| format!("n{node}").into()),
            placed: None,
            nominated: None,
            annotated: None,
            version: Some(1),
            deleting: false,
            leave_by: None,
            owner: None,
        })
    }
}

/// As long as uids are.
fn uid(name: &str) -> Name {
    format!("{name:0>36}").into()
}
