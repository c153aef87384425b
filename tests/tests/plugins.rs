//! Plugins of other makers: what they say about places and victims counts as if they were our own.

use std::sync::Arc;

use muster_core::delta::ClusterDelta;
use muster_core::ids::TimeMs;
use muster_core::intent::{DecisionOp, Intent};
use muster_core::policy::{Entity, Evictor, Point, Policy, Purpose, SearchSpace, Unit};
use muster_core::resource::ResourceVec;
use muster_core::scheduler::Scheduler;
use muster_core::world::Cluster;
use muster_tests::build::{domain, group, node, pod, priority_class};
use muster_tests::policy::{config, pool};

const POLICY: &str = "actions: \"allocate, preempt\"\n\
    tiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}]}]\n\
    configurations: [{name: preempt, arguments: {gangAwareEnable: true}}]\n";

/// Says who makes way, whatever it costs: jobs by name, each with some of its pods.
struct Chooses(&'static [(&'static str, &'static [&'static str])]);

impl Policy for Chooses {
    fn name(&self) -> &'static str {
        "chooses"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::GangVictims]
    }

    fn gang_victims(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        need: &ResourceVec,
        candidates: &[Entity],
    ) -> Option<Vec<(Entity, Vec<Entity>)>> {
        assert!(!candidates.contains(&evictor.job), "nobody makes way for itself");
        assert!(need.iter().any(|(_, amount)| amount > 0), "it lacks something");
        let find = |&(job, pods): &(&str, &[&str])| {
            let named = |&&candidate: &&Entity| {
                let key = &cluster.job(candidate).identity.key;
                &*key.object().name == job
            };
            let found = *candidates.iter().find(named)?;
            let members = cluster.job(found).members.0.iter().copied();
            let chosen =
                members.filter(|&task| pods.contains(&&*cluster.task(task).identity.key.name));
            Some((found, chosen.collect()))
        };
        Some(self.0.iter().filter_map(find).collect())
    }
}

/// Sends every job into one domain.
struct Sends(&'static str);

impl Policy for Sends {
    fn name(&self) -> &'static str {
        "sends"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::SearchSpace]
    }

    fn search_space(
        &self,
        cluster: &Cluster<'_, '_>,
        _: Unit<'_>,
        _: Purpose,
    ) -> Option<SearchSpace> {
        let all = cluster.tree.tiers.iter().flat_map(|(_, domains)| domains).copied();
        let mut named = all.filter(|&domain| &*cluster.domain(domain).spec.name == self.0);
        named.next().map(|domain| SearchSpace { groups: vec![vec![Some(domain)]], limit: 8 })
    }
}

/// Two nodes in a rack each, full of a pod of 2 and a gang of two pods of 1 that both are needed.
fn full() -> Vec<ClusterDelta> {
    let mut objects: Vec<ClusterDelta> =
        vec![ClusterDelta::PriorityClass(priority_class("high", 100))];
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
fn evicted(plugin: Option<Arc<dyn Policy>>) -> Vec<String> {
    let mut scheduler = Scheduler::new(&config(POLICY), pool(1));
    if let Some(plugin) = plugin {
        scheduler = scheduler.with_policy(0, plugin);
    }
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

#[test]
fn a_plugin_chooses_the_victims() {
    assert_eq!(evicted(None).len(), 1, "left alone it takes the one pod that is enough");
    let duo = Chooses(&[("duo-n1", &["duo-n1-0", "duo-n1-1"])]);
    assert_eq!(evicted(Some(Arc::new(duo))), ["duo-n1-0", "duo-n1-1"]);
}

#[test]
fn what_a_plugin_names_beyond_the_need_is_given_back() {
    let both = Chooses(&[("solo-n1", &["solo-n1-0"]), ("duo-n0", &["duo-n0-0", "duo-n0-1"])]);
    assert_eq!(evicted(Some(Arc::new(both))), ["solo-n1-0"]);
}

#[test]
fn a_gang_is_not_left_with_part_of_what_it_needs_whoever_says_so() {
    let half = Chooses(&[("duo-n0", &["duo-n0-0"]), ("duo-n1", &["duo-n1-1"])]);
    assert_eq!(evicted(Some(Arc::new(half))), [""; 0]);
}

#[test]
fn nobody_named_is_nobody_evicted() {
    assert_eq!(evicted(Some(Arc::new(Chooses(&[])))), [""; 0]);
}

#[test]
fn a_plugin_chooses_the_domain_for_victims() {
    assert_eq!(evicted(Some(Arc::new(Sends("rack-a")))), ["solo-n0-0"]);
    assert_eq!(evicted(Some(Arc::new(Sends("rack-b")))), ["solo-n1-0"]);
}

#[test]
fn a_plugin_chooses_the_domain_for_free_room_and_keeps_its_say_when_reconfigured() {
    for (rack, node_name) in [("rack-a", "n0"), ("rack-b", "n1")] {
        let plugin = Arc::new(Sends(rack));
        let mut scheduler = Scheduler::lasting(&config(POLICY), pool(1)).with_policy(0, plugin);
        for (name, rack) in [("n0", "rack-a"), ("n1", "rack-b")] {
            scheduler.feed([node(name).offer("cpu", 4).into(), domain(rack, 1).node(name).into()]);
        }
        scheduler.reconfigure(&config(POLICY)).expect("it keeps what any configuration reads");
        scheduler.feed(want());
        let decisions = scheduler.run_cycle(TimeMs(0)).decisions;
        let bound: Vec<_> = decisions.iter().filter(|one| one.op == DecisionOp::Bind).collect();
        assert_eq!(bound.len(), 1);
        assert_eq!(&*bound[0].node, node_name);
    }
}
