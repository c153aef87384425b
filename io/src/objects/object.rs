//! One object of any kind of the table.

use muster_core::ids::ObjectKey;
use serde::de::DeserializeOwned;

use super::{Metadata, ObjectKind};

/// What objects are written in, and how it becomes one of our types.
pub(crate) trait Decode {
    /// Why it is not an object of its kind.
    type Error;

    /// Reads it as that type.
    fn decode<T: DeserializeOwned>(self) -> Result<Box<T>, Self::Error>;
}

/// Of an object no rule reads, only its name is kept.
#[derive(serde::Deserialize)]
struct Named {
    #[serde(default)]
    metadata: Metadata,
}

macro_rules! object {
    (read { $($read:ident $row:tt)+ } inert { $($inert:ident $inert_row:tt)* }) => {
        /// An object scheduling knows of.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Object {
            $(#[doc = concat!("A [`", stringify!($read), "`](super::", stringify!($read), ").")]
            $read(Box<super::$read>),)+
            /// An object of a kind that is understood but that no rule reads yet.
            Inert {
                /// Its kind.
                kind: ObjectKind,
                /// Its name; the namespace is empty for cluster-scoped kinds.
                key: ObjectKey,
            },
        }

        impl Object {
            /// Reads an object of that kind.
            pub(crate) fn decode<D: Decode>(kind: ObjectKind, from: D) -> Result<Self, D::Error> {
                Ok(match kind {
                    $(ObjectKind::$read => Self::$read(from.decode()?),)+
                    $(ObjectKind::$inert)|* => {
                        let Named { metadata } = *from.decode()?;
                        let key = kind.key(metadata.namespace.as_deref(), &metadata.name);
                        Self::Inert { kind, key }
                    }
                })
            }

            /// The object's kind.
            pub fn kind(&self) -> ObjectKind {
                match self {
                    $(Self::$read(_) => ObjectKind::$read,)+
                    Self::Inert { kind, .. } => *kind,
                }
            }

            /// The object's metadata; none is kept of inert objects.
            pub fn metadata(&self) -> Option<&Metadata> {
                match self {
                    $(Self::$read(object) => Some(&object.metadata),)+
                    Self::Inert { .. } => None,
                }
            }

            /// The object's metadata, to be changed.
            pub fn metadata_mut(&mut self) -> Option<&mut Metadata> {
                match self {
                    $(Self::$read(object) => Some(&mut object.metadata),)+
                    Self::Inert { .. } => None,
                }
            }
        }
    };
}
kinds!(object);

impl Object {
    /// Reads the times written in the object, by the clock of whoever holds it; one that cannot be
    /// read counts as not given.
    pub(crate) fn read_times(&mut self, read: impl Fn(&str) -> Option<i64>) {
        match self {
            Self::Pod(pod) => pod.status.placed_ms = pod.status.placed().and_then(&read),
            Self::KaiPodGroup(group) => group.read_past(&read),
            _ => {}
        }
        if let Some(metadata) = self.metadata_mut() {
            metadata.created_ms = metadata.creation_timestamp.as_deref().and_then(&read);
            metadata.deletion_ms = metadata.deletion_timestamp.as_deref().and_then(read);
        }
    }

    /// Namespace and name: the namespace is `default` where a namespaced object gives none, empty
    /// for cluster-scoped kinds.
    pub fn key(&self) -> ObjectKey {
        if let Self::Inert { key, .. } = self {
            return key.clone();
        }
        let metadata = self.metadata();
        self.kind().key(
            metadata.and_then(|metadata| metadata.namespace.as_deref()),
            metadata.map_or("", |metadata| &metadata.name),
        )
    }
}
