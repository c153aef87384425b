//! The actions: what a cycle can do, in the order people usually list them.

use super::ArgumentKind::{Bool, Duration, IntFrom, OneOf, Percent};
use super::{ActionSpec, ArgumentSpec, Support, arg};

pub(super) const TABLE: &[ActionSpec] = &[
    ActionSpec {
        name: "enqueue",
        summary: "admits waiting jobs, so that the other actions consider them",
        support: Support::Full,
        arguments: &[],
    },
    ActionSpec {
        name: "allocate",
        summary: "places the pending pods of admitted jobs on free room, whole gangs at a time",
        support: Support::Full,
        arguments: &[PREDICATE_ERROR_CACHE],
    },
    ActionSpec {
        name: "backfill",
        summary: "places pods that request nothing wherever the rules let them run",
        support: Support::Full,
        arguments: &[PREDICATE_ERROR_CACHE],
    },
    ActionSpec {
        name: "preempt",
        summary: "evicts less important pods of the same queue for a job that cannot start",
        support: Support::Full,
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
            arg("topologyAwarePreemptWorkerNum", IntFrom(1), "16", "threads of that comparison"),
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
        support: Support::Full,
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
        support: Support::Full,
        arguments: GANG_ARGUMENTS,
    },
    ActionSpec {
        name: "gangreclaim",
        summary: "reclaims for a whole gang at once, choosing victims by what their jobs lose",
        support: Support::Full,
        arguments: GANG_ARGUMENTS,
    },
    ActionSpec {
        name: "shuffle",
        summary: "evicts running pods that a plugin wants to be placed anew",
        support: Support::Full,
        arguments: &[MIN_RUNTIME, MAX_EVICTIONS],
    },
];

const PREDICATE_ERROR_CACHE: ArgumentSpec = arg(
    "predicateErrorCacheEnable",
    Bool,
    "true",
    "in Volcano, remembers within a cycle why a node refused a role; here a class of equal pods is \
     always judged once, so it changes nothing",
);

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
    "gangAwareEnable",
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
