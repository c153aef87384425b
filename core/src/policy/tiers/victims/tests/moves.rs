//! Who is to leave its node though nobody asks: what plugins propose, and what guards leave of it.

use std::sync::Arc;

use super::*;
use crate::config::{Gate, Gates};
use crate::policy::testing::{Bed, named, tasks, tiers};
use crate::policy::{VictimGuardPlugin, VictimTasksPlugin};

/// A plugin that proposes tasks by the number at the end of their names.
struct Proposes(&'static [u64], Option<i64>);

plugin!(Proposes);

impl Plugin for Proposes {}

impl VictimTasksPlugin for Proposes {
    fn victim_tasks(&self, cluster: &Cluster<'_, '_>, now: TimeMs, all: &[Entity]) -> Proposal {
        let mut named = numbered(cluster, all, self.0);
        named.reverse();
        Proposal { tasks: named, again: self.1.map(|later| TimeMs(now.0 + later)) }
    }
}

/// Proposes one task whether it is a candidate or not.
struct Insists(Entity);

plugin!(Insists);

impl Plugin for Insists {}

impl VictimTasksPlugin for Insists {
    fn victim_tasks(&self, _: &Cluster<'_, '_>, _: TimeMs, _: &[Entity]) -> Proposal {
        Proposal { tasks: vec![self.0], again: None }
    }
}

/// A plugin that lets go of tasks by the number at the end of their names; none abstains.
struct Guards(Option<&'static [u64]>);

plugin!(Guards);

impl Plugin for Guards {}

impl VictimGuardPlugin for Guards {
    fn victim_guard(&self, cluster: &Cluster<'_, '_>, proposed: &[Entity]) -> Ballot {
        self.0.map_or(Ballot::Abstain, |may| Ballot::Only(numbered(cluster, proposed, may)))
    }
}

type Named = (&'static str, Arc<dyn Plugin>);
type Tier = Vec<Named>;

fn proposes(name: &'static str, numbers: &'static [u64]) -> Named {
    (name, Arc::new(Proposes(numbers, None)))
}

fn guards(numbers: &'static [u64]) -> Named {
    ("guards", Arc::new(Guards(Some(numbers))))
}

fn bed() -> Bed {
    let mut bed = Bed::new();
    bed.node("n", &[("cpu", 9)]).group("v", 1, |_| {}).running("v", 4, "n");
    bed
}

/// What becomes of `v-0` to `v-3`, asked in the order 3, 1, 0, 2: who goes, and by whose word.
fn moved(plugins: impl Fn() -> Vec<Tier> + Send + Sync + 'static) -> Vec<String> {
    bed().look(move |cluster, directory| {
        let candidates = tasks(directory, &["v-3", "v-1", "v-0", "v-2"]);
        let moves = tiers(plugins()).victim_tasks(cluster, TimeMs(0), &[], &candidates);
        let said = moves
            .tasks
            .iter()
            .map(|&(task, plugin)| format!("{} by {plugin}", named(cluster, &[task])[0]));
        said.collect()
    })
}

#[test]
fn proposals_of_a_tier_are_united_in_the_order_of_the_candidates() {
    let one = || vec![vec![proposes("a", &[0, 1]), proposes("b", &[3, 1])]];
    assert_eq!(moved(one), ["v-3 by b", "v-1 by a", "v-0 by a"]);
}

#[test]
fn the_first_tier_that_proposes_anybody_decides() {
    let two = || vec![vec![proposes("a", &[1])], vec![proposes("b", &[2, 3])]];
    assert_eq!(moved(two), ["v-1 by a"]);
    let late = || vec![vec![proposes("a", &[])], vec![proposes("b", &[2, 3])]];
    assert_eq!(moved(late), ["v-3 by b", "v-2 by b"]);
    assert_eq!(moved(|| vec![vec![proposes("a", &[])]]), [""; 0]);
    assert_eq!(moved(Vec::new), [""; 0]);
}

#[test]
fn guards_of_every_tier_narrow_and_propose_nobody() {
    let all = || proposes("a", &[0, 1, 2, 3]);
    let before = move || vec![vec![guards(&[0, 1, 2])], vec![all()], vec![guards(&[0, 2, 3])]];
    assert_eq!(moved(before), ["v-0 by a", "v-2 by a"]);
    let silent: fn() -> Named = || ("silent", Arc::new(Guards(None)));
    assert_eq!(moved(move || vec![vec![all(), silent()]]).len(), 4);
    assert_eq!(moved(|| vec![vec![guards(&[0, 1, 2, 3])]]), [""; 0]);
}

#[test]
fn what_guards_refuse_is_not_made_up_for_by_a_later_tier() {
    let refused = || vec![vec![proposes("a", &[1])], vec![proposes("b", &[2]), guards(&[2])]];
    assert_eq!(moved(refused), [""; 0]);
}

#[test]
fn who_is_no_candidate_is_not_moved_and_does_not_keep_the_next_tier_from_being_asked() {
    let moved = bed().look(|cluster, directory| {
        let outside: Named = ("insists", Arc::new(Insists(tasks(directory, &["v-0"])[0])));
        let policies = tiers(vec![vec![outside], vec![proposes("b", &[0, 1])]]);
        let moves =
            policies.victim_tasks(cluster, TimeMs(0), &[], &tasks(directory, &["v-1", "v-2"]));
        named(cluster, &moves.tasks.iter().map(|&(task, _)| task).collect::<Vec<_>>())
    });
    assert_eq!(moved, ["v-1"]);
}

#[test]
fn the_earliest_wish_to_be_asked_again_counts() {
    let again = bed().look(|cluster, directory| {
        let wishes = [Some(60), None, Some(20)];
        let wish = |later| -> Named { ("a", Arc::new(Proposes(&[], later))) };
        let policies = tiers(wishes.map(|later| vec![wish(later)]).into());
        policies.victim_tasks(cluster, TimeMs(100), &[], &tasks(directory, &["v-0"])).again
    });
    assert_eq!(again, Some(TimeMs(120)));
}

#[test]
fn a_closed_gate_silences_a_plugin() {
    let counts = bed().look(|cluster, directory| {
        let candidates = tasks(directory, &["v-0", "v-1"]);
        let mut closed = Gates::default();
        closed.close(Gate::Victim);
        [
            (Gates::default(), Gates::default()),
            (closed, Gates::default()),
            (Gates::default(), closed),
        ]
        .map(|(of_proposer, of_guard)| {
            let mut policies = Policies::default();
            policies.add((0, "a"), proposes("a", &[0, 1]).1, of_proposer);
            policies.add((0, "guards"), guards(&[1]).1, of_guard);
            let asked = policies.is_asked(Point::VictimTasks);
            let moves = policies.victim_tasks(cluster, TimeMs(0), &[], &candidates);
            (asked, moves.tasks.len())
        })
    });
    assert_eq!(counts, [(true, 1), (false, 0), (true, 2)]);
}
