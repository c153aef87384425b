//! What an evicting action may do, as configured.

use crate::config::{
    ALLOW_CONSOLIDATING_KEY, ActionConfig, ActionKind, GangAware, MAX_PREEMPTEES_KEY, Values,
};
use crate::ids::TimeMs;
use crate::policy::EvictPurpose;
use crate::world::JobEvictions;

/// An evicting action with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct EvictAction {
    /// Its name.
    pub(crate) name: &'static str,
    /// Whose pods make way.
    pub(crate) purpose: EvictPurpose,
    /// How victims are chosen.
    pub(super) style: Style,
    /// Domains a search may go into for one job.
    pub(super) max_domains: usize,
    /// What becomes of gangs without surplus.
    pub(super) whole: WholeBundles,
    /// Which of the domains that work is taken.
    pub(super) search: DomainSearch,
    /// How many jobs of one queue it serves in a cycle; none is as the scheduler is set.
    pub(super) queue_depth: Option<u32>,
    /// What becomes of victims that fit elsewhere.
    pub(super) moves: MoveTerms,
    /// Of how many jobs it moves pods for one job; none is any number.
    pub(super) max_moved: Option<usize>,
    /// Tasks it never evicts, for any evictor.
    pub(super) limits: EvictLimits,
}

impl EvictAction {
    /// Does it make room for jobs of which every pod asks for its slot and nothing else? Dues speak of
    /// no slots, so there is nothing a queue could take back; and for whole gangs they count for nothing.
    pub(super) fn takes_slots(&self) -> bool {
        self.purpose == EvictPurpose::Preempt && self.style == Style::Task
    }
}

/// Tasks an evicting action never evicts, for any evictor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EvictLimits {
    /// Pods that run for less are left alone.
    pub(super) min_runtime_ms: i64,
    /// Evictions one job may suffer in an hour.
    hourly_cap: Option<u32>,
}

impl EvictLimits {
    /// The limits in the arguments of an action.
    pub(crate) fn of(arguments: Values<'_>) -> Self {
        Self {
            min_runtime_ms: arguments.duration_ms("minRuntime").unwrap_or(0),
            hourly_cap: u32::try_from(arguments.int("maxEvictionsPerHour"))
                .ok()
                .filter(|&cap| cap > 0),
        }
    }

    /// Was a job evicted from often enough?
    pub(crate) fn is_worn(&self, evictions: &JobEvictions, now: TimeMs) -> bool {
        self.hourly_cap.is_some_and(|cap| evictions.in_hour_before(now) >= cap)
    }
}

/// How victims are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// For the whole gang in one decision.
    Gang,
    /// For one task after the other.
    Task,
    /// For the whole gang, and every victim is placed again.
    Move,
}

/// What becomes of victims that fit elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveTerms {
    /// They are lost like others.
    Never,
    /// They are moved, and count as taken from their queues.
    Counted,
    /// They are moved, and their queues lose nothing.
    Free,
}

/// What becomes of gangs without surplus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WholeBundles {
    /// They are left alone.
    Spared,
    /// All of their tasks go, wherever they are.
    Gang,
    /// Their tasks in the domain go; the rest is their controller's business.
    Domain,
}

/// Which of the domains that work is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DomainSearch {
    /// The first in order of preference.
    First,
    /// The one that costs least.
    Best,
}

impl EvictAction {
    /// A configured action that evicts for this purpose.
    pub(crate) fn of(config: &ActionConfig, purpose: EvictPurpose) -> Self {
        let arguments = config.values();
        let (style, whole, search) = match purpose {
            // Every victim has another place, so no gang is broken.
            EvictPurpose::Consolidate => (Style::Move, WholeBundles::Spared, DomainSearch::First),
            _ if config.is_gang_aware() => (Style::Gang, whole(arguments), search(arguments)),
            _ => (Style::Task, whole(arguments), search(arguments)),
        };
        let moves = match (config.spec.kind, purpose) {
            (ActionKind::Evict(_, GangAware::WithMoves), EvictPurpose::Reclaim)
                if !arguments.bool(ALLOW_CONSOLIDATING_KEY) =>
            {
                MoveTerms::Counted
            }
            (ActionKind::Evict(_, GangAware::WithMoves), _) => MoveTerms::Free,
            _ => MoveTerms::Never,
        };
        let max_moved = match purpose {
            EvictPurpose::Consolidate => usize::try_from(arguments.int(MAX_PREEMPTEES_KEY)).ok(),
            _ => None,
        };
        Self {
            name: config.spec.name,
            purpose,
            style,
            max_domains: usize::try_from(arguments.int("maxDomains")).unwrap_or(usize::MAX),
            whole,
            search,
            queue_depth: config.queue_depth(),
            moves,
            max_moved,
            limits: EvictLimits::of(arguments),
        }
    }
}

fn whole(arguments: Values<'_>) -> WholeBundles {
    match (arguments.bool("allowWholeBundle"), arguments.text("wholeBundleScope")) {
        (false, _) => WholeBundles::Spared,
        (true, "domain") => WholeBundles::Domain,
        (true, _) => WholeBundles::Gang,
    }
}

fn search(arguments: Values<'_>) -> DomainSearch {
    match arguments.text("domainSearch") {
        "best" => DomainSearch::Best,
        _ => DomainSearch::First,
    }
}
