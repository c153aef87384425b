//! Names the timeline and the expectations use, checked against the objects that ever exist.

use std::collections::BTreeSet;

use muster_core::ids::ObjectKey;

use super::error::FieldError;
use crate::objects::translate::group_of;
use crate::objects::{Object, ObjectKind};
use crate::sim::expectation::{Assertion, Subject};

/// Every object seen so far.
#[derive(Default)]
pub(super) struct Known {
    objects: BTreeSet<(ObjectKind, ObjectKey)>,
    /// Groups that pods name, whether or not the PodGroup exists.
    groups: BTreeSet<ObjectKey>,
}

impl Known {
    pub(super) fn add(&mut self, objects: &[Object]) {
        for object in objects {
            let key = object.key();
            if let Object::Pod(pod) = object
                && let Some(group) = group_of(&pod.metadata)
            {
                self.groups.insert(ObjectKey::new(key.namespace.clone(), group));
            }
            self.objects.insert((object.kind(), key));
        }
    }

    pub(super) fn has(&self, kind: ObjectKind, key: &ObjectKey) -> bool {
        self.objects.contains(&(kind, key.clone()))
    }

    fn has_group(&self, key: &ObjectKey) -> bool {
        self.has(ObjectKind::PodGroup, key) || self.has(ObjectKind::KaiPodGroup, key)
    }

    /// A gang is a PodGroup, the group pods name, or a pod that is a gang of one.
    fn has_gang(&self, key: &ObjectKey) -> bool {
        self.has_group(key) || self.groups.contains(key) || self.has(ObjectKind::Pod, key)
    }

    /// Does the assertion speak about things that exist at some time?
    pub(super) fn check(&self, assertion: &Assertion) -> Result<(), FieldError> {
        match assertion {
            Assertion::Bound(count) => self.subject("bound", &count.of),
            Assertion::Pipelined(count) => self.subject("pipelined", &count.of),
            Assertion::Pending(count) => self.subject("pending", &count.of),
            Assertion::Evicted { of, .. } => self.subject("evicted", of),
            Assertion::SameDomain { gang, .. } => self.gang("sameDomain.gang", gang),
            Assertion::Reason { gang, .. } => self.gang("reason.gang", gang),
            Assertion::Phase { pod_group, .. } => {
                let known = self.has_group(pod_group);
                never_unless(known, "phase.podGroup", &format!("PodGroup {pod_group}"))
            }
            Assertion::Queue { name, .. } => {
                let kinds = [ObjectKind::Queue, ObjectKind::KaiQueue];
                let known = matches!(&**name, "root" | "default")
                    || kinds.iter().any(|kind| self.has(*kind, &kind.key(None, name)));
                never_unless(known, "queue.name", &format!("queue {name}"))
            }
            Assertion::Node { name, .. } => {
                let known = self.has(ObjectKind::Node, &ObjectKind::Node.key(None, name));
                never_unless(known, "node.name", &format!("node {name}"))
            }
            Assertion::QuietAfter(_) | Assertion::Beyond(_) => Ok(()),
        }
    }

    fn subject(&self, field: &str, subject: &Subject) -> Result<(), FieldError> {
        match subject {
            Subject::All => Ok(()),
            Subject::Gang(gang) => self.gang(&format!("{field}.gang"), gang),
            Subject::Pod(pod) => self.pod(&format!("{field}.pod"), pod),
        }
    }

    fn gang(&self, field: &str, gang: &ObjectKey) -> Result<(), FieldError> {
        never_unless(self.has_gang(gang), field, &format!("gang {gang}"))
    }

    pub(super) fn pod(&self, field: &str, pod: &ObjectKey) -> Result<(), FieldError> {
        never_unless(self.has(ObjectKind::Pod, pod), field, &format!("pod {pod}"))
    }
}

fn never_unless(known: bool, field: &str, what: &str) -> Result<(), FieldError> {
    if known {
        return Ok(());
    }
    let problem =
        format!("{what} never exists; expected one that objects or the timeline bring in");
    Err(FieldError::new(field, problem))
}
