//! Objects to cluster deltas: the only place that knows both the cluster's fields and the core's
//! facts.

mod about;
mod selector;
mod pod;
pub(crate) mod label;
mod interpod;
mod request;
mod volume;
pub(super) mod images;
pub(super) mod hierarchy;
pub(super) mod nodegroup;
mod strategy;
mod kai_pod;
mod sight;
pub(super) mod devices;
pub(super) mod group_tree;
pub(super) mod group_budget;
pub(super) mod role_topology;

use muster_core::config::View;
use muster_core::delta::{ClusterDelta, ObjectRef, Ownership};
use muster_core::ids::ObjectKey;

use crate::objects::{self, Object, ObjectKind};

pub(super) use about::{
    About, PREEMPTABLE, annotation_or_label, member, pairs, parse_bool, preemptable,
};
pub(crate) use devices::{GROUP as DEVICE_GROUP, group_labels};
pub(crate) use pod::{annotate, annotations, group_of, keep_reservation, queue_of};
pub(super) use selector::{exact_labels, label_selector};
pub(super) use sight::hide_gpus;
pub(crate) use volume::{IS_DEFAULT, SELECTED_NODE};

/// Which pods are ours, by their `schedulerName`, and what of the cluster is there for us at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerRule {
    names: Vec<Box<str>>,
    unnamed: Ownership,
    sharing: DeviceSharing,
    view: View,
}

/// Can pods be given parts of devices?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSharing {
    /// They can.
    Given,
    /// Nobody is there who would see to it.
    NotGiven,
}

impl OwnerRule {
    /// In a simulation a pod is ours when it names nobody, `muster`, `volcano` or `kai-scheduler`.
    pub fn simulation() -> Self {
        let names = ["muster", "volcano", kai_pod::SCHEDULER];
        let (names, unnamed) = (names.map(Into::into).to_vec(), Ownership::Ours);
        Self { names, unnamed, sharing: DeviceSharing::Given, view: View::default() }
    }

    /// On a real cluster exactly the pods that name one of these schedulers are ours.
    pub fn named(names: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        let (names, unnamed) = (names.into_iter().map(Into::into).collect(), Ownership::Foreign);
        Self { names, unnamed, sharing: DeviceSharing::NotGiven, view: View::default() }
    }

    /// The same for a scheduler that sees a part of the cluster.
    #[must_use]
    pub fn seeing(self, view: View) -> Self {
        Self { view, ..self }
    }

    /// Can pods be given parts of devices?
    pub(in crate::objects) fn sharing(&self) -> DeviceSharing {
        self.sharing
    }

    /// Is the object there for us? What is not is to be told as gone, or not at all.
    pub fn sees(&self, object: &Object) -> bool {
        sight::sees(&self.view, object)
    }

    /// What is seen.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whose pod it is that names this scheduler.
    pub fn of(&self, scheduler_name: Option<&str>) -> Ownership {
        match scheduler_name {
            None | Some("") => self.unnamed,
            Some(name) if self.names.iter().any(|ours| &**ours == name) => Ownership::Ours,
            Some(_) => Ownership::Foreign,
        }
    }

    /// Whose a pod is.
    fn of_pod(&self, pod: &objects::Pod) -> Ownership {
        match self.of(pod.spec.scheduler_name.as_deref()) {
            Ownership::Ours if !sight::takes(&self.view, &pod.metadata) => Ownership::Foreign,
            named => named,
        }
    }
}

/// Whose fault it is that an object cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No API server would have taken it: a name, an amount or a word that is none. In a file this
    /// is a typing error, and nothing of the file is used.
    Input,
    /// It reads well and makes no sense, as objects of real clusters do. It is set aside, and the
    /// rest goes on, in a file too.
    Object,
}

/// Why an object could not become a delta.
///
/// On a real cluster the object is set aside, counted and reported, and the rest goes on; in a file
/// that depends on the [`Fault`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {}: {field}: {problem}", kind.title(key))]
pub struct TranslateError {
    /// Kind of the object.
    pub kind: ObjectKind,
    /// Its key.
    pub key: ObjectKey,
    /// Path of the field, as in `spec.containers[0].resources.requests.cpu`.
    pub field: String,
    /// What is wrong with it and what was expected.
    pub problem: String,
    /// Is it the file's fault or the object's?
    pub fault: Fault,
}

impl TranslateError {
    /// The delta that tells the core to do without the object; `None` for kinds no rule reads.
    pub fn set_aside(self) -> Option<ClusterDelta> {
        let object = object_ref(self.kind, self.key)?;
        let reason = format!("{}: {}", self.field, self.problem);
        Some(ClusterDelta::SetAside { object, reason })
    }
}

/// How objects of a kind become what the core knows: once for each kind that rules read.
pub(super) trait Translate {
    /// Which object of the core has this key.
    fn object(key: ObjectKey) -> ObjectRef;

    /// The delta the core gets for the object.
    fn delta(&self, about: &About<'_>, owner: &OwnerRule) -> Result<ClusterDelta, TranslateError>;

    /// What the object asks for that this version does not do, one phrase each, without the object's
    /// name so that many objects can share one sentence.
    fn unsupported(&self) -> Vec<String> {
        Vec::new()
    }
}

macro_rules! by_kind {
    (read { $($read:ident $row:tt)+ } inert { $($inert:ident $inert_row:tt)* }) => {
        /// The delta that sets the object in the core; `None` for kinds no rule reads.
        pub fn translate(
            object: &Object,
            owner: &OwnerRule,
        ) -> Result<Option<ClusterDelta>, TranslateError> {
            match object {
                $(Object::$read(object) => {
                    let about = About::new(ObjectKind::$read, &object.metadata)?;
                    object.delta(&about, owner).map(Some)
                })+
                Object::Inert { .. } => Ok(None),
            }
        }

        /// What the object asks for that this version does not do, one phrase each, without the
        /// object's name so that many objects can share one sentence.
        pub fn unsupported(object: &Object) -> Vec<String> {
            match object {
                $(Object::$read(object) => object.unsupported(),)+
                Object::Inert { .. } => vec!["is read by no rule of this version".to_owned()],
            }
        }

        fn object_ref(kind: ObjectKind, key: ObjectKey) -> Option<ObjectRef> {
            match kind {
                $(ObjectKind::$read => Some(objects::$read::object(key)),)+
                $(ObjectKind::$inert)|* => None,
            }
        }
    };
}
kinds!(by_kind);

/// The delta that removes the object; `None` for kinds no rule reads.
pub fn gone(kind: ObjectKind, key: &ObjectKey) -> Option<ClusterDelta> {
    object_ref(kind, key.clone()).map(ClusterDelta::Gone)
}

/// The delta for an object that both dialects have under one name: neither counts, because it is open
/// which of the two is meant.
pub(crate) fn in_both_dialects(kind: ObjectKind, key: &ObjectKey) -> Option<ClusterDelta> {
    let other = kind.namesake()?;
    let (first, second) = (kind.min(other), kind.max(other));
    let reason = format!(
        "both {} and {} have a {} of this name; one of them has to go",
        first.group(),
        second.group(),
        first.name(),
    );
    object_ref(kind, key.clone()).map(|object| ClusterDelta::SetAside { object, reason })
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_kai;
