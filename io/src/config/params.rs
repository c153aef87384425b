//! Parameters of a run of KAI's scheduler: flags of its process, which a `SchedulingShard` has under
//! `args`. A configuration in KAI's format may have them there, too, so that a simulation goes by them.
//!
//! One table says of each what it takes and what becomes of it; the command line and both kinds of file
//! read it. What sets something is applied once, to the configuration that was read.

mod apply;

use std::collections::BTreeMap;

use muster_core::ids::Name;

use super::error::Problem;
use super::reader::{Field, Reader};
use super::tree::{Node, Value};
use super::{boolean, duration, nearest};
use crate::objects::translate::label::{is_key, is_value};

/// A parameter.
#[derive(Debug)]
pub struct Param {
    /// Its name, without dashes in front.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What holds without it, as it would be written; empty where nothing does.
    pub default: &'static str,
    /// What becomes of it.
    pub role: Role,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Yes or no; without a value it is yes.
    Switch,
    /// A whole number.
    Whole,
    /// A length of time.
    Time,
    /// A length of time, or one below zero.
    SignedTime,
    /// The key of a label.
    LabelKey,
    /// The value of a label.
    LabelValue,
    /// Any text.
    Text,
}

/// What becomes of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It sets something, in a file as on the command line; with what.
    Sets(&'static str),
    /// It is for the process: only the command line has it.
    Process(&'static str),
    /// It is taken so that a Deployment need not be rewritten, and changes nothing, for this reason.
    Idle(&'static str),
}

const fn sets(
    name: &'static str,
    takes: Takes,
    default: &'static str,
    help: &'static str,
) -> Param {
    Param { name, takes, default, role: Role::Sets(help) }
}

const fn process(name: &'static str, flag: &'static str) -> Param {
    Param { name, takes: Takes::Text, default: "", role: Role::Process(flag) }
}

/// A parameter that changes nothing.
pub const fn idle(name: &'static str, takes: Takes, why: &'static str) -> Param {
    Param { name, takes, default: "", role: Role::Idle(why) }
}

const POOL_KEY: &str = "nodepool-label-key";
pub(super) const POOL_VALUE: &str = "partition-label-value";
const RESTRICT: &str = "restrict-node-scheduling";
const CPU_WORKER: &str = "cpu-worker-node-label-key";
const GPU_WORKER: &str = "gpu-worker-node-label-key";
const QUEUE_LABEL: &str = "queue-label-key";
const HIERARCHY: &str = "full-hierarchy-fairness";
const STALE_GRACE: &str = "default-staleness-grace-period";
const STUCK_AFTER: &str = "stuck-in-releasing-threshold";
const MAX_MOVED: &str = "max-consolidation-preemptees";
const MOVES_IN_RECLAIM: &str = "allow-consolidating-reclaim";
const FIT_ERRORS: &str = "detailed-fit-errors";
const EVICTION_CONDITION: &str = "update-pod-eviction-condition";

/// How long one cycle waits for the next at most; `muster run` has a flag of that name of its own.
pub const PERIOD: &str = "schedule-period";

/// Every parameter of KAI's scheduler.
pub const PARAMS: &[Param] = &[
    sets(
        POOL_KEY,
        Takes::LabelKey,
        "kai.scheduler/node-pool",
        "label of nodes, queues, PodGroups and pods that names their pool",
    ),
    sets(
        POOL_VALUE,
        Takes::LabelValue,
        "",
        "the pool that is ours; empty is whatever has no such label",
    ),
    sets(
        RESTRICT,
        Takes::Switch,
        "false",
        "only nodes with one of the two labels below are used, each for what it is marked for",
    ),
    sets(
        CPU_WORKER,
        Takes::LabelKey,
        "node-role.kubernetes.io/cpu-worker",
        "label of nodes for pods without GPUs",
    ),
    sets(
        GPU_WORKER,
        Takes::LabelKey,
        "node-role.kubernetes.io/gpu-worker",
        "label of nodes for pods with GPUs",
    ),
    sets(
        QUEUE_LABEL,
        Takes::LabelKey,
        "kai.scheduler/queue",
        "label of a pod without PodGroup that names its queue",
    ),
    sets(
        HIERARCHY,
        Takes::Switch,
        "true",
        "false: queues with a parent divide the cluster side by side, the others are not there",
    ),
    sets(
        STALE_GRACE,
        Takes::SignedTime,
        "60s",
        "how long a gang may run without its minimum that says nothing itself; below 0s is for ever",
    ),
    sets(
        STUCK_AFTER,
        Takes::Time,
        "2m",
        "how long after a pod was to be gone its room is still waited for",
    ),
    sets(
        MAX_MOVED,
        Takes::Whole,
        "16",
        "of how many jobs consolidation may move pods for one job; -1 is any number",
    ),
    sets(
        MOVES_IN_RECLAIM,
        Takes::Switch,
        "true",
        "a pod that reclaim moves elsewhere does not count as taken from its queue",
    ),
    sets(
        FIT_ERRORS,
        Takes::Switch,
        "false",
        "the reason of a job without room goes through the nodes one by one",
    ),
    sets(
        EVICTION_CONDITION,
        Takes::Switch,
        "false",
        "a pod gets the condition DisruptionTarget before it is evicted",
    ),
    sets(PERIOD, Takes::Time, "1s", "longest sleep between two cycles"),
    process("scheduler-name", "--scheduler-name"),
    process("scheduler-conf", "--scheduler-conf"),
    process("leader-elect", "--leader-elect"),
    process("listen-address", "--listen-address"),
    process("qps", "--qps"),
    process("burst", "--burst"),
    idle("schedule-csi-storage", Takes::Switch, "storage is always looked at"),
    idle(
        "use-scheduling-signatures",
        Takes::Switch,
        "pods and jobs that are alike are always judged once",
    ),
    idle(
        "mig-worker-node-label-key",
        Takes::LabelKey,
        "nodes with divided GPUs are known by the default label or by their instances",
    ),
    idle("gpu-sharing-mode", Takes::Text, "parts of GPUs are given in simulations only"),
    idle(
        "resource-reservation-app-label",
        Takes::Text,
        "pods that hold GPUs for others are known by the default label",
    ),
    idle(
        "namespace",
        Takes::Text,
        "nothing of Muster's is in a namespace but the lease: --leader-elect-resource-namespace",
    ),
    idle(
        "metrics-namespace",
        Takes::Text,
        "the names of metrics begin with muster_, and with kai_ those that are KAI's",
    ),
    idle(
        "enable-workload-eviction-metrics",
        Takes::Switch,
        "kai_pod_group_evicted_pods is always counted",
    ),
    idle(
        "num-of-status-recording-workers",
        Takes::Whole,
        "--calls-in-flight says how many calls are under way at a time",
    ),
    idle("version", Takes::Switch, "muster --version says it"),
    idle("v", Takes::Whole, "--log-level says how much is logged"),
    idle("log-json", Takes::Switch, "--log-format says how it is logged"),
    idle("log-flush-frequency", Takes::Text, "every line of the log is written at once"),
    idle("feature-gates", Takes::Text, "there are no features to open"),
    idle("enable-profiler", Takes::Switch, "--enable-pprof says whether there is a profile"),
    idle("profiler-port", Takes::Text, "the profile is at --listen-address"),
    idle("plugin-server-port", Takes::Text, "no plugin serves anything of its own"),
    idle("pyroscope-address", Takes::Text, "profiles are asked for, not sent"),
    idle("pyroscope-mutex-profiler-rate", Takes::Whole, "profiles are asked for, not sent"),
    idle("pyroscope-block-profiler-rate", Takes::Whole, "profiles are asked for, not sent"),
];

/// The parameter of that name.
pub fn param(name: &str) -> Option<&'static Param> {
    PARAMS.iter().find(|param| param.name == name)
}

impl Takes {
    /// In words.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Switch => "true or false",
            Self::Whole => "a whole number",
            Self::Time => "a length of time such as 500ms or 1m30s",
            Self::SignedTime => "a length of time such as 30s, 0s or -1s",
            Self::LabelKey => "the key of a label",
            Self::LabelValue => "the value of a label",
            Self::Text => "a text",
        }
    }

    fn admits(self, text: &str) -> bool {
        match self {
            Self::Switch => boolean::parse(text).is_some(),
            Self::Whole => text.parse::<i64>().is_ok(),
            Self::Time => duration::parse_ms(text).is_some(),
            Self::SignedTime => duration::parse_ns(text).is_ok(),
            Self::LabelKey => is_key(text),
            Self::LabelValue => is_value(text),
            Self::Text => true,
        }
    }
}

/// Parameters that were given, of those that set something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(BTreeMap<&'static str, String>);

impl Params {
    /// Notes a value of a parameter; what was expected if it is none.
    pub fn give(&mut self, param: &'static Param, text: &str) -> Result<(), &'static str> {
        if !param.takes.admits(text) {
            return Err(param.takes.expected());
        }
        if matches!(param.role, Role::Sets(_)) {
            self.0.insert(param.name, text.to_owned());
        }
        Ok(())
    }

    /// These, and for those not among them what `others` say.
    #[must_use]
    pub(super) fn over(&self, others: &Self) -> Self {
        let mut all = others.clone();
        all.0.extend(self.0.iter().map(|(name, text)| (*name, text.clone())));
        all
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn switch(&self, name: &str) -> Option<bool> {
        self.text(name).and_then(boolean::parse)
    }

    fn ms(&self, name: &str) -> Option<u64> {
        self.text(name).and_then(duration::parse_ms)
    }

    /// The label of that parameter, given or by default.
    fn label(&self, name: &str) -> Name {
        let default = || param(name).map_or("", |param| param.default);
        self.text(name).unwrap_or_else(default).into()
    }
}

/// Reads the parameters in a file.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node, field: Field<'_>) -> Params {
    let mut params = Params::default();
    for entry in reader.map(node, field) {
        let here = Field::Key(&field, &entry.key);
        let Some(param) = param(&entry.key) else {
            let hint = nearest::hint(&entry.key, PARAMS.iter().map(|param| param.name));
            let problem = Problem::UnknownKey { key: entry.key.clone(), hint };
            reader.error(entry.key_at, here, problem);
            continue;
        };
        let text = match &entry.node.value {
            Value::Text(text) => text.clone(),
            Value::Bool(value) => value.to_string(),
            Value::Int(number) => number.to_string(),
            _ => {
                reader.wrong_type(&entry.node, here, param.takes.expected());
                continue;
            }
        };
        if let Err(expected) = params.give(param, &text) {
            let (expected, found) = (expected.to_owned(), entry.node.value.described());
            reader.error(entry.node.at, here, Problem::OutOfRange { expected, found });
        }
        match param.role {
            Role::Sets(_) => {}
            Role::Process(flag) => {
                let why = format!("has no effect in a file: it is {flag} of muster run");
                reader.warn(entry.node.at, here, why);
            }
            Role::Idle(why) => reader.warn(entry.node.at, here, format!("has no effect: {why}")),
        }
    }
    params
}
