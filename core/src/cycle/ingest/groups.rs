//! Third pass, groups of nodes: what queues say of them, compiled, and what queues hold of them.
//!
//! Runs when nodes, queues or the queues of jobs changed, and only where a plugin reads groups.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::World;

use super::intake::Intake;
use crate::delta::{GroupLimits, NodeGroupFacts};
use crate::ids::Name;
use crate::inspect::group_uses;
use crate::world::{Caps, GroupRule, GroupRuleId, Inheritance, NodeGroups, Symbol};

pub(super) fn settle(world: &mut World) {
    if world.resource::<NodeGroups>().inheritance.is_none() {
        return;
    }
    let run = world.run_system_cached(settle_groups);
    debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
}

/// Another configuration: groups are read otherwise, or no longer.
pub(crate) fn switch(world: &mut World, inheritance: Option<Inheritance>) {
    let mut groups = world.resource_mut::<NodeGroups>();
    if groups.inheritance == inheritance {
        return;
    }
    groups.inheritance = inheritance;
    let run = world.run_system_cached(settle_groups);
    debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
}

fn settle_groups(mut intake: Intake<'_, '_>) {
    let queues = intake.cluster.queues.iter().map(|queue| queue.entity);
    let queues = queues.filter(|_| intake.cluster.groups.inheritance.is_some());
    let queues: Vec<Entity> = queues.collect();
    let of_queue = queues.into_iter().map(|queue| (queue, intake.group_rule(queue))).collect();
    intake.cluster.groups.of_queue = of_queue;
    intake.sort_into_classes();
    let uses = group_uses(&intake.cluster);
    intake.cluster.groups.replace_uses(uses);
}

impl Intake<'_, '_> {
    /// The rule of a queue, compiled.
    fn group_rule(&mut self, queue: Entity) -> GroupRuleId {
        let affinity = self.affinity_in_force(queue);
        let limits = self.cluster.queue(queue).spec.node_groups.limits.clone();
        let mut symbols = |names: &[Name]| -> Vec<Symbol> {
            names.iter().map(|name| self.symbols.intern(name)).collect()
        };
        let mut rule = GroupRule {
            required: symbols(&affinity.required),
            preferred: symbols(&affinity.preferred),
            barred: symbols(&affinity.anti_required),
            disliked: symbols(&affinity.anti_preferred),
            caps: Caps::None,
        };
        rule.caps = match limits {
            GroupLimits::Unreadable => Caps::Unreadable,
            GroupLimits::Given(groups) if groups.is_empty() => Caps::None,
            GroupLimits::Given(groups) => {
                let groups = groups.iter().map(|(group, amounts)| {
                    (self.symbols.intern(group), self.names.0.limits(amounts))
                });
                Caps::Of { queue, groups: groups.collect() }
            }
        };
        self.cluster.groups.intern(rule)
    }

    /// The queue's own words, or those of its nearest parent that has any.
    fn affinity_in_force(&self, queue: Entity) -> NodeGroupFacts {
        let inherits = self.cluster.groups.inheritance == Some(Inheritance::FromParents);
        let mut next = Some(queue);
        while let Some(at) = next {
            let spec = self.cluster.queue(at).spec;
            let said = &spec.node_groups;
            let lists =
                [&said.required, &said.preferred, &said.anti_required, &said.anti_preferred];
            if !inherits || lists.iter().any(|list| !list.is_empty()) {
                return said.clone();
            }
            next = spec.parent;
        }
        NodeGroupFacts::default()
    }

    /// Tasks whose queue now says something else are of another class.
    fn sort_into_classes(&mut self) {
        let tasks: Vec<Entity> = self.cluster.tasks.iter().map(|task| task.entity).collect();
        for task in tasks {
            let membership = *self.cluster.task(task).membership;
            let queue = membership.job.map(|job| self.cluster.job(job).spec.queue);
            let rule = queue.and_then(|queue| self.cluster.groups.of(queue));
            let (interpod, symbols) = (&mut *self.interpod, &mut *self.symbols);
            let class = self.classes.with_group_rule(membership.class, rule, interpod, symbols);
            if let Ok(mut item) = self.cluster.tasks.get_mut(task) {
                item.membership.class = class;
            }
        }
    }
}
