//! Queue to [`QueueFacts`].

use muster_core::delta::{ClusterDelta, ObjectRef, QueueFacts};
use muster_core::ids::ObjectKey;
use muster_core::resource::ResourceList;
use muster_core::status::QueueState;

use super::about::About;
use super::{OwnerRule, Translate, TranslateError, hierarchy, nodegroup, unsupported};
use crate::objects::{Queue, ResourceMap};

/// Largest weight Volcano's definition of the object allows.
const WEIGHT_MAX: u32 = 65_535;

/// The queue above all others; it exists without being created.
const ROOT: &str = "root";

impl Translate for Queue {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::Queue(key.name)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let spec = &self.spec;
        let amounts = |map: &Option<ResourceMap>, field: &str| -> Result<Option<ResourceList>, _> {
            map.as_ref().map(|map| about.resources(map, field)).transpose()
        };
        let parent = about.optional_name("spec.parent", &spec.parent)?;
        if parent.as_deref() == Some(self.metadata.name.as_str()) {
            return Err(
                about.malformed("spec.parent", "names the queue itself; expected another queue")
            );
        }
        Ok(QueueFacts {
            name: about.name(),
            uid: about.uid(),
            created: about.created(),
            parent: parent.filter(|parent| &**parent != ROOT),
            weight: weight(about, spec.weight.unwrap_or(1))?,
            priority: spec.priority.unwrap_or(0),
            capability: amounts(&spec.capability, "spec.capability")?,
            deserved: amounts(&spec.deserved, "spec.deserved")?,
            guarantee: amounts(&spec.guarantee.resource, "spec.guarantee.resource")?,
            reclaimable: spec.reclaimable.unwrap_or(true),
            state: state(about, self.status.state.as_deref())?,
            hierarchy: hierarchy::path(&self.metadata),
            node_groups: nodegroup::facts(self),
        }
        .into())
    }

    fn unsupported(&self) -> Vec<String> {
        unsupported::of_queue(self)
    }
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
