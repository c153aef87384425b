//! Rules that are each valid and together do not do what their author seems to want.
//!
//! [`warnings`] speak of something that is asked for and then switched off; [`notes`] of something
//! that works differently than most people expect.

use muster_core::config::{
    ActionKind, ArgumentKind, ArgumentSpec, ArgumentValue, Arguments, EvictPurpose, Gate,
};
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

/// A shuffle without a plugin that proposes victims evicts nobody; one that only protects is not enough.
fn say_no_proposals(config: &SchedulerConfig, said: &mut Vec<String>) {
    let shuffles = config.actions.iter().any(|action| action.spec.kind == ActionKind::Shuffle);
    if shuffles && !in_force(config).is_asked(Point::VictimTasks) {
        said.push("shuffle evicts nobody: no plugin in the tiers proposes victims".to_owned());
    }
}

/// Who names pods for `shuffle` is asked by nobody else.
fn say_no_shuffle(config: &SchedulerConfig, said: &mut Vec<String>) {
    let shuffles = config.actions.iter().any(|action| action.spec.kind == ActionKind::Shuffle);
    for plugin in plugins(config) {
        let name = plugin.spec.name;
        if plugin.spec.points.contains(Point::VictimTasks) && !shuffles {
            said.push(format!("{name} moves nobody: shuffle is not among the actions"));
        }
        let strategies = || plugin.values().given("strategies");
        if name == "rescheduling" && strategies().is_none() {
            said.push("rescheduling moves nobody: it has no strategies".to_owned());
        }
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
pub(super) fn say_idle_arguments(config: &SchedulerConfig, said: &mut Vec<String>) {
    for action in &config.actions {
        say_idle(action.spec.name, action.spec.arguments, &action.arguments, said);
    }
    for plugin in plugins(config) {
        say_idle(plugin.spec.name, plugin.spec.arguments, &plugin.arguments, said);
    }
}

fn say_idle(owner: &str, specs: &[ArgumentSpec], given: &Arguments, said: &mut Vec<String>) {
    for spec in specs {
        let Some(value) = given.get(spec.key) else { continue };
        if let Some(why) = spec.idle {
            said.push(format!("{} of {owner} has no effect: {why}", spec.key));
        }
        say_idle_inside(owner, spec.kind, value, said);
    }
}

/// The same inside maps and lists.
fn say_idle_inside(owner: &str, kind: ArgumentKind, value: &ArgumentValue, said: &mut Vec<String>) {
    match (kind, value) {
        (ArgumentKind::Map(specs), ArgumentValue::Map(given)) => {
            say_idle(owner, specs, given, said);
        }
        (ArgumentKind::List(kind), ArgumentValue::List(items)) => {
            for item in items {
                say_idle_inside(owner, *kind, item, said);
            }
        }
        _ => {}
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
