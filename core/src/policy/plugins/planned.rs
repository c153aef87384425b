//! Plugins of Volcano that this version knows by name only: a file may list them, their arguments are
//! checked, and `check-config` says that they have no effect.
//!
//! `cdp` is the exception: what it promises always holds, so there is nothing to ask it.

use crate::config::ArgumentKind::{
    Amount, Bool, Duration, FloatFrom, Fraction, Int, IntFrom, List, Map, OneOf, Percent, Text,
};
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

pub(super) const USAGE: PluginSpec = PluginSpec {
    extra_gates: &[Gate::Predicate, Gate::NodeOrder],
    arguments: &[
        arg("usage.weight", IntFrom(0), "5", "factor of its node score"),
        arg("cpu.weight", IntFrom(0), "1", "weight of cpu load in the mean"),
        arg("memory.weight", IntFrom(0), "1", "weight of memory load in the mean"),
        arg(
            "thresholds",
            Map(&[
                arg("cpu", Percent, "80", "cpu load in percent from which a node is avoided"),
                arg("mem", Percent, "80", "memory load in percent from which it is avoided"),
            ]),
            "",
            "loads above which a node takes no more pods",
        ),
        arg("estimator", Map(USAGE_ESTIMATOR), "", "load of pods not yet seen in metrics"),
    ],
    words: Words {
        filter: Some("measured load allows"),
        scores: &[("little measured load", Weight::Argument("usage.weight"))],
        ..Words::NONE
    },
    ..PluginSpec::named(
        "usage",
        "nodes with less measured load are preferred, and overloaded ones avoided",
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
    support: Support::Full,
    ..PluginSpec::named(
        "cdp",
        "a pod is not evicted before its volcano.sh/cooldown-time has passed; that holds with \
                  or without this plugin",
    )
};

pub(super) const RESCHEDULING: PluginSpec = PluginSpec {
    extra_gates: &[Gate::Victim],
    arguments: &[
        arg("interval", Duration, "5m", "shortest time between two rounds"),
        arg(
            "metricsPeriod",
            Duration,
            "5m",
            "span of the load averages to read; only 10m is ever collected",
        )
        .without_effect("load is only ever averaged over 10m"),
        arg("strategies", List(&Map(RESCHEDULING_STRATEGY)), "", "what counts as overloaded"),
    ],
    ..PluginSpec::named(
        "rescheduling",
        "pods are moved from overloaded nodes to idle ones, by the shuffle action",
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

const USAGE_ESTIMATOR: &[ArgumentSpec] = &[
    arg("request_ratio", Fraction, "0.7", "part of a request assumed to be used"),
    arg("burst_ratio", Fraction, "0.0", "part of the room up to the limit assumed to be used"),
    arg("risk_threshold", Fraction, "0.6", "load from which estimates are raised"),
    arg("risk_factor", FloatFrom(1), "1.2", "how much they are raised"),
    arg("be_cpu", Amount, "250", "cpu of a pod that requests nothing, in thousandths of a core"),
    arg("be_mem", Amount, "200Mi", "memory of a pod that requests nothing"),
];

const RESCHEDULING_STRATEGY: &[ArgumentSpec] = &[
    arg("name", OneOf(&["lowNodeUtilization"]), "", "name of the strategy"),
    arg(
        "params",
        Map(&[
            arg("thresholds", Map(LOADS), "", "a node below all of these is idle"),
            arg("targetThresholds", Map(LOADS), "", "a node above any of these is overloaded"),
            arg("thresholdPriorityClassName", Text, "", "accepted; Volcano does not read it"),
            arg("nodeFit", Bool, "", "accepted; Volcano does not read it"),
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
