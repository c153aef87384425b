//! Queue to [`QueueFacts`].

use muster_core::delta::{QueueFacts, QueueState};
use muster_core::resource::ResourceList;

use super::about::About;
use super::{TranslateError, hierarchy, nodegroup};
use crate::objects::{ObjectKind, Queue, ResourceMap};

/// Largest weight Volcano's definition of the object allows.
const WEIGHT_MAX: u32 = 65_535;

/// The queue above all others; it exists without being created.
const ROOT: &str = "root";

pub(super) fn facts(queue: &Queue) -> Result<QueueFacts, TranslateError> {
    let about = About::new(ObjectKind::Queue, &queue.metadata)?;
    let spec = &queue.spec;
    let amounts = |map: &Option<ResourceMap>, field: &str| -> Result<Option<ResourceList>, _> {
        map.as_ref().map(|map| about.resources(map, field)).transpose()
    };
    let parent = about.optional_name("spec.parent", &spec.parent)?;
    if parent.as_deref() == Some(queue.metadata.name.as_str()) {
        return Err(
            about.malformed("spec.parent", "names the queue itself; expected another queue")
        );
    }
    Ok(QueueFacts {
        name: about.name(),
        uid: about.uid(),
        created: about.created(),
        parent: parent.filter(|parent| &**parent != ROOT),
        weight: weight(&about, spec.weight.unwrap_or(1))?,
        priority: spec.priority.unwrap_or(0),
        capability: amounts(&spec.capability, "spec.capability")?,
        deserved: amounts(&spec.deserved, "spec.deserved")?,
        guarantee: amounts(&spec.guarantee.resource, "spec.guarantee.resource")?,
        reclaimable: spec.reclaimable.unwrap_or(true),
        state: state(&about, queue.status.state.as_deref())?,
        hierarchy: hierarchy::path(&queue.metadata),
        node_groups: nodegroup::facts(queue),
    })
}

fn weight(about: &About<'_>, value: i64) -> Result<u32, TranslateError> {
    u32::try_from(value).ok().filter(|weight| (1..=WEIGHT_MAX).contains(weight)).ok_or_else(|| {
        let problem = format!("{value} is not a weight; expected 1 to {WEIGHT_MAX}");
        about.malformed("spec.weight", problem)
    })
}

fn state(about: &About<'_>, text: Option<&str>) -> Result<QueueState, TranslateError> {
    match text {
        None | Some("" | "Open") => Ok(QueueState::Open),
        Some("Closing") => Ok(QueueState::Closing),
        // A queue takes jobs only while it is known to be open.
        Some("Closed" | "Unknown") => Ok(QueueState::Closed),
        Some(other) => Err(about.fail(
            "status.state",
            format!("{other:?} is not a state; expected Open, Closing, Closed or Unknown"),
        )),
    }
}

/// The state as the object writes it.
pub(crate) fn state_text(state: QueueState) -> &'static str {
    match state {
        QueueState::Open => "Open",
        QueueState::Closing => "Closing",
        QueueState::Closed => "Closed",
    }
}
