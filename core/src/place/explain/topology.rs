//! Why no domain holds a gang that would have room if it did not matter where.

use bevy_ecs::entity::Entity;

use crate::delta::{LevelWish, TierRef, TopologyMode};
use crate::ids::Name;
use crate::place::Session;
use crate::place::domain_order::{DomainNeed, bring_up_to_date, room_for};
use crate::place::pending::{Leftover, PendingTasks};
use crate::policy::{Purpose, Unit};
use crate::resource::Dim;
use crate::verdict::{Reason, Verdict};
use crate::world::DomainIndex;

/// A job or one of its sub-groups.
type Who = (Entity, Option<u16>);

/// The verdict on a job that wishes for levels of a topology which are not there; `None` if they are.
pub(super) fn unknown(session: &Session<'_, '_>, job: Entity) -> Option<Verdict> {
    let item = session.cluster.job(job);
    let subgroups = item.tree().map_or(0, |tree| tree.subgroups.len() as u16);
    let mut units = [None].into_iter().chain((0..subgroups).map(Some));
    units.find_map(|subgroup| {
        let unit = Unit { job: &item, subgroup };
        let wish = unit.levels()?;
        // Where nobody looks at such wishes they are in nobody's way.
        session.policies.search_space(&session.cluster, unit, Purpose::Allocate)?;
        let missing = missing(session.cluster.domain_index(), wish)?;
        let message = format!("{} must be placed by {missing}", subject(unit));
        Some(Verdict::new(Reason::TopologyUnsatisfied, message))
    })
}

/// What a wish names that is not there, in words.
fn missing(index: &DomainIndex, wish: &LevelWish) -> Option<String> {
    let name = &wish.topology;
    let Some(tree) = index.topology(name) else {
        let known = list(index.topologies.keys());
        return Some(format!("topology {name:?}, which does not exist{known}"));
    };
    let wanted = wish.required.iter().chain(&wish.preferred);
    let level = wanted.into_iter().find(|level| tree.level(level).is_none())?;
    let known = list(tree.levels.iter().map(|level| &level.label));
    Some(format!("level {level:?} of topology {name:?}, which has no such level{known}"))
}

/// What there is, as the end of a sentence.
fn list<'a>(names: impl Iterator<Item = &'a Name>) -> String {
    let names: Vec<String> = names.map(|name| format!("{name:?}")).collect();
    if names.is_empty() { String::new() } else { format!("; there are {}", names.join(", ")) }
}

/// The verdict on a job that fits the cluster, but no domain.
pub(super) fn unsatisfied(
    session: &mut Session<'_, '_>,
    job: Entity,
    pending: &PendingTasks,
) -> Verdict {
    let item = session.cluster.job(job);
    let subgroups: Vec<u16> = match item.tree() {
        Some(tree) => (0..tree.subgroups.len() as u16).collect(),
        None => pending.clone().into_parts().filter_map(|part| part.subgroup).collect(),
    };
    let units = [None].into_iter().chain(subgroups.into_iter().map(Some));
    let said =
        units.map(|subgroup| account(session, (job, subgroup), pending)).find_map(|said| said);
    let message = said.unwrap_or_else(|| "no domain has room for all of it together".to_owned());
    Verdict::new(Reason::TopologyUnsatisfied, message)
}

/// What is in the way of one unit's hard wish; `None` if it has none.
fn account(session: &mut Session<'_, '_>, who: Who, pending: &PendingTasks) -> Option<String> {
    let item = session.cluster.job(who.0);
    let unit = Unit { job: &item, subgroup: who.1 };
    let bound = bound(session, unit)?;
    let space = session.policies.search_space(&session.cluster, unit, Purpose::Allocate)?;
    let domains: Option<Vec<Entity>> = space.groups.into_iter().flatten().collect();
    let mut domains = domains?;
    domains.retain(|&domain| bound.allows(session, domain));
    let subject = subject(unit);
    let tasks = pending.left_over().into_iter();
    let tasks = tasks.filter(|&task| unit.has(&session.cluster.task(task)));
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

/// The domains a hard wish allows.
struct Bound {
    /// In words.
    text: String,
    /// The same and why there are none, where no domain can be one of them.
    none: Option<String>,
    /// How many labels tell the domains of the level required; `None` for tiers, of which closer ones are
    /// as good.
    labels: Option<usize>,
}

impl Bound {
    /// Is it one of them, and none inside one?
    fn allows(&self, session: &Session<'_, '_>, domain: Entity) -> bool {
        let level = session.cluster.domain(domain).spec.level.as_ref();
        self.labels.is_none_or(|labels| level.is_some_and(|level| level.values.len() == labels))
    }
}

/// What a unit's hard wish allows; `None` if it has none.
fn bound(session: &Session<'_, '_>, unit: Unit<'_>) -> Option<Bound> {
    let index = session.cluster.domain_index();
    if let Some(wish) = unit.levels() {
        return bound_of_level(index, wish);
    }
    let wish = unit.wish().filter(|wish| wish.mode == TopologyMode::Hard)?;
    let (text, none) = match &wish.tier {
        Some(TierRef::Number(tier)) => (format!("tier {tier} or below"), None),
        Some(TierRef::Named(name)) => {
            let known = index.tier_names.iter().find(|entry| entry.0 == *name);
            let tier = known.map_or_else(String::new, |(_, tier)| format!(" ({tier})"));
            let there_are = list(index.tier_names.iter().map(|entry| &entry.0)).replace(';', ",");
            let none = known
                .is_none()
                .then(|| format!("tier {name:?}; no HyperNode has that tierName{there_are}"));
            (format!("tier {name:?}{tier} or below"), none)
        }
        None => ("any tier".to_owned(), None),
    };
    Some(Bound { text, none, labels: None })
}

fn bound_of_level(index: &DomainIndex, wish: &LevelWish) -> Option<Bound> {
    let required = wish.required.as_ref()?;
    let tree = index.topology(&wish.topology)?;
    let at = tree.level(required)?;
    let text = format!("level {required:?} of topology {:?}", wish.topology);
    let labels: Vec<&str> = tree.levels.iter().map(|level| &*level.label).collect();
    let none = tree.outermost().is_empty().then(|| {
        format!("{text}; no node has the labels of all its levels: {}", labels.join(", "))
    });
    Some(Bound { text, none, labels: Some(at + 1) })
}

fn subject(unit: Unit<'_>) -> String {
    let Some(at) = unit.subgroup else { return "the gang".to_owned() };
    if let Some(tree) = unit.job.tree() {
        return format!("sub-group {:?}", tree.subgroups[usize::from(at)].name);
    }
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
    if let Some(none) = &bound.none {
        return format!("{subject} must share a domain of {none}");
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
