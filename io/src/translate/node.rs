//! Node to [`NodeFacts`].

use muster_core::delta::{ClusterDelta, NodeFacts, ObjectRef, Taint, TaintEffect};
use muster_core::ids::ObjectKey;

use super::about::{About, pairs};
use super::{OwnerRule, Translate, TranslateError, images};
use crate::objects::Node;

impl Translate for Node {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::Node(key.name)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let allocatable = match &self.status.allocatable {
            Some(allocatable) => about.resources(allocatable, "status.allocatable")?,
            // As the API server fills it in.
            None => about.resources(&self.status.capacity, "status.capacity")?,
        };
        let taints = self.spec.taints.iter().enumerate().map(|(at, taint)| {
            let field = || format!("spec.taints[{at}]");
            if taint.key.is_empty() {
                return Err(
                    about.fail(format!("{}.key", field()), "is missing; expected a taint key")
                );
            }
            let effect = effect(about, &taint.effect, || format!("{}.effect", field()))?;
            Ok(Taint { key: taint.key.as_str().into(), value: taint.value.as_str().into(), effect })
        });
        Ok(NodeFacts {
            name: about.name(),
            labels: pairs(&self.metadata.labels),
            taints: taints.collect::<Result<_, _>>()?,
            unschedulable: self.spec.unschedulable,
            allocatable,
            images: images::of_node(&self.status.images),
        }
        .into())
    }
}

/// The effect a taint or toleration names.
pub(super) fn effect(
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
