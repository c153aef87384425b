//! Node.

use muster_core::delta::{self, ClusterDelta, NodeFacts, ObjectRef, TaintEffect};
use muster_core::ids::ObjectKey;
use muster_core::resource::Quantity;
use serde::Deserialize;

use super::translate::{
    About, OwnerRule, Translate, TranslateError, devices, hide_gpus, images, pairs,
};
use super::{Metadata, ResourceMap};

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Its metadata.
    pub metadata: Metadata,
    /// What its owner wants.
    pub spec: NodeSpec,
    /// What its kubelet reports.
    pub status: NodeStatus,
}

/// `spec` of a node.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSpec {
    /// Cordoned.
    pub unschedulable: bool,
    /// Taints.
    pub taints: Vec<Taint>,
}

/// A taint; the effect still as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Taint {
    /// Key.
    pub key: String,
    /// Value, empty if none.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// `status` of a node.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    /// Room for pods; where absent Kubernetes means the capacity.
    pub allocatable: Option<ResourceMap>,
    /// All there is.
    pub capacity: ResourceMap,
    /// Images it holds.
    pub images: Vec<NodeImage>,
}

/// An image on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeImage {
    /// Names it is known by.
    pub names: Vec<String>,
    /// Its size.
    pub size_bytes: i64,
}

impl Translate for Node {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::Node(key.name)
    }

    fn delta(&self, about: &About<'_>, owner: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let mut allocatable = match &self.status.allocatable {
            Some(allocatable) => about.resources(allocatable, "status.allocatable")?,
            // As the API server fills it in.
            None => about.resources(&self.status.capacity, "status.capacity")?,
        };
        hide_gpus(owner.view(), &self.metadata, &mut allocatable);
        let taints = self.spec.taints.iter().enumerate().map(|(at, taint)| {
            let field = || format!("spec.taints[{at}]");
            if taint.key.is_empty() {
                return Err(
                    about.fail(format!("{}.key", field()), "is missing; expected a taint key")
                );
            }
            let effect = effect(about, &taint.effect, || format!("{}.effect", field()))?;
            Ok(delta::Taint {
                key: taint.key.as_str().into(),
                value: taint.value.as_str().into(),
                effect,
            })
        });
        let devices = devices::of_node(&self.metadata, &allocatable);
        Ok(NodeFacts {
            name: about.name(),
            labels: pairs(&self.metadata.labels),
            taints: taints.collect::<Result<_, _>>()?,
            unschedulable: self.spec.unschedulable,
            allocatable,
            capacity: capacity(about, &self.status.capacity)?,
            images: images::of_node(&self.status.images),
            devices,
        }
        .into())
    }
}

/// Milli-cpu and bytes of memory there are in all, where the node says so.
fn capacity(about: &About<'_>, capacity: &ResourceMap) -> Result<[Option<i64>; 2], TranslateError> {
    let [cpu, memory] = ["cpu", "memory"].map(|name| {
        let amount = capacity.get(name);
        amount.map(|text| about.quantity(text, || format!("status.capacity.{name}"))).transpose()
    });
    Ok([cpu?.map(Quantity::milli_ceil), memory?.map(Quantity::units_ceil)])
}

/// The effect a taint or toleration names.
pub(in crate::objects) fn effect(
    about: &About<'_>,
    text: &str,
    field: impl FnOnce() -> String,
) -> Result<TaintEffect, TranslateError> {
    match text {
        "NoSchedule" => Ok(TaintEffect::NoSchedule),
        "PreferNoSchedule" => Ok(TaintEffect::PreferNoSchedule),
        "NoExecute" => Ok(TaintEffect::NoExecute),
        _ => Err(about.fail(
            field(),
            format!(
                "{text:?} is not an effect; expected NoSchedule, PreferNoSchedule or NoExecute"
            ),
        )),
    }
}
