//! Configurations and schedulers for tests.

use std::sync::Arc;

use muster_core::policy::{Registry, SchedulerConfig};
use muster_core::scheduler::Scheduler;
use proptest::test_runner::{Config, RngSeed};

/// Every plugin and action this version has, each with its default arguments; of the two plugins that
/// divide the cluster the one that limits more.
pub const EVERYTHING: &str = "\
actions: \"enqueue, allocate, backfill\"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
  - name: pdb
- plugins:
  - name: sla
    arguments:
      sla-waiting-time: 20s
  - name: overcommit
  - name: drf
    enableHierarchy: true
- plugins:
  - name: proportion
  - name: resourcequota
  - name: predicates
  - name: nodeorder
  - name: binpack
    arguments:
      binpack.resources: nvidia.com/gpu
  - name: resource-strategy-fit
  - name: nodegroup
    enableHierarchy: true
    arguments:
      strict: false
  - name: network-topology-aware
";

/// Reads a configuration that must be valid.
pub fn config(text: &str) -> SchedulerConfig {
    config_with(&Registry::standard(), text)
}

/// The same for a text that may name plugins of others.
pub fn config_with(registry: &Registry, text: &str) -> SchedulerConfig {
    let parsed = muster::config::parse(registry, "test configuration", text);
    parsed.unwrap_or_else(|errors| panic!("{errors}")).config
}

/// The configuration of [`EVERYTHING`].
pub fn everything() -> SchedulerConfig {
    config(EVERYTHING)
}

/// A configuration whose cycle takes deltas in and decides nothing, so that what a scheduler knows
/// is what it was told.
pub fn listening() -> SchedulerConfig {
    let mut config = everything();
    config.actions.clear();
    config
}

thread_local! {
    /// A whole cycle runs on its pool, so tests that shared one thread would wait for each other.
    static ONE: Arc<rayon::ThreadPool> = build_pool(1);
    static FOUR: Arc<rayon::ThreadPool> = build_pool(4);
}

/// A pool of that many threads; pools of one and of four are made once a test.
pub fn pool(threads: usize) -> Arc<rayon::ThreadPool> {
    match threads {
        1 => ONE.with(Arc::clone),
        4 => FOUR.with(Arc::clone),
        other => build_pool(other),
    }
}

fn build_pool(threads: usize) -> Arc<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    Arc::new(pool.expect("a handful of threads can be started"))
}

/// A scheduler on one thread.
pub fn scheduler(config: &SchedulerConfig) -> Scheduler {
    Scheduler::new(config, pool(1))
}

/// How a property is tried: so many cases, the same ones every time. `PROPTEST_CASES` and
/// `PROPTEST_RNG_SEED` in the environment try more, and others.
pub fn cases(cases: u32) -> Config {
    let given = |variable: &str| std::env::var_os(variable).is_some();
    let mut config = Config::default();
    if !given("PROPTEST_CASES") {
        config.cases = cases;
    }
    if !given("PROPTEST_RNG_SEED") {
        config.rng_seed = RngSeed::Fixed(20_260_727);
    }
    // A failure is reported with its smallest input, to be kept as a test of its own.
    config.failure_persistence = None;
    config
}
