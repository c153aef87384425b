//! Volcano's Queue (`scheduling.volcano.sh/v1beta1`).

use muster_core::delta::{ClusterDelta, ObjectRef, QueueFacts};
use muster_core::ids::ObjectKey;
use muster_core::resource::ResourceList;
use muster_core::status::QueueState;
use schemars::JsonSchema;
use serde::Deserialize;

use super::translate::{About, OwnerRule, Translate, TranslateError, hierarchy, nodegroup};
use super::{Metadata, ResourceMap};

/// A queue.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// Its metadata.
    pub metadata: Metadata,
    /// What it may use.
    pub spec: QueueSpec,
    /// Whether it takes jobs.
    pub status: QueueStatus,
}

/// What the queue may use.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueSpec {
    /// Its part of what is shared by weight; absent is 1.
    #[schemars(range(min = 1, max = 65_535))]
    pub weight: Option<i64>,
    /// Hard limit.
    pub capability: Option<ResourceMap>,
    /// Its due.
    pub deserved: Option<ResourceMap>,
    /// Room kept for it.
    pub guarantee: Guarantee,
    /// May others take back what it uses above its due? Absent is yes.
    pub reclaimable: Option<bool>,
    /// Higher is served first.
    #[schemars(range(min = 0))]
    pub priority: Option<i32>,
    /// Queue above it; empty is the root.
    pub parent: String,
    /// `traverse` or `fifo`.
    #[schemars(extend("enum" = ["fifo", "traverse"]))]
    pub dequeue_strategy: Option<String>,
    /// Groups of nodes its pods may and would like to use.
    pub affinity: QueueAffinity,
}

/// Groups of nodes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueAffinity {
    /// Groups to use.
    pub node_group_affinity: NodeGroupTerms,
    /// Groups to keep off.
    pub node_group_anti_affinity: NodeGroupTerms,
}

/// Names of groups of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NodeGroupTerms {
    /// What must hold.
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Vec<String>,
    /// What would be good, most wanted first.
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    pub preferred: Vec<String>,
}

/// Room kept for the queue.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Guarantee {
    /// The amounts.
    pub resource: Option<ResourceMap>,
}

/// Whether the queue takes jobs, and what it uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QueueStatus {
    /// `Open`, `Closing`, `Closed` or `Unknown`; absent is `Open`.
    pub state: Option<String>,
    /// What its pods and those of its children use.
    pub allocated: ResourceMap,
}

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
            over_quota: None,
        }
        .into())
    }

    fn unsupported(&self) -> Vec<String> {
        let spec = &self.spec;
        let lists = [&spec.capability, &spec.deserved, &spec.guarantee.resource];
        let names = lists.into_iter().flatten().flat_map(|list| list.keys());
        let devices =
            |name: &String| name.starts_with("deviceclass/") || name.contains(".deviceclass/");
        let mut found: Vec<String> = hierarchy::complaint(&self.metadata).into_iter().collect();
        if nodegroup::limits(self).is_none() {
            let limits = nodegroup::LIMITS;
            found.push(format!(
                "has an annotation {limits} that cannot be read; where the plugin nodegroup is \
                 configured its pods may use no node group"
            ));
        }
        if names.into_iter().any(devices) {
            found.push("limits device classes, which this version does not count".to_owned());
        }
        if spec.dequeue_strategy.as_deref() == Some("fifo") {
            found.push(
                "has dequeueStrategy fifo; a job that cannot start does not stop those behind it"
                    .to_owned(),
            );
        }
        found
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
