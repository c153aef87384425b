//! Why a job waits, in a stable code and numbers.

mod nodes;
mod topology;

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use super::Session;
use super::pending::{PendingTasks, TaskSet};
use crate::config::FitErrors;
use crate::delta::GroupTree;
use crate::kernel::fit::Fit;
use crate::place::{Bounds, Reach, Shortfall, place_job};
use crate::resource::{Dim, ResourceVec};
use crate::statement::{Checkpoint, Statement};
use crate::verdict::{Reason, Verdict};
use crate::world::{ClassId, Exclusion, Obstacle, ShareAsk, TaskStatus, WHOLE_DEVICE};

/// Nodes named in a message.
const NODES_NAMED: usize = 3;

/// A gang that is covered, but not by what is free now; `None` if nothing is held for it. How long it
/// may wait is not said here: the text stays as it is while the situation does.
pub(crate) fn waiting(session: &Session<'_, '_>, job: Entity) -> Option<Verdict> {
    let item = session.cluster.job(job);
    let held = item.counts().pipelined();
    if held == 0 {
        return None;
    }
    let mut nodes = BTreeMap::new();
    for &task in &item.members.0 {
        let task = session.cluster.task(task);
        let (TaskStatus::Pipelined, Some(node)) = task.status() else { continue };
        let node = session.cluster.node(node);
        let asks = task.request.room();
        let waits = !asks.hot.fits(node.idle()) || !asks.tail.fits(&node.tails().idle);
        if waits || task.request.share().is_some() && node.devices().leaves() {
            let leaving = Dim::PODS.lane().map_or(0, |lane| node.releasing().0[lane]);
            nodes.insert(node.place.ordinal, (&node.identity.name, leaving));
        }
    }
    let leaving: i64 = nodes.values().map(|node| node.1).sum();
    let names: Vec<&str> = nodes.values().take(NODES_NAMED).map(|node| &**node.0).collect();
    let names = names.join(", ");
    let more = match nodes.len().saturating_sub(NODES_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = match leaving {
        0 => format!("room is held for {}", pods(held.into())),
        _ => format!(
            "room is held for {}, waiting for {} on {names}{more} to terminate",
            pods(held.into()),
            pods(leaving)
        ),
    };
    Some(Verdict::new(Reason::WaitingForVictims, message))
}

fn pods(count: i64) -> String {
    if count == 1 { "1 pod".to_owned() } else { format!("{count} pods") }
}

/// A gang that could not be placed.
pub(crate) fn shortfall(
    session: &mut Session<'_, '_>,
    job: Entity,
    shortfall: &Shortfall,
    lacks: &Lacks,
) -> Verdict {
    if let Some(unknown) = topology::unknown(session, job) {
        return unknown;
    }
    if wants_topology(session, job) && !is_refused(shortfall) {
        let pending = PendingTasks::of(session, job, TaskSet::Requesting);
        return match anywhere(session, job, &pending) {
            None => topology::unsatisfied(session, job, &pending),
            // What is in the way has nothing to do with domains.
            Some((short, lacks)) => plain_shortfall(session, job, &short, &lacks),
        };
    }
    plain_shortfall(session, job, shortfall, lacks)
}

/// Did nothing fail but what a queue may have?
fn is_refused(shortfall: &Shortfall) -> bool {
    shortfall.objection.is_some() && shortfall.classes.is_empty()
}

/// A gang that could not be placed, wherever that was tried.
fn plain_shortfall(
    session: &mut Session<'_, '_>,
    job: Entity,
    shortfall: &Shortfall,
    lacks: &Lacks,
) -> Verdict {
    if let Some((class, objection)) = &shortfall.objection
        && is_refused(shortfall)
    {
        return refusal(session, job, (*class, objection), shortfall.placed, lacks);
    }
    let Some(&class) = shortfall.classes.first() else {
        if let Some(verdict) = &lacks.unready {
            return verdict.clone();
        }
        let message = format!("{} pods found a place, not enough for the gang", shortfall.placed);
        return Verdict::new(Reason::NotEnoughResources, message);
    };
    class_shortfall(session, job, class, shortfall.placed, lacks)
}

/// A queue's objection. Where it rests on what the cluster has left for the queue, what the nodes
/// themselves have left says more, unless they have room.
fn refusal(
    session: &mut Session<'_, '_>,
    job: Entity,
    (class, objection): (ClassId, &Verdict),
    placed: u32,
    lacks: &Lacks,
) -> Verdict {
    if objection.reason != Reason::NotEnoughResources {
        return objection.clone();
    }
    let of_nodes = class_shortfall(session, job, class, placed, lacks);
    if of_nodes.reason == Reason::NotEnoughResources && lacks.room {
        return Verdict::new(Reason::QueueOverCapability, objection.message.clone());
    }
    of_nodes
}

/// How nodes look to the class that failed first.
#[derive(Default)]
pub(crate) struct Lacks {
    /// What they lack, in words.
    dims: String,
    /// What excludes them.
    nodes: LackCounts,
    /// Would one of them take one more?
    room: bool,
    /// The same node by node, where that is asked for.
    node_by_node: Option<String>,
    /// What plugins say beside that, where nodes are barred.
    remarks: Vec<String>,
    /// Why the job may not be bound, where all that was tried has a place.
    unready: Option<Verdict>,
}

/// What the nodes lack for the class that failed first, or that its queue refused. To be asked while
/// what was placed still has its places: they may be what is in the way.
pub(crate) fn lacks(session: &mut Session<'_, '_>, job: Entity, shortfall: &Shortfall) -> Lacks {
    let refused = shortfall.objection.as_ref().map(|(class, _)| *class);
    let Some(class) = shortfall.classes.first().copied().or(refused) else {
        let unready = session.policies.unready(&session.cluster, &session.cluster.job(job));
        return Lacks { unready, ..Lacks::default() };
    };
    let ranking = session.ranking(class);
    let (nodes, room) = (tally_bars(ranking.exclusions()), ranking.best().is_some());
    let remarks = session.policies.remarks(session.classes.get(class));
    let node_by_node = match session.settings.tuning.fit_errors {
        FitErrors::Counted => None,
        FitErrors::PerNode => Some(nodes::one_by_one(session, class)),
    };
    let dims = short_dims(session, class);
    Lacks { dims, nodes, room, node_by_node, remarks, unready: None }
}

fn wants_topology(session: &Session<'_, '_>, job: Entity) -> bool {
    let spec = session.cluster.job(job).spec;
    let by_levels = |tree: &GroupTree| {
        tree.levels.is_some() || tree.subgroups.iter().any(|node| node.levels.is_some())
    };
    spec.topology.is_some()
        || spec.subgroups.iter().any(|policy| policy.topology.is_some())
        || spec.tree.as_deref().is_some_and(by_levels)
}

/// What the job fails on if topology does not matter; `None` if nothing. Leaves no trace.
fn anywhere(
    session: &mut Session<'_, '_>,
    job: Entity,
    pending: &PendingTasks,
) -> Option<(Shortfall, Lacks)> {
    let mut statement = Statement::new("explain");
    let reach = place_job(session, &mut statement, job, &mut pending.clone(), Bounds::Ignored);
    let outcome = match reach {
        Reach::Ready | Reach::Covered => None,
        Reach::Short(short) => {
            let lacks = lacks(session, job, &short);
            Some((short, lacks))
        }
    };
    statement.rollback(&mut session.cluster, Checkpoint::START);
    outcome
}

/// Why one class of tasks finds no node.
fn class_shortfall(
    session: &mut Session<'_, '_>,
    job: Entity,
    class: ClassId,
    placed: u32,
    lacks: &Lacks,
) -> Verdict {
    let verdict = counted_shortfall(session, job, class, placed, lacks);
    let Some(nodes) = &lacks.node_by_node else { return verdict };
    let with = if placed == 0 { String::new() } else { format!(" with {placed} pods placed") };
    Verdict::new(verdict.reason, format!("{}; node by node{with}: {nodes}", verdict.message))
}

/// The same with nodes counted by what stands in the way.
fn counted_shortfall(
    session: &mut Session<'_, '_>,
    job: Entity,
    class: ClassId,
    placed: u32,
    lacks: &Lacks,
) -> Verdict {
    let Lacks { dims, nodes, .. } = lacks;
    if nodes.open == 0 {
        if let Some(trouble) = claim_trouble(session, job, class) {
            return Verdict::new(Reason::NoNodeMatches, trouble);
        }
        let after = if placed == 0 { String::new() } else { format!(" after {placed} pods") };
        let mut message = format!("none of {} nodes matches{after}: {}", nodes.all, nodes.text);
        if !lacks.remarks.is_empty() {
            message = format!("{message} ({})", lacks.remarks.join("; "));
        }
        return Verdict::new(Reason::NoNodeMatches, message);
    }
    let needed = needed(session, job, class);
    let slots = slots_when_empty(session, class, needed);
    if slots < u64::from(needed) {
        let message = format!(
            "needs room for {needed} pods of {}; the empty cluster has room for {slots}{}",
            request_text(session, &session.classes.get(class).request),
            offered_nowhere(session, class)
        );
        return Verdict::new(Reason::NeverFits, message);
    }
    let item = session.cluster.job(job);
    // Where none is left, it was said already what excludes each of them.
    let said = nodes.text.is_empty() || dims.starts_with(NONE_LEFT);
    let excluded = if said { String::new() } else { format!("; {}", nodes.text) };
    let message = format!(
        "{} of {} pods find a place; of {} matching nodes {dims}{excluded}",
        item.counts().ready() + item.counts().pipelined() + placed,
        item.counts().valid().max(item.spec.min_available),
        nodes.open
    );
    Verdict::new(Reason::NotEnoughResources, message)
}

/// What is wrong with a claim, if that is what keeps the class off every node; of several claims the
/// first by name.
fn claim_trouble(session: &Session<'_, '_>, job: Entity, class: ClassId) -> Option<String> {
    let members = session.cluster.job(job).members.0.iter().map(|&task| session.cluster.task(task));
    let waiting = members.filter(|task| {
        task.membership.class == class && matches!(task.status().0, TaskStatus::Pending)
    });
    waiting.filter_map(|task| task.cold.volumes.trouble.as_ref()).min().cloned()
}

/// Nodes by obstacle.
#[derive(Default)]
struct LackCounts {
    all: usize,
    open: usize,
    text: String,
}

fn tally_bars(exclusions: impl Iterator<Item = Exclusion>) -> LackCounts {
    let exclusions: Vec<Exclusion> = exclusions.collect();
    let count = |kind| exclusions.iter().filter(|exclusion| exclusion.later == kind).count();
    let present = exclusions.len() - count(Obstacle::Absent);
    let parts: Vec<String> = Obstacle::ALL
        .into_iter()
        .map(|kind| (count(kind), kind))
        .filter(|&(nodes, _)| nodes > 0)
        .map(|(nodes, kind)| format!("{nodes} {}", kind.describe()))
        .collect();
    LackCounts { all: present, open: count(Obstacle::None), text: parts.join(", ") }
}

/// Tasks of the class the gang cannot do without: at least one, else it would not have been tried.
fn needed(session: &Session<'_, '_>, job: Entity, class: ClassId) -> u32 {
    let item = session.cluster.job(job);
    let of_class = item.members.0.iter().filter(|&&task| {
        let task = session.cluster.task(task);
        task.membership.class == class
            && !matches!(task.status().0, TaskStatus::Failed | TaskStatus::Releasing)
    });
    let of_class = of_class.count() as u32;
    let others = item.counts().valid().saturating_sub(of_class);
    item.spec.min_available.saturating_sub(others).max(1)
}

/// Tasks of the class the matching nodes could hold if nothing ran; counts no further than `enough`.
fn slots_when_empty(session: &mut Session<'_, '_>, class: ClassId, enough: u32) -> u64 {
    let open: Vec<usize> = session
        .ranking(class)
        .exclusions()
        .enumerate()
        .filter(|(_, exclusion)| exclusion.later == Obstacle::None)
        .map(|(row, _)| row)
        .collect();
    let class = session.classes.get(class);
    let (request, nodes) = (class.room(), session.cluster.columns());
    let mut slots = 0;
    for row in open {
        let offer =
            ResourceVec { hot: nodes.allocatable[row], tail: nodes.tails[row].allocatable.clone() };
        let fit = request.iter().filter(|&(_, ask)| ask > 0);
        let fit = fit.map(|(dim, ask)| (offer.get(dim) / ask).max(0) as u64).min();
        let fit = fit.unwrap_or(u64::from(enough));
        let shares = class.share().map(|share| {
            let whole = offer.get(share.dim) / WHOLE_DEVICE;
            nodes.devices[row].slots_when_empty(share, whole).unsigned_abs()
        });
        slots += shares.map_or(fit, |shares| shares.min(fit));
        if slots >= u64::from(enough) {
            break;
        }
    }
    slots
}

/// Resources of the request that no matching node has at all, as the end of a sentence.
fn offered_nowhere(session: &mut Session<'_, '_>, class: ClassId) -> String {
    let exclusions = session.ranking(class).exclusions();
    let open: Vec<bool> = exclusions.map(|exclusion| exclusion.later == Obstacle::None).collect();
    let nodes = session.cluster.columns();
    let offers = |row: usize, dim: Dim| match dim.lane() {
        Some(lane) => nodes.allocatable[row].0[lane],
        None => nodes.tails[row].allocatable.get(dim),
    };
    let class = session.classes.get(class);
    // Of a device that is shared nodes must have whole ones; instances are named by themselves.
    let shared = class.share().map(|share| (share.dim, WHOLE_DEVICE));
    let asked = class.room().iter().filter(|&(_, ask)| ask > 0).chain(shared);
    let mut nowhere: Vec<&str> = asked
        .filter(|&(dim, _)| (0..nodes.len()).all(|row| !open[row] || offers(row, dim) <= 0))
        .map(|(dim, _)| &**session.names.0.name(dim))
        .collect();
    nowhere.sort_unstable();
    if nowhere.is_empty() {
        return String::new();
    }
    format!(" (no matching node has {})", nowhere.join(" or "))
}

/// What nodes lack when those that matched at first are excluded once some pods have their places.
const NONE_LEFT: &str = "none is left";

/// How many matching nodes are short of what: each node counts under the first thing it lacks.
fn short_dims(session: &mut Session<'_, '_>, class: ClassId) -> String {
    let exclusions = session.ranking(class).exclusions();
    let open: Vec<bool> = exclusions.map(|exclusion| exclusion.later == Obstacle::None).collect();
    if !open.contains(&true) {
        return format!("{NONE_LEFT}: {}", tally_bars(session.ranking(class).exclusions()).text);
    }
    let (request, share) = (session.classes.get(class).room(), session.classes.get(class).share());
    let nodes = session.cluster.columns();
    let mut short: Vec<(Dim, u32)> = Vec::new();
    for row in (0..nodes.len()).filter(|&row| open[row]) {
        let lacks = |&(dim, ask): &(Dim, i64)| ask > 0 && nodes.future_idle(row, dim) < ask;
        let lane = request.iter().find(lacks);
        let device = || {
            let free = |share: &ShareAsk| nodes.free_devices(row, share.dim);
            let full = |share: &&ShareAsk| nodes.devices[row].fit(share, free(share)) == Fit::None;
            share.filter(full).map(|share| share.dim)
        };
        let Some(dim) = lane.map(|(dim, _)| dim).or_else(device) else { continue };
        match short.iter_mut().find(|entry| entry.0 == dim) {
            Some(entry) => entry.1 += 1,
            None => short.push((dim, 1)),
        }
    }
    let names = &session.names.0;
    short.sort_by(|a, b| names.name(a.0).cmp(names.name(b.0)));
    let parts: Vec<String> = short
        .iter()
        .map(|&(dim, nodes)| {
            let lack = if dim == Dim::PODS { "free pod slots" } else { &**names.name(dim) };
            format!("{nodes} lack {lack}")
        })
        .collect();
    if parts.is_empty() { "none lacks anything".to_owned() } else { parts.join(", ") }
}

fn request_text(session: &Session<'_, '_>, request: &ResourceVec) -> String {
    let names = &session.names.0;
    let mut parts: Vec<String> = request
        .iter()
        .filter(|&(dim, _)| dim != Dim::PODS)
        .map(|(dim, amount)| format!("{} {}", names.name(dim), names.display(dim, amount)))
        .collect();
    parts.sort();
    if parts.is_empty() { "no request".to_owned() } else { parts.join(", ") }
}
