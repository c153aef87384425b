//! `QueueUsage` (`muster.sh`): what a queue used of late, for simulations. On a real cluster the Prometheus
//! that `usageDBConfig` names is asked.

use muster_core::delta::{ClusterDelta, ObjectRef, PastUseFacts};
use muster_core::ids::ObjectKey;
use muster_core::resource::Quantity;
use serde::Deserialize;

use super::translate::{About, OwnerRule, Translate, TranslateError};
use super::{Metadata, ResourceMap};

/// The resources, in the order the scheduler has them.
const RESOURCES: [&str; 3] = ["cpu", "memory", "nvidia.com/gpu"];

/// What the queue of the same name, and those below it, used of late.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct QueueUsage {
    /// Its metadata.
    pub metadata: Metadata,
    /// Parts of the cluster: 1 is all of it, all the time.
    pub usage: ResourceMap,
}

impl Translate for QueueUsage {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::PastUse(key.name)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        if let Some(other) = self.usage.keys().find(|key| !RESOURCES.contains(&key.as_str())) {
            let problem = format!("is not shared; expected {}", RESOURCES.join(", "));
            return Err(about.malformed(format!("usage[{other:?}]"), problem));
        }
        let mut parts = [0; 3];
        for (part, name) in parts.iter_mut().zip(RESOURCES) {
            let written = self.usage.get(name);
            let amount = written.map_or(Ok(Quantity::ZERO), |text| {
                about.quantity(text, || format!("usage[{name:?}]"))
            })?;
            *part = amount.micro_ceil().unsigned_abs();
        }
        Ok(PastUseFacts { queue: about.name(), parts }.into())
    }
}
