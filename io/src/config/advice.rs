//! What a valid configuration leaves out, switches off or sets against itself.
//!
//! [`warnings`] are for every start: something was written that has no effect, or something people
//! take for granted is missing. [`notes`] are for `check-config`, where there is time to read.

use muster_core::config::{ActionConfig, Dialect, GANG_AWARE_KEY, Gate, Gates};
use muster_core::policy::{PluginConfig, SchedulerConfig, Support};

use super::{conflicts, flags};

/// What should be known at every start, one sentence each.
pub fn warnings(config: &SchedulerConfig) -> Vec<String> {
    let mut said = Vec::new();
    say_planned(config, &mut said);
    if config.dialect == Dialect::Kai {
        say_missing_kai(config, &mut said);
        say_repeated_actions(config, &mut said);
        conflicts::say_idle_arguments(config, &mut said);
        return said;
    }
    say_missing_actions(config, &mut said);
    say_repeated_actions(config, &mut said);
    say_missing_plugins(config, &mut said);
    for plugin in plugins(config) {
        say_idle_flags(plugin, &mut said);
    }
    say_evicting(config, &mut said);
    said.extend(conflicts::warnings(config));
    said
}

/// What is worth knowing when a configuration is looked over, one sentence each.
pub fn notes(config: &SchedulerConfig) -> Vec<String> {
    let mut said = Vec::new();
    for plugin in plugins(config) {
        if let Support::Partial(text) = plugin.spec.support {
            said.push(format!("{} is partly available: {text}", plugin.spec.name));
        }
    }
    if config.dialect == Dialect::Volcano && action(config, "enqueue").is_none() {
        said.push("enqueue is not among the actions: every job is admitted at once".to_owned());
    }
    say_opposing_scores(config, &mut said);
    for name in ["preempt", "reclaim"] {
        if action(config, name).is_some_and(|action| !action.is_gang_aware()) {
            said.push(format!(
                "{name} chooses victims pod by pod, whatever their gangs lose by it; recommended: \
                 `{GANG_AWARE_KEY}: true` under its configurations, which takes what gangs can spare \
                 first, then as few whole gangs as possible"
            ));
        }
    }
    say_shadowed_queue_plugin(config, &mut said);
    said.extend(conflicts::notes(config));
    said
}

fn say_planned(config: &SchedulerConfig, said: &mut Vec<String>) {
    for plugin in plugins(config) {
        if plugin.spec.support == Support::Planned {
            said.push(format!(
                "{} is not available in this version: its rules do not apply",
                plugin.spec.name
            ));
        }
    }
}

fn say_missing_actions(config: &SchedulerConfig, said: &mut Vec<String>) {
    const ACTIONS: [(&str, &str); 2] = [
        ("allocate", "pods that request resources are never placed"),
        ("backfill", "pods that request nothing are never placed"),
    ];
    for (name, effect) in ACTIONS {
        if action(config, name).is_none() {
            said.push(format!("{name} is not among the actions: {effect}"));
        }
    }
}

fn say_repeated_actions(config: &SchedulerConfig, said: &mut Vec<String>) {
    for (index, action) in config.actions.iter().enumerate() {
        let earlier = &config.actions[..index];
        if earlier.iter().any(|other| other.spec.name == action.spec.name) {
            said.push(format!("{} is listed again and runs again in each cycle", action.spec.name));
        }
    }
}

/// The same for KAI's files, in which an action that is left out is often left out on purpose.
fn say_missing_kai(config: &SchedulerConfig, said: &mut Vec<String>) {
    let lacks = [
        (
            action(config, "allocate").is_none(),
            "allocate is not among the actions: no pod is placed",
        ),
        (
            config.plugin("predicates").is_none(),
            "predicates is not among the plugins: only room is checked; node selectors, affinity and \
             taints are not",
        ),
        (
            config.plugin("proportion").is_none(),
            "proportion is not among the plugins: quotas and limits of queues do not count",
        ),
    ];
    said.extend(lacks.into_iter().filter(|lack| lack.0).map(|lack| lack.1.to_owned()));
}

/// The plugins people take for granted, and what happens without them.
fn say_missing_plugins(config: &SchedulerConfig, said: &mut Vec<String>) {
    const PLUGINS: [(&str, Gate, &str); 2] = [
        ("gang", Gate::JobReady, "pods of a job are bound one by one, not as a gang"),
        (
            "predicates",
            Gate::Predicate,
            "only room is checked; node selectors, affinity and taints are not",
        ),
    ];
    for (name, gate, effect) in PLUGINS {
        match plugins(config).find(|plugin| plugin.spec.name == name) {
            None => said.push(format!("{name} is not among the plugins: {effect}")),
            Some(plugin) if !plugin.gates.is_open(gate) => {
                said.push(format!("{name} has {} off: {effect}", flags::of(gate).key));
            }
            Some(_) => {}
        }
    }
}

fn say_idle_flags(plugin: &PluginConfig, said: &mut Vec<String>) {
    let default = Gates::default();
    for gate in Gate::ALL {
        let open = plugin.gates.is_open(gate);
        if open != default.is_open(gate) && !plugin.spec.has_gate(gate) {
            said.push(format!(
                "{}: {open} on {} has no effect: it takes no part in that ({})",
                flags::of(gate).key,
                plugin.spec.name,
                flags::of(gate).words
            ));
        }
    }
}

fn say_evicting(config: &SchedulerConfig, said: &mut Vec<String>) {
    const GANG_ONLY: [&str; 4] =
        ["maxDomains", "allowWholeBundle", "wholeBundleScope", "domainSearch"];
    for (name, by_gang) in [("preempt", "gangpreempt"), ("reclaim", "gangreclaim")] {
        let Some(action) = action(config, name) else { continue };
        if self::action(config, by_gang).is_some() {
            said.push(format!(
                "{name} and {by_gang} are both among the actions; one is meant to replace the other"
            ));
        }
        for key in GANG_ONLY {
            if action.arguments.get(key).is_some() && !action.is_gang_aware() {
                said.push(format!(
                    "{key} of {name} has no effect: it belongs to `{GANG_AWARE_KEY}: true`"
                ));
            }
        }
    }
    let evicting: Vec<&str> = config
        .actions
        .iter()
        .filter(|action| action.evict_purpose().is_some())
        .map(|action| action.spec.name)
        .collect();
    let starving = |plugin: &PluginConfig| plugin.takes_part(Gate::JobStarving);
    if !evicting.is_empty() && !plugins(config).any(starving) {
        said.push(format!(
            "no plugin says which jobs may evict (gang or priority with enableJobStarving): {} \
             never acts",
            evicting.join(", ")
        ));
    }
}

fn say_opposing_scores(config: &SchedulerConfig, said: &mut Vec<String>) {
    let weight = |name: &str, key: &str| {
        plugins(config)
            .find(|plugin| plugin.spec.name == name && plugin.gates.is_open(Gate::NodeOrder))
            .map_or(0, |plugin| plugin.values().int(key))
    };
    let (spread, pack) =
        (weight("nodeorder", "leastrequested.weight"), weight("binpack", "binpack.weight"));
    if spread > 0 && pack > 0 {
        said.push(format!(
            "nodeorder prefers empty nodes (leastrequested.weight {spread}) and binpack full ones \
             (binpack.weight {pack}): they pull in opposite directions, so set one of the two to 0"
        ));
    }
}

/// In Volcano's tiers the first that finds victims decides alone, which surprises most people.
fn say_shadowed_queue_plugin(config: &SchedulerConfig, said: &mut Vec<String>) {
    if action(config, "reclaim").is_none_or(ActionConfig::is_gang_aware) {
        return;
    }
    let has_a_say = |plugin: &&PluginConfig| plugin.takes_part(Gate::Reclaimable);
    let voters: Vec<Vec<&str>> = config
        .tiers
        .iter()
        .map(|tier| tier.iter().filter(has_a_say).map(|plugin| plugin.spec.name).collect())
        .collect();
    let Some(first) = voters.iter().position(|names| !names.is_empty()) else { return };
    let queue_plugin = voters
        .iter()
        .skip(first + 1)
        .flatten()
        .find(|name| matches!(**name, "proportion" | "capacity"));
    if let Some(name) = queue_plugin {
        said.push(format!(
            "reclaim: tier {} ({}) decides which pods may be evicted; {name} is asked only when \
             that tier allows none, so queues may fall below what they deserve; move {name} to \
             tier {} to be asked as well",
            first + 1,
            voters[first].join(", "),
            first + 1
        ));
    }
}

pub(super) fn plugins(config: &SchedulerConfig) -> impl Iterator<Item = &PluginConfig> {
    config.tiers.iter().flatten()
}

pub(super) fn action<'c>(config: &'c SchedulerConfig, name: &str) -> Option<&'c ActionConfig> {
    config.actions.iter().find(|action| action.spec.name == name)
}
