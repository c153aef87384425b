//! Plugins that place pods on the devices and cpu sets inside a node.

use super::ArgumentKind::{Bool, Int, IntFrom, List, Map, Text};
use super::{PluginSpec, Support, arg};
use crate::config::Gate;

pub(super) const TABLE: &[PluginSpec] = &[
    PluginSpec {
        name: "deviceshare",
        summary: "pods get whole devices or shares of them, each device within its limits",
        support: Support::Planned,
        gates: &[Gate::Predicate, Gate::NodeOrder],
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
    },
    PluginSpec {
        name: "numa-aware",
        summary: "pods with whole cpus get them from as few NUMA nodes as their policy demands",
        support: Support::Planned,
        gates: &[Gate::Predicate, Gate::NodeOrder],
        arguments: &[arg("weight", Int, "1", "factor of its node score")],
    },
];
