//! The rules about other pods that concern one class of tasks, compiled.

use super::SelectorId;
use super::registry::SelectorRegistry;
use crate::delta::{Heed, InterPodFacts, Spread, Unmet};
use crate::world::{CountId, Symbol, Symbols};

/// Every rule that concerns a class, filters first, in the order obstacles are reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterPodRules {
    /// State of [`SelectorRegistry`] they were compiled from.
    pub version: u32,
    /// The rules.
    pub rules: Vec<Rule>,
    /// Tasks of the class fulfil their own required affinity: the first of them may go anywhere.
    pub own_companion: bool,
}

/// Reads the pods of a count that share a node's value of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Pods counted.
    pub count_id: CountId,
    /// Label whose values are distinguished; `None` is the node itself.
    pub axis: Option<Symbol>,
    /// What the count means.
    pub kind: RuleKind,
}

/// What a count means to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// Somebody has the port.
    Port,
    /// Somebody must be there.
    Attract,
    /// Nobody may be there.
    Avoid,
    /// Somebody there does not want the task.
    Avoided,
    /// There may not be many more than elsewhere.
    Spread(SpreadRule),
    /// Points each one there is worth, before scaling.
    Pull(i64),
    /// There should not be many more than elsewhere.
    Even(SpreadRule),
}

/// A spread constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpreadRule {
    /// `maxSkew`.
    pub max_skew: i64,
    /// `minDomains`, 1 where absent.
    pub min_domains: usize,
    /// 1 if the task itself is counted.
    pub own: i64,
    /// Leave out nodes that the node selector or affinity excludes?
    pub affinity: Heed,
    /// Leave out nodes with taints not tolerated?
    pub taints: Heed,
    /// What of nodes that do not have the label?
    pub unlabelled: Unlabelled,
}

/// What a spread makes of nodes that do not have its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlabelled {
    /// No rule of the pod's own counts pods there, and the node is as bad as the worst.
    Shunned,
    /// The rule has nothing to say of the node; others may.
    Untouched,
}

/// Which rules bar nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterPodFilters {
    /// Host ports.
    pub ports: bool,
    /// Required affinity and anti-affinity, the task's own and others'.
    pub affinity: bool,
    /// Spread with `DoNotSchedule`.
    pub spread: bool,
}

/// Weights of the scores of rules about other pods; 0 is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterPodScores {
    /// Preferred affinity and anti-affinity, the task's own and others'.
    pub affinity: i64,
    /// Spread with `ScheduleAnyway`, and from pods a task belongs together with.
    pub spread: i64,
}

impl RuleKind {
    /// Does the rule count where these filters and scores are in force?
    pub(crate) fn is_in_force(self, filters: InterPodFilters, scores: InterPodScores) -> bool {
        match self {
            Self::Port => filters.ports,
            Self::Attract | Self::Avoid | Self::Avoided => filters.affinity,
            Self::Spread(_) => filters.spread,
            Self::Pull(_) => scores.affinity != 0,
            Self::Even(_) => scores.spread != 0,
        }
    }
}

/// Label of the zones pods are spread over by default, and how uneven they may be: as Kubernetes has
/// it where nobody configures its scheduler.
const ZONE: &str = "topology.kubernetes.io/zone";
const ZONE_SKEW: i64 = 5;
/// The same for hosts. A host is a node, whatever its label says.
const HOST_SKEW: i64 = 3;

impl InterPodRules {
    /// The rules of tasks with these facts that belong together with the pods of a selector and match
    /// these selectors (sorted).
    pub(crate) fn compile(
        interpod: &mut SelectorRegistry,
        facts: &InterPodFacts,
        default_spread: Option<SelectorId>,
        matched: &[SelectorId],
        symbols: &mut Symbols,
    ) -> Self {
        let mut compiler = Compiler { interpod, matched, symbols, rules: Vec::new() };
        let own_companion = compiler.own_filters(facts);
        compiler.others(|weight| weight.is_none());
        compiler.spreads(facts, Unmet::Wait);
        compiler.own_wishes(facts);
        compiler.others(|weight| weight.is_some());
        compiler.spreads(facts, Unmet::GoAnyway);
        compiler.away_from(default_spread);
        let rules = compiler.rules;
        Self { version: interpod.version(), rules, own_companion }
    }
}

struct Compiler<'a> {
    interpod: &'a mut SelectorRegistry,
    matched: &'a [SelectorId],
    symbols: &'a mut Symbols,
    rules: Vec<Rule>,
}

impl Compiler<'_> {
    fn add(&mut self, count_id: CountId, axis: Option<&crate::ids::Name>, kind: RuleKind) {
        let axis = axis.map(|key| self.symbols.intern(key));
        self.rules.push(Rule { count_id, axis, kind });
    }

    /// Ports, affinity and anti-affinity of the task; says whether it is a companion of its own.
    fn own_filters(&mut self, facts: &InterPodFacts) -> bool {
        for port in &facts.ports {
            for count_id in self.interpod.conflicting(port) {
                self.add(count_id, None, RuleKind::Port);
            }
        }
        let mut own_companion = false;
        if let Some(companions) = facts.companions() {
            let selector = self.interpod.selector(&companions);
            own_companion = self.matched.binary_search(&selector).is_ok();
            let count_id = self.interpod.matches(selector);
            for term in &facts.affinity {
                self.add(count_id, Some(&term.topology_key), RuleKind::Attract);
            }
        }
        for term in &facts.anti_affinity {
            let selector = self.interpod.selector(&term.pods);
            let count_id = self.interpod.matches(selector);
            self.add(count_id, Some(&term.topology_key), RuleKind::Avoid);
        }
        own_companion
    }

    fn own_wishes(&mut self, facts: &InterPodFacts) {
        for (weight, term) in &facts.preferred {
            let selector = self.interpod.selector(&term.pods);
            let count_id = self.interpod.matches(selector);
            self.add(count_id, Some(&term.topology_key), RuleKind::Pull(i64::from(*weight)));
        }
    }

    /// Rules of other pods that are about tasks like this one.
    fn others(&mut self, which: impl Fn(Option<i32>) -> bool) {
        for &selector in self.matched {
            for (key, weight, count_id) in self.interpod.rules_about(selector) {
                if which(weight) {
                    let kind = weight.map_or(RuleKind::Avoided, |w| RuleKind::Pull(i64::from(w)));
                    self.add(count_id, Some(&key), kind);
                }
            }
        }
    }

    fn spreads(&mut self, facts: &InterPodFacts, unmet: Unmet) {
        for spread in facts.spread.iter().filter(|spread| spread.unmet == unmet) {
            let selector = self.interpod.selector(&spread.pods);
            let own = self.matched.binary_search(&selector).is_ok();
            let rule = spread_rule(spread, own);
            let kind = match unmet {
                Unmet::Wait => RuleKind::Spread(rule),
                Unmet::GoAnyway => RuleKind::Even(rule),
            };
            let count_id = self.interpod.matches(selector);
            self.add(count_id, Some(&spread.topology_key), kind);
        }
    }

    /// The spread of tasks that say nothing of it: over hosts and over zones.
    fn away_from(&mut self, default_spread: Option<SelectorId>) {
        let Some(selector) = default_spread else { return };
        let count_id = self.interpod.matches(selector);
        let zone = crate::ids::Name::from(ZONE);
        for (axis, max_skew) in [(None, HOST_SKEW), (Some(&zone), ZONE_SKEW)] {
            let rule = SpreadRule {
                max_skew,
                min_domains: 1,
                own: i64::from(self.matched.binary_search(&selector).is_ok()),
                affinity: Heed::Honor,
                taints: Heed::Ignore,
                unlabelled: Unlabelled::Untouched,
            };
            self.add(count_id, axis, RuleKind::Even(rule));
        }
    }
}

fn spread_rule(spread: &Spread, own: bool) -> SpreadRule {
    SpreadRule {
        max_skew: i64::from(spread.max_skew),
        min_domains: spread.min_domains.unwrap_or(1) as usize,
        own: i64::from(own),
        affinity: spread.node_affinity,
        taints: spread.node_taints,
        unlabelled: Unlabelled::Shunned,
    }
}
