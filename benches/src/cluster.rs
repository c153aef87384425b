//! Synthetic clusters: nodes, gangs and some running pods, the same for the same shape.

use std::sync::Arc;

use muster_core::delta::{
    ClusterDelta, Facts, Heed, InterPodFacts, InterPodTerm, Operator, Ownership, PodSelector,
    Requirement, SelectorPart, Spread, Unmet,
};
use muster_core::ids::TimeMs;
use muster_core::policy::{Registry, SchedulerConfig};
use muster_core::testing;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// A configuration with everything this version decides by.
///
/// # Panics
///
/// If the text is not valid, which the bench would show at once.
pub fn config() -> SchedulerConfig {
    let text = "actions: \"enqueue, allocate, backfill\"\n\
                tiers:\n\
                - plugins: [{name: priority}, {name: gang}]\n\
                - plugins: [{name: drf}, {name: predicates}, {name: nodeorder}, {name: binpack}]\n";
    muster::config::parse(&Registry::standard(), "bench", text).expect("valid").config
}

/// A pool of so many threads.
///
/// # Panics
///
/// If the machine gives no threads.
pub fn pool(threads: usize) -> Arc<ThreadPool> {
    Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().expect("threads"))
}

/// How large a cluster is and what waits in it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Nodes of 32 cores, 128 GiB and 8 GPUs.
    pub nodes: usize,
    /// Gangs that wait.
    pub gangs: usize,
    /// Pods of each, all needed.
    pub members: usize,
    /// Pods that run already, unevenly spread: fragmentation.
    pub running: usize,
}

impl Shape {
    /// Everything there is to know at the start.
    pub fn deltas(self) -> Vec<ClusterDelta> {
        let mut deltas: Vec<ClusterDelta> = (0..self.nodes).map(node).collect();
        let mut dice = Dice(42);
        for index in 0..self.running {
            let at = dice.below(self.nodes);
            deltas.push(pod(&format!("run-{index}"), None, 1 + index % 3, Some(at)));
        }
        for gang in 0..self.gangs {
            deltas.push(group(gang, self.members));
            for member in 0..self.members {
                let name = format!("g{gang}-w-{member}");
                deltas.push(pod(&name, Some(gang), 1 + gang % 3, None));
            }
        }
        deltas
    }

    /// Pods that wait.
    pub fn waiting(self) -> usize {
        self.gangs * self.members
    }
}

/// What the pods of a gang ask of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// Nothing.
    Plain,
    /// No two on a node.
    ApartOnHosts,
    /// Nodes even.
    EvenHosts,
    /// Zones even.
    EvenZones,
    /// Zones and nodes even.
    EvenZonesAndHosts,
    /// Zones and nodes even if possible.
    RatherEven,
}

impl Company {
    /// Every kind, with the name of its bench.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Plain, "plain"),
        (Self::ApartOnHosts, "apart-on-hosts"),
        (Self::EvenHosts, "even-hosts"),
        (Self::EvenZones, "even-zones"),
        (Self::EvenZonesAndHosts, "even-zones-and-hosts"),
        (Self::RatherEven, "rather-even"),
    ];

    /// One gang of so many pods on an empty cluster.
    pub fn deltas(self, nodes: usize, members: usize) -> Vec<ClusterDelta> {
        let mut deltas = Shape { nodes, gangs: 1, members, running: 0 }.deltas();
        for delta in &mut deltas {
            if let ClusterDelta::Set(Facts::Pod(facts)) = delta {
                facts.labels = vec![("app".into(), "web".into())];
                facts.constraints.interpod = self.rules();
            }
        }
        deltas
    }

    fn rules(self) -> InterPodFacts {
        const HOST: &str = "kubernetes.io/hostname";
        let even = |key: &str, unmet| Spread {
            pods: web(),
            topology_key: key.into(),
            max_skew: 1,
            min_domains: None,
            unmet,
            node_affinity: Heed::Honor,
            node_taints: Heed::Ignore,
        };
        let (must, should) = (Unmet::Wait, Unmet::GoAnyway);
        let spread = match self {
            Self::Plain | Self::ApartOnHosts => Vec::new(),
            Self::EvenHosts => vec![even(HOST, must)],
            Self::EvenZones => vec![even("zone", must)],
            Self::EvenZonesAndHosts => vec![even("zone", must), even(HOST, must)],
            Self::RatherEven => vec![even("zone", should), even(HOST, should)],
        };
        let apart = InterPodTerm { pods: web(), topology_key: HOST.into() };
        let anti_affinity = if self == Self::ApartOnHosts { vec![apart] } else { Vec::new() };
        InterPodFacts { anti_affinity, spread, ..InterPodFacts::default() }
    }
}

/// Pods of the gang.
fn web() -> PodSelector {
    let app = Requirement { key: "app".into(), operator: Operator::In, values: vec!["web".into()] };
    PodSelector(vec![SelectorPart {
        namespaces: vec!["default".into()],
        namespace_labels: None,
        labels: Some(vec![app]),
    }])
}

/// A generator of numbers that look random and are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}

fn node(index: usize) -> ClusterDelta {
    let name = format!("n{index}");
    let node = testing::node(&name).label("kubernetes.io/hostname", &name);
    let node = node.label("zone", &format!("z{}", index % 16));
    node.offer("cpu", 32).offer("memory", 128 << 30).offer("nvidia.com/gpu", 8).into()
}

fn group(index: usize, members: usize) -> ClusterDelta {
    let group = testing::group(&format!("g{index}"), members as u32);
    group.with(|group| group.created = TimeMs(index as i64)).into()
}

pub(crate) fn pod(
    name: &str,
    gang: Option<usize>,
    cores: usize,
    node: Option<usize>,
) -> ClusterDelta {
    let pod = testing::pod(name).ask("cpu", cores as i64).ask("memory", 1 << 30).role("w");
    let pod = pod.on(node.map(|node| format!("n{node}")).as_deref());
    match gang {
        Some(gang) => pod.group(&format!("g{gang}")).into(),
        None => pod.with(|pod| pod.ownership = Ownership::Foreign).into(),
    }
}
