//! Rules about other pods: what is counted on nodes, and what a class of tasks makes of the counts.
//!
//! Inter-pod affinity and anti-affinity, topology spread and host ports. What is counted is "pods that
//! match a selector", "pods that have a certain rule" or "pods that take a port"; how many of them are
//! on each node is in [`PodCounts`](crate::world::PodCounts). [`SelectorRegistry`] knows every selector
//! and rule met, [`InterPodRules`] are those that concern one class. Sums over zones, racks or whatever
//! label a rule names belong to a ranking.

mod registry;
mod rules;

pub(crate) use registry::Fresh;
pub use registry::{SelectorId, SelectorRegistry};
pub use rules::{
    InterPodFilters, InterPodRules, InterPodScores, Rule, RuleKind, SpreadRule, Unlabelled,
};
