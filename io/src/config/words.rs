//! A policy in plain words: who is served first, who is admitted, who is evicted for whom, and where
//! pods go. For `check-config`.
//!
//! The sentences follow from the actions, the tiers and the switches alone, as Volcano combines them;
//! what this version lacks of a plugin is said beside it, not here.

use muster_core::config::{
    ActionConfig, ActionKind, Dialect, EvictPurpose, Gate, MAX_PREEMPTEES_KEY,
};
use muster_core::policy::{PluginConfig, Point, Policies, SchedulerConfig, Words};
use muster_core::resource::ResourceNames;

use super::advice::plugins;

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
    words: impl Fn(&Words) -> Option<&'static str>,
) -> Vec<String> {
    let word = |plugin: &PluginConfig| {
        words(&plugin.spec.words).map(|word| format!("{word} ({})", plugin.spec.name))
    };
    plugins(config).filter(|plugin| plugin.takes_part(gate)).filter_map(word).collect()
}

fn served(config: &SchedulerConfig) -> String {
    let mut jobs = rules(config, Gate::JobOrder, |words| words.job_order);
    let mut queues = rules(config, Gate::QueueOrder, |words| words.queue_order);
    jobs.push("the older".to_owned());
    queues.push("the older".to_owned());
    format!(
        "Served first: among queues {}; among the jobs of a queue {}",
        queues.join(", then "),
        jobs.join(", then ")
    )
}

fn admitted(config: &SchedulerConfig) -> String {
    if config.actions.iter().all(|action| action.spec.kind != ActionKind::Enqueue) {
        let why = match config.dialect {
            Dialect::Volcano => ", since enqueue is not among the actions",
            Dialect::Kai => "",
        };
        return format!("Admitted: every job at once{why}");
    }
    let conditions = rules(config, Gate::JobEnqueued, |words| words.admits);
    if conditions.is_empty() {
        return "Admitted: every job whose queue is open".to_owned();
    }
    let late = plugins(config)
        .any(|plugin| plugin.spec.name == "sla" && plugin.takes_part(Gate::JobEnqueued));
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
        .filter(|plugin| !is_sla(plugin) && plugin.takes_part(Gate::JobEnqueued))
        .map(|plugin| plugin.spec.name)
        .collect()
}

fn evicted(config: &SchedulerConfig) -> Vec<String> {
    let mut said = Vec::new();
    for action in &config.actions {
        match action.spec.kind {
            ActionKind::Evict(EvictPurpose::Consolidate, _) => said.push(moved_by(action)),
            ActionKind::Evict(purpose, _) => said.push(evicted_by(config, action, purpose)),
            ActionKind::Shuffle => said.push(shuffled(config, &in_force(config))),
            ActionKind::EvictStaleGangs => said.push(
                "Evicted by stalegangeviction: what is left of a gang that has run without its minimum \
                 for longer than it may"
                    .to_owned(),
            ),
            ActionKind::Enqueue
            | ActionKind::Allocate
            | ActionKind::AllocateAll
            | ActionKind::Backfill => {}
        }
    }
    if said.is_empty() {
        said.push("Evicted: nobody, since no evicting action is among the actions".to_owned());
    }
    said
}

fn moved_by(action: &ActionConfig) -> String {
    let most = match action.values().int(MAX_PREEMPTEES_KEY) {
        0 => return format!("Moved by {}: nobody", action.spec.name),
        -1 => String::new(),
        jobs => format!(", of at most {jobs} jobs"),
    };
    format!(
        "Moved by {}: pods of preemptible jobs of any queue{most}, for a preemptible job that finds no \
         room; each has its next place before it leaves",
        action.spec.name
    )
}

fn evicted_by(config: &SchedulerConfig, action: &ActionConfig, purpose: EvictPurpose) -> String {
    let name = action.spec.name;
    if !names_victims(config, action, purpose) {
        return format!("Evicted by {name}: nobody, since no plugin names victims");
    }
    let queues = match purpose {
        EvictPurpose::Preempt => "of the same queue",
        EvictPurpose::Reclaim => "of other queues that may be reclaimed",
        EvictPurpose::Consolidate => "of any queue",
    };
    let limits = limits(voters(config, action, purpose).into_iter());
    let what = if action.is_gang_aware() { "gangs, whole or their surplus," } else { "pods" };
    format!("Evicted by {name}: {what} {queues} for a job that cannot start{limits}")
}

/// The flag of those who choose victims one by one.
pub(super) fn victim_gate(purpose: EvictPurpose) -> Gate {
    match purpose {
        EvictPurpose::Preempt | EvictPurpose::Consolidate => Gate::Preemptable,
        EvictPurpose::Reclaim => Gate::Reclaimable,
    }
}

/// Whom `shuffle` evicts: who proposes and who holds back is asked of the plugins themselves.
fn shuffled(config: &SchedulerConfig, policies: &Policies) -> String {
    let proposers: Vec<&str> = policies.asked(Point::VictimTasks).collect();
    if proposers.is_empty() {
        return "Evicted by shuffle: nobody, since no plugin proposes victims".to_owned();
    }
    let guards = policies.asked(Point::VictimGuard);
    let find = |name| plugins(config).find(|plugin| plugin.spec.name == name);
    let limits = limits(guards.filter_map(find));
    format!("Evicted by shuffle: running pods proposed by {}{limits}", proposers.join(", "))
}

/// The plugins of a configuration as the scheduler has them.
pub(super) fn in_force(config: &SchedulerConfig) -> Policies {
    Policies::new(config, &mut ResourceNames::default())
}

/// What plugins hold victims back by, in the order they are asked.
fn limits<'c>(plugins: impl Iterator<Item = &'c PluginConfig>) -> String {
    let limit = |plugin: &PluginConfig| {
        format!("{} ({})", plugin.spec.words.victims.unwrap_or("it agrees"), plugin.spec.name)
    };
    let limits: Vec<String> = plugins.map(limit).collect();
    if limits.is_empty() { String::new() } else { format!(", where {}", limits.join(", ")) }
}

/// Is there anybody who lets pods go?
pub(super) fn names_victims(
    config: &SchedulerConfig,
    action: &ActionConfig,
    purpose: EvictPurpose,
) -> bool {
    // For whole gangs the gang plugin lets everybody go; which part of a gang is chosen elsewhere.
    let lets_everybody_go = |plugin: &PluginConfig| {
        plugin.spec.points.contains(Point::UnifiedEvictable)
            && plugin.spec.words.gang_victims.is_empty()
    };
    let lets_go = action.is_gang_aware() && plugins(config).any(lets_everybody_go);
    lets_go || !voters(config, action, purpose).is_empty()
}

/// The plugins that limit whom an action may evict.
fn voters<'c>(
    config: &'c SchedulerConfig,
    action: &ActionConfig,
    purpose: EvictPurpose,
) -> Vec<&'c PluginConfig> {
    if action.is_gang_aware() {
        unified_voters(config, purpose)
    } else {
        first_voters(config, victim_gate(purpose))
    }
}

/// The plugins that choose victims pod by pod: those of the first tier with a say decide alone as
/// long as they leave anybody.
fn first_voters(config: &SchedulerConfig, gate: Gate) -> Vec<&PluginConfig> {
    let tiers = config
        .tiers
        .iter()
        .map(|tier| tier.iter().filter(|plugin| plugin.takes_part(gate)).collect::<Vec<_>>());
    tiers.into_iter().find(|voters| !voters.is_empty()).unwrap_or_default()
}

/// The plugins that choose victims for whole gangs; no switch keeps them out.
fn unified_voters(config: &SchedulerConfig, purpose: EvictPurpose) -> Vec<&PluginConfig> {
    let limits = |plugin: &&PluginConfig| plugin.spec.words.gang_victims.contains(&purpose);
    let has_a_say = |plugin: &&PluginConfig| plugin.is_equipped(victim_gate(purpose));
    plugins(config).filter(limits).filter(has_a_say).collect()
}

fn placed(config: &SchedulerConfig) -> String {
    let filters = rules(config, Gate::Predicate, |words| words.filter);
    let mut wishes = domains(config);
    wishes.extend(scores(config));
    let among =
        if filters.is_empty() { String::new() } else { format!(" that {}", filters.join(", ")) };
    let best = if wishes.is_empty() {
        "the first by name".to_owned()
    } else {
        format!("the best by {}", wishes.join(", "))
    };
    format!("Placed: on nodes with room{among}, there {best}")
}

/// What draws gangs to domains.
fn domains(config: &SchedulerConfig) -> Vec<String> {
    let gates = [Gate::HyperNodeOrder, Gate::HyperNodeGradient];
    let asked = plugins(config).filter(|plugin| gates.iter().any(|&gate| plugin.takes_part(gate)));
    let word = |plugin: &PluginConfig| {
        plugin.spec.words.domains.map(|word| format!("{word} ({})", plugin.spec.name))
    };
    asked.filter_map(word).collect()
}

/// What draws pods to nodes, with the weights that are not zero.
fn scores(config: &SchedulerConfig) -> Vec<String> {
    let mut wishes = Vec::new();
    for plugin in plugins(config).filter(|plugin| plugin.takes_part(Gate::NodeOrder)) {
        let parts = plugin.spec.words.scores.iter();
        let parts = parts.map(|(word, weight)| (word, weight.of(plugin.values())));
        let parts = parts.filter(|part| part.1 > 0);
        let parts: Vec<String> = parts.map(|(word, weight)| format!("{word} ×{weight}")).collect();
        if !parts.is_empty() {
            wishes.push(format!("{} ({})", parts.join(", "), plugin.spec.name));
        }
    }
    wishes
}

#[cfg(test)]
mod tests {
    use muster_core::ids::TimeMs;
    use muster_core::policy::{
        Build, Entity, Plugin, PluginSpec, Proposal, Setup, VictimTasksPlugin,
    };
    use muster_core::world::Cluster;

    use super::*;

    struct Mover;

    muster_core::plugin!(Mover);

    impl Plugin for Mover {}

    impl Build for Mover {
        fn build(_setup: &mut Setup<'_>) -> Self {
            Self
        }
    }

    impl VictimTasksPlugin for Mover {
        fn victim_tasks(&self, _: &Cluster<'_, '_>, _: TimeMs, _: &[Entity]) -> Proposal {
            Proposal::default()
        }
    }

    static MOVER: PluginSpec = PluginSpec::of::<Mover>("mover", "moves pods");

    #[test]
    fn who_is_shuffled_follows_from_who_proposes_and_who_holds_back() {
        let registry = crate::config::registry().with(&MOVER).unwrap();
        let said = |mover: &str| {
            let text = format!(
                "actions: shuffle\n\
                 tiers:\n\
                 - plugins: [{{name: gang}}, {{name: conformance}}]\n\
                 - plugins: [{{name: pdb}}{mover}]\n"
            );
            let config = crate::config::parse(&registry, "conf.yaml", &text).unwrap().config;
            shuffled(&config, &in_force(&config))
        };
        let nobody = "Evicted by shuffle: nobody, since no plugin proposes victims";
        assert_eq!(said(""), nobody);
        assert_eq!(said(", {name: mover, enabledVictim: false}"), nobody);
        assert_eq!(
            said(", {name: mover}"),
            "Evicted by shuffle: running pods proposed by mover, where they are not the system's \
             (conformance), disruption budgets allow it (pdb)"
        );
    }
}
