//! Rules of a pod about other pods, and the namespaces those are in.

use serde::Deserialize;

use super::{LabelSelector, Metadata};

/// A namespace: only its labels matter.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Namespace {
    /// Its metadata.
    pub metadata: Metadata,
}

/// `podAffinity` or `podAntiAffinity` of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PodAffinity {
    /// What must hold.
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Vec<PodAffinityTerm>,
    /// What would be good.
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    pub preferred: Vec<WeightedPodAffinityTerm>,
}

/// Pods within the same value of a node label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodAffinityTerm {
    /// Which pods; absent is none, empty is all.
    pub label_selector: Option<LabelSelector>,
    /// Label of nodes.
    pub topology_key: String,
    /// Namespaces of the pods; with no selector for namespaces either, the pod's own.
    pub namespaces: Vec<String>,
    /// Further namespaces by their labels; empty is all.
    pub namespace_selector: Option<LabelSelector>,
    /// Labels the pods must have with the pod's own values.
    pub match_label_keys: Vec<String>,
    /// Labels the pods must not have with the pod's own values.
    pub mismatch_label_keys: Vec<String>,
}

/// A weighted wish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WeightedPodAffinityTerm {
    /// 1 to 100.
    pub weight: i32,
    /// The wish.
    pub pod_affinity_term: PodAffinityTerm,
}

/// How evenly pods are to be spread; words still as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TopologySpreadConstraint {
    /// Most pods a value may have above the fewest of any.
    pub max_skew: i64,
    /// Label of nodes whose values are to be even.
    pub topology_key: String,
    /// `DoNotSchedule` or `ScheduleAnyway`.
    pub when_unsatisfiable: String,
    /// Which pods count; absent is none, empty is all.
    pub label_selector: Option<LabelSelector>,
    /// Fewest values there must be.
    pub min_domains: Option<i64>,
    /// `Honor` (where absent) or `Ignore`.
    pub node_affinity_policy: Option<String>,
    /// `Honor` or `Ignore` (where absent).
    pub node_taints_policy: Option<String>,
    /// Labels the pods must have with the pod's own values.
    pub match_label_keys: Vec<String>,
}

/// A port of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerPort {
    /// Port inside the container.
    pub container_port: Option<i32>,
    /// Port taken on the node, if any.
    pub host_port: Option<i32>,
    /// Address of the node it is taken on; empty is all.
    #[serde(rename = "hostIP")]
    pub host_ip: String,
    /// `TCP` (where empty), `UDP` or `SCTP`.
    pub protocol: String,
}
