//! Pauses between attempts: each twice the last, up to a longest one, and never quite the same, so
//! that many who fail together do not come back together.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Pauses between attempts.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    /// Pauses from the first up to the longest.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, next: first }
    }

    /// The next pause: between three quarters of its full length and all of it.
    pub fn pause(&mut self) -> Duration {
        let full = self.next;
        self.next = (full * 2).min(self.longest);
        full.mul_f64(1.0 - jitter() / 4.0)
    }

    /// An attempt went well: the next pause is a first one.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

/// A number from 0 to 1. Chance is wanted here and nowhere in the scheduler, and the seeds of hash
/// maps are chance enough.
fn jitter() -> f64 {
    f64::from(RandomState::new().hash_one(0_u8) as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::new(ms(100), ms(350));
        for full in [100, 200, 350, 350] {
            let pause = backoff.pause();
            assert!(pause <= ms(full) && pause >= ms(full) * 3 / 4, "{pause:?} of {full}");
        }
        backoff.reset();
        assert!(backoff.pause() <= ms(100));
    }
}
