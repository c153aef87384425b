//! Rules that are each valid and together do not do what their author seems to want.
//!
//! [`warnings`] speak of something that is asked for and then switched off; [`notes`] of something
//! that works differently than most people expect.

use muster_core::config::{ActionConfig, Gate, PluginConfig, SchedulerConfig};
use muster_core::policy::Point;

use super::advice::{action, plugins};
use super::flags;
use super::words::{before_sla, has_a_say, in_force, is_whole, names_victims};

/// Something is asked for and switched off.
pub(super) fn warnings(config: &SchedulerConfig) -> Vec<String> {
    let mut said = Vec::new();
    say_no_victims(config, &mut said);
    say_no_proposals(config, &mut said);
    say_two_queue_plugins(config, &mut said);
    say_idle_arguments(config, &mut said);
    said
}

/// Something works differently than most people expect.
pub(super) fn notes(config: &SchedulerConfig) -> Vec<String> {
    let mut said = Vec::new();
    say_late_sla(config, &mut said);
    say_admission_before_preempt(config, &mut said);
    said
}

/// An evicting action without anybody who names victims evicts nobody.
fn say_no_victims(config: &SchedulerConfig, said: &mut Vec<String>) {
    for action in &config.actions {
        let name = action.spec.name;
        let gate = match name {
            "preempt" | "gangpreempt" => Gate::Preemptable,
            "reclaim" | "gangreclaim" => Gate::Reclaimable,
            _ => continue,
        };
        if names_victims(config, action, gate) {
            continue;
        }
        let switched_off = |plugin: &&PluginConfig| {
            plugin.spec.gates.contains(&gate) && !plugin.gates.is_open(gate)
        };
        // For whole gangs no switch keeps a plugin out.
        let off: Vec<&str> = plugins(config)
            .filter(|plugin| !is_whole(action) && switched_off(plugin))
            .map(|plugin| plugin.spec.name)
            .collect();
        let key = flags::of(gate).key;
        said.push(if off.is_empty() {
            format!("{name} evicts nobody: no plugin in the tiers names its victims")
        } else {
            format!("{name} evicts nobody: {key} is off on {}", off.join(", "))
        });
    }
}

/// A shuffle without anybody who proposes victims evicts nobody; whoever only holds back is not enough.
fn say_no_proposals(config: &SchedulerConfig, said: &mut Vec<String>) {
    if action(config, "shuffle").is_some() && !in_force(config).is_asked(Point::VictimTasks) {
        said.push("shuffle evicts nobody: no plugin in the tiers proposes victims".to_owned());
    }
}

fn say_two_queue_plugins(config: &SchedulerConfig, said: &mut Vec<String>) {
    let there = |name: &str| plugins(config).any(|plugin| plugin.spec.name == name);
    if there("proportion") && there("capacity") {
        said.push(
            "proportion and capacity both say what a queue is due, each in its own way, and a pod \
             must satisfy both: keep one of them"
                .to_owned(),
        );
    }
}

/// Arguments that are taken because files have them and that change nothing here.
const IDLE: [(&str, &str, &str); 8] = [
    ("allocate", "predicateErrorCacheEnable", EQUAL_PODS),
    ("backfill", "predicateErrorCacheEnable", EQUAL_PODS),
    ("reclaim", "predicateErrorCacheEnable", EQUAL_PODS),
    ("preempt", "predicateErrorCacheEnable", EQUAL_PODS),
    ("preempt", "topologyAwarePreemptWorkerNum", "schedule.threads sets the number of threads"),
    ("predicates", "predicate.CacheEnable", EQUAL_PODS),
    (
        "predicates",
        "predicate.DynamicResourceAllocationEnable",
        "Volcano does not read it either; its feature gate decides there",
    ),
    ("rescheduling", "metricsPeriod", "load is only ever averaged over 10m"),
];

const EQUAL_PODS: &str = "equal pods are always judged once";

fn say_idle_arguments(config: &SchedulerConfig, said: &mut Vec<String>) {
    let of_actions = config.actions.iter().map(|action| (action.spec.name, &action.arguments));
    let of_plugins = plugins(config).map(|plugin| (plugin.spec.name, &plugin.arguments));
    for (owner, arguments) in of_actions.chain(of_plugins) {
        for (_, key, why) in IDLE.iter().filter(|entry| entry.0 == owner) {
            if arguments.get(key).is_some() {
                said.push(format!("{key} of {owner} has no effect: {why}"));
            }
        }
    }
}

/// A permit of `sla` only counts where nobody has refused before.
fn say_late_sla(config: &SchedulerConfig, said: &mut Vec<String>) {
    let refusing = before_sla(config);
    if action(config, "enqueue").is_some() && !refusing.is_empty() {
        said.push(format!(
            "sla cannot get a job admitted that is refused by {}, in its own tier or an earlier one; \
             move sla to a tier of its own before them",
            refusing.join(", ")
        ));
    }
}

/// A job that is not admitted evicts nobody. Admission counts what a queue may take back from others,
/// but not what a more important job could take from its own queue.
fn say_admission_before_preempt(config: &SchedulerConfig, said: &mut Vec<String>) {
    let evicting = |action: &&ActionConfig| matches!(action.spec.name, "preempt" | "gangpreempt");
    let evicting: Vec<&str> =
        config.actions.iter().filter(evicting).map(|action| action.spec.name).collect();
    let limits = |name: &&str| {
        plugins(config)
            .any(|plugin| plugin.spec.name == *name && has_a_say(plugin, Gate::JobEnqueued))
    };
    let limiting: Vec<&str> =
        ["overcommit", "proportion", "capacity"].into_iter().filter(limits).collect();
    if action(config, "enqueue").is_none() || evicting.is_empty() || limiting.is_empty() {
        return;
    }
    said.push(format!(
        "enqueue with {} keeps a job with minResources out while the cluster or its queue is full, \
         and {} acts only for jobs that are admitted: without enqueue such a job evicts at once",
        limiting.join(", "),
        evicting.join(", ")
    ));
}
