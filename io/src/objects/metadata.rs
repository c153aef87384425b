//! `metadata`, which every object has.

use std::collections::BTreeMap;

use serde::Deserialize;

/// `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Object name.
    pub name: String,
    /// Namespace; absent on cluster-scoped objects.
    pub namespace: Option<String>,
    /// Unique id.
    pub uid: Option<String>,
    /// Grows with every change of the object.
    pub resource_version: Option<String>,
    /// RFC 3339 time of creation.
    pub creation_timestamp: Option<String>,
    /// RFC 3339 time of deletion, present while the object is leaving.
    pub deletion_timestamp: Option<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Objects it belongs to.
    pub owner_references: Vec<OwnerReference>,
    /// Time of creation in milliseconds since the epoch of the reader's clock; filled by the
    /// reader, which alone knows that epoch.
    #[serde(skip)]
    pub created_ms: Option<i64>,
    /// Time of deletion, likewise.
    #[serde(skip)]
    pub deletion_ms: Option<i64>,
}

#[cfg(test)]
impl Metadata {
    /// Metadata with these annotations and nothing else.
    pub(super) fn annotated(annotations: &[(&str, &str)]) -> Self {
        let own = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Self { annotations: own.collect(), ..Self::default() }
    }
}

/// An object another one belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// API group and version of the owner.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name, in the same namespace.
    pub name: String,
    /// Uid of the owner.
    pub uid: String,
    /// Is it the one that made it?
    pub controller: bool,
}
