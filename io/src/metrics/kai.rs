//! The numbers of KAI's dashboards, under its names, while a configuration of KAI's is in force.
//!
//! Counters whose name does not end in `_total` are told as gauges that only grow: the format Prometheus
//! reads allows no other counters. Numbers about sessions, plugins and scenarios are KAI's own way of
//! scheduling and have no counterpart here, but for the two ends of a cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use muster_core::config::Dialect;
use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::{Decision, DecisionOp};
use muster_core::report::QueueView;
use muster_core::resource::Quantity;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

type Number = Gauge<f64, AtomicU64>;
type Action = [(&'static str, &'static str); 1];
type QueueLabel = [(&'static str, String); 1];
type GroupLabels = [(&'static str, String); 5];

/// The stages of a cycle before and after the actions.
const OPENING: &str = "ingest";
const CLOSING: &str = "reflect";

/// What a PodGroup is known by beside its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupOrigin {
    /// Its uid.
    pub(crate) uid: String,
    /// Its node pool.
    pub(crate) pool: Name,
}

/// The numbers.
pub(super) struct KaiMetrics {
    registry: Registry,
    in_force: AtomicBool,
    cycle: Number,
    opening: Number,
    closing: Number,
    actions: Family<Action, Number>,
    bind: Histogram,
    scheduled_by: Family<Action, Gauge>,
    evicted: Family<GroupLabels, Counter>,
    shares: [Family<QueueLabel, Number>; 3],
}

/// A resource whose fair share is told: name of the gauge, what it says, the names pods know the resource by,
/// and how much of that is one of the gauge.
const SHARES: [(&str, &str, &[&str], f64); 3] = [
    ("queue_fair_share_cpu_cores", "Fair share of a queue, in cores", &["cpu"], 1.0),
    ("queue_fair_share_memory_gb", "Fair share of a queue, in 10^9 bytes", &["memory"], 1e9),
    (
        "queue_fair_share_gpu",
        "Fair share of a queue, in devices",
        &["nvidia.com/gpu", "amd.com/gpu"],
        1.0,
    ),
];

impl KaiMetrics {
    pub(super) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("kai"),
            in_force: AtomicBool::new(false),
            cycle: Number::default(),
            opening: Number::default(),
            closing: Number::default(),
            actions: Family::default(),
            // 5 ms to 2.56 s.
            bind: Histogram::new(exponential_buckets(5.0, 2.0, 10)),
            scheduled_by: Family::default(),
            evicted: Family::default(),
            shares: Default::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let all = &mut self.registry;
        let (name, help) = ("e2e_scheduling_latency_milliseconds", "Time the last cycle took");
        all.register(name, help, self.cycle.clone());
        let help = "Time the last cycle took before its actions";
        all.register("open_session_latency_milliseconds", help, self.opening.clone());
        let help = "Time the last cycle took after its actions";
        all.register("close_session_latency_milliseconds", help, self.closing.clone());
        let help = "Time an action of the last cycle took";
        all.register("action_scheduling_latency_milliseconds", help, self.actions.clone());
        let help = "Time from the call that binds a pod to its answer";
        all.register("task_bind_latency_milliseconds", help, self.bind.clone());
        let help = "PodGroups an action found places for";
        all.register("podgroups_scheduled_by_action", help, self.scheduled_by.clone());
        let help = "Pods of a PodGroup that were evicted";
        all.register("pod_group_evicted_pods", help, self.evicted.clone());
        for ((name, help, ..), share) in SHARES.iter().zip(&self.shares) {
            all.register(*name, *help, share.clone());
        }
    }

    /// What is told while the configuration is KAI's.
    pub(super) fn registry(&self) -> Option<&Registry> {
        self.is_in_force().then_some(&self.registry)
    }

    pub(super) fn is_in_force(&self) -> bool {
        self.in_force.load(Ordering::Relaxed)
    }

    pub(super) fn speak(&self, dialect: Dialect) {
        self.in_force.store(dialect == Dialect::Kai, Ordering::Relaxed);
    }

    pub(super) fn cycle(&self, took: Duration, laps: &[(&'static str, u64)]) {
        if !self.is_in_force() {
            return;
        }
        self.cycle.set(took.as_secs_f64() * 1e3);
        for &(stage, micros) in laps {
            let ms = micros as f64 / 1e3;
            match stage {
                OPENING => self.opening.set(ms),
                CLOSING => self.closing.set(ms),
                action => self.actions.get_or_create(&[("action", action)]).set(ms),
            };
        }
    }

    /// What a cycle decided; `origin` knows PodGroups by their name.
    pub(super) fn decided(
        &self,
        decisions: &[Decision],
        origin: impl Fn(&ObjectKey) -> GroupOrigin,
    ) {
        if !self.is_in_force() {
            return;
        }
        let mut placed: BTreeSet<(&'static str, &ObjectKey)> = BTreeSet::new();
        let mut evicted: BTreeMap<(&'static str, &ObjectKey), u64> = BTreeMap::new();
        for decision in decisions {
            let key = (decision.action, &decision.job);
            match decision.op {
                DecisionOp::Bind | DecisionOp::Pipeline => {
                    placed.insert(key);
                }
                DecisionOp::Evict => *evicted.entry(key).or_default() += 1,
                DecisionOp::Unpipeline => {}
            }
        }
        for (action, _) in placed {
            self.scheduled_by.get_or_create(&[("action", action)]).inc();
        }
        for ((action, job), pods) in evicted {
            let GroupOrigin { uid, pool } = origin(job);
            let labels = [
                ("podgroup", job.name.to_string()),
                ("namespace", job.namespace.to_string()),
                ("uid", uid),
                ("nodepool", pool.to_string()),
                ("action", action.to_owned()),
            ];
            self.evicted.get_or_create(&labels).inc_by(pods);
        }
    }

    pub(super) fn bound(&self, took: Duration) {
        if self.is_in_force() {
            self.bind.observe(took.as_secs_f64() * 1e3);
        }
    }

    /// What queues are due, each under the name its users know it by.
    pub(super) fn queues(&self, queues: &[QueueView], title: impl Fn(&Name) -> String) {
        for ((_, _, resources, unit), share) in SHARES.iter().zip(&self.shares) {
            share.clear();
            for queue in queues {
                let due = queue.deserved.iter().filter(|(name, _)| resources.contains(&&**name));
                let due: f64 = due.map(|(_, amount)| units(*amount)).sum();
                let label = [("queue_name", title(&queue.name))];
                share.get_or_create(&label).set(due / unit);
            }
        }
    }
}

/// An amount for people: nothing is decided by it.
fn units(amount: Quantity) -> f64 {
    amount.micro_ceil() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_core::intent::Ruling;
    use muster_core::status::QueueState;
    use prometheus_client::encoding::text::encode;

    use super::*;

    fn decision(pod: &str, job: &str, op: DecisionOp, action: &'static str) -> Decision {
        let key = |name: &str| ObjectKey::new("default", name);
        let ruling = Ruling { action, op, job: key(job), beneficiary: None, reason: None };
        Decision { pod: key(pod), node: "n".into(), ruling: Arc::new(ruling) }
    }

    fn queue(deserved: Vec<(Name, Quantity)>) -> QueueView {
        QueueView {
            name: "q".into(),
            allocated: Vec::new(),
            deserved,
            state: QueueState::Open,
            share_ppm: 0,
            capability: Vec::new(),
            guarantee: Vec::new(),
            borrowed: Vec::new(),
            warnings: Vec::new(),
            past: [0; 3],
        }
    }

    fn text(metrics: &KaiMetrics) -> String {
        let mut text = String::new();
        encode(&mut text, metrics.registry().unwrap()).unwrap();
        text
    }

    #[test]
    fn the_page_lists_every_metric_of_kai_s_with_its_type() {
        let metrics = KaiMetrics::new();
        metrics.speak(Dialect::Kai);
        metrics.cycle(Duration::ZERO, &[("allocate", 1)]);
        let decisions =
            [DecisionOp::Bind, DecisionOp::Evict].map(|op| decision("p", "g", op, "allocate"));
        metrics.decided(&decisions, |_| GroupOrigin::default());
        metrics.queues(&[queue(Vec::new())], Name::to_string);
        let page = include_str!("../../../docs/operating/running.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `kai_"));
        let listed = rows.filter_map(|row| {
            let (name, rest) = row.split_once("` | ")?;
            Some(format!("# TYPE kai_{name} {}", rest.split(' ').next()?))
        });
        let text = text(&metrics);
        let told = text.lines().filter(|line| line.starts_with("# TYPE ")).map(str::to_owned);
        assert_eq!(listed.collect::<BTreeSet<_>>(), told.collect::<BTreeSet<_>>());
    }

    #[test]
    fn groups_are_counted_once_and_their_pods_one_by_one() {
        let metrics = KaiMetrics::new();
        assert!(metrics.registry().is_none());
        metrics.speak(Dialect::Kai);
        let decisions = [
            decision("a-0", "a", DecisionOp::Bind, "allocate"),
            decision("a-1", "a", DecisionOp::Bind, "allocate"),
            decision("b-0", "b", DecisionOp::Evict, "reclaim"),
            decision("b-1", "b", DecisionOp::Evict, "reclaim"),
        ];
        metrics.decided(&decisions, |_| GroupOrigin { uid: "u".into(), pool: "default".into() });
        let text = text(&metrics);
        let has = |line: &str| text.lines().any(|found| found == line);
        assert!(has("kai_podgroups_scheduled_by_action{action=\"allocate\"} 1"), "{text}");
        let labels = "podgroup=\"b\",namespace=\"default\",uid=\"u\",nodepool=\"default\",\
                      action=\"reclaim\"";
        assert!(has(&format!("kai_pod_group_evicted_pods_total{{{labels}}} 2")), "{text}");
    }

    #[test]
    fn a_share_is_told_in_cores_gigabytes_and_devices_of_all_makers() {
        let metrics = KaiMetrics::new();
        metrics.speak(Dialect::Kai);
        let amount = |text: &str| text.parse::<Quantity>().unwrap();
        let deserved = vec![
            ("amd.com/gpu".into(), amount("1")),
            ("cpu".into(), amount("1500m")),
            ("memory".into(), amount("3G")),
            ("nvidia.com/gpu".into(), amount("2")),
        ];
        metrics.queues(&[queue(deserved)], |name| format!("team {name}"));
        let text = text(&metrics);
        for line in [
            "kai_queue_fair_share_cpu_cores{queue_name=\"team q\"} 1.5",
            "kai_queue_fair_share_memory_gb{queue_name=\"team q\"} 3.0",
            "kai_queue_fair_share_gpu{queue_name=\"team q\"} 3.0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
