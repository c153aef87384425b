//! What this version has, and what others may add.

use std::collections::BTreeSet;

use super::*;
use crate::config::{Arguments, Dialect, Gate, Gates};
use crate::policy::{Clock, PluginConfig, Point, Points, Policies, Support};
use crate::resource::ResourceNames;

#[test]
fn every_name_of_volcano_that_asks_nobody_outside_is_listed_once() {
    let registry = Registry::standard();
    let actions: Vec<_> = registry.actions().map(|spec| spec.name).collect();
    let volcano = "enqueue allocate backfill preempt reclaim gangpreempt gangreclaim shuffle";
    assert_eq!(actions, volcano.split_whitespace().collect::<Vec<_>>());
    let listed: Vec<_> = registry.plugins().map(|spec| spec.name).collect();
    let names: BTreeSet<_> = listed.iter().copied().collect();
    assert_eq!(listed.len(), names.len(), "a plugin is listed twice: {listed:?}");
    let volcano = "binpack capacity cdp conformance deviceshare drf gang \
        network-topology-aware nodegroup nodeorder numa-aware overcommit pdb predicates \
        priority proportion rescheduling resource-strategy-fit resourcequota sla \
        task-topology tdm usage";
    assert_eq!(names, volcano.split_whitespace().collect());
}

#[test]
fn every_name_of_kai_is_listed_once() {
    let registry = Registry::standard().speaking(Dialect::Kai);
    let actions: Vec<_> = registry.actions().map(|spec| spec.name).collect();
    let kai = "allocate consolidation reclaim preempt stalegangeviction";
    assert_eq!(actions, kai.split_whitespace().collect::<Vec<_>>());
    let listed: Vec<_> = registry.plugins().map(|spec| spec.name).collect();
    let names: BTreeSet<_> = listed.iter().copied().collect();
    assert_eq!(listed.len(), names.len(), "a plugin is listed twice: {listed:?}");
    let kai = "dynamicresources elastic gpupack gpusharingorder gpuspread kubeflow minruntime \
        nodeavailability nodeplacement nominatednode numa podaffinity podgroup predicates \
        priority proportion ray reflectjoborder resourcetype sg-multinodegang \
        sg-nodelocalgreedy snapshot subgrouporder taskorder topology";
    assert_eq!(names, kai.split_whitespace().collect());
    assert!(Registry::is_of_kai_alone("consolidation") && Registry::is_of_kai_alone("elastic"));
    assert!(!Registry::is_of_kai_alone("preempt") && !Registry::is_of_kai_alone("proportion"));
}

/// What files of either scheduler may name.
fn registries() -> [Registry; 2] {
    [Dialect::Volcano, Dialect::Kai].map(|dialect| Registry::standard().speaking(dialect))
}

#[test]
fn keys_of_one_owner_are_unique_and_texts_are_sentences() {
    let [volcano, kai] = registries();
    let of = |registry: &Registry| {
        let actions = registry.actions().map(|spec| (spec.name, spec.summary, spec.arguments));
        let plugins = registry.plugins().map(|spec| (spec.name, spec.summary, spec.arguments));
        actions.chain(plugins).collect::<Vec<_>>()
    };
    for (name, summary, arguments) in of(&volcano).into_iter().chain(of(&kai)) {
        assert!(!summary.is_empty() && !summary.ends_with('.'), "{name}: {summary}");
        let keys: BTreeSet<_> = arguments.iter().map(|spec| spec.key).collect();
        assert_eq!(keys.len(), arguments.len(), "{name} lists a key twice");
        for argument in arguments {
            assert!(!argument.help.is_empty(), "{name} {}", argument.key);
        }
    }
}

/// A plugin as a file names it that says no more than its name.
fn named(spec: &'static PluginSpec) -> PluginConfig {
    PluginConfig { spec, gates: Gates::default(), arguments: Arguments::default() }
}

#[test]
fn every_plugin_can_be_built_and_asks_for_arguments_it_has() {
    for spec in registries().iter().flat_map(Registry::plugins) {
        let config = named(spec);
        let built = config.build(&Clock::default(), &mut ResourceNames::default());
        assert_eq!(built.is_some(), spec.points != Points::NONE, "{}", spec.name);
        if built.is_none() {
            let idle = [Support::Planned, Support::Always];
            assert!(idle.contains(&spec.support), "{}", spec.name);
        }
        for (words, weight) in spec.words.scores {
            // Panics for a key the plugin does not have.
            assert!(weight.of(config.values()) >= 0, "{}: {words}", spec.name);
        }
    }
}

#[test]
fn a_plugin_is_asked_at_points_its_spec_lists_and_at_no_other() {
    for spec in registries().iter().flat_map(Registry::plugins) {
        let mut config = named(spec);
        for gate in Gate::ALL {
            config.gates.open(gate);
        }
        let Some(plugin) = config.build(&Clock::default(), &mut ResourceNames::default()) else {
            continue;
        };
        let mut policies = Policies::default();
        policies.add((0, spec.name), plugin, config.open_gates());
        for &point in Point::ALL {
            let listed = spec.points.contains(point);
            assert!(listed || !policies.is_asked(point), "{} {point:?}", spec.name);
        }
    }
}

static MINE: PluginSpec = PluginSpec::named("mine", "does what I want");
static AGAIN: PluginSpec = PluginSpec::named("binpack", "fills nodes my way");
static SPACED: PluginSpec = PluginSpec::named("my plugin", "does what I want");

#[test]
fn a_plugin_of_others_is_found_by_its_name_and_takes_nobody_s_place() {
    let registry = Registry::standard().with(&MINE).expect("a new name");
    assert_eq!(registry.plugin("mine").map(|spec| spec.summary), Some("does what I want"));
    assert_eq!(registry.plugins().count(), Registry::standard().plugins().count() + 1);
    let refused = |spec| registry.clone().with(spec).expect_err("refused").to_string();
    assert_eq!(refused(&AGAIN), "there is a plugin `binpack` already; give yours another name");
    assert_eq!(refused(&MINE), "there is a plugin `mine` already; give yours another name");
    assert_eq!(
        refused(&SPACED),
        "`my plugin` is no name for a plugin; write one or more of a-z, 0-9, - and ."
    );
}
