//! An object as it came over the wire: its text, and the little of it a watch itself needs.
//!
//! Kinds share this one type, so that the machinery of watching is compiled once, and an object that
//! cannot be decoded is known by name and harms no other.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use muster_core::ids::ObjectKey;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::objects::ObjectKind;

/// An object as it came.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    /// Only the resource version is filled.
    meta: ObjectMeta,
    name: String,
    namespace: Option<String>,
    text: Box<RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    metadata: HeadMeta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HeadMeta {
    name: String,
    namespace: Option<String>,
    resource_version: Option<String>,
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let head: Head = serde_json::from_str(text.get()).map_err(serde::de::Error::custom)?;
        let HeadMeta { name, namespace, resource_version } = head.metadata;
        let meta = ObjectMeta { resource_version, ..ObjectMeta::default() };
        Ok(Self { meta, name, namespace, text })
    }
}

impl Raw {
    /// Its key, as an object of that kind.
    pub(super) fn key(&self, kind: ObjectKind) -> ObjectKey {
        kind.key(self.namespace.as_deref(), &self.name)
    }

    /// Its version as a number; `None` if it is not one. Only good to tell that two are the same.
    pub(super) fn version(&self) -> Option<u64> {
        self.meta.resource_version.as_deref()?.parse().ok()
    }

    /// The whole of it.
    pub(crate) fn text(&self) -> &str {
        self.text.get()
    }
}

/// How the API server calls a kind in that version.
pub(crate) fn api_resource(kind: ObjectKind, version: &str) -> ApiResource {
    let (group, version) = (kind.group().to_owned(), version.to_owned());
    let api_version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
    let (kind, plural) = (kind.name().to_owned(), kind.plural().to_owned());
    ApiResource { group, version, api_version, kind, plural }
}

impl Resource for Raw {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(dt: &ApiResource) -> Cow<'_, str> {
        dt.kind.as_str().into()
    }

    fn group(dt: &ApiResource) -> Cow<'_, str> {
        dt.group.as_str().into()
    }

    fn version(dt: &ApiResource) -> Cow<'_, str> {
        dt.version.as_str().into()
    }

    fn plural(dt: &ApiResource) -> Cow<'_, str> {
        dt.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

#[cfg(test)]
mod tests {
    use kube::core::{ObjectList, WatchEvent};

    use super::*;

    const POD: &str = r#"{"kind":"Pod","metadata":{"name":"p","namespace":"a","resourceVersion":"7","managedFields":[{"x":1}]},"spec":{"containers":[]}}"#;

    #[test]
    fn events_and_lists_hand_the_text_over_whole() {
        let event = format!(r#"{{"type":"ADDED","object":{POD}}}"#);
        let WatchEvent::Added(raw) = serde_json::from_str::<WatchEvent<Raw>>(&event).unwrap()
        else {
            panic!("it was added")
        };
        assert_eq!(raw.text(), POD);
        assert_eq!(raw.key(ObjectKind::Pod), ObjectKey::new("a", "p"));
        assert_eq!(raw.version(), Some(7));
        let list =
            format!(r#"{{"apiVersion":"v1","kind":"PodList","metadata":{{}},"items":[{POD}]}}"#);
        let list: ObjectList<Raw> = serde_json::from_str(&list).unwrap();
        assert_eq!(list.items[0].text(), POD);
    }

    #[test]
    fn every_kind_has_its_path() {
        let path = |kind: ObjectKind| Raw::url_path(&api_resource(kind, kind.version()), None);
        assert_eq!(path(ObjectKind::Pod), "/api/v1/pods");
        assert_eq!(path(ObjectKind::PodGroup), "/apis/scheduling.volcano.sh/v1beta1/podgroups");
        assert_eq!(path(ObjectKind::HyperNode), "/apis/topology.volcano.sh/v1alpha1/hypernodes");
        assert_eq!(path(ObjectKind::CsiNode), "/apis/storage.k8s.io/v1/csinodes");
    }
}
