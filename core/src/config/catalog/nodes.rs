//! Plugins that decide where a pod may go and which node is best for it.

use super::ArgumentKind::{
    Amount, Bool, FloatFrom, Fraction, Int, IntFrom, List, Map, OneOf, Percent, Text,
};
use super::{ArgumentSpec, PluginSpec, Support, arg};
use crate::config::Gate;

pub(super) const TABLE: &[PluginSpec] = &[
    PluginSpec {
        name: "predicates",
        summary: "a pod runs only on nodes that satisfy all it asks for",
        support: Support::Partial(
            "everything but resource claims (dynamicresources) and the capacity of storage pools",
        ),
        gates: &[Gate::Predicate, Gate::NodeOrder],
        arguments: PREDICATES,
    },
    PluginSpec {
        name: "nodeorder",
        summary: "nodes are ranked by free room, balance, and the pod's and node's preferences",
        support: Support::Full,
        gates: &[Gate::NodeOrder],
        arguments: &[
            arg("leastrequested.weight", Int, "1", "prefers nodes with more room left (spreads)"),
            arg("mostrequested.weight", Int, "0", "prefers nodes with less room left (packs)"),
            arg("nodeaffinity.weight", Int, "2", "prefers nodes the pod prefers"),
            arg("podaffinity.weight", Int, "2", "prefers nodes near, or far from, other pods"),
            arg("balancedresource.weight", Int, "1", "prefers nodes left with cpu and memory even"),
            arg("tainttoleration.weight", Int, "3", "avoids nodes that would rather not have it"),
            arg("imagelocality.weight", Int, "1", "prefers nodes that hold the images already"),
            arg("podtopologyspread.weight", Int, "2", "prefers zones and hosts with fewer peers"),
        ],
    },
    PluginSpec {
        name: "binpack",
        summary: "fuller nodes are preferred, so that large holes stay free for large pods",
        support: Support::Full,
        gates: &[Gate::NodeOrder],
        arguments: &[
            arg("binpack.weight", Int, "1", "factor of its node score; 0 switches it off"),
            arg("binpack.cpu", IntFrom(0), "1", "weight of cpu in the mean"),
            arg("binpack.memory", IntFrom(0), "1", "weight of memory in the mean"),
            arg("binpack.resources", Text, "", "further resources that count, comma separated"),
            arg("binpack.resources.*", IntFrom(0), "1", "weight of that resource in the mean"),
        ],
    },
    PluginSpec {
        name: "resource-strategy-fit",
        summary: "each resource is spread or packed as configured, and scarce ones are spared",
        support: Support::Full,
        gates: &[Gate::NodeOrder, Gate::Predicate],
        arguments: RESOURCE_STRATEGY_FIT,
    },
    PluginSpec {
        name: "network-topology-aware",
        summary: "a job's pods share a network domain as small as it asks for",
        support: Support::Partial(
            "hard and soft constraints of jobs and their subgroups in allocate, and the preference \
             of other pods for fuller domains; the search of domains to evict from is not there yet",
        ),
        gates: &[Gate::HyperNodeOrder, Gate::HyperNodeGradient, Gate::NodeOrder],
        arguments: &[
            arg("weight", IntFrom(0), "1", "factor of its domain and node scores"),
            arg("hypernode.binpack.cpu", IntFrom(0), "1", "weight of cpu in a domain's fullness"),
            arg("hypernode.binpack.memory", IntFrom(0), "1", "weight of memory in it"),
            arg("hypernode.binpack.resources", Text, "", "further resources, comma separated"),
            arg("hypernode.binpack.resources.*", IntFrom(0), "1", "weight of that resource in it"),
            arg(
                "hypernode.binpack.normal-pod.enable",
                Bool,
                "true",
                "prefers fuller domains for pods without a topology constraint too",
            ),
            arg(
                "hypernode.binpack.normal-pod.fading",
                FloatFrom(0),
                "0.8",
                "how much less each further tier counts for those pods",
            ),
            arg(
                "hypernode.gradient.evict.max-hypernodes",
                IntFrom(1),
                "8",
                "domains a gang-aware evicting action may look into for one job; its `maxDomains` counts too",
            ),
        ],
    },
    PluginSpec {
        name: "nodegroup",
        summary: "pods of a queue run on the node groups the queue allows or prefers",
        support: Support::Full,
        gates: &[Gate::NodeOrder, Gate::Predicate, Gate::Hierarchy],
        arguments: &[
            arg("strict", Bool, "true", "keeps pods off nodes that belong to no group"),
            arg("enablePreferredOrder", Bool, "false", "earlier preferred groups score higher"),
        ],
    },
    PluginSpec {
        name: "usage",
        summary: "nodes with less measured load are preferred, and overloaded ones avoided",
        support: Support::Planned,
        gates: &[Gate::Predicate, Gate::NodeOrder],
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
    },
];

const PREDICATES: &[ArgumentSpec] = &[
    arg("predicate.NodeAffinityEnable", Bool, "true", "checks node selector and affinity"),
    arg("predicate.NodePortsEnable", Bool, "true", "checks that host ports are free"),
    arg("predicate.TaintTolerationEnable", Bool, "true", "checks taints"),
    arg("predicate.PodAffinityEnable", Bool, "true", "checks affinity between pods"),
    arg("predicate.NodeVolumeLimitsEnable", Bool, "true", "checks a node's number of volumes"),
    arg("predicate.VolumeZoneEnable", Bool, "true", "checks the zone of bound volumes"),
    arg("predicate.PodTopologySpreadEnable", Bool, "true", "checks spread over zones and hosts"),
    arg("predicate.VolumeBindingEnable", Bool, "true", "checks that volumes can be bound"),
    arg(
        "predicate.CacheEnable",
        Bool,
        "false",
        "in Volcano, remembers answers by pod template; here equal pods are always judged once",
    ),
    arg(
        "predicate.DynamicResourceAllocationEnable",
        Bool,
        "",
        "accepted because Volcano's documents name it; Volcano does not read it either",
    ),
    arg(
        "volumebinding.bindTimeoutSeconds",
        IntFrom(0),
        "600",
        "in Volcano, the longest wait for a volume; here a bind waits as long as its claims do",
    ),
    arg(
        "volumebinding.weight",
        Int,
        "1",
        "in Volcano, factor of the score by free storage; this version has no such score",
    ),
    arg(
        "volumebinding.shape",
        List(&Map(&[
            arg("utilization", Percent, "", "used part of a storage pool, in percent"),
            arg("score", Int, "", "score of a node at that utilization, 0 to 10"),
        ])),
        "",
        "the same score by how full storage is; without effect in this version",
    ),
    arg(
        "dynamicresources.filterTimeoutSeconds",
        IntFrom(0),
        "10",
        "longest search for devices on one node",
    ),
];

const STRATEGIES: &[&str] = &["LeastAllocated", "MostAllocated"];

const RESOURCE_STRATEGY_FIT: &[ArgumentSpec] = &[
    arg("resourceStrategyFitWeight", IntFrom(0), "10", "factor of its score; 0 switches it off"),
    arg(
        "resources",
        Map(&[arg(
            "*",
            Map(&[
                arg("type", OneOf(STRATEGIES), "LeastAllocated", "spreads or packs the resource"),
                arg("weight", IntFrom(1), "1", "weight of the resource in the mean"),
            ]),
            "",
            "how nodes are scored for that resource; the name may end in *",
        )]),
        "cpu and memory LeastAllocated",
        "how nodes are scored for each resource",
    ),
    arg(
        "sra",
        Map(&[
            arg("enable", Bool, "false", "keeps other pods off nodes with scarce resources"),
            arg("resources", Text, "", "the scarce resources, comma separated"),
            arg("weight", IntFrom(0), "1", "factor of that score"),
            arg(
                "resourceWeight",
                Map(&[arg("*", IntFrom(0), "1", "weight of that resource")]),
                "",
                "weight of each scarce resource",
            ),
        ]),
        "",
        "avoidance of nodes whose scarce resources the pod does not need",
    ),
    arg(
        "proportional",
        Map(&[
            arg("enable", Bool, "false", "keeps cpu and memory free for the devices of a node"),
            arg("resources", Text, "", "the devices, comma separated"),
            arg(
                "resourceProportion",
                Map(&[arg("*", FloatFrom(0), "1", "cpu cores, or gigabytes, kept per device")]),
                "",
                "keys `<device>.cpu` and `<device>.memory`",
            ),
        ]),
        "",
        "room that pods without devices must leave on nodes with devices",
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
