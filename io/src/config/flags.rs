//! The switches of a plugin entry: which key opens or closes which extension point.
//!
//! Volcano spells some `enableX` and others `enabledX` and silently drops the wrong one, which is a
//! common trap. Both spellings are taken for all of them.

use muster_core::config::Gate;

/// A switch: what follows `enable` or `enabled` in its key, Volcano's own spelling, and what it
/// controls in words.
pub struct Flag {
    /// What it opens.
    pub gate: Gate,
    /// The key in Volcano's spelling.
    pub key: &'static str,
    /// What the plugin takes part in while it is open.
    pub words: &'static str,
}

/// All switches, in the order of [`Gate::ALL`].
pub const FLAGS: [Flag; 25] = [
    flag(Gate::JobOrder, "enableJobOrder", "order of jobs"),
    flag(Gate::Hierarchy, "enableHierarchy", "hierarchy of queues"),
    flag(Gate::JobReady, "enableJobReady", "when a job may start"),
    flag(Gate::JobPipelined, "enableJobPipelined", "when a job may reserve room"),
    flag(Gate::TaskOrder, "enableTaskOrder", "order of pods"),
    flag(Gate::Preemptable, "enablePreemptable", "victims of preempt"),
    flag(Gate::Reclaimable, "enableReclaimable", "victims of reclaim"),
    flag(Gate::Preemptive, "enablePreemptive", "which queue may reclaim"),
    flag(Gate::QueueOrder, "enableQueueOrder", "order of queues"),
    flag(Gate::ClusterOrder, "enabledClusterOrder", "order of clusters"),
    flag(Gate::Predicate, "enablePredicate", "which nodes are allowed"),
    flag(Gate::BestNode, "enableBestNode", "final choice of the node"),
    flag(Gate::NodeOrder, "enableNodeOrder", "score of nodes"),
    flag(Gate::TargetJob, "enableTargetJob", "choice of a job to reserve for"),
    flag(Gate::ReservedNodes, "enableReservedNodes", "reserved nodes"),
    flag(Gate::JobEnqueued, "enableJobEnqueued", "admission of jobs"),
    flag(Gate::Victim, "enabledVictim", "victims of shuffle"),
    flag(Gate::JobStarving, "enableJobStarving", "which jobs may evict"),
    flag(Gate::Overused, "enabledOverused", "which queue has too much"),
    flag(Gate::Allocatable, "enabledAllocatable", "what a queue may still take"),
    flag(Gate::HyperNodeOrder, "enabledHyperNodeOrder", "score of topology domains"),
    flag(Gate::SubJobReady, "enabledSubJobReady", "when a subgroup may start"),
    flag(Gate::SubJobPipelined, "enabledSubJobPipelined", "when a subgroup may reserve room"),
    flag(Gate::SubJobOrder, "enabledSubJobOrder", "order of subgroups"),
    flag(Gate::HyperNodeGradient, "enabledHyperNodeGradient", "which topology domains are tried"),
];

/// Switches of older versions of Volcano, which today's skips.
pub(super) const REMOVED: [&str; 2] = ["enableNamespaceOrder", "enabledNamespaceOrder"];

const fn flag(gate: Gate, key: &'static str, words: &'static str) -> Flag {
    Flag { gate, key, words }
}

/// The switch of a gate.
pub fn of(gate: Gate) -> &'static Flag {
    &FLAGS[gate as usize]
}

/// The gate a key switches, in either spelling.
pub(super) fn gate(key: &str) -> Option<Gate> {
    let wanted = suffix(key)?;
    FLAGS.iter().find(|flag| suffix(flag.key) == Some(wanted)).map(|flag| flag.gate)
}

/// What follows the spelling of "enable". All suffixes begin with a capital letter, so the shorter
/// prefix cannot be taken for the longer.
fn suffix(key: &str) -> Option<&str> {
    key.strip_prefix("enabled").or_else(|| key.strip_prefix("enable"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gate_has_its_switch_in_both_spellings() {
        for (index, expected) in Gate::ALL.into_iter().enumerate() {
            assert_eq!(FLAGS[index].gate, expected);
            assert_eq!(of(expected).gate, expected);
            let name = format!("{expected:?}");
            assert_eq!(gate(&format!("enable{name}")), Some(expected));
            assert_eq!(gate(&format!("enabled{name}")), Some(expected));
        }
        assert_eq!(gate("JobOrder"), None);
        assert_eq!(gate("enableNothing"), None);
    }
}
