//! The actions: what a cycle can do, in the order they are usually listed.

use super::ArgumentKind::{Bool, Duration, IntFrom, OneOf, Percent, SignedDuration};
use super::{ArgumentSpec, Arguments, Values, arg};

/// An action.
#[derive(Debug, PartialEq)]
pub struct ActionSpec {
    /// Its name in the `actions` line.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// What the cycle runs for it.
    pub kind: ActionKind,
    /// The arguments it takes under `configurations`.
    pub arguments: &'static [ArgumentSpec],
}

/// What the cycle runs for an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// Admits waiting jobs.
    Enqueue,
    /// Places pods that request something.
    Allocate,
    /// Places pods, whether they request anything or not.
    AllocateAll,
    /// Places pods that request nothing.
    Backfill,
    /// Makes room for a job by evicting others.
    Evict(EvictPurpose, GangAware),
    /// Evicts pods that a plugin wants elsewhere.
    Shuffle,
    /// Evicts what is left of gangs that have run without their minimum for too long.
    EvictStaleGangs,
}

/// Why room is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictPurpose {
    /// A more important job of the same queue.
    Preempt,
    /// A queue that has less than its part.
    Reclaim,
    /// A job that finds room once others are moved together: they lose their places, not their room.
    Consolidate,
}

/// Does an action choose victims for a whole gang in one decision?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GangAware {
    /// Always.
    Always,
    /// Always, and a victim that fits elsewhere is moved instead of lost.
    WithMoves,
    /// If its argument [`GANG_AWARE_KEY`] says so; otherwise for one task after the other.
    IfAsked,
}

/// Key of the argument that makes an evicting action gang-aware.
pub const GANG_AWARE_KEY: &str = "gangAwareEnable";

/// Key of the argument that limits how many jobs of one queue an action tries in a cycle.
pub const QUEUE_DEPTH_KEY: &str = "queueDepthPerAction";

/// Key of the argument that says how long a gang may run without its minimum.
pub const STALE_GRACE_KEY: &str = "defaultStalenessGracePeriod";

/// One action to run.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionConfig {
    /// Which.
    pub spec: &'static ActionSpec,
    /// Its arguments, as given.
    pub arguments: Arguments,
}

impl ActionConfig {
    /// Its arguments, given or by default.
    pub fn values(&self) -> Values<'_> {
        Values::new(self.spec.name, self.spec.arguments, &self.arguments)
    }

    /// Whom it evicts for, if it makes room for jobs.
    pub fn evict_purpose(&self) -> Option<EvictPurpose> {
        match self.spec.kind {
            ActionKind::Evict(purpose, _) => Some(purpose),
            _ => None,
        }
    }

    /// How many jobs of one queue it tries in a cycle; none is all of them.
    pub fn queue_depth(&self) -> Option<u32> {
        self.spec.arguments.iter().find(|spec| spec.key == QUEUE_DEPTH_KEY)?;
        u32::try_from(self.values().int(QUEUE_DEPTH_KEY)).ok()
    }

    /// Does it evict for whole gangs?
    pub fn is_gang_aware(&self) -> bool {
        match self.spec.kind {
            ActionKind::Evict(_, GangAware::Always | GangAware::WithMoves) => true,
            ActionKind::Evict(_, GangAware::IfAsked) => self.values().bool(GANG_AWARE_KEY),
            _ => false,
        }
    }
}

/// Every action of Volcano.
pub const ACTIONS: &[ActionSpec] = &[
    ActionSpec {
        name: "enqueue",
        summary: "admits waiting jobs, so that the other actions consider them",
        kind: ActionKind::Enqueue,
        arguments: &[],
    },
    ActionSpec {
        name: "allocate",
        summary: "places the pending pods of admitted jobs on free room, whole gangs at a time",
        kind: ActionKind::Allocate,
        arguments: &[PREDICATE_ERROR_CACHE],
    },
    ActionSpec {
        name: "backfill",
        summary: "places pods that request nothing wherever the rules let them run",
        kind: ActionKind::Backfill,
        arguments: &[PREDICATE_ERROR_CACHE],
    },
    ActionSpec {
        name: "preempt",
        summary: "evicts less important pods of the same queue for a job that cannot start",
        kind: ActionKind::Evict(EvictPurpose::Preempt, GangAware::IfAsked),
        arguments: &[
            GANG_AWARE,
            MAX_DOMAINS,
            ALLOW_WHOLE_BUNDLE,
            WHOLE_BUNDLE_SCOPE,
            DOMAIN_SEARCH,
            MIN_RUNTIME,
            MAX_EVICTIONS,
            PREDICATE_ERROR_CACHE,
            arg(
                "enableTopologyAwarePreemption",
                Bool,
                "false",
                "in Volcano, compares victims on a sample of nodes; here all nodes with victims are \
                 always compared, so it changes nothing, nor do the four below",
            ),
            arg("topologyAwarePreemptWorkerNum", IntFrom(1), "16", "threads of that comparison")
                .without_effect("schedule.threads sets the number of threads"),
            arg(
                "minCandidateNodesPercentage",
                Percent,
                "10",
                "part of the nodes in that sample, in percent",
            ),
            arg("minCandidateNodesAbsolute", IntFrom(0), "1", "fewest nodes in that sample"),
            arg("maxCandidateNodesAbsolute", IntFrom(1), "100", "most nodes in that sample"),
        ],
    },
    ActionSpec {
        name: "reclaim",
        summary: "evicts pods of queues above their share for a queue below its own",
        kind: ActionKind::Evict(EvictPurpose::Reclaim, GangAware::IfAsked),
        arguments: &[
            GANG_AWARE,
            MAX_DOMAINS,
            ALLOW_WHOLE_BUNDLE,
            WHOLE_BUNDLE_SCOPE,
            DOMAIN_SEARCH,
            MIN_RUNTIME,
            MAX_EVICTIONS,
            PREDICATE_ERROR_CACHE,
        ],
    },
    ActionSpec {
        name: "gangpreempt",
        summary: "preempts for a whole gang at once, choosing victims by what their jobs lose",
        kind: ActionKind::Evict(EvictPurpose::Preempt, GangAware::Always),
        arguments: GANG_ARGUMENTS,
    },
    ActionSpec {
        name: "gangreclaim",
        summary: "reclaims for a whole gang at once, choosing victims by what their jobs lose",
        kind: ActionKind::Evict(EvictPurpose::Reclaim, GangAware::Always),
        arguments: GANG_ARGUMENTS,
    },
    ActionSpec {
        name: "shuffle",
        summary: "evicts running pods that a plugin wants to be placed again",
        kind: ActionKind::Shuffle,
        arguments: &[MIN_RUNTIME, MAX_EVICTIONS],
    },
];

/// Every action of KAI, in its default order.
pub const KAI_ACTIONS: &[ActionSpec] = &[
    ActionSpec {
        name: "allocate",
        summary: "places pending pods on free room: a gang's minimum at once, then pod by pod",
        kind: ActionKind::AllocateAll,
        arguments: &[QUEUE_DEPTH],
    },
    ActionSpec {
        name: "consolidation",
        summary: "moves running pods together where that makes room for a job",
        kind: ActionKind::Evict(EvictPurpose::Consolidate, GangAware::WithMoves),
        arguments: &[QUEUE_DEPTH, MAX_PREEMPTEES, MAX_DOMAINS, MIN_RUNTIME, MAX_EVICTIONS],
    },
    ActionSpec {
        name: "reclaim",
        summary: "evicts pods of queues above their fair share for a queue below its own",
        kind: ActionKind::Evict(EvictPurpose::Reclaim, GangAware::WithMoves),
        arguments: &[
            QUEUE_DEPTH,
            ALLOW_CONSOLIDATING,
            MAX_DOMAINS,
            ALLOW_WHOLE_BUNDLE,
            WHOLE_BUNDLE_SCOPE,
            DOMAIN_SEARCH,
            MIN_RUNTIME,
            MAX_EVICTIONS,
        ],
    },
    ActionSpec {
        name: "preempt",
        summary: "evicts preemptible pods of lower priority for a job of the same queue",
        kind: ActionKind::Evict(EvictPurpose::Preempt, GangAware::WithMoves),
        arguments: &[
            QUEUE_DEPTH,
            MAX_DOMAINS,
            ALLOW_WHOLE_BUNDLE,
            WHOLE_BUNDLE_SCOPE,
            DOMAIN_SEARCH,
            MIN_RUNTIME,
            MAX_EVICTIONS,
        ],
    },
    ActionSpec {
        name: "stalegangeviction",
        summary: "evicts gangs that have run without their minimum for longer than they may",
        kind: ActionKind::EvictStaleGangs,
        arguments: &[
            QUEUE_DEPTH.without_effect("every stale gang is looked at"),
            arg(
                STALE_GRACE_KEY,
                SignedDuration,
                "60s",
                "how long a gang may run without its minimum that says nothing itself; below 0s is for \
                 ever",
            ),
        ],
    },
];

const QUEUE_DEPTH: ArgumentSpec = arg(
    QUEUE_DEPTH_KEY,
    IntFrom(-1),
    "-1",
    "jobs of one queue it tries in a cycle; -1 is all of them",
);

/// Key of the argument that limits of how many jobs pods are moved for one job.
pub const MAX_PREEMPTEES_KEY: &str = "maxConsolidationPreemptees";

/// Key of the argument by which a pod that is moved does not count as taken from its queue.
pub const ALLOW_CONSOLIDATING_KEY: &str = "allowConsolidatingReclaim";

const MAX_PREEMPTEES: ArgumentSpec = arg(
    MAX_PREEMPTEES_KEY,
    IntFrom(-1),
    "16",
    "most jobs whose pods are moved for one job; -1 is any number, and with 0 nobody is moved",
);

const ALLOW_CONSOLIDATING: ArgumentSpec = arg(
    ALLOW_CONSOLIDATING_KEY,
    Bool,
    "true",
    "a pod that is moved rather than lost does not count as taken from its queue",
);

const PREDICATE_ERROR_CACHE: ArgumentSpec = arg(
    "predicateErrorCacheEnable",
    Bool,
    "true",
    "in Volcano, remembers within a cycle why a node refused a role; here a class of equal pods is \
     always judged once, so it changes nothing",
)
.without_effect("equal pods are always judged once");

const GANG_ARGUMENTS: &[ArgumentSpec] = &[
    MAX_DOMAINS,
    ALLOW_WHOLE_BUNDLE,
    WHOLE_BUNDLE_SCOPE,
    DOMAIN_SEARCH,
    MIN_RUNTIME,
    MAX_EVICTIONS,
];

const MIN_RUNTIME: ArgumentSpec =
    arg("minRuntime", Duration, "0s", "leaves pods alone that have run for less");

const MAX_EVICTIONS: ArgumentSpec = arg(
    "maxEvictionsPerHour",
    IntFrom(0),
    "0",
    "pods of one job that may be evicted within an hour; 0 is no limit",
);

const GANG_AWARE: ArgumentSpec = arg(
    GANG_AWARE_KEY,
    Bool,
    "false",
    "evicts for the whole gang in one decision instead of pod by pod",
);

const MAX_DOMAINS: ArgumentSpec = arg(
    "maxDomains",
    IntFrom(1),
    "8",
    "most topology domains a gang-aware search for victims may try for one job",
);

const ALLOW_WHOLE_BUNDLE: ArgumentSpec = arg(
    "allowWholeBundle",
    Bool,
    "true",
    "lets a search break a gang that has no surplus pods; without it only surplus is taken",
);

const WHOLE_BUNDLE_SCOPE: ArgumentSpec = arg(
    "wholeBundleScope",
    OneOf(&["gang", "domain"]),
    "gang",
    "what goes when a gang is broken: all its pods, or only those in the domain being cleared",
);

const DOMAIN_SEARCH: ArgumentSpec = arg(
    "domainSearch",
    OneOf(&["first", "best"]),
    "first",
    "takes the first domain that works in order of preference, or compares all by cost",
);
