//! `tdm`: nodes that are lent for part of the day are used in that time and emptied after it.
//!
//! Promise: a node whose label `volcano.sh/revocable-zone` names a zone takes pods only while the zone
//! is open, and only pods that say they may lose it again. Those prefer such nodes. When a zone closes,
//! the action `shuffle` evicts what runs on its nodes, of each job as many pods at a time as the budget
//! of its PodGroup allows, and one where it has none. Nodes without the label are nobody's business
//! here, but for this: a pod that says it makes way evicts nobody, and whoever does takes from a job no
//! more than its budget either.
//!
//! A zone that closes at an earlier time of day than it opens is open over midnight. Jobs that do not
//! say they make way are served first, and only they are starving.
//!
//! Arguments: the hours of each zone, the time zone they are in, and the time between two rounds.

use bevy_ecs::entity::Entity;

use super::budget_of_group::Allowance;
use crate::config::ArgumentKind::{Duration, Text, TimeZone};
use crate::config::{DAY_MS, Values, WallClock, arg};
use crate::ids::{Name, TimeMs};
use crate::kernel::ratio::SCORE_SCALE;
use crate::policy::{
    BadArgument, Ballot, Build, Evictor, FilterPlugin, JobOrderPlugin, JobPipelinedPlugin,
    JobStarvingPlugin, LentZones, LentZonesPlugin, Pairing, Plugin, PluginSpec, PreemptablePlugin,
    Proposal, ScorePlugin, ScoreScale, Setup, VictimTasksPlugin, Vote, Weight, Words, plugin,
};
use crate::world::{
    Cluster, Exclusion, JobReadOnlyItem, NodeFlags, Obstacle, Reads, Symbol, TaskStatus,
};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    arguments: &[
        arg(
            "tdm.revocable-zone.*",
            Text,
            "",
            "hours in which that zone's nodes may be used, as `HH:MM-HH:MM`; over midnight if the end is not later",
        ),
        arg(
            "tdm.timezone",
            TimeZone,
            "",
            "time zone of these hours; without it that of the process, in simulations UTC",
        ),
        arg("tdm.evict.period", Duration, "1m", "shortest time between two rounds of eviction"),
    ],
    check: |arguments| hours_of(arguments).map(drop),
    words: Words {
        job_order: Some("not preemptable"),
        filter: Some("are not lent, or lent at this hour,"),
        scores: &[("lent nodes", Weight::Fixed(1))],
        victims: Some("they do not use lent nodes"),
        ..Words::NONE
    },
    ..PluginSpec::of::<Tdm>(
        "tdm",
        "nodes lent for part of the day are used in that time and emptied after it",
    )
};

/// The plugin with its arguments.
pub(in crate::policy) struct Tdm {
    zones: Vec<LentZone>,
    clock: WallClock,
    /// Milliseconds between two rounds of eviction of one job.
    period_ms: i64,
}

/// The hours of a zone, in milliseconds of the day.
struct LentZone {
    name: Name,
    opens: i64,
    closes: i64,
}

/// Score of a lent node, in points.
const LENT: i64 = 100;

const PREFIX: &str = "tdm.revocable-zone.";

impl LentZone {
    fn is_open(&self, time: i64) -> bool {
        if self.opens < self.closes {
            (self.opens..self.closes).contains(&time)
        } else {
            time >= self.opens || time < self.closes
        }
    }
}

/// The zones of the arguments, by name.
fn hours_of(arguments: Values<'_>) -> Result<Vec<LentZone>, BadArgument> {
    let keys = arguments.all_given().iter().map(|entry| &entry.0);
    let zones = keys.filter_map(|key| Some((key, key.strip_prefix(PREFIX)?)));
    zones
        .map(|(key, name)| {
            let text = arguments.text(key);
            let hours = text.split_once('-');
            let hours = hours.and_then(|(from, to)| time_of_day(from).zip(time_of_day(to)));
            let (opens, closes) = hours.ok_or_else(|| BadArgument {
                key: key.clone(),
                problem: format!("{text:?} are no hours; write for example \"22:00-06:30\""),
            })?;
            Ok(LentZone { name: name.into(), opens, closes })
        })
        .collect()
}

/// Milliseconds since midnight of a time such as `6:30`.
fn time_of_day(text: &str) -> Option<i64> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let number = |digits: &str, most: i64| {
        let is_plain =
            (1..=2).contains(&digits.len()) && digits.bytes().all(|c| c.is_ascii_digit());
        digits.parse().ok().filter(|&number: &i64| is_plain && number <= most)
    };
    let minutes = number(minutes, 59).filter(|_| minutes.len() == 2)?;
    Some((number(hours, 23)? * 60 + minutes) * 60_000)
}

plugin!(Tdm);

impl Plugin for Tdm {
    fn reads(&self) -> Reads {
        Reads { borrows: true, ..Reads::default() }
    }
}

impl Build for Tdm {
    fn build(setup: &mut Setup<'_>) -> Self {
        let arguments = setup.arguments;
        let clock = arguments.time_zone("tdm.timezone").unwrap_or(&setup.clock.local);
        Self {
            zones: hours_of(arguments).unwrap_or_default(),
            clock: clock.counted_from(setup.clock.zero_ms),
            period_ms: arguments.duration_ms("tdm.evict.period").unwrap_or(0),
        }
    }
}

impl LentZonesPlugin for Tdm {
    fn lent_zones(&self, now: TimeMs) -> LentZones {
        let time = self.clock.at(now);
        let turns = self.zones.iter().flat_map(|zone| [zone.opens, zone.closes]);
        // Where the clock is put forward or back first, everything is looked at again then.
        let turns = turns.map(|turn| TimeMs(now.0 + (turn - time.ms - 1).rem_euclid(DAY_MS) + 1));
        let until = turns.min().map(|turn| time.changes.map_or(turn, |changes| turn.min(changes)));
        let zones = self.zones.iter().map(|zone| (zone.name.clone(), zone.is_open(time.ms)));
        LentZones { zones: zones.collect(), until }
    }
}

impl FilterPlugin for Tdm {
    fn filter(&self, pairing: &Pairing<'_>, exclusions: &mut [Exclusion]) {
        let open = &pairing.cluster_facts.lending.open;
        for (exclusion, zone) in exclusions.iter_mut().zip(lent_rows(pairing)) {
            let Some(zone) = zone else { continue };
            if !open.contains(&zone) {
                exclusion.raise(Obstacle::LentLater);
            } else if !pairing.class.borrows {
                exclusion.raise(Obstacle::Lent);
            }
        }
    }
}

impl ScorePlugin for Tdm {
    fn score(&self, pairing: &Pairing<'_>, _scale: ScoreScale, scores: &mut [i64]) {
        if !pairing.class.borrows {
            return;
        }
        for (score, zone) in scores.iter_mut().zip(lent_rows(pairing)) {
            if zone.is_some_and(|zone| pairing.cluster_facts.lending.open.contains(&zone)) {
                *score = score.saturating_add(LENT * SCORE_SCALE);
            }
        }
    }
}

/// The zone of each row; no rows at all where none is lent.
fn lent_rows<'a>(pairing: &Pairing<'a>) -> impl Iterator<Item = Option<Symbol>> + use<'a> {
    let rows = if pairing.flags.any(NodeFlags::LENT) { pairing.nodes.len() } else { 0 };
    let nodes = pairing.nodes.flags.iter().zip(pairing.nodes.rules).take(rows);
    nodes.map(|(flags, rules)| {
        // The labels of the others need not be read.
        flags.any(NodeFlags::LENT).then(|| rules.label(Symbol::LENT_ZONE)).flatten()
    })
}

impl JobOrderPlugin for Tdm {
    fn job_order(&self, _cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> i64 {
        i64::from(makes_way(job))
    }
}

impl JobPipelinedPlugin for Tdm {
    fn job_pipelined(&self, job: &JobReadOnlyItem<'_, '_>) -> Vote {
        let counts = job.counts();
        let covered = counts.ready() + counts.pipelined() >= job.spec.min_available;
        if covered { Vote::Permit } else { Vote::Reject }
    }
}

impl JobStarvingPlugin for Tdm {
    fn job_starving(&self, job: &JobReadOnlyItem<'_, '_>) -> bool {
        !makes_way(job) && job.counts().pending() > 0
    }
}

/// Does the job say itself that it makes way for others?
fn makes_way(job: &JobReadOnlyItem<'_, '_>) -> bool {
    job.spec.preemptable == Some(true)
}

impl PreemptablePlugin for Tdm {
    fn preemptable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot {
        let yields = match evictor.task.map(|task| cluster.task(task).traits) {
            Some(traits) => traits.borrows || traits.preemptable == Some(true),
            None => makes_way(&cluster.job(evictor.job)),
        };
        if yields {
            return Ballot::Only(Vec::new());
        }
        let mut left = Allowance::default();
        Ballot::filter(candidates, |task| {
            let item = cluster.task(task);
            let (status, node) = item.status();
            let own = node
                .is_some_and(|node| cluster.node(node).rules.label(Symbol::LENT_ZONE).is_none());
            // Equal pods of one job would go for each other without end.
            let other = item.membership.job != Some(evictor.job);
            status == TaskStatus::Running && own && other && left.take(cluster, task)
        })
    }
}

impl VictimTasksPlugin for Tdm {
    /// What runs on nodes of closed zones. A job that lost a pod a moment ago has its turn when the time
    /// between two rounds is over.
    fn victim_tasks(
        &self,
        cluster: &Cluster<'_, '_>,
        now: TimeMs,
        candidates: &[Entity],
    ) -> Proposal {
        let closed = |node: Entity| {
            let zone = cluster.node(node).rules.label(Symbol::LENT_ZONE);
            zone.is_some_and(|zone| cluster.lending.closed.contains(&zone))
        };
        let mut left = Allowance::default();
        let mut proposal = Proposal::default();
        for &task in candidates {
            let item = cluster.task(task);
            let Some(job) = item.membership.job else { continue };
            if !item.status().1.is_some_and(closed) {
                continue;
            }
            let last = cluster.job(job).evictions.last();
            let turn = last.map(|last| TimeMs(last.0.saturating_add(self.period_ms)));
            if let Some(turn) = turn.filter(|&turn| turn > now) {
                proposal.again = Some(proposal.again.map_or(turn, |again| again.min(turn)));
            } else if left.take(cluster, task) {
                proposal.tasks.push(task);
            }
        }
        proposal
    }
}

#[cfg(test)]
mod tests;
