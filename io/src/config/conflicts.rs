//! Rules that are each valid and together do not do what their author seems to want.
//!
//! [`warnings`] speak of something that is asked for and then switched off; [`notes`] of something
//! that works differently than most people expect.

use muster_core::config::{ActionKind, ArgumentSpec, Arguments, EvictPurpose, Gate};
use muster_core::policy::{PluginConfig, Point, SchedulerConfig};

use super::advice::{action, plugins};
use super::flags;
use super::words::{before_sla, in_force, names_victims, victim_gate};

/// Something is asked for and switched off.
pub(super) fn warnings(config: &SchedulerConfig) -> Vec<String> {
    let mut said = Vec::new();
    say_no_victims(config, &mut said);
    say_no_proposals(config, &mut said);
    say_no_shuffle(config, &mut said);
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
        let Some(purpose) = action.evict_purpose() else { continue };
        let gate = victim_gate(purpose);
        if names_victims(config, action, purpose) {
            continue;
        }
        let switched_off =
            |plugin: &&PluginConfig| plugin.spec.has_gate(gate) && !plugin.gates.is_open(gate);
        // For whole gangs no switch keeps a plugin out.
        let off: Vec<&str> = plugins(config)
            .filter(|plugin| !action.is_gang_aware() && switched_off(plugin))
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
    let shuffles = config.actions.iter().any(|action| action.spec.kind == ActionKind::Shuffle);
    if shuffles && !in_force(config).is_asked(Point::VictimTasks) {
        said.push("shuffle evicts nobody: no plugin in the tiers proposes victims".to_owned());
    }
}

/// A plugin that proposes victims without a shuffle that asks it proposes in vain.
fn say_no_shuffle(config: &SchedulerConfig, said: &mut Vec<String>) {
    if config.actions.iter().any(|action| action.spec.kind == ActionKind::Shuffle) {
        return;
    }
    for name in in_force(config).asked(Point::VictimTasks) {
        said.push(format!(
            "{name} names pods that are to leave their nodes, and nobody asks it: shuffle is not among \
             the actions"
        ));
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
fn say_idle_arguments(config: &SchedulerConfig, said: &mut Vec<String>) {
    let mut say = |owner: &str, specs: &[ArgumentSpec], given: &Arguments| {
        for spec in specs.iter().filter(|spec| given.get(spec.key).is_some()) {
            if let Some(why) = spec.idle {
                said.push(format!("{} of {owner} has no effect: {why}", spec.key));
            }
        }
    };
    for action in &config.actions {
        say(action.spec.name, action.spec.arguments, &action.arguments);
    }
    for plugin in plugins(config) {
        say(plugin.spec.name, plugin.spec.arguments, &plugin.arguments);
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
    let preempts = config
        .actions
        .iter()
        .filter(|action| action.evict_purpose() == Some(EvictPurpose::Preempt));
    let evicting: Vec<&str> = preempts.map(|action| action.spec.name).collect();
    let limits = |name: &&str| {
        plugins(config)
            .any(|plugin| plugin.spec.name == *name && plugin.takes_part(Gate::JobEnqueued))
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
