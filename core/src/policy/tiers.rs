//! How plugins combine: tiers in order, plugins of a tier in order, each point by its own rule.

mod outside;
mod victims;

pub use victims::Moves;

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::Resource;

use super::asked::PluginsAsked;
use super::point::Lists;
use super::{
    AdmissionContext, Admittance, Arrangement, Claims, DeviceOrderPlugin, KeptDivision, LentZones,
    Pairing, Plugin, Point, Portion, Purpose, QueueTable, SchedulerConfig, ScoreScale, SearchSpace,
    Unit, UnitAsks, Vote, upwards,
};
use crate::class::Class;
use crate::config::Gates;
use crate::ids::{Name, TimeMs};
use crate::interpod::{InterPodFilters, InterPodScores};
use crate::resource::{ResourceNames, ResourceVec};
use crate::verdict::Verdict;
use crate::world::{
    Cluster, DeviceOrder, DomainTotals, Exclusion, Inheritance, JobReadOnlyItem, NodeFlags,
    Obstacle, QueueReadOnlyItem, Reads, TaskReadOnlyItem,
};

/// Every plugin in force, at the points it takes part in.
#[derive(Default, Resource)]
pub struct Policies {
    plugins: Vec<(&'static str, Arc<dyn Plugin>)>,
    at: Lists,
}

impl std::fmt::Debug for Policies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.plugins.iter().map(|plugin| plugin.0)).finish()
    }
}

/// Orders a heap: keys of the plugins in tier order, then age, then uid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderKey {
    keys: [i64; OrderKey::KEYS],
    created: TimeMs,
    uid: Name,
}

impl OrderKey {
    /// Keys one thing may have from all plugins together. The last key of a task is the number at the end
    /// of its name.
    pub const KEYS: usize = 16;

    /// Compares the keys of plugins only, without age and uid.
    pub fn cmp_rules(&self, other: &Self) -> Ordering {
        self.keys.cmp(&other.keys)
    }
}

/// Tables of queues, one for each plugin that orders them; `None` where a queue is judged by itself.
pub struct Standings(Vec<Option<Box<dyn QueueTable>>>);

impl Standings {
    /// Can the turn of one queue move the keys of others?
    pub fn are_joint(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }

    /// Updates every table after a job has changed.
    pub fn job_moved(&mut self, cluster: &Cluster<'_, '_>, job: Entity) {
        self.0.iter_mut().flatten().for_each(|table| table.job_moved(cluster, job));
    }
}

impl std::fmt::Debug for Standings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Standings").field("joint", &self.are_joint()).finish_non_exhaustive()
    }
}

impl Policies {
    /// The plugins of a configuration.
    pub fn new(settings: &SchedulerConfig, names: &mut ResourceNames) -> Self {
        let mut policies = Self::default();
        for (tier, plugins) in settings.tiers.iter().enumerate() {
            for config in plugins {
                if let Some(plugin) = config.build(&settings.clock, names) {
                    policies.add((tier, config.spec.name), plugin, config.open_gates());
                }
            }
        }
        policies
    }

    /// Adds a plugin to a tier; plugins of one tier count in the order they are added.
    pub fn add(&mut self, place: (usize, &'static str), plugin: Arc<dyn Plugin>, gates: Gates) {
        let is_open = |point: Point| point.gate().is_none_or(|gate| gates.is_open(gate));
        let facets = Arc::clone(&plugin).facets();
        self.at.add(place, facets, |point| is_open(point) && plugin.takes_part(point));
        self.plugins.push((place.1, plugin));
    }

    /// What all plugins together read of pods beyond request and node constraints.
    pub fn reads(&self) -> Reads {
        self.plugins.iter().fold(Reads::default(), |reads, plugin| reads.or(plugin.1.reads()))
    }

    /// The first plugin that reads more of pods than that.
    pub fn reads_beyond(&self, kept: Reads) -> Option<&'static str> {
        let beyond = self.plugins.iter().find(|plugin| !kept.covers(plugin.1.reads()));
        beyond.map(|&(name, _)| name)
    }

    /// Where queues that say nothing of node groups take it from; `None` where no plugin reads groups.
    pub fn node_groups(&self) -> Option<Inheritance> {
        self.plugins.iter().find_map(|plugin| plugin.1.node_groups())
    }

    /// Does any plugin take part at the point?
    pub fn is_asked(&self, point: Point) -> bool {
        self.at.is_asked(point)
    }

    /// Names of the plugins that take part at the point, in the order they are asked.
    pub fn asked(&self, point: Point) -> impl Iterator<Item = &'static str> {
        self.at.names(point).into_iter()
    }

    /// Filters: a node excluded by any plugin is excluded.
    pub fn filter(&self, pairing: &Pairing<'_>, exclusions: &mut [Exclusion]) {
        for (flag, obstacle) in
            [(NodeFlags::ABSENT, Obstacle::Absent), (NodeFlags::OTHERS, Obstacle::OtherShard)]
        {
            if pairing.flags.any(flag) {
                let rows = exclusions.iter_mut().zip(pairing.nodes.flags);
                let closed = rows.filter(|(_, flags)| flags.any(flag));
                closed.for_each(|(exclusion, _)| exclusion.raise(obstacle));
            }
        }
        for policy in self.at.filter.iter() {
            policy.filter(pairing, exclusions);
        }
    }

    /// Rules about other pods: a filter is in force if any plugin has it, weights add up.
    pub fn interpod(&self) -> (InterPodFilters, InterPodScores) {
        let (mut filters, mut scores) = (InterPodFilters::default(), InterPodScores::default());
        for policy in self.at.filter.iter() {
            let InterPodFilters { ports, affinity, spread } = policy.interpod_filters();
            filters.ports |= ports;
            filters.affinity |= affinity;
            filters.spread |= spread;
        }
        for policy in self.at.score.iter() {
            let InterPodScores { affinity, spread } = policy.interpod_scores();
            scores.affinity += affinity;
            scores.spread += spread;
        }
        (filters, scores)
    }

    /// What each scoring plugin measures over all nodes.
    pub fn measure(&self, pairing: &Pairing<'_>) -> Vec<ScoreScale> {
        self.at.score.iter().map(|policy| policy.measure(pairing)).collect()
    }

    /// Scores: the sum over plugins.
    pub fn score(&self, pairing: &Pairing<'_>, scales: &[ScoreScale], scores: &mut [i64]) {
        for (policy, &scale) in self.at.score.iter().zip(scales) {
            policy.score(pairing, scale, scores);
        }
    }

    /// How the tasks of a job want to lie to each other: what each plugin with an opinion says.
    pub fn arrangements(
        &self,
        cluster: &Cluster<'_, '_>,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Vec<Box<dyn Arrangement>> {
        self.at.job_score.iter().filter_map(|policy| policy.arrangement(cluster, job)).collect()
    }

    /// What a domain adds to the scores of its nodes: the sum over plugins.
    pub fn domain_pull(
        &self,
        class: &Class,
        tiers: &[u64],
        at: usize,
        totals: Option<&DomainTotals>,
    ) -> i64 {
        let pulls = self.at.domain_pull.iter().map(|one| one.domain_pull(class, tiers, at, totals));
        pulls.fold(0, i64::saturating_add)
    }

    /// Job order: the first plugin that tells two jobs apart decides.
    pub fn job_key(&self, cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> OrderKey {
        OrderKey {
            keys: order_keys(&self.at.job_order, |policy| policy.job_order(cluster, job)),
            created: job.identity.created,
            uid: job.identity.uid.clone(),
        }
    }

    /// Tables of the plugins whose keys of one queue depend on other queues.
    pub fn standings(&self, cluster: &Cluster<'_, '_>) -> Standings {
        Standings(self.at.queue_order.iter().map(|policy| policy.queue_table(cluster)).collect())
    }

    /// Are queues compared level by level? They are if any plugin wants it.
    pub fn queues_by_level(&self) -> bool {
        self.at.queue_order.iter().any(super::QueueOrderPlugin::by_level)
    }

    /// Queue order: the first plugin that tells two queues apart decides. `next` is the job that would
    /// be served next, where that is known.
    pub fn queue_key(
        &self,
        cluster: &Cluster<'_, '_>,
        standings: &Standings,
        queue: Entity,
        next: Option<Entity>,
    ) -> OrderKey {
        let item = cluster.queue(queue);
        let (mut keys, mut first) = ([0; OrderKey::KEYS], 0);
        for (policy, table) in self.at.queue_order.iter().zip(&standings.0) {
            // Levels beyond the limit are dropped: they come last, so they decide least.
            let end = (first + policy.queue_levels()).min(OrderKey::KEYS);
            match table {
                Some(table) => table.keys(queue, &mut keys[first..end]),
                None => policy.queue_order(cluster, &item, next, &mut keys[first..end]),
            }
            first = end;
        }
        OrderKey { keys, created: item.identity.created, uid: item.identity.uid.clone() }
    }

    /// Queue order of several queues, in the order they are given.
    pub fn queue_keys(&self, cluster: &Cluster<'_, '_>, queues: &[Entity]) -> Vec<OrderKey> {
        let standings = self.standings(cluster);
        queues.iter().map(|&queue| self.queue_key(cluster, &standings, queue, None)).collect()
    }

    /// The places of several queues among all: their keys, or where queues are compared level by level
    /// the keys from below the root down to each of them.
    pub fn queue_places(&self, cluster: &Cluster<'_, '_>, queues: &[Entity]) -> Vec<Vec<OrderKey>> {
        if !self.queues_by_level() {
            return self.queue_keys(cluster, queues).into_iter().map(|key| vec![key]).collect();
        }
        let path = |&queue: &Entity| {
            let below_root = |&at: &Entity| cluster.queue(at).spec.parent.is_some();
            let mut path: Vec<Entity> = upwards(cluster, queue).take_while(below_root).collect();
            path.reverse();
            self.queue_keys(cluster, &path)
        };
        queues.iter().map(path).collect()
    }

    /// Task order: plugins first, then the number at the end of the name, then age, then uid.
    pub fn task_key(&self, task: &TaskReadOnlyItem<'_, '_>) -> OrderKey {
        let mut keys = order_keys(&self.at.task_order, |policy| policy.task_order(task));
        let index = task.identity.index;
        keys[OrderKey::KEYS - 1] = i64::try_from(index).unwrap_or(i64::MAX);
        OrderKey { keys, created: task.identity.created, uid: task.identity.uid.clone() }
    }

    /// Positions of the tasks in task order. Cheaper than a key for each task: a gang may have thousands,
    /// and most come in order already.
    pub fn task_order(
        &self,
        cluster: &Cluster<'_, '_>,
        job: &JobReadOnlyItem<'_, '_>,
        tasks: &[TaskReadOnlyItem<'_, '_>],
    ) -> Vec<usize> {
        let levels = self.at.task_order.len();
        let mut keys: Vec<i64> = Vec::with_capacity(tasks.len() * levels);
        for task in tasks {
            keys.extend(self.at.task_order.iter().map(|policy| policy.task_order(task)));
        }
        for (level, policy) in self.at.task_order.iter().enumerate() {
            if let Some(joint) = policy.joint_task_order(cluster, job, tasks) {
                joint.into_iter().enumerate().for_each(|(at, key)| keys[at * levels + level] = key);
            }
        }
        let rules = |at: usize| &keys[at * levels..(at + 1) * levels];
        let rest = |at: usize| {
            let identity = tasks[at].identity;
            (identity.index.min(i64::MAX as u64), identity.created, &identity.uid)
        };
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        order.sort_by(|&a, &b| rules(a).cmp(rules(b)).then_with(|| rest(a).cmp(&rest(b))));
        order
    }

    /// Members of a job, the last in task order first: the order in which they give something up.
    /// The job itself has them in the order they arrived in, which must not be seen.
    pub fn members_last_first(&self, cluster: &Cluster<'_, '_>, job: Entity) -> Vec<Entity> {
        let mut members = cluster.job(job).members.0.clone();
        self.sort_last_first(cluster, &mut members);
        members
    }

    /// Puts tasks of one job into that order.
    pub fn sort_last_first(&self, cluster: &Cluster<'_, '_>, tasks: &mut [Entity]) {
        tasks.sort_by_cached_key(|&task| Reverse(self.task_key(&cluster.task(task))));
    }

    /// Validity: the first objection counts.
    pub fn job_valid(&self, job: &JobReadOnlyItem<'_, '_>) -> Result<(), Verdict> {
        self.at.job_valid.iter().try_for_each(|policy| policy.job_valid(job))
    }

    /// Readiness: all must agree.
    pub fn job_ready(&self, cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> bool {
        self.at.job_ready.iter().all(|policy| policy.job_ready(cluster, job))
    }

    /// How many more tasks need a place before the job is ready: the largest number any plugin gives.
    pub fn job_lacks(&self, job: &JobReadOnlyItem<'_, '_>) -> u32 {
        self.at.job_ready.iter().map(|policy| policy.job_lacks(job)).max().unwrap_or(0)
    }

    /// May room be held for the job? A rejection ends the vote, a permit ends it at its tier, and silence
    /// is consent.
    pub fn job_pipelined(&self, job: &JobReadOnlyItem<'_, '_>) -> bool {
        for tier in self.at.job_pipelined.tiers() {
            let mut permitted = false;
            for (_, policy) in tier {
                match policy.job_pipelined(job) {
                    Vote::Reject => return false,
                    Vote::Permit => permitted = true,
                    Vote::Abstain => {}
                }
            }
            if permitted {
                return true;
            }
        }
        true
    }

    /// Is the job starving? All plugins of the first tier that has one must agree; without such a plugin
    /// no job is.
    pub fn job_starving(&self, job: &JobReadOnlyItem<'_, '_>) -> bool {
        self.at
            .job_starving
            .tiers()
            .next()
            .is_some_and(|mut tier| tier.all(|(_, policy)| policy.job_starving(job)))
    }

    /// Does the queue use more than its due? One plugin that says so is enough.
    pub fn overused(&self, cluster: &Cluster<'_, '_>, queue: &QueueReadOnlyItem<'_, '_>) -> bool {
        self.at.overused.iter().any(|policy| policy.overused(cluster, queue))
    }

    /// May the job use that much more of its queue? The first objection counts.
    pub fn allocatable(
        &self,
        cluster: &Cluster<'_, '_>,
        names: &ResourceNames,
        job: &JobReadOnlyItem<'_, '_>,
        request: &ResourceVec,
    ) -> Result<(), Verdict> {
        let mut asked = self.at.allocatable.iter();
        asked.try_for_each(|policy| policy.allocatable(cluster, names, job, request))
    }

    /// Division of the cluster: the first plugin that divides counts; `None` where nobody does.
    pub fn apportion(&self, claims: &Claims<'_>) -> Option<Vec<Portion>> {
        self.at.apportion.iter().next().map(|policy| policy.apportion(claims))
    }

    /// The division by the same plugin, to be kept up to date; `None` where it is made anew every time.
    pub fn keep_division(&self, claims: &Claims<'_>) -> Option<Box<dyn KeptDivision>> {
        self.at.apportion.iter().next().and_then(|policy| policy.keep(claims))
    }

    /// Which queues are compared when one takes from another, by the plugin that divides.
    pub fn levels_compared(&self) -> Option<usize> {
        let mut plugins = self.at.apportion.iter();
        plugins.next().map_or(Some(usize::MAX), super::ApportionPlugin::levels_compared)
    }

    /// May the job be admitted? A rejection ends the vote with its reason, a permit ends it at its tier,
    /// and silence is consent.
    pub fn job_enqueueable(
        &self,
        cluster: &Cluster<'_, '_>,
        context: &AdmissionContext<'_>,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Result<(), Verdict> {
        for tier in self.at.job_enqueueable.tiers() {
            let mut permitted = false;
            for (_, policy) in tier {
                match policy.job_enqueueable(cluster, context, job) {
                    Admittance::Reject(verdict) => return Err(verdict),
                    Admittance::Permit => permitted = true,
                    Admittance::Abstain => {}
                }
            }
            if permitted {
                return Ok(());
            }
        }
        Ok(())
    }

    /// May the queue take back that much from others? All must agree.
    pub fn preemptive(
        &self,
        cluster: &Cluster<'_, '_>,
        job: &JobReadOnlyItem<'_, '_>,
        request: &ResourceVec,
    ) -> bool {
        self.at.preemptive.iter().all(|policy| policy.preemptive(cluster, job, request))
    }

    /// When the job has waited too long: the earliest time any plugin gives.
    pub fn deadline(&self, job: &JobReadOnlyItem<'_, '_>) -> Option<TimeMs> {
        self.at.deadline.iter().filter_map(|policy| policy.deadline(job)).min()
    }

    /// Zones of lent nodes: the first plugin that has any to say counts; `None` where nobody does.
    pub fn lent_zones(&self, now: TimeMs) -> Option<LentZones> {
        self.at.lent_zones.iter().next().map(|policy| policy.lent_zones(now))
    }

    /// Which device of a node a part of one goes to.
    pub fn device_order(&self) -> DeviceOrder {
        let orders = self.at.device_order.iter().map(DeviceOrderPlugin::device_order);
        orders.fold(DeviceOrder::default(), DeviceOrder::and)
    }

    /// Search space: the first answer counts; none is the whole cluster.
    pub fn search_space(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: Unit<'_>,
        purpose: Purpose,
    ) -> Option<SearchSpace> {
        self.at.search_space.iter().find_map(|policy| policy.search_space(cluster, unit, purpose))
    }

    /// Score of a domain: the sum over plugins.
    pub fn domain_score(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: Unit<'_>,
        asks: &UnitAsks,
        domain: Entity,
    ) -> i64 {
        let plugins = self.at.domain_score.iter();
        let scores = plugins.map(|policy| policy.domain_score(cluster, unit, asks, domain));
        scores.fold(0, i64::saturating_add)
    }

    /// Parts of a domain that are filled one after the other: the first answer counts.
    pub fn inner_domains(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: Unit<'_>,
        domain: Option<Entity>,
    ) -> Vec<Entity> {
        let plugins = self.at.inner_domains.iter();
        let mut answers = plugins.map(|policy| policy.inner_domains(cluster, unit, domain));
        answers.find(|parts| !parts.is_empty()).unwrap_or_default()
    }
}

/// What each plugin says, most decisive first.
fn order_keys<P: ?Sized>(
    asked: &PluginsAsked<P>,
    key: impl Fn(&P) -> i64,
) -> [i64; OrderKey::KEYS] {
    let mut keys = [0; OrderKey::KEYS];
    for (slot, plugin) in keys.iter_mut().zip(asked.iter()) {
        *slot = key(plugin);
    }
    keys
}
