//! Node to [`NodeFacts`].

use muster_core::delta::{NodeFacts, Taint, TaintEffect};

use super::about::{About, pairs};
use super::{TranslateError, images};
use crate::objects::{Node, ObjectKind};

pub(super) fn facts(node: &Node) -> Result<NodeFacts, TranslateError> {
    let about = About::new(ObjectKind::Node, &node.metadata)?;
    let allocatable = match &node.status.allocatable {
        Some(allocatable) => about.resources(allocatable, "status.allocatable")?,
        // As the API server fills it in.
        None => about.resources(&node.status.capacity, "status.capacity")?,
    };
    let taints = node.spec.taints.iter().enumerate().map(|(at, taint)| {
        let field = || format!("spec.taints[{at}]");
        if taint.key.is_empty() {
            return Err(about.fail(format!("{}.key", field()), "is missing; expected a taint key"));
        }
        let effect = effect(&about, &taint.effect, || format!("{}.effect", field()))?;
        Ok(Taint { key: taint.key.as_str().into(), value: taint.value.as_str().into(), effect })
    });
    Ok(NodeFacts {
        name: about.name(),
        labels: pairs(&node.metadata.labels),
        taints: taints.collect::<Result<_, _>>()?,
        unschedulable: node.spec.unschedulable,
        allocatable,
        images: images::of_node(&node.status.images),
    })
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
