//! Second and third pass, sets of pods: Services and controllers taken in, and pods that wait moved
//! to another class when they belong together with others than before.
//!
//! Only a pod that waits is spread from pods of its kind: where a pod on a node should be is nobody's question
//! any more, and its class is not told from others for it. It is counted all the same.

use std::collections::{BTreeMap, BTreeSet};

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{In, World};

use super::Dirty;
use super::intake::Intake;
use super::selectors::{self, MatchScope};
use crate::delta::{
    Ownership, PodFacts, PodOwner, PodPhase, PodSetFacts, PodSetKind, PodSetRef, Requirement,
};
use crate::ids::Name;
use crate::interpod::SelectorId;
use crate::world::{LabelIndex, TaskReadOnlyItem, has_labels};

/// What changed about the sets of a namespace.
#[derive(Debug, Default)]
pub(crate) struct SetChanges {
    /// What Services select by now, and what those that changed or went selected by before.
    services: Vec<Box<[Requirement]>>,
    /// Controllers that came, changed or went.
    owners: BTreeSet<PodOwner>,
}

impl SetChanges {
    fn note(&mut self, set: &PodSetRef, selectors: impl IntoIterator<Item = Box<[Requirement]>>) {
        if set.kind == PodSetKind::Service {
            let saying = selectors.into_iter().filter(|selector| !selector.is_empty());
            self.services.extend(saying);
        } else {
            self.owners.insert(PodOwner { kind: set.kind, name: set.key.name.clone() });
        }
    }
}

impl Intake<'_, '_> {
    pub(super) fn pod_set(&mut self, facts: PodSetFacts) {
        let (set, now) = (facts.set.clone(), facts.selector.clone().into());
        if let Some(before) = self.pod_sets.set(facts) {
            let changes = self.dirty.sets.entry(set.key.namespace.clone()).or_default();
            changes.note(&set, [before, now]);
        }
    }

    pub(super) fn pod_set_gone(&mut self, set: &PodSetRef) {
        if let Some(before) = self.pod_sets.remove(set) {
            let changes = self.dirty.sets.entry(set.key.namespace.clone()).or_default();
            changes.note(set, [before]);
        }
    }

    /// The pods a pod is spread from if it says nothing of its spread itself.
    pub(super) fn default_spread_of(&mut self, facts: &PodFacts) -> Option<SelectorId> {
        let owner = owner_that_counts(facts);
        let asks = waits(facts) && facts.constraints.interpod.spread.is_empty();
        asks.then(|| self.default_spread(&facts.key.namespace, &facts.labels, owner)).flatten()
    }

    fn default_spread(
        &mut self,
        namespace: &Name,
        labels: &[(Name, Name)],
        owner: Option<&PodOwner>,
    ) -> Option<SelectorId> {
        let default_spread = self.pod_sets.default_spread(namespace, labels, owner)?;
        let is_scored = self.policies.interpod().1.spread != 0;
        is_scored.then(|| self.interpod.selector(&default_spread))
    }

    /// Finds out anew who a task is spread from, and moves it to the class that fits.
    fn rejoin(&mut self, task: Entity) {
        let item = self.cluster.task(task);
        let class = item.membership.class;
        if !is_waiting(&item) || self.classes.get(class).has_own_spread() {
            return;
        }
        let (namespace, labels) = (item.identity.key.namespace.clone(), item.labels.clone());
        let owner = item.cold.owner.clone();
        let default_spread = self.default_spread(&namespace, &labels.0, owner.as_ref());
        if default_spread == self.classes.get(class).default_spread() {
            return;
        }
        let matched = self.interpod.matching(&namespace, &labels.0);
        let (interpod, symbols) = (&mut *self.interpod, &mut *self.symbols);
        let class =
            self.classes.with_default_spread(class, default_spread, matched, interpod, symbols);
        self.move_to_class(task, class);
    }
}

/// Does the pod wait for a place that it is for us to find?
fn waits(facts: &PodFacts) -> bool {
    facts.ownership == Ownership::Ours
        && facts.phase == PodPhase::Pending
        && facts.node.is_none()
        && !facts.deleting
}

/// The same of a task.
fn is_waiting(task: &TaskReadOnlyItem<'_, '_>) -> bool {
    let seen = task.observed;
    task.traits.ownership == Ownership::Ours
        && seen.phase == PodPhase::Pending
        && seen.node.is_none()
        && !seen.deleting
}

/// The owner of a pod, as long as it matters.
pub(super) fn owner_that_counts(facts: &PodFacts) -> Option<&PodOwner> {
    facts.owner.as_ref().filter(|_| waits(facts))
}

/// Looks again at every pod that waits and that a set that changed has something to say about.
pub(super) fn look_again(world: &mut World, dirty: &mut Dirty) {
    if dirty.sets.is_empty() {
        return;
    }
    let run = world.run_system_cached_with(rejoin_some, std::mem::take(&mut dirty.sets));
    debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
}

fn rejoin_some(In(sets): In<BTreeMap<Name, SetChanges>>, mut intake: Intake<'_, '_>) {
    for (namespace, SetChanges { services, owners }) in sets {
        let mut index = LabelIndex::default();
        for (at, selector) in services.iter().enumerate() {
            index.insert(selector.iter(), &at);
        }
        let is_concerned = |task: &TaskReadOnlyItem<'_, '_>| {
            let labels = &task.labels.0;
            let selected = |&at: &usize| has_labels(&services[at], labels);
            is_waiting(task)
                && (task.cold.owner.as_ref().is_some_and(|owner| owners.contains(owner))
                    || index.candidates(labels).any(selected))
        };
        let inside = intake.directory.tasks.inside(&namespace);
        let mut tasks: Vec<Entity> =
            inside.filter(|&task| is_concerned(&intake.cluster.task(task))).collect();
        // One order for the same history, whatever a table of names has.
        tasks.sort_unstable();
        for task in tasks {
            intake.rejoin(task);
        }
    }
}

/// Another configuration: spread counts now, or no longer.
pub(crate) fn switch(world: &mut World) {
    let run = world.run_system_cached(rejoin_all);
    debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
    selectors::settle(world, MatchScope::Fresh);
}

fn rejoin_all(mut intake: Intake<'_, '_>) {
    let tasks: Vec<Entity> = intake.cluster.tasks.iter().map(|task| task.entity).collect();
    for task in tasks {
        intake.rejoin(task);
    }
    intake.forget_unused();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ArgumentValue, Arguments};
    use crate::delta::Operator;
    use crate::ids::ObjectKey;
    use crate::policy::SchedulerConfig;
    use crate::policy::testing::{Bed, config, plugin};
    use crate::world::Membership;

    fn service(name: &str) -> PodSetFacts {
        let set = PodSetRef { kind: PodSetKind::Service, key: ObjectKey::new("default", name) };
        let (key, values) = ("job".into(), vec![name.into()]);
        PodSetFacts { set, selector: vec![Requirement { key, operator: Operator::In, values }] }
    }

    /// A configuration in which spread has that weight.
    fn spread(weight: i64) -> SchedulerConfig {
        let weight = ("podtopologyspread.weight".to_owned(), ArgumentValue::Int(weight));
        config(vec![plugin("nodeorder", Arguments(vec![weight]))], &[])
    }

    /// Three gangs of four equal pods with a Service each, on that node if one is given.
    fn gangs(config: &SchedulerConfig, node: Option<&str>) -> Bed {
        let mut bed = Bed::with(config);
        for gang in ["a", "b", "c"] {
            bed.pod_set(service(gang)).group(gang, 4, |_| {});
            for index in 0..4 {
                bed.pod(gang, index, node, |pod| {
                    pod.labels = vec![("job".into(), gang.into())];
                });
            }
        }
        bed.run();
        bed
    }

    /// How many classes the tasks have.
    fn classes(bed: Bed) -> usize {
        let mut world = bed.into_world();
        let mut tasks = world.query::<&Membership>();
        let classes: BTreeSet<_> = tasks.iter(&world).map(|member| member.class).collect();
        classes.len()
    }

    #[test]
    fn a_gang_with_a_service_is_one_class_while_it_waits() {
        assert_eq!(classes(gangs(&spread(2), None)), 3);
        assert_eq!(classes(gangs(&spread(2), Some("n0"))), 1);
    }

    #[test]
    fn services_cost_nothing_where_spread_does_not_count() {
        assert_eq!(classes(gangs(&spread(0), None)), 1);
        assert_eq!(classes(gangs(&config(Vec::new(), &[]), None)), 1);
    }

    #[test]
    fn another_configuration_sorts_pods_that_wait_anew() {
        let kept = |from, to| {
            let mut bed = gangs(&spread(from), None);
            assert_eq!(bed.run().reconfigure(&spread(to)), Ok(()));
            bed.run();
            classes(bed)
        };
        assert_eq!([kept(0, 2), kept(1, 2), kept(2, 0)], [3, 3, 1]);
    }
}
