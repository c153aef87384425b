//! What pods say of the room held for them, told when it changes.
//!
//! The record is ours; `status.nominatedNodeName` and the annotations are copies for a scheduler that
//! starts anew. Only pods whose reservation changed in this cycle are looked at, and only a copy that
//! differs is written: giving room up and holding it again in one cycle writes nothing.

use bevy_ecs::entity::Entity;

use crate::config::Persistence;
use crate::delta::{AnnotatedNode, Ownership, PodPhase};
use crate::intent::Intent;
use crate::place::Session;
use crate::reservation::Release;
use crate::world::{Annotated, Assumption, Mirror, Reservation, Say, TaskReadOnlyItem, TaskStatus};

pub(super) fn reflect(session: &mut Session<'_, '_>) {
    let persistence = session.cluster.reservations.rules.persistence;
    if persistence == Persistence::None {
        forget_all(session);
    }
    let mut changed = session.cluster.reservations.take_changed();
    changed.retain(|&task| session.cluster.tasks.contains(task));
    changed.sort_by_cached_key(|&task| session.cluster.task(task).identity.key.clone());
    changed.dedup();
    let mut intents = Vec::new();
    for task in changed {
        let item = session.cluster.task(task);
        let wish = wish(&item);
        if persistence.nominates() {
            intents.extend(nominate(session, task, wish.nominated));
        }
        if persistence.annotates() {
            intents.extend(annotate(session, task, wish.annotated));
        }
    }
    // Written before the evictions they are the reason for: should we end in between, room is held
    // for nothing and given up, and nobody was evicted for nothing.
    session.outcome.0.intents.splice(0..0, intents);
}

/// What a pod should say of its reservation.
fn wish(task: &TaskReadOnlyItem<'_, '_>) -> Mirror {
    let ended = !matches!(task.observed.phase, PodPhase::Pending | PodPhase::Running);
    let ours = task.traits.ownership == Ownership::Ours && !task.identity.uid.is_empty();
    if !ours || ended || task.observed.deleting {
        return Mirror::default();
    }
    match (task.assumed.0, task.cold.nomination.0) {
        // Whether a bind stands is known when it is answered; and of one that moves it is the next pod's
        // room, which that one will say.
        (Some(Assumption::Binding(_) | Assumption::Moving(_)), Some(_)) => Mirror::default(),
        (_, Some(Reservation { node, evicted, .. })) => Mirror {
            nominated: Say::This(Some(node)),
            annotated: Say::This(Some(Annotated { node, evicted })),
        },
        // A pod that has its node says with it where it is; what was nominated is history.
        (_, None) if task.observed.node.is_some() => {
            Mirror { nominated: Say::Anything, annotated: Say::This(None) }
        }
        (_, None) => Mirror { nominated: Say::This(None), annotated: Say::This(None) },
    }
}

fn nominate(session: &mut Session<'_, '_>, task: Entity, wish: Say<Entity>) -> Option<Intent> {
    let mut item = session.cluster.tasks.get_mut(task).ok()?;
    let said = item.cold.mirror.nominated.or(item.cold.said.nominated);
    let node = wish.or(said);
    if said == node {
        return None;
    }
    item.cold.mirror.nominated = wish;
    let (pod, uid) = (item.identity.key.clone(), item.identity.uid.clone());
    let node = node.map(|node| session.cluster.node(node).identity.name.clone());
    Some(Intent::Nominate { pod, uid, node })
}

fn annotate(session: &mut Session<'_, '_>, task: Entity, wish: Say<Annotated>) -> Option<Intent> {
    let mut item = session.cluster.tasks.get_mut(task).ok()?;
    let said = item.cold.mirror.annotated.or(item.cold.said.annotated);
    let note = wish.or(said);
    if said == note {
        return None;
    }
    item.cold.mirror.annotated = wish;
    let (pod, uid) = (item.identity.key.clone(), item.identity.uid.clone());
    let reservation = note.map(|note| AnnotatedNode {
        node: session.cluster.node(note.node).identity.name.clone(),
        evicted: note.evicted,
    });
    Some(Intent::Annotate { pod, uid, reservation })
}

/// Ends all reservations with the cycle, as a scheduler does that keeps them in a copy of the
/// cluster.
fn forget_all(session: &mut Session<'_, '_>) {
    let mut holding = session.cluster.open_jobs();
    holding.retain(|&job| session.cluster.job(job).counts().pipelined() > 0);
    let members_of = |job| session.cluster.job(job).members.0.clone();
    let members: Vec<Entity> = holding.into_iter().flat_map(members_of).collect();
    for task in members {
        if session.cluster.task(task).counted_status() == TaskStatus::Pipelined {
            session.cluster.drop_room(task, Release::Forgotten);
        }
    }
}
