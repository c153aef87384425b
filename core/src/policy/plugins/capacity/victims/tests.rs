//! Each rule on a small tree of queues; all of them together are in [`plain`].

mod plain;

use super::*;
use crate::config::{ArgumentValue, Arguments, Gate};
use crate::policy::plugins::capacity::Capacity;
use crate::policy::testing::{Bed, amounts, config, configured, evictor, named, plugin, tasks};
use crate::policy::{
    PluginConfig, ReclaimablePlugin, UnifiedEvictablePlugin, VictimQueueOrderPlugin,
};
use crate::world::Directory;

type Amounts = &'static [(&'static str, i64)];

/// `capacity`, with the hierarchy where a level is given.
fn capacity(level: Option<i64>) -> PluginConfig {
    let argument = ("ancestorReclaimLevel".into(), ArgumentValue::Int(level.unwrap_or(0)));
    let mut plugin = plugin("capacity", Arguments(vec![argument]));
    if level.is_some() {
        plugin.gates.open(Gate::Hierarchy);
    }
    plugin
}

/// Queues with pods that run, and one that wants room.
struct Town {
    bed: Bed,
    plugin: PluginConfig,
}

impl Town {
    fn new(level: Option<i64>) -> Self {
        let mut bed = Bed::with(&config(vec![capacity(level)], &[]));
        bed.node("n", &[("cpu", 100), ("memory", 100), ("gpu", 100)]);
        Self { bed, plugin: capacity(level) }
    }

    /// A queue below another (`a/b`), with its due.
    fn queue(mut self, path: &str, due: Amounts) -> Self {
        self.set(path, due, &[]);
        self
    }

    fn set(&mut self, path: &str, due: Amounts, guarantee: Amounts) {
        let (parent, name) = path.rsplit_once('/').map_or((None, path), |(up, at)| (Some(up), at));
        self.bed.queue(name, |queue| {
            queue.parent = parent.map(Into::into);
            queue.deserved = (!due.is_empty()).then(|| amounts(due));
            queue.guarantee = (!guarantee.is_empty()).then(|| amounts(guarantee));
        });
    }

    fn guarded(mut self, path: &str, due: Amounts, guarantee: Amounts) -> Self {
        self.set(path, due, guarantee);
        self
    }

    /// Pods `queue-0` and so on that run in the queue.
    fn runs(mut self, queue: &str, count: usize, request: Amounts) -> Self {
        self.bed.group(queue, 0, |group| group.queue = Some(queue.into()));
        for index in 0..count {
            self.bed.pod(queue, index, Some("n"), |pod| pod.request = amounts(request));
        }
        self
    }

    /// A pod `taker-0` that waits in the queue.
    fn wants(mut self, queue: &str, request: Amounts) -> Self {
        self.bed.group("taker", 0, |group| group.queue = Some(queue.into()));
        self.bed.pod("taker", 0, None, |pod| pod.request = amounts(request));
        self
    }

    fn ask(
        self,
        candidates: &'static [&'static str],
        ask: impl Fn(&Capacity, &Cluster<'_, '_>, &Directory, &[Entity]) -> Ballot
        + Send
        + Sync
        + 'static,
    ) -> Vec<String> {
        let plugin: Capacity = configured(&self.plugin);
        self.bed.look(move |cluster, directory| {
            match ask(&plugin, cluster, directory, &tasks(directory, candidates)) {
                Ballot::Only(victims) => named(cluster, &victims),
                Ballot::Abstain => vec!["abstains".to_owned()],
            }
        })
    }

    /// Who may go for the pod that waits.
    fn gives(self, candidates: &'static [&'static str]) -> Vec<String> {
        self.ask(candidates, |plugin, cluster, directory, tasks| {
            let evictor = evictor(directory, "taker", Some("taker-0"), EvictPurpose::Reclaim);
            plugin.reclaimable(cluster, &evictor, tasks)
        })
    }

    /// Who may go for its whole job.
    fn gives_gang(self, purpose: EvictPurpose, candidates: &'static [&'static str]) -> Vec<String> {
        self.ask(candidates, move |plugin, cluster, directory, tasks| {
            let evictor = evictor(directory, "taker", None, purpose);
            plugin.unified_evictable(cluster, &evictor, tasks)
        })
    }
}

const CPU: Amounts = &[("cpu", 1), ("pods", 1)];
const MEMORY: Amounts = &[("memory", 1), ("pods", 1)];
const NOBODY: [&str; 0] = [];

#[test]
fn a_pod_goes_only_if_it_holds_something_that_is_asked_for() {
    let town = || {
        Town::new(None)
            .queue("mine", &[("cpu", 9)])
            .queue("a", &[("gpu", 1)])
            .queue("b", &[("gpu", 1)])
            .runs("a", 1, CPU)
            .runs("b", 1, MEMORY)
    };
    let both = &["a-0", "b-0"];
    assert_eq!(town().wants("mine", CPU).gives(both), ["a-0"]);
    assert_eq!(town().wants("mine", MEMORY).gives(both), ["b-0"]);
}

#[test]
fn a_queue_gives_the_first_candidates_down_to_its_due() {
    let town = Town::new(None)
        .queue("mine", &[("cpu", 9)])
        .queue("a", &[("cpu", 2)])
        .queue("b", &[("cpu", 4)])
        .runs("a", 4, CPU)
        .runs("b", 4, CPU)
        .wants("mine", CPU);
    assert_eq!(town.gives(&["a-3", "b-0", "a-1", "a-0", "a-2"]), ["a-3", "a-1"]);
}

#[test]
fn all_a_queue_has_without_a_due_is_borrowed() {
    let town = Town::new(None)
        .queue("mine", &[("cpu", 9)])
        .queue("none", &[])
        .queue("other", &[("gpu", 1)])
        .runs("none", 1, CPU)
        .runs("other", 1, CPU)
        .wants("mine", CPU);
    assert_eq!(town.gives(&["none-0", "other-0"]), ["none-0", "other-0"]);
}

#[test]
fn a_guarantee_is_never_undercut() {
    let town = |level| {
        Town::new(level)
            .queue("mine", &[("cpu", 9)])
            .guarded("a", &[("gpu", 1)], &[("cpu", 2), ("memory", 5)])
            .guarded("team", &[("gpu", 1)], &[("cpu", 3)])
            .queue("team/b", &[])
            .queue("team/c", &[])
            .runs("a", 4, CPU)
            .runs("b", 2, CPU)
            .runs("c", 2, CPU)
    };
    let all = &["a-0", "a-1", "a-2", "b-0", "c-0", "b-1"];
    // Memory is guaranteed to a as well, but its pods hold none.
    for level in [None, Some(0), Some(1)] {
        assert_eq!(town(level).wants("mine", CPU).gives(all), ["a-0", "a-1", "b-0"], "{level:?}");
    }
    let gang = town(None).wants("mine", CPU).gives_gang(EvictPurpose::Reclaim, all);
    assert_eq!(gang, ["a-0", "a-1", "b-0"]);
    // What moves within the team is no loss to the team.
    let within = town(Some(0)).queue("team/d", &[("cpu", 1)]).wants("d", CPU).gives(all);
    assert_eq!(within, ["a-0", "a-1", "b-0", "c-0", "b-1"]);
}

#[test]
fn what_is_guaranteed_to_one_child_does_not_protect_another() {
    let town = Town::new(Some(0))
        .queue("mine", &[("cpu", 9)])
        .queue("team", &[])
        .queue("team/a", &[("cpu", 1)])
        .guarded("team/b", &[], &[("cpu", 9)])
        .runs("a", 3, CPU)
        .wants("mine", CPU);
    assert_eq!(town.gives(&["a-0", "a-1", "a-2"]), ["a-0", "a-1"]);
}

#[test]
fn a_queue_that_is_not_reclaimable_or_does_not_exist_gives_nothing() {
    let town = || {
        let mut town = Town::new(None).queue("mine", &[("cpu", 9)]);
        town.bed.queue("locked", |queue| queue.reclaimable = false);
        town.runs("locked", 1, CPU).runs("ghost", 1, CPU).wants("mine", CPU)
    };
    assert_eq!(town().gives(&["locked-0", "ghost-0"]), NOBODY);
    assert_eq!(town().gives_gang(EvictPurpose::Reclaim, &["locked-0", "ghost-0"]), NOBODY);
}

#[test]
fn a_queue_takes_nothing_from_itself() {
    let town = || Town::new(None).queue("mine", &[("gpu", 1)]).runs("mine", 1, CPU);
    assert_eq!(town().wants("mine", CPU).gives(&["mine-0"]), NOBODY);
    let gang = town().wants("mine", CPU).gives_gang(EvictPurpose::Reclaim, &["mine-0"]);
    assert_eq!(gang, NOBODY);
}

/// `team` over `a` and `b`, each over its own due; `mine` beside them.
fn team(level: Option<i64>, due: Amounts) -> Town {
    Town::new(level)
        .queue("mine", &[("cpu", 9)])
        .queue("team", due)
        .queue("team/a", &[("cpu", 1)])
        .queue("team/b", &[("cpu", 1)])
        .runs("a", 3, CPU)
        .runs("b", 3, CPU)
}

#[test]
fn parents_must_be_above_their_due_as_far_up_as_configured() {
    let all = &["a-0", "b-0", "a-1", "b-1"];
    let gives = |level, due| team(level, due).wants("mine", CPU).gives(all);
    assert_eq!(gives(Some(0), &[("cpu", 6)]), *all);
    assert_eq!(gives(Some(1), &[("cpu", 6)]), NOBODY);
    assert_eq!(gives(None, &[("cpu", 6)]), *all, "levels count with the hierarchy only");
    // The parent gives three, whichever child they are in.
    assert_eq!(gives(Some(1), &[("cpu", 3)]), ["a-0", "b-0", "a-1"]);
    assert_eq!(gives(Some(9), &[("cpu", 3)]), ["a-0", "b-0", "a-1"]);
    // It is not judged by what its due does not speak of.
    assert_eq!(gives(Some(1), &[("gpu", 3)]), *all);
}

#[test]
fn a_common_parent_is_not_asked_however_deep_the_queues_are() {
    let town = |wants: &str| {
        Town::new(Some(3))
            .queue("mine", &[("cpu", 9)])
            .queue("team", &[("cpu", 20)])
            .queue("team/x", &[("cpu", 9)])
            .queue("team/crew", &[("cpu", 1)])
            .queue("crew/a", &[("cpu", 1)])
            .runs("a", 3, CPU)
            .wants(wants, CPU)
    };
    let all = &["a-0", "a-1", "a-2"];
    assert_eq!(town("x").gives(all), ["a-0", "a-1"]);
    assert_eq!(town("mine").gives(all), NOBODY);
}

#[test]
fn relatives_that_are_due_nothing_leave_each_other_alone() {
    let town = |level, due: Amounts| {
        Town::new(level)
            .queue("team", &[("cpu", 9)])
            .queue("team/a", &[("memory", 1)])
            .queue("team/b", due)
            .queue("c", &[])
            .runs("a", 1, CPU)
            .runs("c", 1, CPU)
            .wants("b", CPU)
            .gives(&["a-0", "c-0"])
    };
    assert_eq!(town(Some(1), &[]), ["c-0"]);
    assert_eq!(town(Some(1), &[("cpu", 0)]), ["c-0"]);
    assert_eq!(town(Some(1), &[("cpu", 1)]), ["a-0", "c-0"]);
    assert_eq!(town(Some(0), &[]), ["a-0", "c-0"]);
    assert_eq!(town(None, &[]), ["a-0", "c-0"]);
}

#[test]
fn within_a_queue_the_division_has_no_say_for_gangs() {
    let town = Town::new(None).queue("mine", &[("cpu", 9)]).runs("mine", 2, CPU).wants("mine", CPU);
    assert_eq!(town.gives_gang(EvictPurpose::Preempt, &["mine-1", "mine-0"]), ["mine-1", "mine-0"]);
}

#[test]
fn a_gang_takes_what_is_borrowed_without_asking_parents_or_what_it_is() {
    let town = team(Some(1), &[("cpu", 6)]).queue("m", &[("gpu", 1)]).runs("m", 1, MEMORY);
    let all = &["a-0", "b-0", "m-0", "a-1", "a-2"];
    let gives = town.wants("mine", CPU).gives_gang(EvictPurpose::Reclaim, all);
    assert_eq!(gives, ["a-0", "b-0", "m-0", "a-1"]);
}

#[test]
fn the_closest_relatives_give_first_with_the_hierarchy() {
    let order = |level: Option<i64>| {
        let town = Town::new(level)
            .queue("far", &[])
            .queue("team", &[])
            .queue("team/cousin", &[])
            .queue("team/crew", &[])
            .queue("crew/near", &[])
            .queue("crew/mine", &[]);
        let plugin: Capacity = configured(&town.plugin);
        town.bed.look(move |cluster, directory| {
            let wants = directory.queues["mine"];
            let key = |name: &str| {
                let queue = cluster.queue(directory.queues[name]);
                plugin.victim_queue_order(cluster, &queue, wants)
            };
            ["near", "cousin", "far"].map(key)
        })
    };
    let keys = order(Some(0));
    assert!(keys[0] < keys[1] && keys[1] < keys[2], "{keys:?}");
    assert_eq!(order(None), [0; 3]);
}
