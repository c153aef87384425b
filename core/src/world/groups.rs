//! Groups of nodes and what queues may take of them.
//!
//! A node belongs to the group its label `volcano.sh/nodegroup-name` names. What a queue says of groups
//! is compiled into a rule; tasks of queues with different rules are of different classes, so that a
//! rule is asked once a class. Kept only where the plugin `nodegroup` is configured.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::Resource;

use super::symbol::Symbol;
use crate::resource::{Limits, ResourceVec};

/// Number of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupRuleId(pub u32);

/// Where queues without affinity of their own take it from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inheritance {
    /// Nowhere.
    None,
    /// From the nearest parent that has one.
    FromParents,
}

/// What a queue says of groups of nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupRule {
    /// Groups its tasks must use.
    pub required: Vec<Symbol>,
    /// Groups its tasks would like to use, most wanted first.
    pub preferred: Vec<Symbol>,
    /// Groups its tasks must not use.
    pub barred: Vec<Symbol>,
    /// Groups its tasks would rather not use.
    pub disliked: Vec<Symbol>,
    /// How much of a group its tasks may hold together.
    pub caps: Caps,
}

/// How much a queue may take of groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Caps {
    /// As much as there is.
    #[default]
    None,
    /// Of these groups no more than that.
    Of {
        /// The queue whose tasks count.
        queue: Entity,
        /// The groups.
        groups: Vec<(Symbol, Limits)>,
    },
    /// It cannot be read how much, so nothing.
    Unreadable,
}

impl GroupRule {
    /// Does the queue name no group at all?
    pub fn is_silent(&self) -> bool {
        !self.is_choosy() && self.barred.is_empty() && self.disliked.is_empty()
    }

    /// Does the queue say which groups it wants?
    pub fn is_choosy(&self) -> bool {
        !self.required.is_empty() || !self.preferred.is_empty()
    }
}

/// The rules of all queues and what they use.
#[derive(Debug, Default, Resource)]
pub struct NodeGroups {
    /// How affinity is inherited; `None` where no plugin reads groups.
    pub(crate) inheritance: Option<Inheritance>,
    rules: Vec<GroupRule>,
    pub(crate) of_queue: BTreeMap<Entity, GroupRuleId>,
    used: BTreeMap<(Entity, Symbol), ResourceVec>,
}

impl NodeGroups {
    /// Nothing known yet; without inheritance no plugin reads groups and nothing is to be kept.
    pub(crate) fn new(inheritance: Option<Inheritance>) -> Self {
        Self { inheritance, ..Self::default() }
    }

    /// The number of a rule, a new one if it was never met.
    pub(crate) fn intern(&mut self, rule: GroupRule) -> GroupRuleId {
        let at = self.rules.iter().position(|known| *known == rule).unwrap_or_else(|| {
            self.rules.push(rule);
            self.rules.len() - 1
        });
        GroupRuleId(at as u32)
    }

    /// The rule of a number.
    pub fn rule(&self, id: GroupRuleId) -> &GroupRule {
        &self.rules[id.0 as usize]
    }

    /// The rule of a queue; `None` where no plugin reads groups.
    pub fn of(&self, queue: Entity) -> Option<GroupRuleId> {
        self.of_queue.get(&queue).copied()
    }

    /// What the queue's tasks hold of a group and what is held for them there.
    pub fn used(&self, queue: Entity, group: Symbol) -> Option<&ResourceVec> {
        self.used.get(&(queue, group))
    }

    /// Has the queue of the rule room left for the request in that group, as far as it is capped?
    pub fn has_room(&self, rule: &GroupRule, group: Symbol, request: &ResourceVec) -> bool {
        let (queue, groups) = match &rule.caps {
            Caps::None => return true,
            Caps::Unreadable => return false,
            Caps::Of { queue, groups } => (*queue, groups),
        };
        let Some((_, cap)) = groups.iter().find(|entry| entry.0 == group) else { return true };
        let used = self.used(queue, group);
        cap.iter().all(|(dim, most)| {
            let asked = request.get(dim);
            asked <= 0 || used.map_or(0, |used| used.get(dim)) + asked <= most
        })
    }

    /// Notes for each capped group whether there is room left for the request; true if that is news.
    pub(crate) fn refresh_room(
        &self,
        rule: Option<GroupRuleId>,
        request: &ResourceVec,
        room: &mut Vec<bool>,
    ) -> bool {
        let Some(rule) = rule.map(|id| self.rule(id)) else { return false };
        let Caps::Of { groups, .. } = &rule.caps else { return false };
        let mut news = room.len() != groups.len();
        room.resize(groups.len(), true);
        for (room, (group, _)) in room.iter_mut().zip(groups) {
            let now = self.has_room(rule, *group, request);
            news |= *room != now;
            *room = now;
        }
        news
    }

    /// Everything held of groups, to be written by the ledger.
    pub(super) fn used_mut(&mut self, queue: Entity, group: Symbol) -> &mut ResourceVec {
        self.used.entry((queue, group)).or_default()
    }

    /// Everything held of groups, in no order that matters, without groups nothing is held of.
    pub(crate) fn uses(&self) -> BTreeMap<(Entity, Symbol), ResourceVec> {
        let nothing = ResourceVec::default();
        let uses = self.used.iter().filter(|entry| *entry.1 != nothing);
        uses.map(|(key, used)| (*key, used.clone())).collect()
    }

    /// Replaces everything held of groups.
    pub(crate) fn replace_uses(&mut self, uses: BTreeMap<(Entity, Symbol), ResourceVec>) {
        self.used = uses;
    }
}
