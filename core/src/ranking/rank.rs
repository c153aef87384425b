//! The rank of a node for a class: what outweighs any score, and the score, in one number.

use super::tournament::CLOSED;
use crate::kernel::fit::Fit;

/// What outweighs any score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grade {
    /// Room that is free goes before room that will be.
    pub(super) fit: Fit,
    /// Among equal room, a node of our own goes before a last resort.
    pub(super) preference: Preference,
}

/// May a node be taken like any other?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Preference {
    /// Only where no other will do.
    LastResort = 0,
    /// Yes.
    Full = 1,
}

const GRADE_SHIFT: u32 = 55;
const SCORE_LIMIT: i64 = 1 << 53;

/// The rank of a grade and a score.
pub(super) fn rank_of(grade: Grade, score: i64) -> i64 {
    let Grade { fit, preference } = grade;
    ((2 * fit as i64 + preference as i64) << GRADE_SHIFT) + score.clamp(-SCORE_LIMIT, SCORE_LIMIT)
}

/// The number of the grade in a rank that is not [`CLOSED`].
fn number_of(rank: i64) -> i64 {
    (rank + SCORE_LIMIT) >> GRADE_SHIFT
}

/// The grade in a rank.
pub(super) fn grade_of(rank: i64) -> Grade {
    if rank == CLOSED {
        return Grade { fit: Fit::None, preference: Preference::Full };
    }
    let number = number_of(rank);
    let fit = if number >= 2 * Fit::Idle as i64 { Fit::Idle } else { Fit::Future };
    let preference = if number & 1 == 1 { Preference::Full } else { Preference::LastResort };
    Grade { fit, preference }
}

/// The fit in a rank.
pub(super) fn fit_of(rank: i64) -> Fit {
    grade_of(rank).fit
}

/// The score in a rank that is not [`CLOSED`].
pub(super) fn score_of(rank: i64) -> i64 {
    rank - (number_of(rank) << GRADE_SHIFT)
}
