//! Plugins of Volcano that this version knows by name only: a file may list them, their arguments are
//! checked, and `check-config` says that they have no effect.
//!
//! `cdp` is the exception: what it promises always holds, so there is nothing to ask it.

use crate::config::ArgumentKind::{Bool, Duration, Int, IntFrom, List, Map, Text};
use crate::config::{ArgumentSpec, Gate, arg};
use crate::policy::{PluginSpec, Support, Weight, Words};

pub(super) const EXTENDER: PluginSpec = PluginSpec {
    extra_gates: &[
        Gate::Predicate,
        Gate::NodeOrder,
        Gate::Preemptable,
        Gate::Reclaimable,
        Gate::JobEnqueued,
        Gate::Overused,
        Gate::JobReady,
    ],
    arguments: EXTENDER_ARGUMENTS,
    words: Words {
        admits: Some("your server agrees"),
        filter: Some("your server allows"),
        victims: Some("your server agrees"),
        ..Words::NONE
    },
    ..PluginSpec::named(
        "extender",
        "asks a server of yours over HTTP for the decisions named by its verbs",
    )
};

pub(super) const DEVICESHARE: PluginSpec = PluginSpec {
    extra_gates: &[Gate::Predicate, Gate::NodeOrder],
    arguments: &[
        arg("deviceshare.GPUSharingEnable", Bool, "false", "shares GPUs by memory"),
        arg("deviceshare.GPUNumberEnable", Bool, "false", "gives out whole GPUs"),
        arg("deviceshare.VGPUEnable", Bool, "false", "shares GPUs by memory and cores"),
        arg("deviceshare.AscendMindClusterVNPUEnable", Bool, "false", "shares Ascend 310P"),
        arg("deviceshare.AscendHAMiVNPUEnable", Bool, "false", "shares Ascend by HAMi rules"),
        arg("deviceshare.NodeLockEnable", Bool, "false", "locks a node while devices are set"),
        arg(
            "deviceshare.SchedulePolicy",
            Text,
            "",
            "`binpack` fills used devices first, `spread` empty ones; other names do neither",
        ),
        arg("deviceshare.ScheduleWeight", IntFrom(0), "0", "factor of its score; 0 is off"),
        arg(
            "deviceshare.KnownGeometriesCMName",
            Text,
            "volcano-vgpu-device-config",
            "ConfigMap with the device models",
        ),
        arg(
            "deviceshare.KnownGeometriesCMNamespace",
            Text,
            "kube-system",
            "namespace of that ConfigMap",
        ),
        arg(
            "deviceshare.GPUExclusiveRules",
            List(&Map(&[arg("*", Text, "", "value of that label")])),
            "",
            "pods that match the same labels never share a device",
        ),
    ],
    words: Words {
        filter: Some("have the devices"),
        scores: &[("device policy", Weight::Argument("deviceshare.ScheduleWeight"))],
        ..Words::NONE
    },
    ..PluginSpec::named(
        "deviceshare",
        "pods get whole devices or shares of them, each device within its limits",
    )
};

pub(super) const NUMA_AWARE: PluginSpec = PluginSpec {
    extra_gates: &[Gate::Predicate, Gate::NodeOrder],
    arguments: &[arg("weight", Int, "1", "factor of its node score")],
    words: Words {
        filter: Some("fit by NUMA topology"),
        scores: &[("NUMA fit", Weight::Argument("weight"))],
        ..Words::NONE
    },
    ..PluginSpec::named(
        "numa-aware",
        "pods with whole cpus get them from as few NUMA nodes as their policy demands",
    )
};

pub(super) const CDP: PluginSpec = PluginSpec {
    support: Support::Always,
    ..PluginSpec::named(
        "cdp",
        "a pod is not evicted before its volcano.sh/cooldown-time has passed; that holds with \
                  or without this plugin",
    )
};

const EXTENDER_ARGUMENTS: &[ArgumentSpec] = &[
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
