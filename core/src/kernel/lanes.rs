//! Eight `i64` lanes, one cache line: the hot part of a resource vector.

use wide::i64x8;

/// Number of hot dimensions.
pub const LANES: usize = 8;

/// Eight amounts in the base units of their dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C, align(64))]
pub struct Lanes(pub [i64; LANES]);

impl Lanes {
    /// Nothing of anything.
    pub const ZERO: Self = Self([0; LANES]);

    /// The lanes as one vector.
    #[inline]
    pub fn wide(self) -> i64x8 {
        i64x8::new(self.0)
    }

    /// Adds lane by lane. Wraps on overflow, so that adding and removing in any order restores.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.0 = (self.wide() + other.wide()).to_array();
    }

    /// Subtracts lane by lane; may go below zero.
    #[inline]
    pub fn sub(&mut self, other: &Self) {
        self.0 = (self.wide() - other.wide()).to_array();
    }

    /// How far each lane is below zero; zero where it is not.
    #[inline]
    #[must_use]
    pub fn debt(self) -> Self {
        Self((i64x8::ZERO - self.wide().min(i64x8::ZERO)).to_array())
    }

    /// Does every lane that asks for something find it in `room`?
    ///
    /// A lane that asks for nothing fits even where the room is negative: a node that is over in one
    /// dimension still serves tasks that do not use it.
    #[inline]
    pub fn fits(&self, room: &Self) -> bool {
        // An ask that is above the room and above zero: one comparison with the larger of the two.
        self.wide().simd_gt(room.wide().max(i64x8::ZERO)).none()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Small amounts that often meet, and the ends of the range.
    pub(crate) fn any_lanes() -> impl Strategy<Value = Lanes> {
        let amount = prop_oneof![
            4 => -3i64..6,
            1 => any::<i64>(),
            1 => prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(1i64 << 62), Just(1i64 << 50)],
        ];
        prop::array::uniform8(amount).prop_map(Lanes)
    }

    /// As many columns as asked for, all of one length.
    pub(crate) fn any_columns<const N: usize>() -> impl Strategy<Value = [Vec<Lanes>; N]> {
        prop::collection::vec(prop::collection::vec(any_lanes(), N), 0..20).prop_map(|rows| {
            std::array::from_fn(|column| rows.iter().map(|row| row[column]).collect())
        })
    }

    fn fits_naively(ask: &Lanes, room: &Lanes) -> bool {
        (0..LANES).all(|lane| ask.0[lane] <= 0 || ask.0[lane] <= room.0[lane])
    }

    #[test]
    fn a_lane_that_asks_for_nothing_fits_into_debt() {
        let room = Lanes([-5, 10, 0, 0, 0, 0, 0, 0]);
        assert!(Lanes([0, 10, 0, 0, 0, 0, 0, 0]).fits(&room));
        assert!(Lanes([-7, 10, 0, 0, 0, 0, 0, 0]).fits(&room));
        assert!(!Lanes([1, 10, 0, 0, 0, 0, 0, 0]).fits(&room));
        assert!(!Lanes([0, 11, 0, 0, 0, 0, 0, 0]).fits(&room));
        assert!(!Lanes([0, 0, 0, 0, 0, 0, 0, 1]).fits(&room));
    }

    #[test]
    fn debt_is_what_is_below_zero() {
        let debt = Lanes([-5, 10, 0, -1, 0, 0, 0, i64::MIN]).debt();
        assert_eq!(debt, Lanes([5, 0, 0, 1, 0, 0, 0, i64::MIN]), "the far end wraps, as sums do");
    }

    proptest! {
        #[test]
        fn fitting_is_lane_by_lane(ask in any_lanes(), room in any_lanes()) {
            prop_assert_eq!(ask.fits(&room), fits_naively(&ask, &room));
        }

        #[test]
        fn what_is_added_and_taken_away_leaves_no_trace(start in any_lanes(), other in any_lanes()) {
            let mut lanes = start;
            lanes.add(&other);
            lanes.sub(&other);
            prop_assert_eq!(lanes, start);
        }
    }
}
