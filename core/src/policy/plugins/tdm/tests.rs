//! The hours of zones, and who makes way.

use super::*;
use crate::config::ArgumentValue;
use crate::delta::{GroupBudget, Share};
use crate::policy::testing::{Bed, build, config, evictor, job, named, plugin, tasks};
use crate::policy::{EvictPurpose, PluginConfig};

const MINUTE: i64 = 60_000;

fn text(value: &str) -> ArgumentValue {
    ArgumentValue::Text(value.to_owned())
}

fn with_hours(hours: &str) -> Tdm {
    build(&SPEC, [("tdm.revocable-zone.z", text(hours))])
}

fn at(hour: i64, minute: i64) -> TimeMs {
    TimeMs((hour * 60 + minute) * MINUTE)
}

#[test]
fn a_zone_is_open_from_its_first_minute_to_before_its_last() {
    let cases = [
        ("8:00-18:00", vec![(7, 59, false), (8, 0, true), (17, 59, true), (18, 0, false)]),
        (
            "22:00-06:30",
            vec![(21, 59, false), (22, 0, true), (0, 0, true), (6, 29, true), (6, 30, false)],
        ),
        ("0:00-0:00", vec![(0, 0, true), (12, 0, true), (23, 59, true)]),
    ];
    for (hours, times) in cases {
        let plugin = with_hours(hours);
        for (hour, minute, open) in times {
            for day in [0, 5] {
                let zones = plugin.lent_zones(at(24 * day + hour, minute));
                assert_eq!(zones.zones, [("z".into(), open)], "{hours} at {hour}:{minute}");
            }
        }
    }
}

#[test]
fn what_is_said_of_zones_holds_until_the_first_of_them_turns() {
    let until = |hours: &str, now| with_hours(hours).lent_zones(now).until;
    assert_eq!(until("8:00-18:00", at(7, 0)), Some(at(8, 0)));
    assert_eq!(until("8:00-18:00", at(8, 0)), Some(at(18, 0)));
    assert_eq!(until("8:00-18:00", at(18, 0)), Some(at(32, 0)), "tomorrow");
    assert_eq!(build::<Tdm>(&SPEC, []).lent_zones(at(1, 0)).until, None);
}

#[test]
fn the_clock_of_the_zone_counts_and_when_it_is_put_forward() {
    let clock = WallClock::changing(60 * MINUTE, vec![(at(2, 30), 120 * MINUTE)]);
    let plugin: Tdm = build(
        &SPEC,
        [
            ("tdm.revocable-zone.z", text("5:00-6:00")),
            ("tdm.timezone", ArgumentValue::TimeZone("X".into(), clock)),
        ],
    );
    let zones = plugin.lent_zones(at(2, 0));
    assert_eq!((zones.zones[0].1, zones.until), (false, Some(at(2, 30))), "3:00 there");
    assert_eq!(plugin.lent_zones(at(2, 30)).until, Some(at(3, 0)), "half past four there");
    assert!(plugin.lent_zones(at(3, 0)).zones[0].1);
}

#[test]
fn what_are_no_hours_is_refused_by_key() {
    for bad in
        ["", "8:00", "8-18", "8:00-24:00", "08:60-09:00", "8:0-9:00", "+8:00-9:00", "a:00-b:00"]
    {
        let given = crate::config::Arguments(vec![("tdm.revocable-zone.z".into(), text(bad))]);
        let refused = (SPEC.check)(SPEC.values(&given)).expect_err(bad);
        assert_eq!(refused.key, "tdm.revocable-zone.z");
    }
}

/// `n` is lent and closed at the time tests look, `m` is nobody's.
fn emptying() -> Bed {
    let mut bed = Bed::with(&config(vec![closed()], &[]));
    bed.node_with("n", &[("cpu", 99)], |node| {
        node.labels = vec![("volcano.sh/revocable-zone".into(), "z".into())];
    });
    bed.node("m", &[("cpu", 99)]);
    bed
}

fn closed() -> PluginConfig {
    let given = vec![("tdm.revocable-zone.z".to_owned(), text("8:00-18:00"))];
    plugin("tdm", crate::config::Arguments(given))
}

const ALL: [&str; 8] = ["a-0", "a-1", "a-2", "b-0", "b-1", "b-2", "b-3", "b-4"];

#[test]
fn a_closed_zone_is_emptied_within_the_budgets_of_groups() {
    let cases = [
        (None, vec!["a-0", "b-0"]),
        (Some(GroupBudget::MinAvailable(Share::Count(2))), vec!["a-0", "b-0", "b-1", "b-2"]),
        (Some(GroupBudget::MinAvailable(Share::Percent(50))), vec!["a-0", "b-0", "b-1"]),
        (Some(GroupBudget::MaxUnavailable(Share::Count(2))), vec!["a-0", "b-0", "b-1"]),
        (
            Some(GroupBudget::MaxUnavailable(Share::Percent(100))),
            vec!["a-0", "b-0", "b-1", "b-2", "b-3", "b-4"],
        ),
        (Some(GroupBudget::MinAvailable(Share::Count(9))), vec!["a-0"]),
    ];
    for (budget, expected) in cases {
        let mut bed = emptying();
        bed.group("a", 1, |_| {}).running("a", 2, "n").pod("a", 2, Some("m"), |_| {});
        bed.group("b", 1, |group| group.budget = budget).running("b", 5, "n");
        let named = bed.look(|cluster, directory| {
            let candidates = tasks(directory, &ALL);
            let proposal = with_hours("8:00-18:00").victim_tasks(cluster, TimeMs(0), &candidates);
            assert_eq!(proposal.again, None);
            named(cluster, &proposal.tasks)
        });
        assert_eq!(named, expected, "{budget:?}");
    }
}

#[test]
fn pods_on_nodes_of_their_own_make_way_for_those_that_stay() {
    let mut bed = emptying();
    bed.group("a", 1, |_| {}).running("a", 2, "m").pod("a", 2, Some("n"), |_| {});
    bed.group("b", 1, |_| {}).pod("b", 0, None, |_| {});
    bed.pod("b", 1, None, |pod| pod.preemptable = Some(true));
    bed.pod("b", 2, None, |pod| pod.constraints.borrows = true);
    let victims = bed.look(|cluster, directory| {
        ["b-0", "b-1", "b-2"].map(|name| {
            let evictor = evictor(directory, "b", Some(name), EvictPurpose::Preempt);
            let candidates = tasks(directory, &["a-0", "a-1", "a-2"]);
            match with_hours("8:00-18:00").preemptable(cluster, &evictor, &candidates) {
                Ballot::Abstain => panic!("tdm has an opinion"),
                Ballot::Only(victims) => named(cluster, &victims),
            }
        })
    });
    assert_eq!(victims, [vec!["a-0".to_owned()], vec![], vec![]]);
}

#[test]
fn jobs_that_make_way_come_last_and_do_not_starve() {
    let mut bed = emptying();
    bed.group("a", 2, |group| group.preemptable = Some(true)).pod("a", 0, None, |_| {});
    bed.group("b", 1, |_| {}).pod("b", 0, None, |_| {});
    bed.look(|cluster, directory| {
        let (plugin, a, b) = (with_hours("8:00-18:00"), job(directory, "a"), job(directory, "b"));
        let (a, b) = (cluster.job(a), cluster.job(b));
        assert!(plugin.job_order(cluster, &b) < plugin.job_order(cluster, &a));
        assert!(plugin.job_starving(&b) && !plugin.job_starving(&a));
        assert_eq!(plugin.job_pipelined(&a), Vote::Reject, "nothing is held for it");
    });
}
