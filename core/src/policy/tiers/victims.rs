//! Who may be evicted, by the plugins of one tier after the other, and in which order they go.

use std::cmp::Reverse;

use bevy_ecs::entity::Entity;
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use super::super::asked::PluginsAsked;
use super::super::{Ballot, Evictor, Point, Proposal, UnifiedEvictablePlugin};
use super::{OrderKey, Policies, order_keys};
use crate::ids::TimeMs;
use crate::resource::ResourceVec;
use crate::world::Cluster;

/// Who is to leave its node, though nobody asks for the room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// The tasks in the order of the candidates, each with the first plugin that named it.
    pub tasks: Vec<(Entity, &'static str)>,
    /// When the first plugin wants to be asked again.
    pub again: Option<TimeMs>,
    /// Plugins that are asked at intervals, and were.
    pub rounds: Vec<&'static str>,
}

impl Policies {
    /// Candidates that `preempt` may evict for somebody of their own queue.
    pub fn preemptable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Vec<Entity> {
        walk(&self.at.preemptable, |policy| policy.preemptable(cluster, evictor, candidates))
    }

    /// Candidates that `reclaim` may evict for another queue.
    pub fn reclaimable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Vec<Entity> {
        walk(&self.at.reclaimable, |policy| policy.reclaimable(cluster, evictor, candidates))
    }

    /// Candidates that may be evicted for a whole gang, whatever the purpose: those every plugin of every
    /// tier that has a say lets go. Nobody asked lets nobody go.
    pub fn unified_evictable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Vec<Entity> {
        self.of_all(candidates, |policy, asked| policy.unified_evictable(cluster, evictor, asked))
    }

    /// Candidates that may be moved for a whole gang, by the same rule.
    pub fn may_move(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Vec<Entity> {
        self.of_all(candidates, |policy, asked| policy.may_move(cluster, evictor, asked))
    }

    fn of_all(
        &self,
        candidates: &[Entity],
        ask: impl Fn(&dyn UnifiedEvictablePlugin, &[Entity]) -> Ballot,
    ) -> Vec<Entity> {
        let mut left: Option<Vec<Entity>> = None;
        for policy in self.at.unified_evictable.iter() {
            let asked = left.as_deref().unwrap_or(candidates);
            if let Ballot::Only(named) = ask(policy, asked) {
                left = Some(named);
            }
        }
        left.unwrap_or_default()
    }

    /// Which plugin with a say at a point about victims spares whom: each is asked about those that all
    /// before it let go, and what is left comes with it. For explanations; who may go is decided by the
    /// rule of the point.
    pub fn sparers(
        &self,
        point: Point,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> SparedByPlugin {
        let (at, left) = (&self.at, candidates);
        match point {
            Point::Preemptable => spared(&at.preemptable, left, |plugin, left| {
                plugin.preemptable(cluster, evictor, left)
            }),
            Point::Reclaimable => spared(&at.reclaimable, left, |plugin, left| {
                plugin.reclaimable(cluster, evictor, left)
            }),
            _ => spared(&at.unified_evictable, left, |plugin, left| {
                plugin.unified_evictable(cluster, evictor, left)
            }),
        }
    }

    /// Who makes way for a whole gang in one place, if a plugin says so: the first answer counts.
    pub fn gang_victims(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        need: &ResourceVec,
        candidates: &[Entity],
    ) -> Option<Vec<(Entity, Vec<Entity>)>> {
        let mut plugins = self.at.gang_victims.iter();
        plugins.find_map(|policy| policy.gang_victims(cluster, evictor, need, candidates))
    }

    /// Until when a job keeps its minimum from an evictor: the latest any plugin says.
    pub fn keeps_until(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        job: Entity,
    ) -> Option<TimeMs> {
        let plugins = self.at.min_runtime.iter();
        let job = cluster.job(job);
        plugins.filter_map(|policy| policy.keeps_until(cluster, evictor, &job)).max()
    }

    /// Plugins that name tasks, each with the interval at which it is asked, if it has one.
    pub fn victim_rounds(&self) -> impl Iterator<Item = (&'static str, Option<i64>)> + '_ {
        self.at.victim_tasks.named().map(|(name, policy)| (name, policy.interval_ms()))
    }

    /// Who is to leave its node: what the plugins of a tier name, taken together; the first tier that names
    /// any candidate decides. Of plugins that are asked at intervals only those are asked that are `due`. Of
    /// whom they name only they go whom every guard, of whatever tier, lets go. What guards refuse is
    /// refused: no later tier is asked in its stead.
    pub fn victim_tasks(
        &self,
        cluster: &Cluster<'_, '_>,
        now: TimeMs,
        due: &[&'static str],
        candidates: &[Entity],
    ) -> Moves {
        let mut by: HashMap<Entity, &'static str, FxBuildHasher> = HashMap::default();
        let (mut again, mut rounds) = (None, Vec::new());
        let mut left = Vec::new();
        for tier in self.at.victim_tasks.tiers() {
            for (name, policy) in tier {
                if policy.interval_ms().is_some() {
                    if !due.contains(&name) {
                        continue;
                    }
                    rounds.push(name);
                }
                let Proposal { tasks, again: then } = policy.victim_tasks(cluster, now, candidates);
                again = [again, then].into_iter().flatten().min();
                for task in tasks {
                    by.entry(task).or_insert(name);
                }
            }
            left.extend(candidates.iter().copied().filter(|task| by.contains_key(task)));
            if !left.is_empty() {
                break;
            }
        }
        for policy in self.at.victim_guard.iter() {
            if let Ballot::Only(named) = policy.victim_guard(cluster, &left) {
                left = common(left, &named);
            }
        }
        Moves { tasks: left.into_iter().map(|task| (task, by[&task])).collect(), again, rounds }
    }

    /// Puts queues with victims in the order in which they give: what plugins say of a queue when this
    /// evictor asks, else the queue served last first.
    pub fn sort_victim_queues(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        queues: &mut [Entity],
    ) {
        let wants = evictor.queue(cluster);
        let keys = self.queue_places(cluster, queues);
        let mut keyed: Vec<_> = queues
            .iter()
            .zip(keys)
            .map(|(&queue, key)| {
                let item = cluster.queue(queue);
                let said = order_keys(&self.at.victim_queue_order, |policy| {
                    policy.victim_queue_order(cluster, &item, wants)
                });
                ((said, Reverse(key)), queue)
            })
            .collect();
        keyed.sort_by(|a, b| a.0.cmp(&b.0));
        queues.iter_mut().zip(keyed).for_each(|(place, (_, queue))| *place = queue);
    }

    /// Puts victims in the order in which they are evicted.
    ///
    /// Tasks whose group is gone first. Then queue by queue: by what plugins say of a queue when this
    /// evictor asks, else the queue served last first. Within a queue the job served last first,
    /// within a job the task placed last first.
    pub fn sort_victims(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        victims: &mut [Entity],
    ) {
        let wants = evictor.queue(cluster);
        let queue_of = |job: Option<Entity>| job.map(|job| cluster.job(job).spec.queue);
        let queues = victims.iter().map(|&task| queue_of(cluster.task(task).membership.job));
        let mut queues: Vec<Entity> = queues.flatten().collect();
        queues.sort_unstable();
        queues.dedup();
        let queue_places = self.queue_places(cluster, &queues);
        victims.sort_by_cached_key(|&victim| {
            let task = cluster.task(victim);
            let last_task = Reverse(self.task_key(&task));
            let job = task.membership.job.map(|job| cluster.job(job));
            let place = job.filter(|job| job.identity.present).map(|job| {
                let queue = cluster.queue(job.spec.queue);
                let keys = order_keys(&self.at.victim_queue_order, |policy| {
                    policy.victim_queue_order(cluster, &queue, wants)
                });
                let at = queues.binary_search(&queue.entity);
                let last_queue = at.ok().map(|at| Reverse(queue_places[at].clone()));
                (keys, last_queue, Reverse(self.job_key(cluster, &job)))
            });
            // None sorts before any place: such a task has no group left to lose.
            (place, last_task)
        });
    }

    /// Order of a sub-group among those of its job.
    pub fn subgroup_keys(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: super::super::Unit<'_>,
        members: &[Entity],
    ) -> [i64; OrderKey::KEYS] {
        order_keys(&self.at.subgroup_order, |policy| policy.subgroup_order(cluster, unit, members))
    }
}

/// The first tier that is left with somebody decides alone.
///
/// Within a tier each answer narrows what the ones before it left. An answer of nobody ends the
/// tier. Answers that have no pod in common cancel out: the next plugin of the tier starts over.
/// So a tier that finds nobody has not forbidden anything; it hands the question on. Volcano's
/// shipped configurations are written for this.
fn walk<P: ?Sized>(asked: &PluginsAsked<P>, ask: impl Fn(&P) -> Ballot) -> Vec<Entity> {
    for tier in asked.tiers() {
        let mut victims: Option<Vec<Entity>> = None;
        for (_, plugin) in tier {
            let Ballot::Only(named) = ask(plugin) else { continue };
            if named.is_empty() {
                victims = None;
                break;
            }
            victims = match victims {
                None => Some(named),
                Some(victims) => Some(common(victims, &named)).filter(|left| !left.is_empty()),
            };
        }
        if let Some(victims) = victims {
            return victims;
        }
    }
    Vec::new()
}

/// Which plugin spares whom, and who is left.
type SparedByPlugin = (Vec<(&'static str, Vec<Entity>)>, Vec<Entity>);

/// Asks one plugin after the other about those the ones before it let go.
fn spared<P: ?Sized>(
    asked: &PluginsAsked<P>,
    candidates: &[Entity],
    ask: impl Fn(&P, &[Entity]) -> Ballot,
) -> SparedByPlugin {
    let mut left = candidates.to_vec();
    let mut found = Vec::new();
    for (name, plugin) in asked.named() {
        let Ballot::Only(named) = ask(plugin, &left) else { continue };
        let named: HashSet<Entity, FxBuildHasher> = named.into_iter().collect();
        let (go, stay): (Vec<Entity>, Vec<Entity>) =
            left.into_iter().partition(|task| named.contains(task));
        if !stay.is_empty() {
            found.push((name, stay));
        }
        left = go;
    }
    (found, left)
}

/// Those of the first that are among the second, in the order of the first.
fn common(mut first: Vec<Entity>, second: &[Entity]) -> Vec<Entity> {
    let second: HashSet<Entity, FxBuildHasher> = second.iter().copied().collect();
    first.retain(|task| second.contains(task));
    first
}

#[cfg(test)]
mod tests;
