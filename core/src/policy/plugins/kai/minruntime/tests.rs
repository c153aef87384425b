//! Whose time counts, and who makes way meanwhile.

use super::*;
use crate::config::{ArgumentValue, Arguments, Gates};
use crate::delta::{GroupTree, QueueFacts};
use crate::policy::PluginConfig;
use crate::policy::testing::{Bed, build, config, evictor, job};

/// A queue with its times in seconds.
fn queue(bed: &mut Bed, name: &str, parent: Option<&str>, times: [Option<i64>; 2]) {
    bed.queue(name, |queue: &mut QueueFacts| {
        queue.parent = parent.map(Into::into);
        let [preempt, reclaim] = times.map(|time| time.map(|time| time * 1000));
        queue.over_quota = Some(Box::new(OverQuotaTerms {
            preempt_min_runtime_ms: preempt,
            reclaim_min_runtime_ms: reclaim,
            ..OverQuotaTerms::default()
        }));
    });
}

/// Seconds for which jobs that started at 0 are kept from a job of queue `a1`, by queue of the job.
fn kept(plugin: &'static MinRuntime, purpose: EvictPurpose) -> Vec<Option<i64>> {
    let mut bed = Bed::new();
    queue(&mut bed, "a", None, [Some(100), Some(10)]);
    queue(&mut bed, "b", None, [None, Some(20)]);
    queue(&mut bed, "c", None, [None, None]);
    queue(&mut bed, "a1", Some("a"), [None, None]);
    queue(&mut bed, "a2", Some("a"), [None, Some(30)]);
    queue(&mut bed, "b1", Some("b"), [Some(40), Some(50)]);
    for name in ["a1", "a2", "b1", "c"] {
        bed.group(name, 1, |group| {
            group.queue = Some(name.into());
            let started = Some(TimeMs(0));
            group.tree = Some(Box::new(GroupTree { last_start: started, ..GroupTree::default() }));
        });
    }
    bed.group("asks", 1, |group| group.queue = Some("a1".into()));
    bed.look(move |cluster, directory| {
        let evictor = evictor(directory, "asks", None, purpose);
        let until = |name: &str| {
            let until = plugin.keeps_until(cluster, &evictor, &cluster.job(job(directory, name)));
            until.map(|until| until.0 / 1000)
        };
        ["a1", "a2", "b1", "c", "asks"].map(until).to_vec()
    })
}

const BY_QUEUE: MinRuntime =
    MinRuntime { default_reclaim_ms: 1000, default_preempt_ms: 2000, resolve: Resolve::Queue };
const BY_PATHS: MinRuntime = MinRuntime { resolve: Resolve::Lca, ..BY_QUEUE };

#[test]
fn the_first_queue_that_names_a_time_counts() {
    let found = kept(&BY_QUEUE, EvictPurpose::Preempt);
    assert_eq!(found, [Some(100), Some(100), Some(40), Some(2), None]);
    let found = kept(&BY_QUEUE, EvictPurpose::Reclaim);
    assert_eq!(found, [Some(10), Some(30), Some(50), Some(1), None]);
}

#[test]
fn between_queues_the_search_begins_where_their_paths_part() {
    let found = kept(&BY_PATHS, EvictPurpose::Reclaim);
    assert_eq!(found, [Some(10), Some(30), Some(20), Some(1), None]);
    assert_eq!(kept(&BY_PATHS, EvictPurpose::Preempt), kept(&BY_QUEUE, EvictPurpose::Preempt));
}

#[test]
fn arguments_are_read() {
    let text = |text: &str| ArgumentValue::Text(text.to_owned());
    let built: MinRuntime = build(
        &SPEC,
        [("defaultPreemptMinRuntime", text("1m")), ("reclaimResolveMethod", text("queue"))],
    );
    assert_eq!((built.default_reclaim_ms, built.default_preempt_ms), (0, 60_000));
    assert_eq!(built.resolve, Resolve::Queue);
    assert_eq!(build::<MinRuntime>(&SPEC, []).resolve, Resolve::Lca);
}

/// How many pods of a gang of four that needs two and started at 0 make way for another gang, whose pods
/// all need a place: at once, when nothing has happened since, and 10 s later, when its time has ended.
fn give_way(pods: u32) -> [usize; 3] {
    let plugin = |spec, arguments| PluginConfig { spec, gates: Gates::default(), arguments };
    let time = ("defaultPreemptMinRuntime".into(), ArgumentValue::Text("10s".into()));
    let tier = vec![
        plugin(&SPEC, Arguments(vec![time])),
        plugin(&crate::policy::plugins::kai::podgroup::SPEC, Arguments::default()),
    ];
    let mut bed = Bed::with(&config(tier, &["gangpreempt"]));
    bed.node("n", &[("cpu", 4), ("pods", 9)]).class("low", 10).class("high", 20);
    bed.group("runs", 2, |group| {
        group.priority_class = Some("low".into());
        let started = Some(TimeMs(0));
        group.tree = Some(Box::new(GroupTree { last_start: started, ..GroupTree::default() }));
    });
    bed.running("runs", 4, "n");
    bed.group("asks", pods, |group| group.priority_class = Some("high".into()));
    for index in 0..pods as usize {
        bed.pod("asks", index, None, |_| {});
    }
    [0, 0, 10_000].map(|pause| {
        bed.wait(pause);
        bed.decisions().iter().filter(|said| said.starts_with("Evict")).count()
    })
}

#[test]
fn until_its_time_a_gang_gives_what_it_can_do_without() {
    assert_eq!(give_way(2), [2, 0, 0]);
    // Three pods would need the whole gang: it goes when its time has ended, though nothing happened.
    assert_eq!(give_way(3), [0, 0, 4]);
}
