//! The rate limit of calls: a token bucket that fills steadily and holds a burst.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lets a number of calls pass each second, and a burst after a quiet time.
#[derive(Debug)]
pub(super) struct RateLimiter {
    /// Time from one call to the next at full speed.
    step: Duration,
    /// How far calls may be ahead of that.
    slack: Duration,
    /// When the bucket is full again.
    full: Mutex<Instant>,
}

impl RateLimiter {
    pub(super) fn new(per_second: u32, burst: u32) -> Self {
        let step = Duration::from_secs(1) / per_second.max(1);
        Self {
            step,
            slack: step * burst.max(1).saturating_sub(1),
            full: Mutex::new(Instant::now()),
        }
    }

    /// Waits for a turn.
    pub(super) async fn turn(&self) {
        let wait = self.book(Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Takes a turn and says how long it is away.
    fn book(&self, now: Instant) -> Duration {
        let mut full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        let from = (*full).max(now);
        *full = from + self.step;
        from.saturating_duration_since(now).saturating_sub(self.slack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let limiter = RateLimiter::new(10, 3);
        let now = Instant::now();
        let waits: Vec<u128> = (0..6).map(|_| limiter.book(now).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 100, 200, 300]);
        assert_eq!(limiter.book(now + Duration::from_secs(5)), Duration::ZERO);
    }
}
