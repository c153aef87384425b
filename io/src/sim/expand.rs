//! Short forms of a Scenario, expanded to the real objects they stand for.

mod gang;

use std::collections::BTreeMap;

use muster_core::resource::Quantity;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::load::{FieldError, decode};
use crate::objects::{
    ExactMatch, Guarantee, HyperNode, HyperNodeMember, HyperNodeSpec, MemberSelector, Metadata,
    Node, NodeSpec, NodeStatus, Object, Queue, ResourceMap, Scalar, Taint,
};

pub(crate) use gang::{Gang, RUN_FOR};

/// Pods a node takes where a NodeSet does not say: the kubelet's own default.
const PODS_DEFAULT: &str = "110";

/// Objects one short form may stand for: more is a slip of the finger, and would fill the memory
/// before anyone could say so.
const OBJECTS_MAX: u32 = 1_000_000;

/// A short form, read but not expanded.
#[derive(Debug)]
pub(crate) enum ShortForm {
    NodeSet(NodeSet),
    QueueSpec(QueueForm),
    Domain(Domain),
    Gang(Box<Gang>),
}

impl ShortForm {
    /// Names of the short forms, as `kind` gives them.
    pub(crate) const KINDS: [&str; 4] = ["NodeSet", "QueueSpec", "Domain", "Gang"];

    /// Reads the short form of that kind; `None` if the kind is none of theirs.
    pub(crate) fn read(
        kind: &str,
        mut map: Map<String, Value>,
    ) -> Option<Result<Self, FieldError>> {
        if !Self::KINDS.contains(&kind) {
            return None;
        }
        map.shift_remove("kind");
        map.shift_remove("apiVersion");
        let value = Value::Object(map);
        Some(match kind {
            "NodeSet" => decode(value).and_then(NodeSet::checked).map(Self::NodeSet),
            "QueueSpec" => decode(value).map(Self::QueueSpec),
            "Domain" => decode(value).and_then(Domain::checked).map(Self::Domain),
            _ => decode(value).and_then(Gang::checked).map(Box::new).map(Self::Gang),
        })
    }

    /// The objects it stands for, in the order they appear.
    pub(crate) fn expand(self) -> Vec<Object> {
        match self {
            Self::NodeSet(set) => set.nodes(),
            Self::QueueSpec(form) => vec![Object::Queue(Box::new(form.queue()))],
            Self::Domain(domain) => vec![Object::HyperNode(Box::new(domain.hyper_node()))],
            Self::Gang(gang) => gang.objects(),
        }
    }
}

/// Nodes that are all alike.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeSet {
    name: String,
    count: u32,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    taints: Vec<Taint>,
    #[serde(deserialize_with = "amounts")]
    allocatable: ResourceMap,
}

impl NodeSet {
    fn checked(self) -> Result<Self, FieldError> {
        if self.count > OBJECTS_MAX {
            let problem =
                format!("{} nodes are too many; expected at most {OBJECTS_MAX}", self.count);
            return Err(FieldError::new("count", problem));
        }
        Ok(self)
    }

    fn nodes(mut self) -> Vec<Object> {
        self.allocatable.entry("pods".to_owned()).or_insert_with(|| PODS_DEFAULT.into());
        let node = |index: u32| {
            let name = format!("{}{index}", self.name);
            let mut labels = self.labels.clone();
            labels.insert("kubernetes.io/hostname".to_owned(), name.clone());
            Object::Node(Box::new(Node {
                metadata: Metadata { name, labels, ..Metadata::default() },
                spec: NodeSpec { unschedulable: false, taints: self.taints.clone() },
                status: NodeStatus {
                    allocatable: Some(self.allocatable.clone()),
                    capacity: self.allocatable.clone(),
                    images: Vec::new(),
                },
            }))
        };
        (0..self.count).map(node).collect()
    }
}

/// A Volcano queue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueueForm {
    name: String,
    weight: Option<i64>,
    #[serde(default, deserialize_with = "some_amounts")]
    deserved: Option<ResourceMap>,
    #[serde(default, deserialize_with = "some_amounts")]
    guarantee: Option<ResourceMap>,
    #[serde(default, deserialize_with = "some_amounts")]
    capability: Option<ResourceMap>,
    #[serde(default)]
    parent: String,
    reclaimable: Option<bool>,
    priority: Option<i32>,
}

impl QueueForm {
    fn queue(self) -> Queue {
        let mut queue = Queue::default();
        queue.metadata.name = self.name;
        queue.spec.weight = self.weight;
        queue.spec.deserved = self.deserved;
        queue.spec.guarantee = Guarantee { resource: self.guarantee };
        queue.spec.capability = self.capability;
        queue.spec.parent = self.parent;
        queue.spec.reclaimable = self.reclaimable;
        queue.spec.priority = self.priority;
        queue
    }
}

/// A Volcano HyperNode.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Domain {
    name: String,
    tier: i64,
    #[serde(default)]
    nodes: Vec<String>,
    #[serde(default)]
    domains: Vec<String>,
}

impl Domain {
    fn checked(self) -> Result<Self, FieldError> {
        if self.nodes.is_empty() == self.domains.is_empty() {
            return Err(FieldError::new("", "expected either nodes or domains"));
        }
        Ok(self)
    }

    fn hyper_node(self) -> HyperNode {
        let member = |kind: &'static str| {
            move |name: String| HyperNodeMember {
                kind: kind.to_owned(),
                selector: MemberSelector {
                    exact_match: Some(ExactMatch { name }),
                    ..MemberSelector::default()
                },
            }
        };
        let nodes = self.nodes.into_iter().map(member("Node"));
        let domains = self.domains.into_iter().map(member("HyperNode"));
        HyperNode {
            metadata: Metadata { name: self.name, ..Metadata::default() },
            spec: HyperNodeSpec {
                tier: Some(self.tier),
                tier_name: String::new(),
                members: nodes.chain(domains).collect(),
            },
        }
    }
}

/// Amounts that are checked while they are read, so that the path of a bad one is that of the short
/// form and not of the object made from it.
fn amounts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ResourceMap, D::Error> {
    let read = BTreeMap::<String, CheckedScalar>::deserialize(deserializer)?;
    Ok(read.into_iter().map(|(name, scalar)| (name, scalar.0)).collect())
}

fn some_amounts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ResourceMap>, D::Error> {
    amounts(deserializer).map(Some)
}

struct CheckedScalar(Scalar);

impl<'de> Deserialize<'de> for CheckedScalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let scalar = Scalar::deserialize(deserializer)?;
        let quantity = scalar.as_str().parse::<Quantity>().map_err(D::Error::custom)?;
        if quantity.is_negative() {
            let problem = format!("{:?} is negative; expected 0 or more", scalar.as_str());
            return Err(D::Error::custom(problem));
        }
        Ok(Self(scalar))
    }
}
