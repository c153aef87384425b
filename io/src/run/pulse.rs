//! Signs of life of the loop, for those who ask from outside.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::objects::ObjectKind;

/// A loop that has not come round for so long hangs. A cycle takes a fraction of a second.
const STALLED_AFTER: Duration = Duration::from_mins(1);

/// Signs of life; cheap to give, and shared.
#[derive(Clone, Debug)]
pub(crate) struct Pulse {
    start: Instant,
    /// Milliseconds after `start` at which the loop last came round.
    last: Arc<AtomicU64>,
    /// Kinds whose first list was not read yet.
    unread: Arc<Mutex<Vec<ObjectKind>>>,
}

impl Pulse {
    /// A loop that is about to begin, and waits for first lists of these kinds.
    pub(crate) fn new(kinds: &[ObjectKind]) -> Self {
        let unread = Arc::new(Mutex::new(kinds.to_vec()));
        Self { start: Instant::now(), last: Arc::default(), unread }
    }

    /// The loop came round.
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
