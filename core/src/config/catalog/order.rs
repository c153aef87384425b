//! Plugins that decide which job or pod comes first, and when a gang may start.

use super::ArgumentKind::{Duration, Int};
use super::{PluginSpec, Support, arg};
use crate::config::Gate;

pub(super) const TABLE: &[PluginSpec] = &[
    PluginSpec {
        name: "gang",
        summary: "a job's pods start together or not at all, by its minimum and its roles' minima",
        support: Support::Full,
        // Sub-groups are part of the question about their job: no switch of theirs has an effect.
        gates: &[
            Gate::JobOrder,
            Gate::SubJobOrder,
            Gate::JobReady,
            Gate::JobPipelined,
            Gate::JobStarving,
            Gate::Preemptable,
            Gate::Reclaimable,
        ],
        arguments: &[],
    },
    PluginSpec {
        name: "priority",
        summary: "higher priority goes first, and only lower priority may be preempted for it",
        support: Support::Full,
        gates: &[
            Gate::JobOrder,
            Gate::TaskOrder,
            Gate::SubJobOrder,
            Gate::JobStarving,
            Gate::Preemptable,
        ],
        arguments: &[],
    },
    PluginSpec {
        name: "drf",
        summary: "the job holding the smallest share of its most used resource goes first",
        support: Support::Full,
        gates: &[
            Gate::JobOrder,
            Gate::Preemptable,
            Gate::Hierarchy,
            Gate::QueueOrder,
            Gate::Reclaimable,
        ],
        arguments: &[],
    },
    PluginSpec {
        name: "sla",
        summary: "a job that has waited longer than its limit is admitted and served first",
        support: Support::Full,
        gates: &[Gate::JobOrder, Gate::JobEnqueued, Gate::JobPipelined],
        arguments: &[arg(
            "sla-waiting-time",
            Duration,
            "",
            "longest wait of jobs that do not name their own",
        )],
    },
    PluginSpec {
        name: "task-topology",
        summary: "roles of a job that want to be together, or apart, are placed so",
        support: Support::Planned,
        gates: &[Gate::TaskOrder, Gate::NodeOrder],
        arguments: &[arg("task-topology.weight", Int, "1", "factor of its node score")],
    },
];
