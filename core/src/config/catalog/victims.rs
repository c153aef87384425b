//! Plugins that protect running pods from eviction, or ask for some to be moved.

use super::ArgumentKind::{Duration, List, Map, OneOf, Percent, Text};
use super::{ArgumentSpec, PluginSpec, Support, arg};
use crate::config::Gate;

pub(super) const TABLE: &[PluginSpec] = &[
    PluginSpec {
        name: "conformance",
        summary: "pods of kube-system and system-critical pods are never evicted",
        support: Support::Full,
        gates: &[Gate::Preemptable, Gate::Reclaimable, Gate::Victim],
        arguments: &[],
    },
    PluginSpec {
        name: "pdb",
        summary: "evictions stay within the disruption budgets of the pods",
        support: Support::Full,
        gates: &[Gate::Preemptable, Gate::Reclaimable, Gate::Victim],
        arguments: &[],
    },
    PluginSpec {
        name: "cdp",
        summary: "a pod is not evicted before its volcano.sh/cooldown-time has passed; that holds with \
                  or without this plugin",
        support: Support::Full,
        gates: &[],
        arguments: &[],
    },
    PluginSpec {
        name: "tdm",
        summary: "nodes lent for part of the day are used in that time and emptied after it",
        support: Support::Planned,
        gates: &[
            Gate::Predicate,
            Gate::NodeOrder,
            Gate::Preemptable,
            Gate::Victim,
            Gate::JobOrder,
            Gate::JobPipelined,
            Gate::JobStarving,
        ],
        arguments: &[
            arg(
                "tdm.revocable-zone.*",
                Text,
                "",
                "hours in which that zone's nodes may be used, as `HH:MM-HH:MM`",
            ),
            arg("tdm.evict.period", Duration, "1m", "shortest time between two rounds of eviction"),
        ],
    },
    PluginSpec {
        name: "rescheduling",
        summary: "pods are moved from overloaded nodes to idle ones, by the shuffle action",
        support: Support::Planned,
        gates: &[Gate::Victim],
        arguments: &[
            arg("interval", Duration, "5m", "shortest time between two rounds"),
            arg(
                "metricsPeriod",
                Duration,
                "5m",
                "span of the load averages to read; only 10m is ever collected",
            ),
            arg("strategies", List(&Map(RESCHEDULING_STRATEGY)), "", "what counts as overloaded"),
        ],
    },
];

const RESCHEDULING_STRATEGY: &[ArgumentSpec] = &[
    arg("name", OneOf(&["lowNodeUtilization"]), "", "name of the strategy"),
    arg(
        "params",
        Map(&[
            arg("thresholds", Map(LOADS), "", "a node below all of these is idle"),
            arg("targetThresholds", Map(LOADS), "", "a node above any of these is overloaded"),
            arg("thresholdPriorityClassName", Text, "", "accepted; Volcano does not read it"),
            arg("nodeFit", super::ArgumentKind::Bool, "", "accepted; Volcano does not read it"),
        ]),
        "",
        "its numbers",
    ),
];

const LOADS: &[ArgumentSpec] = &[
    arg("cpu", Percent, "100", "load of the cpu, in percent"),
    arg("memory", Percent, "100", "load of the memory, in percent"),
    arg("pods", Percent, "100", "used pod slots, in percent"),
    arg("pod", Percent, "100", "used pod slots, in percent (Volcano's code reads this spelling)"),
];
