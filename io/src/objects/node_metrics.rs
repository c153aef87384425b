//! `NodeMetrics` (`metrics.k8s.io`): how much of a node is in use. Read from files; on a real cluster the
//! source that the configuration names is asked.

use muster_core::config::duration::parse_ms;
use muster_core::delta::{ClusterDelta, MeasuredUsage, NodeLoadFacts, ObjectRef};
use muster_core::ids::{ObjectKey, TimeMs};
use serde::Deserialize;

use super::translate::{About, OwnerRule, Translate, TranslateError};
use super::{Metadata, ResourceMap};

/// What was measured of the node of the same name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NodeMetrics {
    /// Its metadata.
    pub metadata: Metadata,
    /// RFC 3339 time of the measurement.
    pub timestamp: Option<String>,
    /// Over how long a time it was measured, such as `30s`.
    pub window: Option<String>,
    /// Amounts in use.
    pub usage: ResourceMap,
    /// Time of the measurement in milliseconds since the epoch of whoever read the object; filled by the
    /// reader, which alone knows that epoch.
    #[serde(skip)]
    pub measured_ms: Option<i64>,
}

impl Translate for NodeMetrics {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::NodeLoad(key.name)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let amount = |name: &str| {
            let field = format!("usage.{name}");
            match self.usage.get(name) {
                Some(text) => about.quantity(text, || field),
                None => Err(about.malformed(field, "is missing; expected an amount in use")),
            }
        };
        let (cpu, memory) = (amount("cpu")?, amount("memory")?);
        Ok(NodeLoadFacts {
            node: about.name(),
            usage: MeasuredUsage::Amounts([cpu.milli_ceil(), memory.units_ceil()]),
            measured: TimeMs(self.measured_ms.unwrap_or(0)),
            window_ms: self.window_ms(about)?,
        }
        .into())
    }
}

impl NodeMetrics {
    fn window_ms(&self, about: &About<'_>) -> Result<i64, TranslateError> {
        let Some(text) = &self.window else { return Ok(0) };
        let window = parse_ms(text).and_then(|ms| i64::try_from(ms).ok());
        window.filter(|&ms| ms >= 0).ok_or_else(|| {
            about.fail("window", format!("{text:?} is no length of time; expected one such as 30s"))
        })
    }
}
