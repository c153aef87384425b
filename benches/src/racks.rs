//! Clusters of racks, with gangs that must sit in one rack each.

use muster_core::delta::{
    ClusterDelta, DomainFacts, DomainMember, Facts, TierRef, TopologyMode, TopologyWish,
};
use muster_core::policy::{Registry, SchedulerConfig};
use muster_core::resource::Quantity;

use crate::Shape;

/// The configuration of the other benches with the plugin that knows racks.
///
/// # Panics
///
/// If the text is not valid, which the bench would show at once.
pub fn rack_config() -> SchedulerConfig {
    let text = "actions: \"enqueue, allocate, backfill\"\n\
                tiers:\n\
                - plugins: [{name: priority}, {name: gang}]\n\
                - plugins: [{name: drf}, {name: predicates}, {name: nodeorder}, {name: binpack}, \
                  {name: network-topology-aware}]\n";
    muster::config::parse(&Registry::standard(), "bench", text).expect("valid").config
}

/// How a rack names its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// One by one.
    Exact,
    /// By a pattern on their names.
    Pattern,
    /// By a label.
    Label,
}

/// A cluster of racks in one hall, and what waits in it.
#[derive(Clone, Copy, Debug)]
pub struct Racks {
    /// Racks, of tier 1.
    pub racks: usize,
    /// Nodes of 32 cores in each.
    pub nodes: usize,
    /// Gangs of pods that ask for half a node; each must sit in one rack.
    pub gangs: usize,
    /// Pods of each gang.
    pub members: usize,
    /// Nodes of each rack that are full.
    pub taken: usize,
    /// How racks name their nodes.
    pub naming: Naming,
}

impl Racks {
    /// Everything there is to know at the start.
    pub fn deltas(self) -> Vec<ClusterDelta> {
        let nodes = self.racks * self.nodes;
        let shape = Shape { nodes, gangs: self.gangs, members: self.members, running: 0 };
        let mut deltas = shape.deltas();
        for delta in &mut deltas {
            match delta {
                ClusterDelta::Set(Facts::Node(node)) => {
                    let rack = self.rack_of(&node.name);
                    node.labels.push(("rack".into(), format!("r{rack}").as_str().into()));
                    node.labels.sort();
                }
                ClusterDelta::Set(Facts::Pod(pod)) => {
                    for (name, amount) in &mut pod.request {
                        if &**name == "cpu" {
                            *amount = Quantity::from_units(16);
                        }
                    }
                }
                ClusterDelta::Set(Facts::PodGroup(group)) => {
                    let tier = Some(TierRef::Number(1));
                    group.topology = Some(TopologyWish { mode: TopologyMode::Hard, tier });
                }
                _ => {}
            }
        }
        for rack in 0..self.racks {
            for node in 0..self.taken {
                let node = rack * self.nodes + node;
                deltas.push(crate::cluster::pod(&format!("busy-{node}"), None, 32, Some(node)));
            }
        }
        deltas.extend((0..self.racks).map(|rack| self.rack(rack)));
        let hall = (0..self.racks).map(|rack| DomainMember::Domain(name("r", rack)));
        deltas.push(domain("hall".into(), 2, hall.collect()));
        deltas
    }

    fn rack_of(self, node: &str) -> usize {
        node[1..].parse::<usize>().map_or(0, |index| index / self.nodes)
    }

    fn rack(self, rack: usize) -> ClusterDelta {
        let first = rack * self.nodes;
        let members = match self.naming {
            Naming::Exact => {
                let nodes = first..first + self.nodes;
                nodes.map(|node| DomainMember::Node(name("n", node))).collect()
            }
            Naming::Pattern => {
                let nodes: Vec<String> =
                    (first..first + self.nodes).map(|node| node.to_string()).collect();
                let pattern = format!("^n({})$", nodes.join("|"));
                vec![DomainMember::NodePattern(pattern.as_str().into())]
            }
            Naming::Label => {
                vec![DomainMember::NodeLabels(vec![muster_core::delta::Requirement {
                    key: "rack".into(),
                    operator: muster_core::delta::Operator::In,
                    values: vec![name("r", rack)],
                }])]
            }
        };
        domain(name("r", rack), 1, members)
    }
}

fn name(kind: &str, index: usize) -> muster_core::ids::Name {
    format!("{kind}{index}").as_str().into()
}

fn domain(name: muster_core::ids::Name, tier: u32, members: Vec<DomainMember>) -> ClusterDelta {
    ClusterDelta::from(DomainFacts { name, tier, tier_name: None, members })
}
