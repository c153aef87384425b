//! Second and third pass, storage: takes objects in, looks again at pods whose claims or the objects
//! behind them changed, and makes a new list of the free volumes.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{In, World};

use super::Dirty;
use super::intake::Intake;
use crate::delta::{
    ClaimFacts, CsiDriverFacts, PodFacts, StorageCapacityFacts, StorageClassFacts, VolumeFacts,
};
use crate::ids::{Name, ObjectKey};
use crate::world::{Choice, Claimant, Cluster, Pick, Resolved, TaskStatus, TaskVolumes, holds};

impl Intake<'_, '_> {
    pub(super) fn volume(&mut self, name: &Name, facts: Option<VolumeFacts>) {
        if let Some(claims) = self.cluster.volumes.known.set_volume(name, facts) {
            self.dirty.volumes = true;
            self.dirty.claims.extend(claims);
        }
    }

    pub(super) fn claim(&mut self, key: &ObjectKey, facts: Option<ClaimFacts>) {
        if self.cluster.volumes.known.set_claim(key, facts) {
            self.dirty.volumes = true;
            self.dirty.claims.insert(key.clone());
        }
    }

    pub(super) fn storage_class(&mut self, name: &Name, facts: Option<StorageClassFacts>) {
        let claims = self.cluster.volumes.known.set_class(name, facts);
        self.dirty.claims.extend(claims);
    }

    pub(super) fn csi_driver(&mut self, name: &Name, facts: Option<CsiDriverFacts>) {
        let claims = self.cluster.volumes.known.set_driver(name, facts);
        self.dirty.claims.extend(claims);
    }

    pub(super) fn storage_capacity(
        &mut self,
        key: &ObjectKey,
        facts: Option<StorageCapacityFacts>,
    ) {
        let claims = self.cluster.volumes.known.set_capacity(key, facts);
        self.dirty.claims.extend(claims);
    }

    pub(super) fn csi_node(&mut self, name: &Name, limits: Option<Vec<(Name, u32)>>) {
        self.cluster.volumes.known.set_limits(name, limits);
        if let Some(&node) = self.directory.nodes.get(name) {
            self.write_limits(node);
        }
    }

    /// Writes what a node can attach into its column. The limits may come before the node or after.
    pub(super) fn write_limits(&mut self, node: Entity) {
        let Ok(mut item) = self.cluster.nodes.get_mut(node) else { return };
        let limits = self.cluster.volumes.known.limits(&item.identity.name);
        let symbols = &mut self.symbols;
        let limits = limits.iter().map(|(driver, limit)| (symbols.intern(driver), *limit));
        if item.set_attach_limits(limits) {
            self.cluster.log.touch(item.place.row);
        }
    }

    /// Notes which claims a pod has, and looks at them.
    pub(super) fn pod_claims(&mut self, task: Entity, facts: &PodFacts) -> Resolved {
        let before = &self.cluster.task(task).cold.volumes;
        let had_none = before.claims.is_empty() && before.inline_drivers.is_empty();
        if had_none && facts.claims.is_empty() && facts.inline_drivers.is_empty() {
            return Resolved::default();
        }
        if before.claims != facts.claims || self.cluster.task(task).identity.uid.is_empty() {
            self.drop_claims(task);
            for claim in &facts.claims {
                let key = ObjectKey::new(facts.key.namespace.clone(), claim.name.clone());
                self.cluster.volumes.known.add_user(&key, task);
                self.look_if_users(key, 2);
            }
        }
        let claimant = Claimant {
            pod: &facts.key,
            uid: &facts.uid,
            claims: &facts.claims,
            inline_drivers: &facts.inline_drivers,
        };
        let resolved = self.cluster.volumes.resolve(claimant);
        if let Ok(mut item) = self.cluster.tasks.get_mut(task) {
            item.cold.volumes.claims.clone_from(&facts.claims);
            item.cold.volumes.inline_drivers.clone_from(&facts.inline_drivers);
        }
        resolved
    }

    /// The pod has none of its claims any more.
    pub(super) fn drop_claims(&mut self, task: Entity) {
        let Ok(mut item) = self.cluster.tasks.get_mut(task) else { return };
        if item.cold.volumes.is_nothing() {
            return;
        }
        let claims = std::mem::take(&mut item.cold.volumes.claims);
        item.cold.volumes.inline_drivers.clear();
        let namespace = item.identity.key.namespace.clone();
        self.dirty.volumes |= !item.cold.volumes.picks.is_empty();
        item.cold.volumes.picks.clear();
        for claim in claims {
            let key = ObjectKey::new(namespace.clone(), claim.name);
            self.cluster.volumes.known.remove_user(&key, task);
            self.look_if_users(key, 1);
        }
    }

    /// A claim several pods have is a rule of its own, so pods are looked at again when a second pod gets
    /// it, and when only one is left.
    fn look_if_users(&mut self, claim: ObjectKey, users: usize) {
        if self.cluster.volumes.known.users(&claim).take(users + 1).count() == users {
            self.dirty.claims.insert(claim);
        }
    }

    /// Writes what was found out about a pod's claims; its contribution is out of all totals.
    pub(super) fn write_volumes(&mut self, task: Entity, resolved: Resolved) {
        let Ok(mut item) = self.cluster.tasks.get_mut(task) else { return };
        let rules = self.classes.get(item.membership.class).volumes.clone();
        // A pod that asks for a volume of a driver is not best-effort, as in Volcano.
        item.traits.best_effort &= resolved.needs.attach.is_empty();
        if resolved == Resolved::default() && item.cold.volumes.is_nothing() {
            return;
        }
        let volumes = &mut item.cold.volumes;
        self.dirty.volumes |= !volumes.picks.is_empty() || !resolved.open.is_empty();
        // A volume held for a claim it still has stays held; the others become free with the next restock.
        let pick = |claim: &Name| {
            let at = volumes.open.iter().position(|open| open == claim)?;
            volumes.picks.get(at).copied()
        };
        let picks: Vec<Pick> = resolved.open.iter().filter_map(pick).collect();
        *volumes = TaskVolumes {
            claims: std::mem::take(&mut volumes.claims),
            inline_drivers: std::mem::take(&mut volumes.inline_drivers),
            trouble: resolved.trouble,
            open: resolved.open,
            kept: resolved.kept,
            rules,
            picks,
        };
    }

    /// Looks at the claims of a pod again and moves it to the class that fits now.
    fn reclass(&mut self, task: Entity) {
        let Ok(item) = self.cluster.tasks.get(task) else { return };
        let (key, uid) = (item.identity.key.clone(), item.identity.uid.clone());
        let (claims, class) = (item.cold.volumes.claims.clone(), item.membership.class);
        let inline_drivers = item.cold.volumes.inline_drivers.clone();
        let request = item.whole_request();
        let claimant =
            Claimant { pod: &key, uid: &uid, claims: &claims, inline_drivers: &inline_drivers };
        let resolved = self.cluster.volumes.resolve(claimant);
        let needs = resolved.needs.clone();
        let (interpod, symbols) = (&mut *self.interpod, &mut *self.symbols);
        let class = self.classes.with_volumes(class, needs, interpod, symbols);
        self.cluster.detach(task);
        if let Ok(mut item) = self.cluster.tasks.get_mut(task) {
            item.membership.class = class;
            item.traits.best_effort = request.is_empty_but_pods() && item.request.devices.is_none();
        }
        self.write_volumes(task, resolved);
        self.cluster.attach(task);
    }
}

/// Looks again at every pod whose claims changed, or an object behind them.
pub(super) fn look_again(world: &mut World, dirty: &mut Dirty) {
    if dirty.claims.is_empty() {
        return;
    }
    let claims: Vec<ObjectKey> = std::mem::take(&mut dirty.claims).into_iter().collect();
    let run = world.run_system_cached_with(reclass_users, claims);
    debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
    dirty.volumes |= std::mem::take(&mut world.resource_mut::<Dirty>().volumes);
}

fn reclass_users(In(claims): In<Vec<ObjectKey>>, mut intake: Intake<'_, '_>) {
    let known = &intake.cluster.volumes.known;
    let mut tasks: Vec<Entity> = claims.iter().flat_map(|claim| known.users(claim)).collect();
    tasks.sort_unstable();
    tasks.dedup();
    for task in tasks {
        intake.reclass(task);
    }
}

/// Lists the volumes that are free, and gives those that were held to the same tasks again.
pub(super) fn restock(world: &mut World) {
    let run = world.run_system_cached(restock_all);
    debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
}

fn restock_all(mut intake: Intake<'_, '_>) {
    let holders = holders(&intake.cluster);
    let Intake { cluster, symbols, .. } = &mut intake;
    if holders.is_empty() && cluster.volumes.has_nothing_to_take_in() {
        return;
    }
    let mut volumes = std::mem::take(&mut *cluster.volumes);
    let before = volumes.restock(cluster.columns().rules, symbols);
    *cluster.volumes = volumes;
    let numbers = cluster.volumes.numbers();
    for (_, _, task) in holders {
        give_again(cluster, task, &before, &numbers);
    }
}

/// Gives a task the volumes it held before, else the best there are.
fn give_again(
    cluster: &mut Cluster<'_, '_>,
    task: Entity,
    before: &[Name],
    numbers: &BTreeMap<Name, u32>,
) {
    let Ok(mut item) = cluster.tasks.get_mut(task) else { return };
    let picks = std::mem::take(&mut item.cold.volumes.picks);
    let former = |pick: &Pick| match pick {
        Pick::Found(item) => numbers.get(&before[*item as usize]).map(|&n| Pick::Found(n)),
        other => Some(*other),
    };
    let wishes = item.cold.volumes.open.len();
    let waits = item.status().0 == TaskStatus::Pipelined;
    let kept: Option<Vec<Pick>> = picks.iter().map(former).collect();
    match kept.filter(|kept| kept.len() == wishes && cluster.volumes.are_free(kept)) {
        Some(kept) => cluster.repick(task, Choice::Former(&kept)),
        None if waits => cluster.repick(task, Choice::Best),
        // Its bind is under way with the volumes it had: it gets no others.
        None => cluster.repick(task, Choice::Former(&vec![Pick::Empty; wishes])),
    }
}

/// Tasks that hold volumes or should, those that wait for their node last.
fn holders(cluster: &Cluster<'_, '_>) -> Vec<(bool, ObjectKey, Entity)> {
    let waiting = cluster.volumes.known.waiting_users().into_iter();
    let mut holders: Vec<_> = waiting
        .filter_map(|task| cluster.tasks.get(task).ok())
        .filter(|task| task.cold.volumes.has_wishes())
        .filter(|task| holds(task.status().0) || !task.cold.volumes.picks.is_empty())
        .map(|task| {
            let waits = task.status().0 == TaskStatus::Pipelined;
            (waits, task.identity.key.clone(), task.entity)
        })
        .collect();
    holders.sort();
    holders
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::class::Classes;
    use crate::config::{PipelineConfig, Tuning, View};
    use crate::delta::{AccessModes, ClusterDelta, ObjectRef};
    use crate::ids::TimeMs;
    use crate::policy::SchedulerConfig;
    use crate::scheduler::Scheduler;
    use crate::statement::tests::{claim, claimant, storage};

    /// Number of classes after the deltas.
    fn classes(deltas: Vec<ClusterDelta>) -> usize {
        let config = SchedulerConfig {
            actions: Vec::new(),
            tiers: Vec::new(),
            tuning: Tuning::default(),
            clock: crate::policy::Clock::default(),
            pipeline: PipelineConfig::default(),
            sharding: None,
            view: View::default(),
            usage_record: None,
            dialect: crate::config::Dialect::Volcano,
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
        let mut scheduler = Scheduler::new(&config, Arc::new(pool));
        scheduler.feed(deltas);
        scheduler.run_cycle(TimeMs(0));
        let mut world = scheduler.into_world();
        assert_eq!(crate::inspect::audit(&mut world), Vec::<String>::new());
        let mut tasks = world.query::<&crate::world::Membership>();
        let mut used: Vec<_> = tasks.iter(&world).map(|member| member.class).collect();
        used.sort_unstable();
        used.dedup();
        assert!(used.iter().all(|class| (class.0 as usize) < world.resource::<Classes>().len()));
        used.len()
    }

    /// Pods with a claim of their own each, after the storage they need.
    fn pods_with_own_claims(modes: AccessModes) -> Vec<ClusterDelta> {
        let mut deltas = storage();
        for at in 0..20 {
            let name = format!("own-{at}");
            deltas.extend([claimant(&format!("p{at}"), &name), claim(&name, modes)]);
        }
        deltas
    }

    #[test]
    fn pods_that_wait_for_volumes_of_one_kind_share_a_class() {
        assert_eq!(classes(pods_with_own_claims(AccessModes::ONCE)), 1);
        assert_eq!(classes(pods_with_own_claims(AccessModes::ONCE_POD)), 1);
    }

    #[test]
    fn which_claim_it_is_matters_once_two_pods_have_it() {
        let mut deltas = pods_with_own_claims(AccessModes::ONCE_POD);
        deltas.push(claimant("second", "own-0"));
        assert_eq!(classes(deltas.clone()), 2);
        deltas.push(ClusterDelta::Gone(ObjectRef::Pod(ObjectKey::new("default", "second"))));
        assert_eq!(classes(deltas), 1);
    }

    #[test]
    fn pods_without_their_claims_share_a_class() {
        let deltas = (0..20).map(|at| claimant(&format!("p{at}"), &format!("none-{at}")));
        assert_eq!(classes(deltas.collect()), 1);
    }
}
