//! A warmed-up scheduler asks for no memory for each pod it places.
//!
//! What a cycle says about its decisions is memory the caller gets, and lists of a job's tasks are made
//! once a job; the placement of one more pod adds nothing to that. So two cycles that differ only in
//! how many pods a gang has must ask for memory about as often.

use muster::config::default_config;
use muster_benches::echo::Echo;
use muster_benches::fleet::Fleet;
use muster_benches::memory::Counting;
use muster_benches::pool;
use muster_core::ids::TimeMs;
use muster_core::intent::DecisionOp;
use muster_core::scheduler::Scheduler;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often a warmed-up scheduler asks for memory in the cycle that places a gang of so many pods.
fn calls(members: usize) -> u64 {
    let fleet = Fleet { nodes: 200, gangs: 1, members, classes: 1, running: 400, queues: 2 };
    let mut scheduler = Scheduler::new(&default_config().config, pool(1));
    let mut echo = Echo::default();
    scheduler.feed(fleet.ground());
    fleet.running(1_000).for_each(|batch| scheduler.feed(batch));
    let waiting = fleet.waiting();
    echo.note(&waiting);
    scheduler.feed(waiting);
    let mut last = 0;
    for round in 0..6 {
        // Everything is taken in before the cycle that is counted.
        scheduler.follow(TimeMs(round as i64));
        let before = Counting::calls();
        let outcome = scheduler.run_cycle(TimeMs(round as i64));
        last = Counting::calls() - before;
        let binds = outcome.decisions.iter().filter(|it| it.op == DecisionOp::Bind).count();
        assert_eq!(binds, members, "every pod of the gang has a place");
        scheduler.feed(echo.answers(&outcome.intents));
        scheduler.follow(TimeMs(round as i64));
        let comes = fleet.newcomers(round, members);
        echo.note(&comes);
        scheduler.feed(comes);
    }
    last
}

#[test]
fn placing_one_more_pod_asks_for_no_memory() {
    let (few, many) = (calls(50), calls(450));
    // Lists that grow are made anew each time they double: a few times for eight times the pods.
    let more = many.saturating_sub(few);
    assert!(more < 60, "400 more pods asked for memory {more} times more ({few}, {many})");
}
