//! Names of things as the outside knows them.

use std::fmt;

use arcstr::ArcStr;

/// A name that is shared rather than copied: cluster-scoped objects, roles, label keys. It takes one
/// pointer, wherever it is kept.
pub type Name = ArcStr;

/// Namespace and name of a namespaced object; orders and prints as `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Namespace, `default` where the object gave none.
    pub namespace: Name,
    /// Name within the namespace.
    pub name: Name,
}

impl ObjectKey {
    /// A key from its two parts.
    pub fn new(namespace: impl Into<Name>, name: impl Into<Name>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A point in time, in milliseconds since an epoch the outside chooses (Unix time on a real
/// cluster, time zero in a simulation). The core only compares and subtracts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeMs(pub i64);
