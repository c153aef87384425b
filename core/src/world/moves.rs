//! Room that is held for a pod that is still to come, in the place of one that is moved.
//!
//! A pod cannot be moved: it is evicted, and whoever made it makes another. Until that one exists the
//! room held for it hangs on the task of the pod that leaves, and outlives the pod: a task without a pod
//! stands for the one that is to come, counts for its job like a pod room is held for, and is offered to
//! nobody. That is a *vacancy*. It ends when the next pod takes the room over, or when the room is given
//! up; a vacancy without room is closed, and its task swept up with the next batch.

use bevy_ecs::entity::Entity;

use super::cluster::Cluster;
use super::option_time::OptionTime;
use super::reservation::{End, Nomination, Timing};
use super::task::{Assumed, Assumption, LastTransaction, Observed};
use crate::ids::Name;
use crate::reservation::Release;
use crate::world::Guards;

impl Cluster<'_, '_> {
    /// Tasks with room held for the pods that come in their places, in no particular order.
    pub(crate) fn moved(&mut self) -> Vec<Entity> {
        let Self { reservations, tasks, .. } = self;
        reservations.moved.retain(|&task| {
            tasks.get(task).is_ok_and(|task| task.heir_home().is_some() || task.is_vacancy())
        });
        reservations.moved.sort_unstable();
        reservations.moved.dedup();
        reservations.moved.clone()
    }

    /// The pod is gone; its task stands for the one that comes in its place.
    pub(crate) fn vacate(&mut self, task: Entity, node: Entity) {
        self.detach(task);
        self.reservations.note_leave_by(task, None);
        if let Ok(mut item) = self.tasks.get_mut(task) {
            (item.identity.uid, item.identity.version) = (Name::default(), None);
            *item.observed = Observed::default();
            *item.assumed = Assumed(Some(Assumption::Pipelined(node)));
            *item.timing = Timing::default();
            item.cold.guards = Guards::default();
            item.cold.last = LastTransaction(None);
        }
        self.attach(task);
    }

    /// Gives the room held for the pod that comes in the place of a task to that pod, which is there now.
    pub(crate) fn pass_on(&mut self, from: Entity, to: Entity) {
        let item = self.task(from);
        let moving = item.assumed.0.is_some_and(Assumption::is_eviction);
        let Some(record) = item.cold.nomination.0 else { return };
        if let Ok(mut item) = self.tasks.get_mut(from) {
            item.cold.nomination = Nomination(None);
        }
        self.assume(from, moving.then_some(Assumption::Evicting));
        self.close_vacancy(from);
        self.assume(to, Some(Assumption::Pipelined(record.node)));
        self.renew(to, record.node, record.evicted);
        self.note_moved(to);
    }

    /// Notes that the pod of a task has come in the place of one that was moved.
    pub(crate) fn note_moved(&mut self, task: Entity) {
        let now = self.reservations.now;
        if let Ok(mut item) = self.tasks.get_mut(task) {
            item.cold.moved = OptionTime::from(now);
        }
    }

    /// Ends a task that has no pod and no room held for one any more.
    pub(crate) fn close_vacancy(&mut self, task: Entity) {
        let item = self.task(task);
        if !item.identity.uid.is_empty() || item.assumed.0.is_some() {
            return;
        }
        self.detach(task);
        let left = self.leave_job(task);
        self.attach(task);
        self.settle(left);
        self.reservations.closed.extend(left.into_iter().chain([task]));
    }

    /// Gives up, outside of a transaction, whatever room is held for a task or for the pod that comes in
    /// its place.
    pub(crate) fn drop_room(&mut self, task: Entity, cause: Release) {
        let moving = self.task(task).assumed.0.is_some_and(Assumption::is_eviction);
        self.assume(task, moving.then_some(Assumption::Evicting));
        self.end_reservation(task, End::Released(cause));
        self.close_vacancy(task);
    }

    /// Takes the task off the members of its job; returns the job. To be called while the task is
    /// detached.
    pub(crate) fn leave_job(&mut self, task: Entity) -> Option<Entity> {
        let membership = *self.task(task).membership;
        let (job, seat) = (membership.job?, membership.seat as usize);
        let Ok(mut item) = self.jobs.get_mut(job) else { return None };
        item.members.0.swap_remove(seat);
        if let Some(&last) = item.members.0.get(seat)
            && let Ok(mut last) = self.tasks.get_mut(last)
        {
            last.membership.seat = membership.seat;
        }
        if let Ok(mut item) = self.tasks.get_mut(task) {
            item.membership.job = None;
        }
        Some(job)
    }
}
