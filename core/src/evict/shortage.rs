//! What a job lacks: how many tasks, and what they ask for together.

use bevy_ecs::entity::Entity;

use crate::place::{PendingTasks, Session, first_tasks};
use crate::policy::Evictor;
use crate::resource::{Dim, ResourceVec};
use crate::world::{COVERED, ClassId};

use super::action::EvictAction;

/// What a job lacks.
#[derive(Clone, Debug)]
pub(super) struct Shortage {
    /// Who asks.
    pub(super) evictor: Evictor,
    /// The task next in line.
    pub(super) first: Option<Entity>,
    /// Tasks that are missing to its minimum, at least one.
    pub(super) missing: usize,
    /// What the tasks next in line ask for together: what victims are valued by.
    pub(super) sum: ResourceVec,
    /// The least any choice of its tasks takes of the lanes of nodes: with less it cannot be placed.
    pub(super) least: ResourceVec,
    /// Classes of its open tasks, each once, in the order they are placed in.
    pub(super) classes: Vec<ClassId>,
}

impl Shortage {
    /// What the open tasks of a job lack.
    pub(super) fn of(
        session: &Session<'_, '_>,
        action: &EvictAction,
        job: Entity,
        pending: &PendingTasks,
    ) -> Self {
        let item = session.cluster.job(job);
        let has = item.counts().ready() + item.counts().pipelined();
        let of_sets = item.progress(&COVERED).map_or(0, |progress| progress.of(None).lacks);
        let open: Vec<Entity> = pending.open_tasks().collect();
        let missing = item.spec.min_available.saturating_sub(has).max(of_sets).max(1) as usize;
        let rooms: Vec<ResourceVec> =
            open.iter().map(|&task| session.cluster.task(task).request.room().clone()).collect();
        let (mut sum, mut room) = (ResourceVec::default(), ResourceVec::default());
        for task in first_tasks(session, job, open.iter().copied(), missing) {
            let task = session.cluster.task(task);
            sum.add(&task.request.amounts);
            room.add(task.request.room());
        }
        let mut classes = Vec::new();
        for &task in &open {
            let class = session.cluster.task(task).membership.class;
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
        let least = if classes.len() == 1 { room } else { least_of(&rooms, missing) };
        let evictor = Evictor { job, task: None, purpose: action.purpose };
        Self { evictor, first: open.first().copied(), missing, sum, least, classes }
    }

    /// The need as victims are valued by: pod slots are not what anybody is after.
    pub(super) fn valued(&self) -> ResourceVec {
        let mut shortage = self.sum.clone();
        shortage.set(Dim::PODS, 0);
        shortage
    }
}

/// Per resource, the sum of the smallest requests, as many as are lacking.
fn least_of(requests: &[ResourceVec], count: usize) -> ResourceVec {
    let mut dims: Vec<Dim> =
        requests.iter().flat_map(|request| request.iter().map(|(dim, _)| dim)).collect();
    dims.sort_unstable();
    dims.dedup();
    let mut least = ResourceVec::default();
    for dim in dims {
        let mut amounts: Vec<i64> = requests.iter().map(|request| request.get(dim)).collect();
        amounts.sort_unstable();
        least.set(dim, amounts.iter().take(count).fold(0i64, |sum, one| sum.saturating_add(*one)));
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_taken_resource_by_resource() {
        let request = |cpu: i64, memory: i64| {
            let mut request = ResourceVec::default();
            request.set(Dim::CPU, cpu);
            request.set(Dim::MEMORY, memory);
            request
        };
        let requests = [request(4, 1), request(1, 8), request(2, 2)];
        assert_eq!(least_of(&requests, 2), request(3, 3));
        assert_eq!(least_of(&requests, 9), request(7, 11));
        assert_eq!(least_of(&[], 2), ResourceVec::default());
    }
}
