//! How many equal requests fit into a row: an upper bound on what a group of nodes can take in.

use super::lanes::{LANES, Lanes};

/// Requests of one kind that fit side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// In what is idle, without touching a promise.
    pub now: u32,
    /// In what is idle and releasing, less what is already promised.
    pub later: u32,
}

impl Slots {
    /// No limit.
    pub const ENDLESS: Self = Self { now: u32::MAX, later: u32::MAX };

    /// Adds those of another row, as far as they can be counted.
    pub fn add(&mut self, other: Self) {
        self.now = self.now.saturating_add(other.now);
        self.later = self.later.saturating_add(other.later);
    }

    /// The lesser of both counts.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self { now: self.now.min(other.now), later: self.later.min(other.later) }
    }
}

/// How often the request fits the row, by the same rule as [`super::fit::grade`]. A request for
/// nothing fits without limit.
#[must_use]
pub fn slots(request: &Lanes, idle: &Lanes, releasing: &Lanes, pipelined: &Lanes) -> Slots {
    let mut future = *idle;
    future.add(releasing);
    future.sub(pipelined);
    let mut slots = Slots::ENDLESS;
    for lane in 0..LANES {
        let ask = request.0[lane];
        if ask > 0 {
            let later = count(future.0[lane], ask);
            slots = slots.min(Slots { now: later.min(count(idle.0[lane], ask)), later });
        }
    }
    slots
}

/// How often an amount is in a room.
#[inline]
#[must_use]
pub fn count(room: i64, ask: i64) -> u32 {
    u32::try_from(room.max(0) / ask).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fit::{Fit, grade};
    use super::*;

    /// Takes the request out of the row until it does not fit any more, `cap` times at most.
    fn naive(
        request: &Lanes,
        mut idle: Lanes,
        releasing: &Lanes,
        pipelined: &Lanes,
        cap: u32,
    ) -> Slots {
        let mut slots = Slots::default();
        loop {
            let mut fit = [Fit::None];
            grade(request, &[idle], &[*releasing], &[*pipelined], &mut fit);
            match fit[0] {
                _ if slots.later == cap => return slots,
                Fit::None => return slots,
                Fit::Future => slots.later += 1,
                Fit::Idle => {
                    slots.now += 1;
                    slots.later += 1;
                }
            }
            // Room that is still to come is taken like room that is there: both sums go down.
            idle.sub(request);
        }
    }

    proptest! {
        #[test]
        fn as_many_fit_as_can_be_taken_one_by_one(
            request in prop::array::uniform8(0_i64..4),
            rows in prop::array::uniform3(prop::array::uniform8(-2_i64..20)),
        ) {
            let [idle, releasing, pipelined] = rows.map(|row| Lanes(row.map(|amount| amount)));
            let releasing = Lanes(releasing.0.map(i64::abs));
            let pipelined = Lanes(pipelined.0.map(i64::abs));
            let request = Lanes(request);
            let have = slots(&request, &idle, &releasing, &pipelined);
            let want = naive(&request, idle, &releasing, &pipelined, 1_000);
            prop_assert_eq!(have.min(Slots { now: 1_000, later: 1_000 }), want);
        }
    }
}
