//! Plugins that decide which queue may have how much, and which job is admitted.

use super::ArgumentKind::{Bool, Duration, FloatFrom, IntFrom, List, Map, Text};
use super::{ArgumentSpec, PluginSpec, Support, arg};
use crate::config::Gate;

pub(super) const TABLE: &[PluginSpec] = &[
    PluginSpec {
        name: "proportion",
        summary: "queues share the cluster by weight, within their guarantee and capability",
        support: Support::Full,
        gates: &[
            Gate::QueueOrder,
            Gate::Reclaimable,
            Gate::Overused,
            Gate::Allocatable,
            Gate::Preemptive,
            Gate::JobEnqueued,
        ],
        arguments: &[],
    },
    PluginSpec {
        name: "capacity",
        summary: "queues have what they deserve, lend what they do not use and take it back",
        support: Support::Partial("everything but counting device claims"),
        gates: &[
            Gate::Hierarchy,
            Gate::QueueOrder,
            Gate::Reclaimable,
            Gate::Preemptive,
            Gate::Allocatable,
            Gate::JobEnqueued,
        ],
        arguments: &[
            arg(
                "ancestorReclaimLevel",
                IntFrom(0),
                "0",
                "how many levels of parent queues may be below their share in place of the queue that \
                 takes back, and must be above it beside the one that gives",
            ),
            arg(
                "capacity.DynamicResourceAllocationEnable",
                Bool,
                "",
                "counts device claims against the queue; without it the cluster's own feature \
                 gate decides",
            ),
            arg(
                "capacity.DRAConsumableCapacityEnable",
                Bool,
                "",
                "counts the capacity taken from shared devices as well; without it the cluster's \
                 own feature gate decides",
            ),
        ],
    },
    PluginSpec {
        name: "overcommit",
        summary: "admits jobs up to the cluster's size times a factor, so that a few wait ready",
        support: Support::Full,
        gates: &[Gate::JobEnqueued],
        arguments: &[arg(
            "overcommit-factor",
            FloatFrom(1),
            "1.2",
            "how many times the cluster's size may be admitted",
        )],
    },
    PluginSpec {
        name: "resourcequota",
        summary: "admits a job only if the quotas of its namespace have room for its minimum",
        support: Support::Full,
        gates: &[Gate::JobEnqueued],
        arguments: &[],
    },
    PluginSpec {
        name: "extender",
        summary: "asks a server of yours over HTTP for the decisions named by its verbs",
        support: Support::Planned,
        gates: &[
            Gate::Predicate,
            Gate::NodeOrder,
            Gate::Preemptable,
            Gate::Reclaimable,
            Gate::JobEnqueued,
            Gate::Overused,
            Gate::JobReady,
        ],
        arguments: EXTENDER,
    },
];

const EXTENDER: &[ArgumentSpec] = &[
    arg("extender.urlPrefix", Text, "", "address all verbs are appended to"),
    arg("extender.httpTimeout", Duration, "1s", "longest wait for an answer"),
    arg("extender.onSessionOpenVerb", Text, "", "called when a cycle starts"),
    arg("extender.onSessionCloseVerb", Text, "", "called when a cycle ends"),
    arg("extender.predicateVerb", Text, "", "asked whether a pod may run on a node"),
    arg("extender.prioritizeVerb", Text, "", "asked for a score of each node"),
    arg("extender.preemptableVerb", Text, "", "asked which pods preempt may evict"),
    arg("extender.reclaimableVerb", Text, "", "asked which pods reclaim may evict"),
    arg("extender.queueOverusedVerb", Text, "", "asked whether a queue has too much"),
    arg("extender.jobEnqueueableVerb", Text, "", "asked whether a job may be admitted"),
    arg("extender.jobEnqueuedVerb", Text, "", "told that a job was admitted"),
    arg("extender.jobReadyVerb", Text, "", "asked whether a job may start"),
    arg("extender.allocateFuncVerb", Text, "", "told that a pod was placed"),
    arg("extender.deallocateFuncVerb", Text, "", "told that a placement was taken back"),
    arg("extender.ignorable", Bool, "false", "goes on without answers when the server fails"),
    arg(
        "extender.managedResources",
        List(&Map(&[
            arg("name", Text, "", "name of the resource"),
            arg("ignoredByScheduler", Bool, "false", "leaves the resource out of the node's fit"),
        ])),
        "",
        "asks only for pods that request one of these resources",
    ),
];
