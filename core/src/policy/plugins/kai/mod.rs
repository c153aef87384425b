//! KAI's plugins, a file each, and the list of all of them.
//!
//! Several names mean something else than in Volcano; which list counts follows from the configuration.
//! Room that is free now always goes before room that is being freed, and a nomination is a reservation:
//! so there is nothing to ask `nodeavailability` and `nominatednode`.

mod podgroup;
mod proportion;
mod minruntime;
mod predicates;
mod priority;
mod elastic;
mod task_order;
mod subgrouporder;
mod topology;
mod nodeplacement;
mod resourcetype;
mod podaffinity;
mod gpupack;
mod gpuspread;
mod gpusharingorder;
mod built_in;
mod planned;

use crate::policy::{PluginSpec, Setup};
use crate::resource::Dim;

/// The resource that counts as GPU.
fn gpu(setup: &mut Setup<'_>) -> Dim {
    setup.names.dim(&"nvidia.com/gpu".into())
}

/// Every plugin a configuration of KAI's may name.
pub(in crate::policy) const KAI: &[&PluginSpec] = &[
    &podgroup::SPEC,
    &predicates::SPEC,
    &proportion::SPEC,
    &priority::SPEC,
    &built_in::NODEAVAILABILITY,
    &resourcetype::SPEC,
    &podaffinity::SPEC,
    &elastic::SPEC,
    &task_order::KUBEFLOW,
    &task_order::RAY,
    &subgrouporder::SPEC,
    &task_order::TASKORDER,
    &built_in::NOMINATEDNODE,
    &planned::DYNAMICRESOURCES,
    &minruntime::SPEC,
    &topology::SPEC,
    &built_in::SNAPSHOT,
    &built_in::REFLECTJOBORDER,
    &gpupack::SPEC,
    &gpuspread::SPEC,
    &nodeplacement::SPEC,
    &gpusharingorder::SPEC,
    &built_in::SG_NODELOCALGREEDY,
    &built_in::SG_MULTINODEGANG,
    &planned::NUMA,
];
