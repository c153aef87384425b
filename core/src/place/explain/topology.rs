//! Why no domain holds a gang that would have room if it did not matter where.

use bevy_ecs::entity::Entity;

use crate::delta::{TierRef, TopologyMode, TopologyWish};
use crate::place::Session;
use crate::place::domain_order::{DomainNeed, bring_up_to_date, room_for};
use crate::place::pending::{Leftover, PendingTasks};
use crate::policy::{Purpose, Unit};
use crate::resource::Dim;
use crate::verdict::{Reason, Verdict};

/// A job or one of its sub-groups.
type Who = (Entity, Option<u16>);

/// The verdict on a job that fits the cluster, but no domain.
pub(super) fn unsatisfied(
    session: &mut Session<'_, '_>,
    job: Entity,
    pending: &PendingTasks,
) -> Verdict {
    let parts = pending.clone();
    let mut said = account(session, (job, None), pending.left_over());
    let mut parts = parts.into_parts().filter(|part| part.subgroup.is_some());
    while said.is_none()
        && let Some(part) = parts.next()
    {
        said = account(session, (job, part.subgroup), part.left_over());
    }
    let message = said.unwrap_or_else(|| "no domain has room for all of it together".to_owned());
    Verdict::new(Reason::TopologyUnsatisfied, message)
}

/// What is in the way of one unit's hard wish; `None` if it has none.
fn account(session: &mut Session<'_, '_>, who: Who, tasks: Vec<Entity>) -> Option<String> {
    let item = session.cluster.job(who.0);
    let unit = Unit { job: &item, subgroup: who.1 };
    let wish = unit.wish().filter(|wish| wish.mode == TopologyMode::Hard)?;
    let space = session.policies.search_space(&session.cluster, unit, Purpose::Allocate)?;
    let domains: Option<Vec<Entity>> = space.groups.into_iter().flatten().collect();
    let (domains, bound) = (domains?, bound(session, wish));
    let subject = subject(unit);
    let need = DomainNeed::of(session, who.0, who.1, tasks);
    if domains.is_empty() {
        return Some(nowhere(session, who, &bound, &subject));
    }
    let all = domains.len();
    let (closest, room) = closest(session, &need, domains)?;
    let name = &session.cluster.domain(closest).spec.name;
    let of = if all == 1 { "the only domain" } else { &format!("none of the {all} domains") };
    let holds = if all == 1 { "does not hold" } else { "holds" };
    let asked = asked(&need);
    let detail = if room < asked {
        format!("has room for {room} of {asked} pods, {}", lacks(session, closest, &need))
    } else {
        "has room for each pod, but not for all together by their rules and sub-groups".to_owned()
    };
    let closest = if all == 1 { format!("{name:?}") } else { format!("the closest, {name:?},") };
    Some(format!("{of} of {} {holds} {subject}: {closest} {detail}", bound.text))
}

/// The tiers a wish allows.
struct Bound {
    /// In words.
    text: String,
    /// The tier name, where no domain carries it.
    unknown: Option<String>,
}

fn bound(session: &Session<'_, '_>, wish: &TopologyWish) -> Bound {
    match &wish.tier {
        Some(TierRef::Number(tier)) => {
            Bound { text: format!("tier {tier} or below"), unknown: None }
        }
        Some(TierRef::Named(name)) => {
            let known = session.cluster.tree.tier_names.iter().find(|entry| entry.0 == *name);
            let tier = known.map_or_else(String::new, |(_, tier)| format!(" ({tier})"));
            let unknown = known.is_none().then(|| name.to_string());
            Bound { text: format!("tier {name:?}{tier} or below"), unknown }
        }
        None => Bound { text: "any tier".to_owned(), unknown: None },
    }
}

fn subject(unit: Unit<'_>) -> String {
    let Some(at) = unit.subgroup else { return "the gang".to_owned() };
    let group = &unit.job.counts().subgroups[usize::from(at)];
    let policy = &unit.job.spec.subgroups[usize::from(group.policy)].name;
    let values: Vec<&str> = group.values.iter().map(|value| &**value).collect();
    format!("sub-group {policy}-{}", values.join("-"))
}

/// Nodes shown before the rest is only counted.
const SHOWN: usize = 3;

/// There is no domain to look at.
fn nowhere(
    session: &Session<'_, '_>,
    (job, subgroup): Who,
    bound: &Bound,
    subject: &str,
) -> String {
    if let Some(name) = &bound.unknown {
        let known = session.cluster.tree.tier_names.iter().map(|(name, _)| format!("{name:?}"));
        let known = known.collect::<Vec<_>>().join(", ");
        let there_are =
            if known.is_empty() { String::new() } else { format!(", there are {known}") };
        return format!(
            "{subject} must share a domain of tier {name:?}; no HyperNode has that tierName{there_are}"
        );
    }
    let unit = Unit { job: &session.cluster.job(job), subgroup };
    let seats = unit.seats(&session.cluster).into_iter();
    let mut nodes: Vec<_> = seats.map(|node| &session.cluster.node(node).identity.name).collect();
    nodes.sort_unstable();
    nodes.dedup();
    if nodes.is_empty() {
        return format!("{subject} must share a domain of {}; there is none", bound.text);
    }
    let shown: Vec<&str> = nodes.iter().take(SHOWN).map(|name| &***name).collect();
    let more = match nodes.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{subject} must share a domain of {}; what has its place already, on {}{more}, shares none",
        bound.text,
        shown.join(", ")
    )
}

/// Pods that must find a place; all that wait where it is not certain how many must.
fn asked(need: &DomainNeed) -> u32 {
    match need.fewest() {
        0 => need.wants.iter().map(|want| want.tasks).sum(),
        fewest => fewest,
    }
}

/// The domain with room for most of the pods needed, and for how many.
fn closest(
    session: &mut Session<'_, '_>,
    need: &DomainNeed,
    domains: Vec<Entity>,
) -> Option<(Entity, u32)> {
    bring_up_to_date(session, need);
    let asked = asked(need);
    let mut best: Option<(Entity, u32)> = None;
    for domain in domains {
        let rows = &session.cluster.domain(domain).spot.rows;
        let room = need.wants.iter().map(|want| {
            room_for(session, want.class, rows, None, want.tasks).later.min(want.tasks)
        });
        let room = room.sum::<u32>().min(asked);
        if best.is_none_or(|best| best.1 < room) {
            best = Some((domain, room));
        }
    }
    best
}

/// What the domain lacks for the least that is needed.
fn lacks(session: &Session<'_, '_>, domain: Entity, need: &DomainNeed) -> String {
    let room = session.cluster.domain(domain).totals().room_at_most();
    let names = &session.names.0;
    let mut short: Vec<String> = need
        .short_of(&room)
        .map(|(dim, amount)| {
            let name = if dim == Dim::PODS { "pod slots" } else { &**names.name(dim) };
            format!("{name} {}", names.display(dim, amount))
        })
        .collect();
    short.sort();
    if short.is_empty() {
        return "what is free there lies in pieces too small for one".to_owned();
    }
    format!("short of {}", short.join(", "))
}
