//! Plugins of other makers: what they say about places and victims counts as if they were our own.

use std::sync::LazyLock;

use muster_core::config::{ArgumentKind, arg};
use muster_core::delta::ClusterDelta;
use muster_core::ids::TimeMs;
use muster_core::intent::{DecisionOp, Intent};
use muster_core::policy::{
    Build, Entity, Evictor, GangVictimsPlugin, Plugin, PluginSpec, Purpose, Registry,
    SchedulerConfig, SearchSpace, SearchSpacePlugin, Setup, Unit,
};
use muster_core::resource::ResourceVec;
use muster_core::scheduler::Scheduler;
use muster_core::testing::{domain, group, node, pod, priority_class};
use muster_core::world::Cluster;
use muster_tests::policy::{config_with, pool};

/// A policy with one more plugin, if one is given.
fn policy(plugin: &str) -> SchedulerConfig {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
        let registry = Registry::standard().with(&CHOOSES).and_then(|all| all.with(&SENDS));
        registry.expect("new names")
    });
    let text = format!(
        "actions: \"allocate, preempt\"\n\
         tiers: [{{plugins: [{{name: priority}}, {{name: gang}}, {{name: predicates}}{plugin}]}}]\n\
         configurations: [{{name: preempt, arguments: {{gangAwareEnable: true}}}}]\n"
    );
    config_with(&REGISTRY, &text)
}

/// Says who makes way, whatever it costs: jobs by name, each with some of its pods.
struct Chooses(Vec<(String, Vec<String>)>);

static CHOOSES: PluginSpec = PluginSpec {
    arguments: &[arg(
        "victims",
        ArgumentKind::Text,
        "",
        "jobs that make way, each with the pods that do: `a=a-0,a-1 b=b-0`",
    )],
    ..PluginSpec::of::<Chooses>("chooses", "says who makes way, whatever it costs")
};

muster_core::plugin!(Chooses);

impl Plugin for Chooses {}

impl Build for Chooses {
    fn build(setup: &mut Setup<'_>) -> Self {
        let victims = setup.arguments.text("victims").split_whitespace();
        let victims = victims.filter_map(|entry| entry.split_once('='));
        let pods = |pods: &str| pods.split(',').map(str::to_owned).collect();
        Self(victims.map(|(job, of_job)| (job.to_owned(), pods(of_job))).collect())
    }
}

impl GangVictimsPlugin for Chooses {
    fn gang_victims(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        need: &ResourceVec,
        candidates: &[Entity],
    ) -> Option<Vec<(Entity, Vec<Entity>)>> {
        assert!(!candidates.contains(&evictor.job), "nobody makes way for itself");
        assert!(need.iter().any(|(_, amount)| amount > 0), "it lacks something");
        let find = |(job, pods): &(String, Vec<String>)| {
            let named = |&&candidate: &&Entity| {
                let key = &cluster.job(candidate).identity.key;
                *key.object().name == **job
            };
            let found = *candidates.iter().find(named)?;
            let members = cluster.job(found).members.0.iter().copied();
            let is_named = |task: &Entity| {
                pods.iter().any(|pod| *cluster.task(*task).identity.key.name == **pod)
            };
            Some((found, members.filter(is_named).collect()))
        };
        Some(self.0.iter().filter_map(find).collect())
    }
}

/// Sends every job into one domain.
struct Sends(String);

static SENDS: PluginSpec = PluginSpec {
    arguments: &[arg("domain", ArgumentKind::Text, "", "where all jobs go")],
    ..PluginSpec::of::<Sends>("sends", "sends every job into one domain")
};

muster_core::plugin!(Sends);

impl Plugin for Sends {}

impl Build for Sends {
    fn build(setup: &mut Setup<'_>) -> Self {
        Self(setup.arguments.text("domain").to_owned())
    }
}

impl SearchSpacePlugin for Sends {
    fn search_space(
        &self,
        cluster: &Cluster<'_, '_>,
        _: Unit<'_>,
        _: Purpose,
    ) -> Option<SearchSpace> {
        let all = cluster.domain_index().tiers.iter().flat_map(|(_, domains)| domains).copied();
        let mut named = all.filter(|&domain| *cluster.domain(domain).spec.name == *self.0);
        named.next().map(|domain| SearchSpace { groups: vec![vec![Some(domain)]], limit: 8 })
    }
}

/// Two nodes in a rack each, full of a pod of 2 and a gang of two pods of 1 that both are needed.
fn full() -> Vec<ClusterDelta> {
    let mut objects: Vec<ClusterDelta> = vec![ClusterDelta::from(priority_class("high", 100))];
    for (name, rack) in [("n0", "rack-a"), ("n1", "rack-b")] {
        objects.push(node(name).offer("cpu", 4).into());
        objects.push(domain(rack, 1).node(name).into());
        objects.push(group(&format!("solo-{name}"), 1).into());
        let solo = pod(&format!("solo-{name}-0")).group(&format!("solo-{name}"));
        objects.push(solo.ask("cpu", 2).running_on(name).into());
        objects.push(group(&format!("duo-{name}"), 2).into());
        for at in 0..2 {
            let duo = pod(&format!("duo-{name}-{at}")).group(&format!("duo-{name}"));
            objects.push(duo.ask("cpu", 1).running_on(name).into());
        }
    }
    objects
}

/// A job of one pod that asks for two.
fn want() -> [ClusterDelta; 2] {
    [group("want", 1).class("high").into(), pod("want-0").group("want").ask("cpu", 2).into()]
}

/// Who is evicted when `want` comes.
fn evicted(plugin: &str) -> Vec<String> {
    let mut scheduler = Scheduler::new(&policy(plugin), pool(1));
    scheduler.feed(full());
    scheduler.feed(want());
    let intents = scheduler.run_cycle(TimeMs(0)).intents;
    let evicted = intents.iter().filter_map(|intent| match intent {
        Intent::Evict { pod, .. } => Some(pod.name.to_string()),
        _ => None,
    });
    let mut evicted: Vec<String> = evicted.collect();
    evicted.sort();
    evicted
}

/// Who is evicted when the plugin says so.
fn evicted_by_word(victims: &str) -> Vec<String> {
    evicted(&format!(", {{name: chooses, arguments: {{victims: {victims:?}}}}}"))
}

fn sends(rack: &str) -> String {
    format!(", {{name: sends, arguments: {{domain: {rack}}}}}")
}

#[test]
fn a_plugin_chooses_the_victims() {
    assert_eq!(evicted("").len(), 1, "left alone it takes the one pod that is enough");
    assert_eq!(evicted_by_word("duo-n1=duo-n1-0,duo-n1-1"), ["duo-n1-0", "duo-n1-1"]);
}

#[test]
fn what_a_plugin_names_beyond_the_need_is_given_back() {
    assert_eq!(evicted_by_word("solo-n1=solo-n1-0 duo-n0=duo-n0-0,duo-n0-1"), ["solo-n1-0"]);
}

#[test]
fn a_gang_is_not_left_with_part_of_what_it_needs_whoever_says_so() {
    assert_eq!(evicted_by_word("duo-n0=duo-n0-0 duo-n1=duo-n1-1"), [""; 0]);
}

#[test]
fn nobody_named_is_nobody_evicted() {
    assert_eq!(evicted_by_word(""), [""; 0]);
}

#[test]
fn a_plugin_chooses_the_domain_for_victims() {
    assert_eq!(evicted(&sends("rack-a")), ["solo-n0-0"]);
    assert_eq!(evicted(&sends("rack-b")), ["solo-n1-0"]);
}

#[test]
fn a_plugin_chooses_the_domain_for_free_room_and_another_argument_counts_when_reconfigured() {
    let racks = [("rack-a", "n0"), ("rack-b", "n1")];
    for (at, (rack, node_name)) in racks.into_iter().enumerate() {
        let (before, _) = racks[1 - at];
        let mut scheduler = Scheduler::lasting(&policy(&sends(before)), pool(1));
        for (rack, name) in racks {
            scheduler.feed([node(name).offer("cpu", 4).into(), domain(rack, 1).node(name).into()]);
        }
        scheduler.reconfigure(&policy(&sends(rack))).expect("it keeps what any policy reads");
        scheduler.feed(want());
        let decisions = scheduler.run_cycle(TimeMs(0)).decisions;
        let bound: Vec<_> = decisions.iter().filter(|one| one.op == DecisionOp::Bind).collect();
        assert_eq!(bound.len(), 1);
        assert_eq!(&*bound[0].node, node_name);
    }
}
