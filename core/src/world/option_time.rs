//! A point in time there may be none of, for columns: `Option<TimeMs>` takes twice the memory.

use std::fmt;

use crate::ids::TimeMs;

/// A point in time, or none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OptionTime(i64);

impl OptionTime {
    /// No point in time.
    pub const NONE: Self = Self(i64::MIN);

    /// The point in time, if there is one.
    pub fn get(self) -> Option<TimeMs> {
        (self != Self::NONE).then_some(TimeMs(self.0))
    }
}

impl From<TimeMs> for OptionTime {
    /// The first moment of all is taken for the one after it.
    fn from(time: TimeMs) -> Self {
        Self(time.0.max(i64::MIN + 1))
    }
}

impl From<Option<TimeMs>> for OptionTime {
    fn from(time: Option<TimeMs>) -> Self {
        time.map_or(Self::NONE, Self::from)
    }
}

impl Default for OptionTime {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Debug for OptionTime {
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
            assert_eq!(OptionTime::from(time).get(), Some(time));
        }
        assert_eq!(OptionTime::from(TimeMs(i64::MIN)).get(), Some(TimeMs(i64::MIN + 1)));
        assert_eq!(OptionTime::from(None).get(), None);
        assert_eq!(OptionTime::default().get(), None);
        assert_eq!(size_of::<OptionTime>(), size_of::<TimeMs>());
    }
}
