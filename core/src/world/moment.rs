//! A point in time there may be none of, for columns: `Option<TimeMs>` takes twice the memory.

use std::fmt;

use crate::ids::TimeMs;

/// A point in time, or none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Moment(i64);

impl Moment {
    /// No point in time.
    pub const NONE: Self = Self(i64::MIN);

    /// The point in time, if there is one.
    pub fn get(self) -> Option<TimeMs> {
        (self != Self::NONE).then_some(TimeMs(self.0))
    }
}

impl From<TimeMs> for Moment {
    /// The first moment of all is taken for the one after it.
    fn from(time: TimeMs) -> Self {
        Self(time.0.max(i64::MIN + 1))
    }
}

impl From<Option<TimeMs>> for Moment {
    fn from(time: Option<TimeMs>) -> Self {
        time.map_or(Self::NONE, Self::from)
    }
}

impl Default for Moment {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_time_comes_back_and_none_is_none() {
        for time in [i64::MIN + 1, -1, 0, 1, i64::MAX].map(TimeMs) {
            assert_eq!(Moment::from(time).get(), Some(time));
        }
        assert_eq!(Moment::from(TimeMs(i64::MIN)).get(), Some(TimeMs(i64::MIN + 1)));
        assert_eq!(Moment::from(None).get(), None);
        assert_eq!(Moment::default().get(), None);
        assert_eq!(size_of::<Moment>(), size_of::<TimeMs>());
    }
}
