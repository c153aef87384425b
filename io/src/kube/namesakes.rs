//! Objects that both dialects have under one name.
//!
//! Each dialect's kind has a watch of its own, and to the scheduler a queue or a PodGroup of either is
//! the same object. While both have one it is set aside; once one of the two is gone, the watch of the
//! other tells of it again.

use hashbrown::{HashMap, HashSet};
use muster_core::ids::ObjectKey;
use rustc_hash::FxBuildHasher;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, MutexGuard};

use crate::objects::ObjectKind;

/// What all watches know of each other's objects.
#[derive(Debug, Default)]
pub(crate) struct Namesakes(Mutex<Known>);

/// Objects that exist, of kinds that have a namesake, and whom to ask to tell of one again.
#[derive(Debug, Default)]
pub(super) struct Known {
    there: HashMap<ObjectKind, HashSet<ObjectKey, FxBuildHasher>, FxBuildHasher>,
    again: HashMap<ObjectKind, UnboundedSender<ObjectKey>, FxBuildHasher>,
}

impl Namesakes {
    /// Objects of the kind that have to be told again.
    pub(super) async fn listen(&self, kind: ObjectKind) -> UnboundedReceiver<ObjectKey> {
        let (tell, hear) = unbounded_channel();
        self.0.lock().await.again.insert(kind, tell);
        hear
    }

    /// What is known, for one watch alone; none for a kind without namesake. The watch keeps it until it
    /// has sent what follows from it, so that what two watches say of one name comes in the order of
    /// their looks at it.
    pub(super) async fn lock(&self, kind: ObjectKind) -> Option<MutexGuard<'_, Known>> {
        kind.namesake()?;
        Some(self.0.lock().await)
    }
}

impl Known {
    /// The object is there. True if its namesake is, too.
    pub(super) fn enter(&mut self, kind: ObjectKind, key: &ObjectKey) -> bool {
        let Some(other) = kind.namesake() else { return false };
        self.there.entry(kind).or_default().insert(key.clone());
        self.has(other, key)
    }

    /// The object is gone. True if its namesake is there: that has been asked for.
    pub(super) fn leave(&mut self, kind: ObjectKind, key: &ObjectKey) -> bool {
        let Some(other) = kind.namesake() else { return false };
        if let Some(there) = self.there.get_mut(&kind) {
            there.remove(key);
        }
        if !self.has(other, key) {
            return false;
        }
        // Without a watch there is nobody to tell of it, and the process is about to end.
        if let Some(again) = self.again.get(&other) {
            let _ = again.send(key.clone());
        }
        true
    }

    fn has(&self, kind: ObjectKind, key: &ObjectKey) -> bool {
        self.there.get(&kind).is_some_and(|there| there.contains(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_one_that_stays_is_told_again() {
        let namesakes = Namesakes::default();
        let mut again = namesakes.listen(ObjectKind::KaiQueue).await;
        let key = ObjectKey::new("", "q");
        assert!(namesakes.lock(ObjectKind::Pod).await.is_none());
        let mut known = namesakes.lock(ObjectKind::Queue).await.unwrap();
        assert!(!known.enter(ObjectKind::KaiQueue, &key));
        assert!(known.enter(ObjectKind::Queue, &key) && known.enter(ObjectKind::KaiQueue, &key));
        assert!(!known.enter(ObjectKind::Queue, &ObjectKey::new("", "other")));
        assert!(again.try_recv().is_err());
        assert!(known.leave(ObjectKind::Queue, &key));
        assert_eq!(again.try_recv(), Ok(key.clone()));
        assert!(!known.enter(ObjectKind::KaiQueue, &key));
        assert!(!known.leave(ObjectKind::KaiQueue, &key));
    }
}
