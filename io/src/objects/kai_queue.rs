//! KAI's Queue (`scheduling.run.ai/v2`).

use muster_core::config::DividingQueues;
use muster_core::delta::{
    ClusterDelta, NodeGroupFacts, ObjectRef, OverQuotaTerms, OverQuotaWeights, QueueFacts,
};
use muster_core::ids::ObjectKey;
use muster_core::resource::{Quantity, ResourceList};
use muster_core::status::QueueState;
use schemars::JsonSchema;
use serde::Deserialize;

use super::translate::{About, OwnerRule, Translate, TranslateError};
use super::{Metadata, Scalar};

/// A queue of KAI's.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct KaiQueue {
    /// Its metadata.
    pub metadata: Metadata,
    /// What it may use.
    pub spec: KaiQueueSpec,
}

/// What the queue may use.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KaiQueueSpec {
    /// What people call it; empty is its name.
    pub display_name: String,
    /// Queue above it; empty is none.
    pub parent_queue: String,
    /// Higher is served first; absent is 100.
    pub priority: Option<i32>,
    /// Quota, weight and limit of each resource; KAI takes no queue without them.
    pub resources: Option<KaiQueueResources>,
    /// How long its pods run before others of the same queue may take their room.
    pub preempt_min_runtime: Option<String>,
    /// How long its pods run before other queues may take their room.
    pub reclaim_min_runtime: Option<String>,
}

/// The resources KAI's queues share.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KaiQueueResources {
    /// In thousandths of a core.
    pub cpu: KaiQueueResource,
    /// In millions of bytes.
    pub memory: KaiQueueResource,
    /// In devices.
    pub gpu: KaiQueueResource,
}

/// What the queue may use of one resource; a number that is absent is 0.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KaiQueueResource {
    /// Its due; -1 is without end.
    #[schemars(with = "Option<f64>")]
    pub quota: Option<Scalar>,
    /// Its part of what is beyond quotas.
    #[schemars(with = "Option<f64>")]
    pub over_quota_weight: Option<Scalar>,
    /// Its hard limit; -1 is without end.
    #[schemars(with = "Option<f64>")]
    pub limit: Option<Scalar>,
}

/// Priority of a queue that names none.
const PRIORITY: i32 = 100;

/// The queue above all others here; KAI's have no name for it.
const ROOT: &str = "root";

impl Translate for KaiQueue {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::Queue(key.name)
    }

    fn delta(&self, about: &About<'_>, owner: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let spec = &self.spec;
        let parent = about.optional_name("spec.parentQueue", &spec.parent_queue)?;
        if parent.as_deref() == Some(self.metadata.name.as_str()) {
            let problem = "names the queue itself; expected another queue";
            return Err(about.malformed("spec.parentQueue", problem));
        }
        let Some(resources) = &spec.resources else {
            let problem =
                "is missing; expected quota, overQuotaWeight and limit of cpu, memory and gpu";
            return Err(about.malformed("spec.resources", problem));
        };
        Ok(QueueFacts {
            name: about.name(),
            uid: about.uid(),
            created: about.created(),
            parent: parent.filter(|parent| {
                &**parent != ROOT && owner.view().hierarchy == DividingQueues::Full
            }),
            weight: 1,
            priority: spec.priority.unwrap_or(PRIORITY),
            capability: Some(resources.amounts(about, Bound::Limit)?),
            deserved: Some(resources.amounts(about, Bound::Quota)?),
            guarantee: None,
            reclaimable: true,
            state: QueueState::Open,
            hierarchy: Vec::new(),
            node_groups: NodeGroupFacts::default(),
            over_quota: Some(Box::new(self.terms(about, resources)?)),
        }
        .into())
    }
}

impl KaiQueue {
    fn terms(
        &self,
        about: &About<'_>,
        resources: &KaiQueueResources,
    ) -> Result<OverQuotaTerms, TranslateError> {
        let weight = |resource: Shared| {
            let field = format!("spec.resources.{}.overQuotaWeight", resource.word());
            let text = resources.of(resource).over_quota_weight.as_ref();
            let weight = text.map_or(Ok(Quantity::ZERO), |text| number(about, text, &field))?;
            u64::try_from(weight.micro_ceil())
                .map_err(|_| about.malformed(field, "is below 0; expected a weight of 0 or more"))
        };
        let runtime = |field: &str, text: &Option<String>| {
            let Some(text) = text else { return Ok(None) };
            let ms = about.duration_ms(field, text)?;
            if ms < 0 {
                let problem = format!("{text:?} is below 0s; expected 0s or more");
                return Err(about.malformed(field, problem));
            }
            Ok(Some(ms))
        };
        Ok(OverQuotaTerms {
            weights: OverQuotaWeights {
                cpu: weight(Shared::Cpu)?,
                memory: weight(Shared::Memory)?,
                gpu: weight(Shared::Gpu)?,
            },
            preempt_min_runtime_ms: runtime(
                "spec.preemptMinRuntime",
                &self.spec.preempt_min_runtime,
            )?,
            reclaim_min_runtime_ms: runtime(
                "spec.reclaimMinRuntime",
                &self.spec.reclaim_min_runtime,
            )?,
        })
    }
}

/// A resource KAI's queues share.
#[derive(Clone, Copy)]
enum Shared {
    Cpu,
    Memory,
    Gpu,
}

impl Shared {
    /// Sorted by the names of the resources.
    const ALL: [Self; 3] = [Self::Cpu, Self::Memory, Self::Gpu];

    /// The word for it in a queue.
    fn word(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Gpu => "gpu",
        }
    }

    /// The word for it in a pod.
    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Gpu => "nvidia.com/gpu",
        }
    }

    /// A number of a queue as the amount it stands for.
    fn amount(self, number: Quantity) -> Quantity {
        match self {
            Self::Cpu => Quantity::from_milli(number.units_ceil()),
            Self::Memory => Quantity::from_units(number.milli_ceil().saturating_mul(1000)),
            Self::Gpu => number,
        }
    }
}

/// One of the two bounds a queue has of each resource.
#[derive(Clone, Copy)]
enum Bound {
    Quota,
    Limit,
}

impl KaiQueueResources {
    fn of(&self, resource: Shared) -> &KaiQueueResource {
        match resource {
            Shared::Cpu => &self.cpu,
            Shared::Memory => &self.memory,
            Shared::Gpu => &self.gpu,
        }
    }

    /// That bound of every resource; one without end is left out.
    fn amounts(&self, about: &About<'_>, bound: Bound) -> Result<ResourceList, TranslateError> {
        let mut amounts = ResourceList::new();
        for resource in Shared::ALL {
            let (word, text) = match bound {
                Bound::Quota => ("quota", &self.of(resource).quota),
                Bound::Limit => ("limit", &self.of(resource).limit),
            };
            let field = format!("spec.resources.{}.{word}", resource.word());
            let number =
                text.as_ref().map_or(Ok(Quantity::ZERO), |text| number(about, text, &field))?;
            if number == Quantity::from_units(-1) {
                continue;
            }
            if number.is_negative() {
                let problem = "is below 0; expected 0 or more, or -1 for no end";
                return Err(about.malformed(field, problem));
            }
            amounts.push((resource.name().into(), resource.amount(number)));
        }
        Ok(amounts)
    }
}

fn number(about: &About<'_>, text: &Scalar, field: &str) -> Result<Quantity, TranslateError> {
    text.as_str().parse::<Quantity>().map_err(|problem| about.fail(field, problem.to_string()))
}
