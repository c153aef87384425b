//! Sets of pods that belong together, by the word of a Service or of the controller that made them.

use std::fmt;

use super::Requirement;
use crate::ids::{Name, ObjectKey};

/// Whose word it is that pods belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PodSetKind {
    /// A Service: every pod it selects.
    Service,
    /// A `ReplicationController`: pods it made.
    ReplicationController,
    /// A `ReplicaSet`: pods it made.
    ReplicaSet,
    /// A `StatefulSet`: pods it made.
    StatefulSet,
}

impl PodSetKind {
    /// The word in an object's `kind`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Service => "Service",
            Self::ReplicationController => "ReplicationController",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
        }
    }
}

/// Which set of pods.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodSetRef {
    /// Whose word it is.
    pub kind: PodSetKind,
    /// Namespace and name; the pods are in the same namespace.
    pub key: ObjectKey,
}

impl fmt::Display for PodSetRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.key)
    }
}

/// A set of pods as scheduling sees it. One that selects by nothing tells pods apart from none and
/// is no set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSetFacts {
    /// Which set.
    pub set: PodSetRef,
    /// Labels of its pods: all of this holds for each of them.
    pub selector: Vec<Requirement>,
}

/// The set whose controller made a pod, in the pod's namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodOwner {
    /// Kind of the controller; never a Service.
    pub kind: PodSetKind,
    /// Its name.
    pub name: Name,
}
