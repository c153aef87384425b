//! What one queue, or the cluster, held over time.
//!
//! What is held changes now and then and is the same in between, so that a sum over time grows by what was
//! held times how long, once for each change. Where use counts for a last while only, that while is cut
//! into parts of equal length, each with its own sum; what is older than the while goes part by part.

use std::collections::VecDeque;

use super::decay::{counted, left, scaled};
use crate::config::{UsageSpan, UsageWindow};

/// What is held: milli-cores, bytes of memory and thousandths of GPUs.
pub(crate) type HeldAmounts = [i64; 3];
/// The same summed up over time: times milliseconds that count.
pub(super) type Sums = [i128; 3];

/// Parts a sliding window is cut into: hours of a week.
const SLOTS: i64 = 168;

/// What was held over time.
#[derive(Clone, Debug)]
pub(super) struct Account {
    held: HeldAmounts,
    /// Up to when everything is summed up.
    since_ms: i64,
    /// The sum of the part of the window that is under way, as it counts at that time.
    open: Sums,
    /// Parts of a sliding window that are over: when each ended, and its sum as it counted then.
    closed: VecDeque<(i64, Sums)>,
}

impl Account {
    /// Nothing was held until now.
    pub(super) fn new(now_ms: i64) -> Self {
        Self { held: [0; 3], since_ms: now_ms, open: [0; 3], closed: VecDeque::new() }
    }

    /// From now on so much is held.
    pub(super) fn hold(&mut self, window: &UsageWindow, now_ms: i64, held: HeldAmounts) {
        if held != self.held {
            self.advance(window, now_ms);
            self.held = held;
        }
    }

    /// Is there anything in it?
    pub(super) fn is_empty(&self) -> bool {
        self.held == [0; 3] && self.open == [0; 3] && self.closed.is_empty()
    }

    /// Sums up until now, and drops what does not count any more.
    pub(super) fn advance(&mut self, window: &UsageWindow, now_ms: i64) {
        let start = window.span.start(now_ms);
        if start > self.since_ms {
            self.closed.clear();
            (self.open, self.since_ms) = ([0; 3], start);
        }
        if let UsageSpan::Sliding(size_ms) = window.span {
            let slot_ms = slot_ms(size_ms);
            loop {
                let end = self.since_ms.saturating_sub(self.since_ms.rem_euclid(slot_ms)) + slot_ms;
                if end > now_ms {
                    break;
                }
                self.sum_up(window, end);
                let sums = std::mem::take(&mut self.open);
                if sums != [0; 3] {
                    self.closed.push_back((end, sums));
                }
            }
            while self.closed.front().is_some_and(|slot| slot.0 <= start) {
                self.closed.pop_front();
            }
        }
        self.sum_up(window, now_ms);
    }

    fn sum_up(&mut self, window: &UsageWindow, now_ms: i64) {
        let during = now_ms - self.since_ms;
        if during <= 0 {
            return;
        }
        let (kept, more) =
            (left(window.half_life_ms, during), counted(window.half_life_ms, during));
        for (sum, held) in self.open.iter_mut().zip(self.held) {
            *sum = scaled(*sum, kept).saturating_add(i128::from(held).saturating_mul(more));
        }
        self.since_ms = now_ms;
    }

    /// The sums as they count at the time it was last [advanced](Self::advance) to. Of a part of the
    /// window that began before it as much counts as lies in it.
    pub(super) fn sums(&self, window: &UsageWindow) -> Sums {
        let (start, now) = (window.span.start(self.since_ms), self.since_ms);
        let slot_ms = match window.span {
            UsageSpan::Sliding(size_ms) => slot_ms(size_ms),
            UsageSpan::Tumbling { .. } | UsageSpan::Cron(_) => i64::MAX,
        };
        let mut total = self.open;
        for &(end, sums) in &self.closed {
            let kept = left(window.half_life_ms, now - end);
            let inside = (end - start).min(slot_ms);
            for (total, sum) in total.iter_mut().zip(sums) {
                let sum = if inside < slot_ms {
                    sum / i128::from(slot_ms) * i128::from(inside)
                } else {
                    sum
                };
                *total = total.saturating_add(scaled(sum, kept));
            }
        }
        total
    }
}

fn slot_ms(size_ms: i64) -> i64 {
    (size_ms / SLOTS).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::decay::PARTS;
    use super::*;
    use crate::config::CronTimes;

    /// What was held, moment by moment: the rule itself.
    fn by_the_moment(window: &UsageWindow, changes: &[(i64, i64)], now: i64) -> f64 {
        let start = window.span.start(now);
        let mut sum = 0.0;
        for (at, &(from, held)) in changes.iter().enumerate() {
            let until = changes.get(at + 1).map_or(now, |next| next.0).min(now);
            for moment in from.max(start)..until {
                let age = now as f64 - moment as f64 - 0.5;
                let kept = window.half_life_ms.map_or(1.0, |half| 0.5f64.powf(age / half as f64));
                sum += held as f64 * kept;
            }
        }
        sum
    }

    fn any_window() -> impl Strategy<Value = UsageWindow> {
        let span = prop_oneof![
            (1i64..50).prop_map(|size| UsageSpan::Sliding(size * SLOTS)),
            (1i64..9_000, 0i64..9_000)
                .prop_map(|(size_ms, from_ms)| UsageSpan::Tumbling { size_ms, from_ms }),
            Just(UsageSpan::Cron(CronTimes::parse("* * * * *").expect("valid"))),
        ];
        let half = prop::option::of(50i64..20_000);
        (span, half).prop_map(|(span, half_life_ms)| UsageWindow { half_life_ms, span })
    }

    proptest! {
        #[test]
        fn an_account_is_the_sum_over_every_moment(
            window in any_window(),
            steps in prop::collection::vec((1i64..9_000, 0i64..5), 1..8),
            looks in any::<bool>(),
        ) {
            let (mut account, mut now, mut changes) = (Account::new(0), 0, Vec::new());
            for (after, held) in steps {
                account.hold(&window, now, [held, 0, held * 1000]);
                changes.push((now, held));
                now += after;
                if looks {
                    account.advance(&window, now);
                }
            }
            account.advance(&window, now);
            let sums = account.sums(&window);
            let want = by_the_moment(&window, &changes, now);
            // The part of a window that began before it is counted evenly.
            let slot = match window.span {
                UsageSpan::Sliding(size) => (size / SLOTS) as f64 * 5.0,
                _ => 0.0,
            };
            let (few, many) = (sums[0] as f64 / PARTS as f64, sums[2] as f64 / PARTS as f64 / 1000.0);
            for found in [few, many] {
                prop_assert!((found - want).abs() <= slot + 1.0 + want * 1e-3, "{found} for {want}");
            }
            prop_assert_eq!(sums[1], 0);
        }
    }
}
