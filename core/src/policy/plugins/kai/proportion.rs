//! `proportion` of KAI: queues share the cluster by quota, priority and weight, level by level.
//!
//! Promise: of cpu, memory and GPUs every queue gets what it asks for up to its quota; what is left goes
//! to those that want more, those of higher priority first, in proportion to their over-quota weights, and
//! is divided again in the same way below each of them: its fair share. No queue takes more than its limit,
//! and what makes way for nobody stays within quotas, on every level up to the root. Which queue is served
//! first is in [`order`], who takes back from whom in [`reclaim`].
//!
//! A queue of Volcano's takes part with its `deserved` as quota, nothing where it names none, its
//! `capability` as limit and its `weight` for all three resources. `guarantee` has no part in these rules.
//!
//! Arguments: how strongly usage of late lowers what is shared by weight, and how far a queue above its
//! fair share must stay below the ones it takes from.

mod order;
mod limits;
mod reclaim;

use crate::config::ArgumentKind::Float;
use crate::config::{Values, arg};
use crate::policy::queues::{
    Amounts, Claims, FairTree, MILLION, Portion, QueueClaim, SharedResources, quota_terms,
};
use crate::policy::{
    ApportionPlugin, Build, EvictPurpose, KeptDivision, Plugin, PluginSpec, Setup, Words, plugin,
};
use crate::resource::ResourceVec;
use crate::world::{Cluster, JobReadOnlyItem, QueueReadOnlyItem, QueueTerms, TaskStatus};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    arguments: &[
        arg("kValue", Float, "1.0", "how strongly past use lowers what is shared by weight"),
        arg(
            "relcaimerSaturationMultiplier",
            Float,
            "1.0",
            "how many times larger the part of its fair share must be that a queue is left with when one \
             beyond its own takes from it",
        ),
        arg("reclaimerUtilizationMultiplier", Float, "", "the same, as KAI's documents call it"),
    ],
    words: Words {
        queue_order: Some(
            "within its fair share, then within its quota, then smallest part of what it may have",
        ),
        victims: Some(
            "their queue has more than its fair share, or than its quota where the other stays within its own",
        ),
        gang_victims: &[EvictPurpose::Reclaim],
        ..Words::NONE
    },
    ..PluginSpec::of::<KaiProportion>(
        "proportion",
        "queues share the cluster by quota, priority and weight",
    )
};

/// The plugin.
pub(in crate::policy) struct KaiProportion {
    resources: SharedResources,
    /// How much usage of late counts, in millionths.
    usage_weight: u64,
    /// How many times larger the part of its share must be that a giver keeps, in millionths.
    multiplier: u64,
}

impl KaiProportion {
    fn new(resources: SharedResources, arguments: Values<'_>) -> Self {
        let spelled = ["reclaimerUtilizationMultiplier", "relcaimerSaturationMultiplier"];
        let given = spelled.into_iter().find(|key| arguments.given(key).is_some());
        let multiplier = arguments.float(given.unwrap_or(spelled[1]));
        Self {
            resources,
            usage_weight: millionths(arguments.float("kValue")),
            multiplier: millionths(multiplier).max(MILLION),
        }
    }
}

plugin!(KaiProportion);

impl Plugin for KaiProportion {}

impl Build for KaiProportion {
    fn build(setup: &mut Setup<'_>) -> Self {
        Self::new(SharedResources::new(setup.names), setup.arguments)
    }
}

/// A factor in millionths; nothing where it is below zero.
fn millionths(factor: f64) -> u64 {
    (factor * 1e6).round() as u64
}

impl ApportionPlugin for KaiProportion {
    fn apportion(&self, claims: &Claims<'_>) -> Vec<Portion> {
        let tree = FairTree::new(self.resources, self.usage_weight, claims);
        let portion = |(at, claim): (usize, &QueueClaim<'_>)| Portion {
            deserved: tree.share(at),
            terms: QueueTerms {
                is_parent: tree.is_parent(at),
                quotas: Some(Box::new(quota_terms(self.resources, claim))),
                warnings: warnings(claim),
                ..QueueTerms::default()
            },
        };
        claims.queues.iter().enumerate().map(portion).collect()
    }

    fn keep(&self, claims: &Claims<'_>) -> Option<Box<dyn KeptDivision>> {
        Some(Box::new(FairTree::new(self.resources, self.usage_weight, claims)))
    }

    /// A queue takes back while it stays within its fair share, from those beyond what they may have:
    /// what they are beyond it together only falls.
    fn levels_compared(&self) -> Option<usize> {
        None
    }
}

/// What of a queue's object has no part in these rules.
fn warnings(claim: &QueueClaim<'_>) -> Vec<String> {
    let guarantee = "its guarantee has no effect: KAI's rules know quotas and limits".to_owned();
    if claim.guarantee == ResourceVec::default() { Vec::new() } else { vec![guarantee] }
}

/// A queue as the rules see it.
struct ShareStanding {
    /// What it and those below it hold, or have held.
    has: Amounts,
    /// None is everything.
    quota: [Option<i64>; SharedResources::COUNT],
    limit: [Option<i64>; SharedResources::COUNT],
    share: Amounts,
}

impl KaiProportion {
    /// How a queue stands; none before the first division.
    fn standing(&self, queue: &QueueReadOnlyItem<'_, '_>) -> Option<ShareStanding> {
        let terms = queue.terms.quotas.as_ref()?;
        let usage = queue.usage();
        let (allocated, reserved) =
            (self.resources.amounts(&usage.allocated), self.resources.amounts(&usage.reserved));
        Some(ShareStanding {
            has: std::array::from_fn(|at| allocated[at].saturating_add(reserved[at])),
            quota: self.resources.named(&terms.quota),
            limit: self.resources.named(&terms.limit),
            share: self.resources.amounts(queue.deserved.0.as_ref()?.values()),
        })
    }

    /// What a job takes when it is served next: the rest of its minimum at once, or else one more task.
    fn next_request(&self, cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> Amounts {
        let (counts, held) = (job.counts(), job.held());
        let has = counts.ready() + counts.pipelined();
        let open = counts.pending() - counts.gated_pending;
        let wanted = job.spec.min_available.saturating_sub(has).max(1).min(open);
        let mut waiting = held.waiting.clone();
        waiting.sub(&held.gated);
        if wanted == open {
            return self.resources.amounts(&waiting);
        }
        let members = job.members.0.iter().map(|&task| cluster.task(task));
        let mut tasks: Vec<_> = members
            .filter(|task| task.status().0 == TaskStatus::Pending && !task.traits.gated)
            .collect();
        let place = |task: &crate::world::TaskReadOnlyItem<'_, '_>| {
            (task.identity.index, task.identity.created, task.identity.uid.clone())
        };
        let wanted = wanted as usize;
        if wanted < tasks.len() {
            tasks.select_nth_unstable_by_key(wanted, place);
        }
        let mut request = ResourceVec::default();
        tasks.iter().take(wanted).for_each(|task| request.add(&task.request.amounts));
        self.resources.amounts(&request)
    }
}

#[cfg(test)]
mod tests;
