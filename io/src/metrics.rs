//! Numbers for Prometheus. `docs/operating/running.md` has the table; a test compares the two.

mod kai;

use std::time::Duration;

use http::Method;
use muster_core::config::Dialect;
use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::{Consultation, Decision};
use muster_core::report::QueueView;
use muster_core::reservation::{Release, ReservationCounts};
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

pub(crate) use self::kai::GroupOrigin;
use self::kai::KaiMetrics;
use crate::objects::ObjectKind;

/// One label and its value.
type Label = [(&'static str, &'static str); 1];
type Labels = Vec<(&'static str, String)>;
type Seconds = Histogram;

/// How an attempt to make a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It was carried out.
    Done,
    /// The server said no.
    Refused,
    /// The server, or the way to it, was in trouble; it is tried again.
    Again,
}

impl Answer {
    fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Again => "again",
        }
    }
}

fn call_labels(method: &Method, answer: Answer) -> [(&'static str, String); 2] {
    [("method", method.to_string()), ("answer", answer.as_str().to_owned())]
}

fn seconds() -> Seconds {
    // 50 µs to 26 s.
    Histogram::new(exponential_buckets(0.000_05, 2.0, 20))
}

/// All numbers. Whoever counts something has a method here.
pub(crate) struct Metrics {
    registry: Registry,
    cycles: Counter,
    cycle_seconds: Seconds,
    action_seconds: Family<Label, Seconds>,
    deltas: Counter,
    delta_wait_seconds: Seconds,
    decisions: Family<Label, Counter>,
    evictions_by: Family<Label, Counter>,
    binds: Counter,
    bind_failures: Counter,
    conflicts: Counter,
    evictions: Counter,
    evict_failures: Counter,
    calls: Family<[(&'static str, String); 2], Counter>,
    call_seconds: Family<Label, Seconds>,
    in_flight: Gauge,
    waiting_calls: Gauge,
    events_dropped: Counter,
    pending: Family<Label, Gauge>,
    reservations: Gauge,
    reservations_by: Family<Label, Counter>,
    released_by: Family<Label, Counter>,
    set_aside: Gauge,
    ledger_checks: Counter,
    ledger_faults: Counter,
    watch_events: Family<Label, Counter>,
    watch_failures: Family<Label, Counter>,
    load_nodes: Gauge,
    load_failures: Counter,
    usage_queues: Gauge,
    usage_failures: Counter,
    usage_stale: Gauge,
    questions: Family<Label, Counter>,
    question_failures: Family<Label, Counter>,
    leader: Gauge,
    ready: Gauge,
    config: Family<Labels, Gauge>,
    config_failures: Counter,
    kai: KaiMetrics,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("muster"),
            cycles: Counter::default(),
            cycle_seconds: seconds(),
            action_seconds: Family::new_with_constructor(seconds),
            deltas: Counter::default(),
            delta_wait_seconds: seconds(),
            decisions: Family::default(),
            evictions_by: Family::default(),
            binds: Counter::default(),
            bind_failures: Counter::default(),
            conflicts: Counter::default(),
            evictions: Counter::default(),
            evict_failures: Counter::default(),
            calls: Family::default(),
            call_seconds: Family::new_with_constructor(seconds),
            in_flight: Gauge::default(),
            waiting_calls: Gauge::default(),
            events_dropped: Counter::default(),
            pending: Family::default(),
            reservations: Gauge::default(),
            reservations_by: Family::default(),
            released_by: Family::default(),
            set_aside: Gauge::default(),
            ledger_checks: Counter::default(),
            ledger_faults: Counter::default(),
            watch_events: Family::default(),
            watch_failures: Family::default(),
            load_nodes: Gauge::default(),
            load_failures: Counter::default(),
            usage_queues: Gauge::default(),
            usage_failures: Counter::default(),
            usage_stale: Gauge::default(),
            questions: Family::default(),
            question_failures: Family::default(),
            leader: Gauge::default(),
            ready: Gauge::default(),
            config: Family::default(),
            config_failures: Counter::default(),
            kai: KaiMetrics::new(),
        };
        metrics.register_cycle();
        metrics.register_calls();
        metrics.register_state();
        // A rate that begins with a first call needs a zero before it.
        for method in [Method::GET, Method::POST, Method::PATCH, Method::DELETE] {
            drop(metrics.calls.get_or_create(&call_labels(&method, Answer::Done)));
        }
        metrics
    }

    fn register_cycle(&mut self) {
        let all = &mut self.registry;
        all.register("cycles", "Cycles that had something to do", self.cycles.clone());
        let (help, unit) = ("Time a cycle took", Unit::Seconds);
        all.register_with_unit("cycle_duration", help, unit, self.cycle_seconds.clone());
        let help = "Time a stage of a cycle took";
        all.register_with_unit("action_duration", help, Unit::Seconds, self.action_seconds.clone());
        all.register("deltas", "Changes of the cluster taken in", self.deltas.clone());
        let help = "Time from hearing of a change to taking it in";
        let waited = self.delta_wait_seconds.clone();
        all.register_with_unit("watch_lag", help, Unit::Seconds, waited);
        all.register("decisions", "Decisions by kind", self.decisions.clone());
        let help = "Evictions decided, by the action that decided";
        all.register("evictions_decided", help, self.evictions_by.clone());
    }

    fn register_calls(&mut self) {
        let all = &mut self.registry;
        all.register("binds", "Pods bound", self.binds.clone());
        all.register("bind_failures", "Binds that failed for good", self.bind_failures.clone());
        all.register("bind_conflicts", "Binds answered with a conflict", self.conflicts.clone());
        all.register("evictions", "Pods evicted", self.evictions.clone());
        all.register("evict_failures", "Evictions refused", self.evict_failures.clone());
        all.register("calls", "Attempts at calls, by method and answer", self.calls.clone());
        let (help, unit) = ("Time an attempt at a call took", Unit::Seconds);
        all.register_with_unit("call_duration", help, unit, self.call_seconds.clone());
        all.register("calls_in_flight", "Calls under way", self.in_flight.clone());
        all.register("calls_waiting", "Calls that wait", self.waiting_calls.clone());
        let help = "Events not written, there being too many";
        all.register("events_dropped", help, self.events_dropped.clone());
    }

    fn register_state(&mut self) {
        let all = &mut self.registry;
        all.register("pending_pods", "Pods that wait, by reason", self.pending.clone());
        all.register("reserved_pods", "Pods room is held for", self.reservations.clone());
        let help = "Reservations made, read back from pods and confirmed by a bind";
        all.register("reservations", help, self.reservations_by.clone());
        let help = "Reservations given up, by cause";
        all.register("reservations_released", help, self.released_by.clone());
        all.register("objects_set_aside", "Objects that make no sense", self.set_aside.clone());
        all.register("ledger_checks", "Recomputations of all totals", self.ledger_checks.clone());
        let help = "Totals that differed from their recomputation";
        all.register("ledger_faults", help, self.ledger_faults.clone());
        all.register("watch_events", "Events heard, by kind", self.watch_events.clone());
        all.register("watch_failures", "Watches that broke", self.watch_failures.clone());
        let help = "Nodes whose load was read last";
        all.register("load_nodes", help, self.load_nodes.clone());
        let help = "Readings of the load of nodes that failed";
        all.register("load_failures", help, self.load_failures.clone());
        let help = "Queues whose past use was read last";
        all.register("usage_queues", help, self.usage_queues.clone());
        let help = "Readings of past use that failed";
        all.register("usage_failures", help, self.usage_failures.clone());
        let help = "1 while what is known of past use is older than it should be";
        all.register("usage_stale", help, self.usage_stale.clone());
        let help = "Questions to servers that plugins ask";
        all.register("plugin_questions", help, self.questions.clone());
        let help = "Those of them without an answer that makes sense";
        all.register("plugin_question_failures", help, self.question_failures.clone());
        all.register("leader", "1 while this process decides", self.leader.clone());
        all.register("ready", "1 once all first lists were read", self.ready.clone());
        let help = "1 for the configuration in force, by a hash of its text";
        all.register("config_info", help, self.config.clone());
        let help = "Configuration files that were not valid";
        all.register("config_failures", help, self.config_failures.clone());
    }

    /// The text Prometheus reads.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        for registry in std::iter::once(&self.registry).chain(self.kai.registry()) {
            let _never = encode_registry(&mut text, registry);
        }
        let _never = encode_eof(&mut text);
        text
    }

    pub(crate) fn cycle(&self, took: Duration, laps: &[(&'static str, u64)]) {
        self.cycles.inc();
        self.cycle_seconds.observe(took.as_secs_f64());
        for &(stage, micros) in laps {
            let seconds = Duration::from_micros(micros).as_secs_f64();
            self.action_seconds.get_or_create(&[("action", stage)]).observe(seconds);
        }
        self.kai.cycle(took, laps);
    }

    /// Whose configuration is in force: with KAI's its own numbers are told, too.
    pub(crate) fn speak(&self, dialect: Dialect) {
        self.kai.speak(dialect);
    }

    /// Is anybody told of what queues are due?
    pub(crate) fn tells_queues(&self) -> bool {
        self.kai.is_in_force()
    }

    /// What queues are due, each under the name its users know it by.
    pub(crate) fn queues(&self, queues: &[QueueView], title: impl Fn(&Name) -> String) {
        self.kai.queues(queues, title);
    }

    /// What became of PodGroups in a cycle.
    pub(crate) fn groups(
        &self,
        decisions: &[Decision],
        origin: impl Fn(&ObjectKey) -> GroupOrigin,
    ) {
        self.kai.decided(decisions, origin);
    }

    pub(crate) fn took_in(&self, waited: Duration) {
        self.deltas.inc();
        self.delta_wait_seconds.observe(waited.as_secs_f64());
    }

    pub(crate) fn decided(&self, op: &'static str) {
        self.decisions.get_or_create(&[("op", op)]).inc();
    }

    pub(crate) fn decided_to_evict(&self, action: &'static str) {
        self.evictions_by.get_or_create(&[("action", action)]).inc();
    }

    pub(crate) fn bound(&self, took: Duration) {
        self.binds.inc();
        self.kai.bound(took);
    }

    pub(crate) fn bind_failed(&self) {
        self.bind_failures.inc();
    }

    pub(crate) fn conflicts(&self, count: u32) {
        self.conflicts.inc_by(u64::from(count));
    }

    pub(crate) fn evicted(&self) {
        self.evictions.inc();
    }

    pub(crate) fn evict_failed(&self) {
        self.evict_failures.inc();
    }

    pub(crate) fn answered(&self, method: &Method, answer: Answer, took: Duration) {
        self.calls.get_or_create(&call_labels(method, answer)).inc();
        let label = [("answer", answer.as_str())];
        self.call_seconds.get_or_create(&label).observe(took.as_secs_f64());
    }

    pub(crate) fn in_flight(&self, under_way: usize, waiting: usize) {
        self.in_flight.set(under_way as i64);
        self.waiting_calls.set(waiting as i64);
    }

    pub(crate) fn events_dropped(&self, count: u64) {
        self.events_dropped.inc_by(count);
    }

    /// How many pods wait for which reason, and for how many room is held.
    pub(crate) fn census(&self, pending: &[(&'static str, u32)], reserved: u32, aside: usize) {
        self.pending.clear();
        for &(reason, pods) in pending {
            self.pending.get_or_create(&[("reason", reason)]).set(i64::from(pods));
        }
        self.reservations.set(i64::from(reserved));
        self.set_aside.set(aside as i64);
    }

    /// What became of reservations since the scheduler started.
    pub(crate) fn reservations(&self, counts: &ReservationCounts) {
        let catch_up =
            |family: &Family<Label, Counter>, label: (&'static str, &'static str), to| {
                let counter = family.get_or_create(&[label]);
                counter.inc_by(u64::saturating_sub(to, counter.get()));
            };
        let ReservationCounts { made, restored, confirmed, .. } = *counts;
        for (event, count) in [("made", made), ("restored", restored), ("confirmed", confirmed)] {
            catch_up(&self.reservations_by, ("event", event), count);
        }
        for cause in Release::ALL {
            catch_up(&self.released_by, ("cause", cause.as_str()), counts.released_for(cause));
        }
    }

    pub(crate) fn ledger_checked(&self, faults: usize) {
        self.ledger_checks.inc();
        self.ledger_faults.inc_by(faults as u64);
    }

    pub(crate) fn watch_event(&self, kind: ObjectKind) {
        self.watch_events.get_or_create(&[("kind", kind.name())]).inc();
    }

    pub(crate) fn watch_failed(&self, kind: ObjectKind) {
        self.watch_failures.get_or_create(&[("kind", kind.name())]).inc();
    }

    /// What a plugin that asks somebody outside had to do with a cycle.
    pub(crate) fn consulted(&self, plugin: &'static str, consultation: &Consultation) {
        self.questions.get_or_create(&[("plugin", plugin)]).inc_by(consultation.asked);
        self.question_failures.get_or_create(&[("plugin", plugin)]).inc_by(consultation.failed);
    }

    pub(crate) fn loads_read(&self, nodes: usize) {
        self.load_nodes.set(nodes as i64);
    }

    pub(crate) fn load_failed(&self) {
        self.load_failures.inc();
    }

    pub(crate) fn usage_read(&self, queues: usize) {
        self.usage_queues.set(queues as i64);
        self.usage_stale.set(0);
    }

    pub(crate) fn usage_failed(&self) {
        self.usage_failures.inc();
    }

    pub(crate) fn usage_is_stale(&self) {
        self.usage_stale.set(1);
    }

    pub(crate) fn leads(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready.get() == 1
    }

    pub(crate) fn set_ready(&self) {
        self.ready.set(1);
    }

    pub(crate) fn config(&self, hash: u64) {
        self.config.clear();
        self.config.get_or_create(&vec![("hash", format!("{hash:016x}"))]).set(1);
    }

    pub(crate) fn config_failed(&self) {
        self.config_failures.inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and types of the text, however often a metric appears.
    fn told(text: &str) -> Vec<(String, String)> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let pairs = lines.filter_map(|line| line.split_once(' '));
        let mut pairs: Vec<_> =
            pairs.map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect();
        pairs.sort();
        pairs
    }

    #[test]
    fn the_page_lists_every_metric_with_its_type() {
        let metrics = Metrics::new();
        // Families without a member are not told.
        metrics.cycle(Duration::ZERO, &[("allocate", 1)]);
        metrics.decided("bind");
        metrics.decided_to_evict("preempt");
        metrics.answered(&Method::POST, Answer::Done, Duration::ZERO);
        metrics.census(&[("NeverFits", 1)], 0, 0);
        metrics.reservations(&ReservationCounts::default());
        metrics.watch_event(ObjectKind::Pod);
        metrics.watch_failed(ObjectKind::Pod);
        metrics.config(7);
        metrics.consulted("extender", &Consultation::default());
        let page = include_str!("../../docs/operating/running.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `muster_"));
        let mut listed: Vec<_> = rows
            .filter_map(|row| {
                let (name, rest) = row.split_once("` | ")?;
                let kind = rest.split(' ').next()?;
                Some((format!("muster_{name}"), kind.to_owned()))
            })
            .collect();
        listed.sort();
        assert_eq!(listed, told(&metrics.text()));
    }
}
