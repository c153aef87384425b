//! Small worlds for the tests of plugins: objects in a few words, then a look inside.

use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::World;
use bevy_ecs::system::RunSystemOnce;

use super::{
    Build, Clock, EvictPurpose, Evictor, Plugin, PluginConfig, PluginSpec, Policies, Registry,
    SchedulerConfig, Setup,
};
use crate::config::{
    ActionConfig, ArgumentValue, Arguments, Dialect, Gates, PipelineConfig, Tuning, View,
};
use crate::delta::{
    BudgetFacts, ClusterDelta, GroupPhase, MeasuredUsage, NodeFacts, NodeLoadFacts, ObjectRef,
    PodFacts, PodGroupFacts, PodSetFacts, QueueFacts,
};
use crate::ids::{ObjectKey, TimeMs};
use crate::intent::Decision;
use crate::resource::ResourceNames;
use crate::scheduler::Scheduler;
use crate::testing;
pub(crate) use crate::testing::amounts;
use crate::verdict::Reason;
use crate::world::{Cluster, Directory, JobKey};

/// A world in the making.
pub(crate) struct Bed {
    scheduler: Scheduler,
    clock: i64,
}

/// A plugin of a configuration with its default gates.
pub(crate) fn plugin(name: &str, arguments: Arguments) -> PluginConfig {
    let spec = Registry::standard().plugin(name).expect("a plugin of this version");
    PluginConfig { spec, gates: Gates::default(), arguments }
}

/// Plugins of KAI's without arguments, and the action `allocate`.
pub(crate) fn kai(plugins: &[&str]) -> SchedulerConfig {
    let registry = Registry::standard().speaking(Dialect::Kai);
    let plugin = |name: &&str| {
        let spec = registry.plugin(name).expect("a plugin of this version");
        PluginConfig { spec, gates: Gates::default(), arguments: Arguments::default() }
    };
    let spec = registry.action("allocate").expect("an action of this version");
    let action = ActionConfig { spec, arguments: Arguments::default() };
    let tier = plugins.iter().map(plugin).collect();
    SchedulerConfig { actions: vec![action], dialect: Dialect::Kai, ..config(tier, &[]) }
}

/// A plugin of its spec with these arguments.
pub(crate) fn build<'k, P: Build>(
    spec: &'static PluginSpec,
    given: impl IntoIterator<Item = (&'k str, ArgumentValue)>,
) -> P {
    let given = given.into_iter().map(|(key, value)| (key.to_owned(), value));
    let arguments = Arguments(given.collect());
    configured(&PluginConfig { spec, gates: Gates::default(), arguments })
}

/// The plugin of a configuration as its own type.
pub(crate) fn configured<P: Build>(config: &PluginConfig) -> P {
    let (gates, arguments) = (config.gates, config.values());
    let (clock, mut names) = (Clock::default(), ResourceNames::default());
    P::build(&mut Setup { gates, arguments, clock: &clock, names: &mut names })
}

/// A plugin of this version without arguments, and its name.
pub(crate) fn standard(name: &'static str) -> (&'static str, Arc<dyn Plugin>) {
    let built =
        plugin(name, Arguments::default()).build(&Clock::default(), &mut ResourceNames::default());
    (name, built.expect("a plugin that can be asked"))
}

/// Plugins of one tier and actions.
pub(crate) fn config(tier: Vec<PluginConfig>, actions: &[&str]) -> SchedulerConfig {
    let action = |name: &&str| ActionConfig {
        spec: Registry::standard().action(name).expect("an action of this version"),
        arguments: Arguments::default(),
    };
    let actions = actions.iter().map(action).collect();
    SchedulerConfig {
        actions,
        tiers: vec![tier],
        tuning: Tuning::default(),
        pipeline: PipelineConfig::default(),
        sharding: None,
        view: View::default(),
        usage_record: None,
        clock: Clock::default(),
        dialect: Dialect::Volcano,
    }
}

impl Bed {
    /// A world without actions: nothing is decided in it.
    pub(crate) fn new() -> Self {
        Self::with(&config(Vec::new(), &[]))
    }

    pub(crate) fn with(config: &SchedulerConfig) -> Self {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
        Self { scheduler: Scheduler::new(config, Arc::new(pool)), clock: 0 }
    }

    fn feed(&mut self, delta: ClusterDelta) -> &mut Self {
        self.scheduler.feed([delta]);
        self
    }

    fn tick(&mut self) -> TimeMs {
        self.clock += 1;
        TimeMs(self.clock)
    }

    pub(crate) fn node(&mut self, name: &str, offer: &[(&str, i64)]) -> &mut Self {
        self.node_with(name, offer, |_| {})
    }

    pub(crate) fn node_with(
        &mut self,
        name: &str,
        offer: &[(&str, i64)],
        change: impl FnOnce(&mut NodeFacts),
    ) -> &mut Self {
        let node =
            offer.iter().fold(testing::node(name), |node, (name, units)| node.offer(name, *units));
        let mut facts = node.facts();
        change(&mut facts);
        self.feed(ClusterDelta::from(facts))
    }

    /// A node with labels.
    pub(crate) fn labelled(
        &mut self,
        name: &str,
        offer: &[(&str, i64)],
        labels: &[(&str, &str)],
    ) -> &mut Self {
        self.node_with(name, offer, |node| {
            node.labels =
                labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
            node.labels.sort();
        })
    }

    pub(crate) fn topology(&mut self, facts: impl Into<ClusterDelta>) -> &mut Self {
        self.feed(facts.into())
    }

    /// So much of a node's cpu and memory is in use, in thousandths of a percent, just now.
    pub(crate) fn load(&mut self, node: &str, shares: [i64; 2]) -> &mut Self {
        let (usage, measured) = (MeasuredUsage::Shares(shares), TimeMs(1_000));
        let facts = NodeLoadFacts { node: node.into(), usage, measured, window_ms: 0 };
        self.feed(ClusterDelta::from(facts))
    }

    pub(crate) fn budget(&mut self, facts: BudgetFacts) -> &mut Self {
        self.feed(ClusterDelta::from(facts))
    }

    pub(crate) fn pod_set(&mut self, facts: PodSetFacts) -> &mut Self {
        self.feed(ClusterDelta::from(facts))
    }

    pub(crate) fn into_world(self) -> World {
        self.scheduler.into_world()
    }

    pub(crate) fn class(&mut self, name: &str, value: i32) -> &mut Self {
        let facts = testing::priority_class(name, value);
        self.feed(ClusterDelta::from(facts))
    }

    pub(crate) fn queue(&mut self, name: &str, change: impl FnOnce(&mut QueueFacts)) -> &mut Self {
        let mut facts = testing::queue(name).facts();
        facts.created = self.tick();
        change(&mut facts);
        self.feed(ClusterDelta::from(facts))
    }

    /// A PodGroup; later ones are younger.
    pub(crate) fn group(
        &mut self,
        name: &str,
        min_member: u32,
        change: impl FnOnce(&mut PodGroupFacts),
    ) -> &mut Self {
        let mut facts = testing::group(name, min_member).facts();
        facts.created = self.tick();
        facts.phase = Some(GroupPhase::Inqueue);
        change(&mut facts);
        self.feed(ClusterDelta::from(facts))
    }

    /// A pod `group-index` of a PodGroup, running where a node is given.
    pub(crate) fn pod(
        &mut self,
        group: &str,
        index: usize,
        node: Option<&str>,
        change: impl FnOnce(&mut PodFacts),
    ) -> &mut Self {
        let pod = testing::pod(&format!("{group}-{index}")).group(group).ask("cpu", 1).on(node);
        let mut facts = pod.facts();
        facts.created = self.tick();
        change(&mut facts);
        self.feed(ClusterDelta::from(facts))
    }

    /// A number of pods of a PodGroup that run on a node.
    pub(crate) fn running(&mut self, group: &str, count: usize, node: &str) -> &mut Self {
        for index in 0..count {
            self.pod(group, index, Some(node), |_| {});
        }
        self
    }

    /// Runs a cycle, checks the totals, and returns the scheduler.
    pub(crate) fn run(&mut self) -> &mut Scheduler {
        self.scheduler.run_cycle(TimeMs(1_000));
        assert_eq!(self.scheduler.audit(), Vec::<String>::new());
        &mut self.scheduler
    }

    /// A pod that is no more.
    pub(crate) fn gone(&mut self, pod: &str) -> &mut Self {
        self.feed(ClusterDelta::Gone(ObjectRef::Pod(ObjectKey::new("default", pod))))
    }

    pub(crate) fn node_gone(&mut self, node: &str) -> &mut Self {
        self.feed(ClusterDelta::Gone(ObjectRef::Node(node.into())))
    }

    pub(crate) fn topology_gone(&mut self, name: &str) -> &mut Self {
        self.feed(ClusterDelta::Gone(ObjectRef::Topology(name.into())))
    }

    /// Runs a cycle and counts what it decided.
    pub(crate) fn decide(&mut self) -> usize {
        let now = self.tick();
        self.scheduler.run_cycle(now).decisions.len()
    }

    /// Runs a cycle and says what it decided: `Bind g-0 n`, in order.
    pub(crate) fn decisions(&mut self) -> Vec<String> {
        let now = self.tick();
        let decided = self.scheduler.run_cycle(now).decisions;
        assert_eq!(self.scheduler.audit(), Vec::<String>::new());
        let say = |one: &Decision| format!("{:?} {} {}", one.op, one.pod.name, one.node);
        let mut said: Vec<String> = decided.iter().map(say).collect();
        said.sort();
        said
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, ms: i64) {
        self.clock += ms;
    }

    /// Why a job waits.
    pub(crate) fn why(&mut self, group: &str) -> String {
        let jobs = self.scheduler.jobs();
        let job = jobs.into_iter().find(|job| &*job.key.name == group);
        job.map_or_else(String::new, |job| {
            let reason = job.reason.map_or("", Reason::as_str);
            format!("{reason}: {}", job.message.unwrap_or_default())
        })
    }

    pub(crate) fn world(&self) -> &World {
        self.scheduler.world()
    }

    /// Takes everything in and looks inside.
    pub(crate) fn look<R: 'static>(
        mut self,
        look: impl Fn(&Cluster<'_, '_>, &Directory) -> R + Send + Sync + 'static,
    ) -> R {
        self.run();
        let mut world = self.scheduler.into_world();
        let seen = inside(&mut world, look);
        assert_eq!(crate::inspect::audit(&mut world), Vec::<String>::new());
        seen
    }
}

/// A look at a world.
pub(crate) fn inside<R: 'static>(
    world: &mut World,
    look: impl Fn(&Cluster<'_, '_>, &Directory) -> R + Send + Sync + 'static,
) -> R {
    let system = move |cluster: Cluster<'_, '_>,
                       directory: bevy_ecs::prelude::Res<'_, Directory>| {
        look(&cluster, &directory)
    };
    world.run_system_once(system).expect("runs")
}

/// The task of a name.
pub(crate) fn task(directory: &Directory, name: &str) -> Entity {
    let found = directory.tasks.get(&ObjectKey::new("default", name)).copied();
    found.unwrap_or_else(|| panic!("no task {name}"))
}

/// Tasks of names.
pub(crate) fn tasks(directory: &Directory, names: &[&str]) -> Vec<Entity> {
    names.iter().map(|name| task(directory, name)).collect()
}

/// The job of a name.
pub(crate) fn job(directory: &Directory, name: &str) -> Entity {
    directory.jobs[&JobKey::Group(ObjectKey::new("default", name))]
}

/// Names of tasks.
pub(crate) fn named(cluster: &Cluster<'_, '_>, tasks: &[Entity]) -> Vec<String> {
    tasks.iter().map(|&task| cluster.task(task).identity.key.name.to_string()).collect()
}

/// A job that evicts, for one of its tasks if one is named.
pub(crate) fn evictor(
    directory: &Directory,
    name: &str,
    task_name: Option<&str>,
    purpose: EvictPurpose,
) -> Evictor {
    let task = task_name.map(|name| task(directory, name));
    Evictor { job: job(directory, name), task, purpose }
}

/// Plugins by tiers.
pub(crate) fn tiers(tiers: Vec<Vec<(&'static str, Arc<dyn Plugin>)>>) -> Policies {
    let mut policies = Policies::default();
    for (at, tier) in tiers.into_iter().enumerate() {
        for (name, plugin) in tier {
            policies.add((at, name), plugin, Gates::default());
        }
    }
    policies
}
