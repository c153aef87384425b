//! Service (`v1`), and the controllers whose pods belong together: `ReplicationController` (`v1`),
//! `ReplicaSet` and `StatefulSet` (`apps/v1`). Of all of them only whom they select is read.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{LabelSelector, Metadata};

/// A Service.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Service {
    /// Its metadata.
    pub metadata: Metadata,
    /// Whom it selects.
    pub spec: ServiceSpec,
}

/// `spec` of a Service.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ServiceSpec {
    /// Labels of its pods; none selects nobody.
    pub selector: BTreeMap<String, String>,
}

/// A controller of the first generation, which knows exact labels only.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReplicationController {
    /// Its metadata.
    pub metadata: Metadata,
    /// Whom it selects.
    pub spec: ReplicationControllerSpec,
}

/// `spec` of a `ReplicationController`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReplicationControllerSpec {
    /// Labels of its pods.
    pub selector: BTreeMap<String, String>,
    /// How many pods it wants, 1 where absent.
    pub replicas: Option<i64>,
}

/// A controller of equal pods.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReplicaSet {
    /// Its metadata.
    pub metadata: Metadata,
    /// Whom it selects.
    pub spec: ReplicasSpec,
}

/// A controller of numbered pods.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct StatefulSet {
    /// Its metadata.
    pub metadata: Metadata,
    /// Whom it selects.
    pub spec: ReplicasSpec,
}

/// `spec` of a `ReplicaSet` or a `StatefulSet`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReplicasSpec {
    /// Which pods are its own.
    pub selector: LabelSelector,
    /// How many pods it wants, 1 where absent.
    pub replicas: Option<i64>,
}
