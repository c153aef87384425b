//! The plugins, a file each, and the list of all of them.

mod gang;
mod priority;
mod drf;
mod sla;
mod proportion;
mod capacity;
mod overcommit;
mod resourcequota;
mod predicates;
mod nodeorder;
mod binpack;
mod resource_strategy_fit;
mod network_topology_aware;
mod nodegroup;
mod usage;
mod task_topology;
mod conformance;
mod pdb;
mod budget_of_group;
mod rescheduling;
mod tdm;
mod planned;
mod kai;

pub(super) use kai::KAI;

use super::PluginSpec;

/// Every plugin a configuration of Volcano's may name: first who comes first, then who may have how much, where a
/// pod may go, and who may be evicted.
pub(super) const STANDARD: &[&PluginSpec] = &[
    &gang::SPEC,
    &priority::SPEC,
    &drf::SPEC,
    &sla::SPEC,
    &task_topology::SPEC,
    &proportion::SPEC,
    &capacity::SPEC,
    &overcommit::SPEC,
    &resourcequota::SPEC,
    &predicates::SPEC,
    &nodeorder::SPEC,
    &binpack::SPEC,
    &resource_strategy_fit::SPEC,
    &network_topology_aware::SPEC,
    &nodegroup::SPEC,
    &usage::SPEC,
    &planned::DEVICESHARE,
    &planned::NUMA_AWARE,
    &conformance::SPEC,
    &pdb::SPEC,
    &planned::CDP,
    &tdm::SPEC,
    &rescheduling::SPEC,
];
