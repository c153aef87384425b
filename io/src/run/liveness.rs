//! Whether the loop is alive and has read its first lists, for probes and operators.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::objects::ObjectKind;

/// A loop silent for this long is stuck: a cycle takes a fraction of a second.
const STALLED_AFTER: Duration = Duration::from_mins(1);

/// Written by the loop at every turn, read by whatever answers probes.
#[derive(Clone, Debug)]
pub(crate) struct Liveness {
    start: Instant,
    /// Milliseconds after `start` of the loop's last turn.
    last: Arc<AtomicU64>,
    /// Kinds whose first list was not read yet.
    unread: Arc<Mutex<Vec<ObjectKind>>>,
}

impl Liveness {
    /// A loop that is about to start and waits for the first lists of these kinds.
    pub(crate) fn new(kinds: impl Iterator<Item = ObjectKind>) -> Self {
        let unread = Arc::new(Mutex::new(kinds.collect()));
        Self { start: Instant::now(), last: Arc::default(), unread }
    }

    /// The loop begins another turn.
    pub(crate) fn beat(&self) {
        self.last.store(self.start.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// How long the loop has been silent, if too long.
    pub(crate) fn stalled(&self) -> Option<Duration> {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        let silent = self.start.elapsed().saturating_sub(last);
        (silent > STALLED_AFTER).then_some(silent)
    }

    /// A first list was read; true if it was the last one.
    pub(crate) fn read(&self, kind: ObjectKind) -> bool {
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        unread.retain(|waiting| *waiting != kind);
        unread.is_empty()
    }

    /// Kinds whose first list was not read yet.
    pub(crate) fn unread(&self) -> Vec<&'static str> {
        let unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        unread.iter().map(|kind| kind.name()).collect()
    }
}
