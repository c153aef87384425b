//! Plugins of Volcano that this version knows by name only: a file may list them, their arguments are
//! checked, and `check-config` says that they have no effect.
//!
//! `cdp` is the exception: what it promises always holds, so there is nothing to ask it.

use crate::config::ArgumentKind::{Bool, Int, IntFrom, List, Map, Text};
use crate::config::{Gate, arg};
use crate::policy::{PluginSpec, Support, Weight, Words};

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
