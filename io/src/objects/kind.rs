//! Kinds of objects: what the table says of each.

use std::fmt;

use muster_core::ids::ObjectKey;

/// Where objects of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// In the cluster as a whole.
    Cluster,
}

/// Does every API server serve the kind, and is it watched there?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It does: without the kind there is nothing to schedule. A server that says otherwise is out
    /// of order, and what is known of the kind's objects still holds.
    Required,
    /// Not every one: until it does, there are no objects of the kind.
    Optional,
    /// It is read from files alone: a real cluster tells of the same by other ways.
    InFiles,
}

/// What the table says of a kind.
struct Row {
    /// The word in an object's `kind`.
    name: &'static str,
    /// Plural and group, joined by a dot as `kubectl` takes them; the core group is left out.
    resource: &'static str,
    /// Versions that are understood, the one to try first in front.
    versions: &'static [&'static str],
    scope: Scope,
    presence: Presence,
}

macro_rules! row {
    ($kind:ident ($resource:literal [$($version:literal),+] $scope:ident $presence:ident)) => {
        row!($kind ($resource [$($version),+] $scope $presence kind stringify!($kind)))
    };
    ($kind:ident
     ($resource:literal [$($version:literal),+] $scope:ident $presence:ident kind $name:expr)) => {
        &Row {
            name: $name,
            resource: $resource,
            versions: &[$($version),+],
            scope: Scope::$scope,
            presence: Presence::$presence,
        }
    };
}

macro_rules! object_kind {
    (read { $($read:ident $row:tt)+ } inert { $($inert:ident $inert_row:tt)* }) => {
        /// A kind of object scheduling knows of.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ObjectKind {
            $(#[doc = concat!("`", stringify!($read), "`, which rules read.")] $read,)+
            $(#[doc = concat!("`", stringify!($inert), "`, which no rule reads.")] $inert,)*
        }

        impl ObjectKind {
            /// Every kind, in the order messages list them.
            pub const ALL: &'static [Self] = &[$(Self::$read,)+ $(Self::$inert,)*];

            /// The kinds rules read, in the same order.
            const READ: &'static [Self] = &[$(Self::$read,)+];

            fn row(self) -> &'static Row {
                match self {
                    $(Self::$read => row!($read $row),)+
                    $(Self::$inert => row!($inert $inert_row),)*
                }
            }
        }
    };
}
kinds!(object_kind);

impl ObjectKind {
    /// The word in an object's `kind`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The API group, empty for the core group. Several groups have a `PodGroup` or a `Queue`, so
    /// the name alone does not tell.
    pub fn group(self) -> &'static str {
        self.row().resource.split_once('.').map_or("", |(_, group)| group)
    }

    /// The word for it in the path of a request.
    pub fn plural(self) -> &'static str {
        let resource = self.row().resource;
        resource.split_once('.').map_or(resource, |(plural, _)| plural)
    }

    /// Versions of the API group that are understood, the one to try first in front.
    pub fn versions(self) -> &'static [&'static str] {
        self.row().versions
    }

    /// The version to try first.
    pub fn version(self) -> &'static str {
        self.row().versions[0]
    }

    /// The kinds a watch is kept of, in the order messages list them.
    pub fn watched() -> impl Iterator<Item = Self> {
        let read = Self::READ.iter().copied();
        read.filter(|kind| kind.presence() != Presence::InFiles)
    }

    /// Where objects of this kind live.
    pub fn scope(self) -> Scope {
        self.row().scope
    }

    /// Do objects of this kind live in a namespace?
    pub fn is_namespaced(self) -> bool {
        self.scope() == Scope::Namespaced
    }

    /// Does every API server serve the kind?
    pub fn presence(self) -> Presence {
        self.row().presence
    }

    /// The kind of the other dialect whose objects are the same to the scheduler: only one of the two
    /// can have an object of a name.
    pub fn namesake(self) -> Option<Self> {
        match self {
            Self::PodGroup => Some(Self::KaiPodGroup),
            Self::KaiPodGroup => Some(Self::PodGroup),
            Self::Queue => Some(Self::KaiQueue),
            Self::KaiQueue => Some(Self::Queue),
            _ => None,
        }
    }

    /// The first kind of that name, whatever its group.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The kind an object names; an object without `apiVersion` goes by its kind alone. The version
    /// is not looked at: files have objects of versions no server serves any more.
    pub fn of(api_version: Option<&str>, name: &str) -> Option<Self> {
        let Some(api_version) = api_version else { return Self::by_name(name) };
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Self::ALL.iter().copied().find(|kind| kind.name() == name && kind.group() == group)
    }

    /// The key of an object of this kind: namespace `default` where one is needed and none given,
    /// empty where none is needed.
    pub fn key(self, namespace: Option<&str>, name: &str) -> ObjectKey {
        let namespace = match namespace {
            _ if !self.is_namespaced() => "",
            None | Some("") => "default",
            Some(namespace) => namespace,
        };
        ObjectKey::new(namespace, name)
    }

    /// The key as people write it: the bare name where the kind has no namespace.
    pub fn title(self, key: &ObjectKey) -> String {
        if self.is_namespaced() { key.to_string() } else { key.name.to_string() }
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_kind_of_another_group_is_not_ours() {
        assert_eq!(
            ObjectKind::of(Some("scheduling.volcano.sh/v1beta1"), "Queue"),
            Some(ObjectKind::Queue)
        );
        assert_eq!(
            ObjectKind::of(Some("scheduling.run.ai/v2"), "Queue"),
            Some(ObjectKind::KaiQueue)
        );
        assert_eq!(ObjectKind::of(Some("scheduling.example.com/v2"), "Queue"), None);
        assert_eq!(ObjectKind::of(Some("v1"), "Pod"), Some(ObjectKind::Pod));
        assert_eq!(ObjectKind::of(None, "Pod"), Some(ObjectKind::Pod));
    }

    #[test]
    fn every_listed_version_of_a_kind_is_read() {
        for &kind in ObjectKind::ALL {
            for version in kind.versions() {
                let group = kind.group();
                let slash = if group.is_empty() { "" } else { "/" };
                let api_version = format!("{group}{slash}{version}");
                assert_eq!(ObjectKind::of(Some(&api_version), kind.name()), Some(kind));
            }
        }
    }

    #[test]
    fn no_two_rows_are_the_same_resource_and_no_row_lists_a_version_twice() {
        let resources: BTreeSet<_> =
            ObjectKind::ALL.iter().map(|kind| (kind.group(), kind.plural())).collect();
        assert_eq!(resources.len(), ObjectKind::ALL.len());
        for kind in ObjectKind::ALL {
            let versions: BTreeSet<_> = kind.versions().iter().collect();
            assert_eq!(versions.len(), kind.versions().len(), "{kind}");
        }
    }

    #[test]
    fn a_row_is_taken_apart_as_kubectl_would() {
        let queue = ObjectKind::Queue;
        assert_eq!((queue.plural(), queue.group()), ("queues", "scheduling.volcano.sh"));
        assert_eq!((ObjectKind::Node.plural(), ObjectKind::Node.group()), ("nodes", ""));
        assert_eq!(ObjectKind::CsiNode.name(), "CSINode");
        assert_eq!(ObjectKind::ReplicaSet.name(), "ReplicaSet");
    }

    #[test]
    fn keys_carry_a_namespace_only_where_the_kind_has_one() {
        assert_eq!(ObjectKind::Pod.key(None, "p").to_string(), "default/p");
        assert_eq!(ObjectKind::Node.key(Some("x"), "n"), ObjectKey::new("", "n"));
    }
}
