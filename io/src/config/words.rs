//! A policy in plain words: who is served first, who is admitted, who is evicted for whom, and where
//! pods go. For `check-config`.
//!
//! The sentences follow from the actions, the tiers and the switches alone, as Volcano combines them;
//! what this version lacks of a plugin is said beside it, not here.

use muster_core::config::catalog::Support;
use muster_core::config::{ActionConfig, Gate, PluginConfig, SchedulerConfig};
use muster_core::policy::{Point, Policies};
use muster_core::resource::ResourceNames;

use super::advice::{plugins, takes_part};
use super::gang_aware::ARGUMENT as GANG_AWARE;

/// The policy, one sentence for each question.
pub fn sentences(config: &SchedulerConfig) -> Vec<String> {
    let mut said = vec![served(config), admitted(config)];
    said.extend(evicted(config));
    said.push(placed(config));
    said
}

/// What the plugins that have a say in something look at, in the order they are asked.
fn rules(
    config: &SchedulerConfig,
    gate: Gate,
    words: impl Fn(&str) -> Option<&'static str>,
) -> Vec<String> {
    let has_a_say = |plugin: &&PluginConfig| has_a_say(plugin, gate);
    let word = |plugin: &PluginConfig| {
        let name = plugin.spec.name;
        words(name).map(|word| format!("{word} ({name})"))
    };
    plugins(config).filter(has_a_say).filter_map(word).collect()
}

pub(super) fn has_a_say(plugin: &PluginConfig, gate: Gate) -> bool {
    takes_part(plugin, gate) && plugin.gates.is_open(gate)
}

fn served(config: &SchedulerConfig) -> String {
    let mut jobs = rules(config, Gate::JobOrder, |name| match name {
        "priority" => Some("higher priority"),
        "gang" => Some("not started yet"),
        "drf" => Some("smallest share of its most used resource"),
        "sla" => Some("nearest end of its waiting time"),
        "tdm" => Some("not preemptable"),
        _ => None,
    });
    let mut queues = rules(config, Gate::QueueOrder, |name| match name {
        "proportion" | "capacity" => Some("higher priority, then smallest part of its due used"),
        "drf" => Some("smallest share by the hierarchy of queues"),
        _ => None,
    });
    jobs.push("the older".to_owned());
    queues.push("the older".to_owned());
    format!(
        "Served first: among queues {}; among the jobs of a queue {}",
        queues.join(", then "),
        jobs.join(", then ")
    )
}

fn admitted(config: &SchedulerConfig) -> String {
    if config.actions.iter().all(|action| action.spec.name != "enqueue") {
        return "Admitted: every job at once, since enqueue is not among the actions".to_owned();
    }
    let conditions = rules(config, Gate::JobEnqueued, |name| match name {
        "overcommit" => Some("all admitted jobs together fit the cluster times its factor"),
        "proportion" => Some("its queue stays within its capability"),
        "capacity" => Some("its queue and those above stay within their capability"),
        "resourcequota" => Some("the quotas of its namespace have room"),
        "extender" => Some("your server agrees"),
        _ => None,
    });
    if conditions.is_empty() {
        return "Admitted: every job whose queue is open".to_owned();
    }
    let late = plugins(config)
        .any(|plugin| plugin.spec.name == "sla" && has_a_say(plugin, Gate::JobEnqueued));
    let anyway = "; one that has waited longer than it may is admitted anyway (sla)";
    format!(
        "Admitted: a job whose queue is open, if {}{}",
        conditions.join(" and "),
        if late && before_sla(config).is_empty() { anyway } else { "" }
    )
}

/// Plugins whose refusal comes before `sla` is heard: those of its own tier and of earlier ones. A
/// tier in which anybody refuses decides.
pub(super) fn before_sla(config: &SchedulerConfig) -> Vec<&'static str> {
    let is_sla = |plugin: &PluginConfig| plugin.spec.name == "sla";
    let Some(sla) = config.tiers.iter().position(|tier| tier.iter().any(is_sla)) else {
        return Vec::new();
    };
    let earlier = config.tiers[..=sla].iter().flatten();
    earlier
        .filter(|plugin| !is_sla(plugin) && has_a_say(plugin, Gate::JobEnqueued))
        .map(|plugin| plugin.spec.name)
        .collect()
}

fn evicted(config: &SchedulerConfig) -> Vec<String> {
    let mut said = Vec::new();
    for action in &config.actions {
        let (gate, queues) = match action.spec.name {
            "preempt" | "gangpreempt" => (Gate::Preemptable, "of the same queue"),
            "reclaim" | "gangreclaim" => {
                (Gate::Reclaimable, "of other queues that may be reclaimed")
            }
            "shuffle" => {
                said.push(shuffled(&in_force(config)));
                continue;
            }
            _ => continue,
        };
        said.push(evicted_by(config, action, gate, queues));
    }
    if said.is_empty() {
        said.push("Evicted: nobody, since no evicting action is among the actions".to_owned());
    }
    said
}

fn evicted_by(config: &SchedulerConfig, action: &ActionConfig, gate: Gate, queues: &str) -> String {
    let name = action.spec.name;
    let later = if action.spec.support == Support::Planned { " (not in this version)" } else { "" };
    if !names_victims(config, action, gate) {
        return format!("Evicted by {name}{later}: nobody, since no plugin names victims");
    }
    let limits = limits(voters(config, action, gate).iter().map(|plugin| plugin.spec.name));
    let what = if is_whole(action) { "gangs, whole or their surplus," } else { "pods" };
    format!("Evicted by {name}{later}: {what} {queues} for a job that cannot start{limits}")
}

/// Whom `shuffle` evicts: who proposes and who holds back is asked of the plugins themselves.
fn shuffled(policies: &Policies) -> String {
    let proposers: Vec<&str> = policies.asked(Point::VictimTasks).collect();
    if proposers.is_empty() {
        return "Evicted by shuffle: nobody, since no plugin proposes victims".to_owned();
    }
    let limits = limits(policies.asked(Point::VictimGuard));
    format!("Evicted by shuffle: running pods proposed by {}{limits}", proposers.join(", "))
}

/// The plugins of a configuration as the scheduler has them.
pub(super) fn in_force(config: &SchedulerConfig) -> Policies {
    Policies::new(config, &mut ResourceNames::default())
}

/// What plugins hold victims back by, in the order they are asked.
fn limits<'p>(plugins: impl Iterator<Item = &'p str>) -> String {
    let limits: Vec<String> = plugins.map(|name| format!("{} ({name})", limit(name))).collect();
    if limits.is_empty() { String::new() } else { format!(", where {}", limits.join(", ")) }
}

/// Does the action evict for whole gangs?
pub(super) fn is_whole(action: &ActionConfig) -> bool {
    action.spec.name.starts_with("gang") || action.arguments.bool(GANG_AWARE, false)
}

/// Is there anybody who lets pods go?
pub(super) fn names_victims(config: &SchedulerConfig, action: &ActionConfig, gate: Gate) -> bool {
    // For whole gangs the gang plugin lets everybody go; which part of a gang is chosen elsewhere.
    let lets_go = is_whole(action) && plugins(config).any(|plugin| plugin.spec.name == "gang");
    lets_go || !voters(config, action, gate).is_empty()
}

/// The plugins that limit whom an action may evict.
fn voters<'c>(
    config: &'c SchedulerConfig,
    action: &ActionConfig,
    gate: Gate,
) -> Vec<&'c PluginConfig> {
    if is_whole(action) { unified_voters(config, gate) } else { first_voters(config, gate) }
}

/// The plugins that choose victims pod by pod: those of the first tier with a say decide alone as
/// long as they leave anybody.
fn first_voters(config: &SchedulerConfig, gate: Gate) -> Vec<&PluginConfig> {
    let tiers = config
        .tiers
        .iter()
        .map(|tier| tier.iter().filter(|plugin| has_a_say(plugin, gate)).collect::<Vec<_>>());
    tiers.into_iter().find(|voters| !voters.is_empty()).unwrap_or_default()
}

/// The plugins that choose victims for whole gangs; no switch keeps them out.
fn unified_voters(config: &SchedulerConfig, gate: Gate) -> Vec<&PluginConfig> {
    let known: &[&str] = match gate {
        Gate::Preemptable => &["conformance", "priority", "pdb"],
        _ => &["conformance", "capacity", "proportion", "pdb"],
    };
    plugins(config).filter(|plugin| known.contains(&plugin.spec.name)).collect()
}

fn limit(plugin: &str) -> &'static str {
    match plugin {
        "gang" => "gangs keep their minimum",
        "priority" => "their priority is lower",
        "conformance" => "they are not the system's",
        "drf" => "their job holds a larger share",
        "proportion" => "their queue uses more than its due and keeps its guarantee",
        "capacity" => "their queue uses more than it deserves and keeps its guarantee",
        "pdb" => "disruption budgets allow it",
        "tdm" => "they do not use lent nodes",
        "extender" => "your server agrees",
        _ => "it agrees",
    }
}

fn placed(config: &SchedulerConfig) -> String {
    let filters = rules(config, Gate::Predicate, |name| match name {
        "predicates" => Some("selectors, affinity, taints and volumes allow"),
        "nodegroup" => Some("the queue's node groups allow"),
        "usage" => Some("measured load allows"),
        "deviceshare" => Some("have the devices"),
        "numa-aware" => Some("fit by NUMA topology"),
        "resource-strategy-fit" => Some("keep room for their devices"),
        "tdm" => Some("are not lent, or lent at this hour,"),
        "extender" => Some("your server allows"),
        _ => None,
    });
    let mut wishes = scores(config);
    if let Some(plugin) = plugins(config).find(|p| p.spec.name == "network-topology-aware") {
        let gates = [Gate::HyperNodeOrder, Gate::HyperNodeGradient];
        if gates.iter().any(|&gate| has_a_say(plugin, gate)) {
            wishes.insert(0, "one network domain (network-topology-aware)".to_owned());
        }
    }
    let among =
        if filters.is_empty() { String::new() } else { format!(" that {}", filters.join(", ")) };
    let best = if wishes.is_empty() {
        "the first by name".to_owned()
    } else {
        format!("the best by {}", wishes.join(", "))
    };
    format!("Placed: on nodes with room{among}, there {best}")
}

/// What draws pods to nodes, with the weights that are not zero.
fn scores(config: &SchedulerConfig) -> Vec<String> {
    let mut wishes = Vec::new();
    for plugin in plugins(config).filter(|plugin| has_a_say(plugin, Gate::NodeOrder)) {
        let weight = |key: &str, default: i64| plugin.arguments.int(key, default);
        let name = plugin.spec.name;
        let parts: &[(&str, i64)] = match name {
            "nodeorder" => &[
                ("free room", weight("leastrequested.weight", 1)),
                ("little free room", weight("mostrequested.weight", 0)),
                ("the pod's preferences", weight("nodeaffinity.weight", 2)),
                ("nearness to other pods", weight("podaffinity.weight", 2)),
                ("balance of cpu and memory", weight("balancedresource.weight", 1)),
                ("few unwelcoming taints", weight("tainttoleration.weight", 3)),
                ("images at hand", weight("imagelocality.weight", 1)),
                ("even spread", weight("podtopologyspread.weight", 2)),
            ],
            "binpack" => &[("fullness", weight("binpack.weight", 1))],
            "usage" => &[("little measured load", weight("usage.weight", 5))],
            "resource-strategy-fit" => {
                &[("each resource's own strategy", weight("resourceStrategyFitWeight", 10))]
            }
            "nodegroup" => &[("preferred node groups", 1)],
            "deviceshare" => &[("device policy", weight("deviceshare.ScheduleWeight", 0))],
            "task-topology" => &[("roles together or apart", weight("task-topology.weight", 1))],
            "numa-aware" => &[("NUMA fit", weight("weight", 1))],
            "tdm" => &[("lent nodes", 1)],
            _ => &[],
        };
        let parts = parts.iter().filter(|part| part.1 > 0);
        let parts: Vec<String> = parts.map(|(word, weight)| format!("{word} ×{weight}")).collect();
        if !parts.is_empty() {
            wishes.push(format!("{} ({name})", parts.join(", ")));
        }
    }
    wishes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_core::config::Gates;
    use muster_core::policy::Policy;

    use super::*;

    struct Mover;

    impl Policy for Mover {
        fn name(&self) -> &'static str {
            "mover"
        }

        fn points(&self) -> &'static [Point] {
            &[Point::VictimTasks]
        }
    }

    #[test]
    fn who_is_shuffled_follows_from_who_proposes_and_who_holds_back() {
        let text = "actions: shuffle\n\
            tiers: [{plugins: [{name: gang}, {name: conformance}]}, {plugins: [{name: pdb}]}]\n";
        let config = crate::config::parse("conf.yaml", text).unwrap().config;
        let mut policies = in_force(&config);
        let nobody = "Evicted by shuffle: nobody, since no plugin proposes victims";
        assert_eq!(shuffled(&policies), nobody);
        policies.add(1, Arc::new(Mover), Gates::default());
        assert_eq!(
            shuffled(&policies),
            "Evicted by shuffle: running pods proposed by mover, where they are not the system's \
             (conformance), disruption budgets allow it (pdb)"
        );
    }
}
