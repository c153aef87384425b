//! When plugins that name pods for `shuffle` at intervals were asked.

use std::collections::BTreeMap;

use bevy_ecs::prelude::Resource;

use crate::ids::TimeMs;

/// When each of them was asked, by name. Intervals begin with the first cycle of a process.
#[derive(Debug, Default, Resource)]
pub struct Rounds(BTreeMap<&'static str, Round>);

#[derive(Clone, Copy, Debug)]
struct Round {
    /// The last round, or the first cycle.
    since: TimeMs,
    asked: bool,
}

impl Rounds {
    /// When the plugin was asked last.
    pub fn last(&self, plugin: &str) -> Option<TimeMs> {
        self.0.get(plugin).filter(|round| round.asked).map(|round| round.since)
    }

    /// When a plugin is asked next that wants to be asked once in so many milliseconds.
    pub(crate) fn next(&mut self, plugin: &'static str, interval_ms: i64, now: TimeMs) -> TimeMs {
        let first = Round { since: now, asked: false };
        let since = self.0.entry(plugin).or_insert(first).since;
        TimeMs(since.0.saturating_add(interval_ms))
    }

    /// Notes that the plugin was asked.
    pub(crate) fn note(&mut self, plugin: &'static str, now: TimeMs) {
        self.0.insert(plugin, Round { since: now, asked: true });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_run_from_the_first_cycle_and_then_from_round_to_round() {
        let mut rounds = Rounds::default();
        assert_eq!(rounds.next("a", 10, TimeMs(3)), TimeMs(13));
        assert_eq!(rounds.next("a", 10, TimeMs(5)), TimeMs(13));
        assert_eq!(rounds.last("a"), None);
        rounds.note("a", TimeMs(14));
        assert_eq!(
            (rounds.last("a"), rounds.next("a", 5, TimeMs(15))),
            (Some(TimeMs(14)), TimeMs(19))
        );
    }
}
