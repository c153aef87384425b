//! The loop on a real cluster: take in events, run a cycle, hand its calls to the dispatcher.
//!
//! A cycle begins because something changed; the period is only the longest sleep. Events that come
//! within a moment are taken in together. Nothing is decided before every kind was listed once, and
//! nothing while another process leads: events are taken in all the same, so that a standby takes over
//! without a list.

pub(crate) mod liveness;
mod config_source;
mod services;

pub use config_source::ConfigSource;
pub(crate) use config_source::{FirstConfigError, first_config};

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use muster_core::config::View;
use muster_core::delta::ClusterDelta;
use muster_core::ids::TimeMs;
use muster_core::intent::{CycleOutcome, DecisionOp};
use muster_core::policy::Registry;
use muster_core::scheduler::Scheduler;
use rayon::ThreadPool;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::Receiver;
use tracing::{debug, error, info, warn};

use self::services::Services;
use crate::config::Parsed;
use crate::config::params::Params;
use crate::config::sharding::ShardingOverride;
use crate::http::Topics;
use crate::kube::calls::{calls, dry_run};
use crate::kube::lease::Terms;
use crate::kube::loop_event::{Leadership, LoopEvent, NewConfig};

/// Shortest time from the start of one cycle to the next: what comes meanwhile is taken in together.
const GAP: Duration = Duration::from_millis(10);
/// Events taken at a time.
const BATCH: usize = 65_536;
/// Shortest time between two counts of what waits, which look at every job.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// File with how to reach the cluster; none looks where clients look.
    pub kubeconfig: Option<PathBuf>,
    /// Address of the API server, instead of the one the file names.
    pub master: Option<String>,
    /// Pods that name one of these schedulers are ours; events are signed with the first.
    pub scheduler_names: Vec<String>,
    /// Where the configuration comes from.
    pub config: ConfigSource,
    /// Parameters given as flags, which count before those of the configuration.
    pub params: Params,
    /// What flags say of our nodes, over the configuration.
    pub sharding: ShardingOverride,
    /// Longest sleep between two cycles; none is what the configuration says.
    pub period: Option<Duration>,
    /// Terms of the election; none decides without one.
    pub lease: Option<Terms>,
    /// Addresses to answer on, and what.
    pub listen: Vec<(std::net::SocketAddr, Topics)>,
    /// Calls a second.
    pub calls_per_second: u32,
    /// Calls that may come at once after a quiet time.
    pub call_burst: u32,
    /// Calls under way at most.
    pub calls_in_flight: usize,
    /// Time between two recomputations of all totals; none never does.
    pub ledger_check: Option<Duration>,
    /// Time calls have to end when the process is asked to stop.
    pub grace: Duration,
    /// What becomes of the calls.
    pub writes: Writes,
}

/// What becomes of the calls a cycle asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// They are made.
    Made,
    /// They are logged, and nothing is written to the cluster: a dry run.
    Said,
}

/// Why the scheduler could not be started.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Threads could not be started.
    #[error("cannot start the threads for input and output: {0}")]
    Runtime(#[source] std::io::Error),
    /// There is no way to a cluster.
    #[error("cannot tell how to reach the cluster: {0}")]
    Cluster(String),
    /// The object that has the configuration cannot be read.
    #[error("the SchedulingShard {name} cannot be read: {source}")]
    Shard {
        /// Its name.
        name: String,
        /// What the server says.
        source: kube::Error,
    },
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Schedules a cluster until the process is asked to stop. The registry is what a new text of the
/// configuration may name.
pub fn run(
    options: &Options,
    registry: Registry,
    config: NewConfig,
    pool: Arc<ThreadPool>,
) -> Result<(), RunError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.thread_name("muster-io").enable_all().build();
    let runtime = runtime.map_err(RunError::Runtime)?;
    let (services, inbox) = runtime.block_on(Services::open(options, registry, &config))?;
    let mut parsed = config.parsed;
    parsed.config.sharding = options.sharding.over(parsed.config.sharding);
    let mut cycles = Loop::new(options, parsed, pool, services, inbox);
    while cycles.turn(&runtime) == Flow::On {}
    let Loop { services, inbox, .. } = cycles;
    runtime.block_on(services.close(inbox, options.grace));
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(())
}

/// Does the loop go on?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    On,
    Over,
}

struct Loop {
    scheduler: Scheduler,
    services: Services,
    inbox: Receiver<LoopEvent>,
    /// Were all first lists read?
    ready: bool,
    /// Until when nothing is decided because what queues used of late is not known.
    usage_by: Option<Instant>,
    leadership: Leadership,
    writes: Writes,
    sharding: ShardingOverride,
    given_period: Option<Duration>,
    period: Duration,
    threads: Option<usize>,
    view: View,
    ledger_check: Option<Duration>,
    /// Time zero of the clock, which never goes back.
    zero: (Instant, i64),
    last_cycle: Instant,
    last_count: Option<Instant>,
    last_check: Instant,
    cycle: u64,
    /// What plugins that ask somebody outside last said went wrong.
    troubles: BTreeMap<&'static str, String>,
    /// Has anything changed since the last count, and since the last check?
    uncounted: bool,
    unchecked: bool,
}

impl Loop {
    fn new(
        options: &Options,
        parsed: Parsed,
        pool: Arc<ThreadPool>,
        services: Services,
        inbox: Receiver<LoopEvent>,
    ) -> Self {
        let tuning = &parsed.config.tuning;
        let begun = Instant::now();
        let stopwatch = Arc::new(move || begun.elapsed().as_micros() as u64);
        Self {
            scheduler: Scheduler::lasting(&parsed.config, pool).with_stopwatch(stopwatch),
            services,
            inbox,
            ready: false,
            usage_by: parsed.usage_source.as_ref().map(|source| begun + source.wait_at_most),
            leadership: match options.lease {
                None => Leadership::Leads,
                Some(_) => Leadership::Follows,
            },
            writes: options.writes,
            sharding: options.sharding.clone(),
            given_period: options.period,
            period: options.period.unwrap_or(Duration::from_millis(tuning.period_ms)),
            threads: tuning.threads,
            view: parsed.config.view.clone(),
            ledger_check: options.ledger_check,
            zero: (begun, jiff::Timestamp::now().as_millisecond()),
            last_cycle: begun,
            last_count: None,
            last_check: begun,
            cycle: 0,
            troubles: BTreeMap::new(),
            uncounted: false,
            unchecked: false,
        }
    }

    fn now(&self) -> TimeMs {
        TimeMs(self.zero.1 + self.zero.0.elapsed().as_millis() as i64)
    }

    /// Waits for events or the end of the period, and does what they ask for.
    fn turn(&mut self, runtime: &Runtime) -> Flow {
        let events = self.gather(runtime);
        self.services.liveness.beat();
        let flow = self.hear(events);
        if flow == Flow::Over {
            return flow;
        }
        if self.ready && !self.awaits_usage() {
            self.last_cycle = Instant::now();
            match self.leadership {
                Leadership::Leads => self.decide(),
                Leadership::Follows => self.scheduler.follow(self.now()),
            }
            self.count();
            self.check_ledger();
        }
        Flow::On
    }

    /// Is what queues used of late still to be waited for? Shares that ignore it could evict pods of whoever
    /// used least.
    fn awaits_usage(&mut self) -> bool {
        if self.usage_by.is_some_and(|by| Instant::now() >= by) {
            warn!("past use is not known in time; until it is, fair shares go without it");
            self.usage_by = None;
        }
        self.usage_by.is_some()
    }

    fn gather(&mut self, runtime: &Runtime) -> Vec<LoopEvent> {
        let mut batch = Vec::new();
        let (period, gap) = (self.period, GAP.saturating_sub(self.last_cycle.elapsed()));
        let inbox = &mut self.inbox;
        runtime.block_on(async {
            let first = inbox.recv_many(&mut batch, BATCH);
            if tokio::time::timeout(period, first).await.is_ok() && !gap.is_zero() {
                tokio::time::sleep(gap).await;
                while batch.len() < BATCH
                    && let Ok(more) = inbox.try_recv()
                {
                    batch.push(more);
                }
            }
        });
        batch
    }

    fn hear(&mut self, events: Vec<LoopEvent>) -> Flow {
        let mut deltas: Vec<ClusterDelta> = Vec::with_capacity(events.len());
        for event in events {
            match event {
                LoopEvent::Delta { delta, heard } => {
                    self.services.metrics.took_in(heard.elapsed());
                    deltas.push(delta);
                }
                LoopEvent::Listed(kind) => {
                    if self.services.liveness.read(kind) {
                        info!("all first lists are read");
                        self.ready = true;
                        self.services.metrics.set_ready();
                    }
                }
                LoopEvent::UsageKnown => self.usage_by = None,
                LoopEvent::Leadership(leadership) => self.change_leadership(leadership),
                LoopEvent::Config(config) => self.reconfigure(*config),
                LoopEvent::Stop => return Flow::Over,
            }
        }
        let changed = !deltas.is_empty();
        (self.uncounted, self.unchecked) = (self.uncounted | changed, self.unchecked | changed);
        self.scheduler.feed(deltas);
        Flow::On
    }

    fn change_leadership(&mut self, leadership: Leadership) {
        self.leadership = leadership;
        self.services.metrics.leads(leadership == Leadership::Leads);
        if leadership == Leadership::Follows {
            // Whatever was decided and not carried out is for the next one to decide.
            self.services.dispatcher.drop_waiting();
        }
    }

    fn reconfigure(&mut self, NewConfig { mut parsed, hash }: NewConfig) {
        parsed.config.sharding = self.sharding.over(parsed.config.sharding);
        if let Err(error) = self.scheduler.reconfigure(&parsed.config) {
            self.services.metrics.config_failed();
            return error!(%error, "the new configuration is not in force");
        }
        let tuning = &parsed.config.tuning;
        if tuning.threads != self.threads {
            warn!("schedule.threads changed; it takes effect when the process starts again");
        }
        if parsed.config.view != self.view {
            warn!(
                "what is ours changed (pool, worker labels or queues); it takes effect when the \
                   process starts again"
            );
        }
        self.period = self.given_period.unwrap_or(Duration::from_millis(tuning.period_ms));
        self.services.api.set_eviction(tuning.eviction);
        self.services.read_loads_from(parsed.load_source.clone());
        self.services.read_usage_from(parsed.usage_source.clone());
        self.services.metrics.config(hash);
        self.services.metrics.speak(parsed.config.dialect);
        for warning in parsed.warnings.iter().chain(&parsed.missing_load_source()) {
            warn!("configuration: {warning}");
        }
        info!(hash = format!("{hash:016x}"), "a new configuration is in force");
    }

    /// Runs a cycle and hands over what it decided.
    fn decide(&mut self) {
        let now = self.now();
        let begun = Instant::now();
        let CycleOutcome { intents, decisions, laps, consultations } =
            self.scheduler.run_cycle(now);
        let took = begun.elapsed();
        if laps.is_empty() {
            return;
        }
        self.cycle += 1;
        (self.uncounted, self.unchecked) = (true, true);
        let metrics = &self.services.metrics;
        metrics.cycle(took, &laps);
        let statuses = &self.services.statuses;
        metrics.groups(&decisions, |group| statuses.origin(group));
        for (plugin, consultation) in &consultations {
            metrics.consulted(plugin, consultation);
            say_trouble(&mut self.troubles, plugin, consultation.trouble.as_ref());
        }
        let mut made = [0_u32; 4];
        for decision in &decisions {
            metrics.decided(decision.op.as_str());
            if decision.op == DecisionOp::Evict {
                metrics.decided_to_evict(decision.action);
            }
            made[decision.op as usize] += 1;
        }
        let calls = calls(intents);
        let (cycle, count, took_us) = (self.cycle, calls.len(), took.as_micros() as u64);
        if !decisions.is_empty() {
            let [binds, evictions, reserved, released] = made;
            info!(cycle, binds, evictions, reserved, released, calls = count, took_us, "cycle");
        } else if count > 0 {
            debug!(cycle, calls = count, took_us, "cycle without a decision");
        }
        match self.writes {
            Writes::Made => self.services.dispatcher.make(calls),
            Writes::Said => dry_run::say(&calls),
        }
    }

    /// Counts what waits, for the metrics.
    fn count(&mut self) {
        let lately = self.last_count.is_some_and(|last| last.elapsed() < COUNT_EVERY);
        if !self.uncounted || lately {
            return;
        }
        (self.uncounted, self.last_count) = (false, Some(Instant::now()));
        let census = self.scheduler.census();
        let waiting = census.waiting.iter().map(|(reason, &pods)| {
            (reason.map_or("NotLookedAt", muster_core::verdict::Reason::as_str), pods)
        });
        let waiting: Vec<_> = waiting.collect();
        let aside = self.scheduler.set_aside().len();
        self.services.metrics.census(&waiting, census.reserved, aside);
        self.services.metrics.reservations(&self.scheduler.reservations());
        if self.services.metrics.tells_queues() {
            let statuses = &self.services.statuses;
            let queues = self.scheduler.queues();
            self.services.metrics.queues(&queues, |queue| statuses.title_of(queue));
        }
    }

    /// Recomputes every total now and then.
    fn check_ledger(&mut self) {
        let due = self.ledger_check.is_some_and(|every| self.last_check.elapsed() >= every);
        if !due || !self.unchecked {
            return;
        }
        let faults = self.scheduler.audit();
        (self.unchecked, self.last_check) = (false, Instant::now());
        self.services.metrics.ledger_checked(faults.len());
        for fault in faults {
            error!(fault, "a total differs from its recomputation; please report this");
        }
    }
}

/// Says what went wrong when a plugin asked somebody outside, once, and that it goes well again.
fn say_trouble(
    troubles: &mut BTreeMap<&'static str, String>,
    plugin: &'static str,
    trouble: Option<&String>,
) {
    let Some(trouble) = trouble else {
        if troubles.remove(plugin).is_some() {
            info!(plugin, "a plugin has answers again");
        }
        return;
    };
    if troubles.get(plugin) != Some(trouble) {
        warn!(plugin, trouble, "a plugin got no answer it could use");
        troubles.insert(plugin, trouble.clone());
    }
}
