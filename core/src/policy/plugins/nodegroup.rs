//! `nodegroup`: queues use the groups of nodes they are given.
//!
//! Promise: a node belongs to the group its label `volcano.sh/nodegroup-name` names. Tasks of a queue go
//! only to groups among its required and preferred ones (`spec.affinity.nodeGroupAffinity`), where it
//! names any; never to one it must avoid (`nodeGroupAntiAffinity`, required); and to no group of which
//! the queue already holds what its annotation `volcano.sh/nodegroup-resource-limits` allows. A queue
//! that names no group may use no node that belongs to one. Nodes of no group are for queues that want
//! no particular group, and only where `strict` is off.
//!
//! A required group scores 100 points, a preferred one 50, one the queue would rather avoid -1. With
//! `enablePreferredOrder` the first preferred group scores 50 and each later one less.
//!
//! With the flag `enableHierarchy: true` a queue that says nothing of groups takes what its nearest
//! parent says. Limits are not inherited and do not add up over children.

use crate::config::ArgumentKind::Bool;
use crate::config::{Gate, arg};
use crate::kernel::ratio::SCORE_SCALE;
use crate::policy::{
    Build, FilterPlugin, Pairing, Plugin, PluginSpec, ScorePlugin, ScoreScale, Setup, Weight,
    Words, plugin,
};
use crate::world::{Caps, Exclusion, GroupRule, Inheritance, Obstacle, Symbol};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    extra_gates: &[Gate::Hierarchy],
    arguments: &[
        arg("strict", Bool, "true", "keeps pods off nodes that belong to no group"),
        arg("enablePreferredOrder", Bool, "false", "earlier preferred groups score higher"),
    ],
    words: Words {
        filter: Some("the queue's node groups allow"),
        scores: &[("preferred node groups", Weight::Fixed(1))],
        ..Words::NONE
    },
    ..PluginSpec::of::<NodeGroup>(
        "nodegroup",
        "pods of a queue run on the node groups the queue allows or prefers",
    )
};

/// The plugin with its arguments.
pub(in crate::policy) struct NodeGroup {
    /// Are nodes of no group closed to everybody?
    strict: bool,
    /// Are earlier preferred groups better?
    ordered: bool,
    /// Where queues that say nothing of groups take it from.
    inheritance: Inheritance,
}

/// Score of a required group, in points.
const REQUIRED: i64 = 100;
/// Score of a preferred group.
const PREFERRED: i64 = 50;
/// Score of a group to be avoided if possible.
const DISLIKED: i64 = -1;

impl NodeGroup {
    /// May tasks under the rule use a node of that group?
    fn admits(&self, rule: &GroupRule, group: Option<Symbol>) -> bool {
        match group {
            None => !self.strict && !rule.is_choosy(),
            Some(_) if rule.is_silent() => false,
            Some(group) => {
                let wanted = rule.required.contains(&group) || rule.preferred.contains(&group);
                (wanted || !rule.is_choosy() || rule.disliked.contains(&group))
                    && !rule.barred.contains(&group)
            }
        }
    }

    /// Points in units of the score scale.
    fn points(&self, rule: &GroupRule, group: Symbol) -> i64 {
        if rule.disliked.contains(&group) {
            return DISLIKED * SCORE_SCALE;
        }
        let required = if rule.required.contains(&group) { REQUIRED * SCORE_SCALE } else { 0 };
        let place = rule.preferred.iter().position(|&preferred| preferred == group);
        let preferred = place.map_or(0, |place| {
            let groups = rule.preferred.len() as i64;
            let left = if self.ordered { groups - place as i64 } else { groups };
            PREFERRED * SCORE_SCALE * left / groups
        });
        required + preferred
    }
}

plugin!(NodeGroup);

impl Plugin for NodeGroup {
    fn node_groups(&self) -> Option<Inheritance> {
        Some(self.inheritance)
    }
}

impl Build for NodeGroup {
    fn build(setup: &mut Setup<'_>) -> Self {
        let inherits = setup.gates.is_open(Gate::Hierarchy);
        Self {
            strict: setup.arguments.bool("strict"),
            ordered: setup.arguments.bool("enablePreferredOrder"),
            inheritance: if inherits { Inheritance::FromParents } else { Inheritance::None },
        }
    }
}

impl FilterPlugin for NodeGroup {
    fn filter(&self, pairing: &Pairing<'_>, exclusions: &mut [Exclusion]) {
        let (class, groups) = (pairing.class, pairing.cluster_facts.groups);
        let Some(rule) = class.group_rule.map(|id| groups.rule(id)) else { return };
        let capped = rule.caps != Caps::None;
        for (exclusion, node) in exclusions.iter_mut().zip(pairing.nodes.rules) {
            let group = node.label(Symbol::NODE_GROUP);
            if !self.admits(rule, group) {
                exclusion.raise(Obstacle::NodeGroup);
            } else if capped
                && group.is_some_and(|group| !groups.has_room(rule, group, &class.request))
            {
                exclusion.raise(Obstacle::NodeGroupLimit);
            }
        }
    }
}

impl ScorePlugin for NodeGroup {
    fn score(&self, pairing: &Pairing<'_>, _scale: ScoreScale, scores: &mut [i64]) {
        let groups = pairing.cluster_facts.groups;
        let Some(rule) = pairing.class.group_rule.map(|id| groups.rule(id)) else { return };
        for (score, node) in scores.iter_mut().zip(pairing.nodes.rules) {
            if let Some(group) = node.label(Symbol::NODE_GROUP) {
                *score += self.points(rule, group);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Symbol = Symbol(10);
    const B: Symbol = Symbol(11);
    const C: Symbol = Symbol(12);

    fn plugin(strict: bool) -> NodeGroup {
        NodeGroup { strict, ordered: false, inheritance: Inheritance::None }
    }

    fn rule(
        required: &[Symbol],
        preferred: &[Symbol],
        barred: &[Symbol],
        disliked: &[Symbol],
    ) -> GroupRule {
        GroupRule {
            required: required.to_vec(),
            preferred: preferred.to_vec(),
            barred: barred.to_vec(),
            disliked: disliked.to_vec(),
            caps: Caps::None,
        }
    }

    #[test]
    fn groups_are_open_to_queues_that_name_them() {
        // Groups A, B, C, and no group with strict on and off.
        let table = [
            (rule(&[A], &[], &[], &[]), [true, false, false, false, false]),
            (rule(&[], &[A, B], &[], &[]), [true, true, false, false, false]),
            (rule(&[A], &[B], &[B], &[]), [true, false, false, false, false]),
            (rule(&[], &[], &[A], &[]), [false, true, true, false, true]),
            (rule(&[], &[], &[], &[A]), [true, true, true, false, true]),
            (rule(&[B], &[], &[], &[A]), [true, true, false, false, false]),
            (rule(&[], &[], &[], &[]), [false, false, false, false, true]),
        ];
        for (rule, want) in table {
            let got = [
                plugin(true).admits(&rule, Some(A)),
                plugin(true).admits(&rule, Some(B)),
                plugin(true).admits(&rule, Some(C)),
                plugin(true).admits(&rule, None),
                plugin(false).admits(&rule, None),
            ];
            assert_eq!(got, want, "{rule:?}");
        }
    }

    #[test]
    fn points_tell_required_from_preferred_from_disliked() {
        let rule = rule(&[A], &[B, C], &[], &[]);
        let points = |ordered, group| {
            NodeGroup { ordered, ..plugin(true) }.points(&rule, group) / SCORE_SCALE
        };
        assert_eq!([A, B, C].map(|group| points(false, group)), [100, 50, 50]);
        assert_eq!([A, B, C].map(|group| points(true, group)), [100, 50, 25]);
        let disliked = GroupRule { disliked: vec![B], ..rule.clone() };
        assert_eq!(plugin(true).points(&disliked, B), -SCORE_SCALE);
    }
}
