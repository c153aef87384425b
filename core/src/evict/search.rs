//! Clears one place for a job: takes bundles in order until the job's minimum can be placed.

use bevy_ecs::entity::Entity;

use crate::place::{PendingTasks, Reach, Session, place_minimum};
use crate::policy::EvictPurpose;
use crate::resource::ResourceVec;
use crate::statement::{Checkpoint, Grounds, Statement};

use super::action::EvictAction;
use super::bundles::{Bundle, Bundles};
use super::domains::SearchDomain;
use super::fairness::{Entitlement, Fairness};
use super::shortage::Shortage;
use super::surplus::Harm;

/// What a set of victims costs; less is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Price {
    /// Does a gang end?
    pub(super) breaks: bool,
    /// What the purpose looks at first, then at last.
    weights: [i64; 3],
}

impl Price {
    /// What some bundles cost together.
    pub(super) fn of<'u>(action: &EvictAction, bundles: impl Iterator<Item = &'u Bundle>) -> Self {
        let (mut breaks, mut priority, mut cost, mut count) = (false, i64::MIN, 0i64, 0);
        for bundle in bundles {
            breaks |= bundle.state == Harm::Whole;
            priority = priority.max(i64::from(bundle.priority));
            cost = cost.saturating_add(bundle.cost);
            count += 1;
        }
        let weights = match action.purpose {
            EvictPurpose::Preempt => [priority, cost, count],
            EvictPurpose::Reclaim | EvictPurpose::Consolidate => [cost, priority, count],
        };
        Self { breaks, weights }
    }
}

/// A search in one place.
pub(super) struct VictimSearch<'a> {
    pub(super) action: &'a EvictAction,
    pub(super) shortage: &'a Shortage,
    pub(super) pending: &'a PendingTasks,
    pub(super) domain: &'a SearchDomain,
}

/// A bundle that was taken.
#[derive(Debug)]
pub(super) struct TakenBundle {
    /// Its index among the bundles.
    pub(super) bundle: usize,
    /// Tasks it sent off that had not gone before.
    pub(super) tasks: Vec<Entity>,
}

impl VictimSearch<'_> {
    fn bundles(&self) -> &Bundles {
        &self.domain.bundles
    }

    pub(super) fn bundle(&self, taken: &TakenBundle) -> &Bundle {
        self.bundles().bundle(taken.bundle)
    }

    /// Takes bundles on offer until the job can be placed, and no more of them than that; the statement then
    /// holds the evictions and after them the placement. None, and the statement is empty, if all that
    /// may go is not enough.
    pub(super) fn take_until_placed(
        &self,
        session: &mut Session<'_, '_>,
        statement: &mut Statement,
        offered: &[usize],
    ) -> Option<Vec<TakenBundle>> {
        let mut taken: Vec<TakenBundle> = Vec::new();
        let mut room = self.domain.free.clone();
        let (mut next, mut step, mut short) = (0, 1, 0);
        let freed = |at: usize| self.bundles().bundle(offered[at]).freed();
        loop {
            if self.shortage.least.fits(&room) && self.place(session, statement) {
                break;
            }
            short = taken.len();
            if next == offered.len() {
                statement.rollback(&mut session.cluster, Checkpoint::START);
                return None;
            }
            let from = next;
            let mut ahead = room.clone();
            while next < offered.len() && (next - from < step || !self.shortage.least.fits(&ahead))
            {
                ahead.add(freed(next));
                next += 1;
            }
            step *= 2;
            for one in self.take(session, statement, &offered[from..next]) {
                room.add(self.bundle(&one).freed());
                taken.push(one);
            }
        }
        self.shorten(session, statement, &mut taken, short);
        Some(taken)
    }

    /// Judges some bundles and sends off those that may go.
    fn take(
        &self,
        session: &mut Session<'_, '_>,
        statement: &mut Statement,
        bundles: &[usize],
    ) -> Vec<TakenBundle> {
        let standing = |session: &Session<'_, '_>, bundle: &Bundle| -> Vec<Entity> {
            let tasks = self.bundles().tasks(bundle).iter().copied();
            tasks.filter(|&task| session.cluster.task(task).status().0.is_allocated()).collect()
        };
        let bundles = bundles
            .iter()
            .map(|&bundle| (bundle, standing(session, self.bundles().bundle(bundle))));
        let bundles: Vec<(usize, Vec<Entity>)> = bundles.collect();
        // A bundle of a core lists the safe tasks of its job once more; each is asked about once.
        let mut asked: Vec<Entity> = Vec::new();
        let mut seen = hashbrown::HashSet::<Entity, rustc_hash::FxBuildHasher>::default();
        asked
            .extend(bundles.iter().flat_map(|bundle| &bundle.1).filter(|&&task| seen.insert(task)));
        let allowed = self.allowed(session, &asked);
        let mut taken = Vec::new();
        for (bundle, tasks) in bundles {
            if tasks.is_empty() || !tasks.iter().all(|task| allowed.contains(task)) {
                continue;
            }
            let tasks = self.evict(session, statement, tasks);
            taken.push(TakenBundle { bundle, tasks });
        }
        taken
    }

    /// Which tasks the rules let go, asked in order.
    pub(super) fn allowed(
        &self,
        session: &Session<'_, '_>,
        tasks: &[Entity],
    ) -> hashbrown::HashSet<Entity, rustc_hash::FxBuildHasher> {
        let named =
            session.policies.unified_evictable(&session.cluster, &self.shortage.evictor, tasks);
        match self.action.purpose {
            EvictPurpose::Preempt | EvictPurpose::Consolidate => named.into_iter().collect(),
            EvictPurpose::Reclaim => {
                let Shortage { evictor, sum, .. } = self.shortage;
                let mut fairness = Fairness::new(session, evictor, sum, Entitlement::Due);
                named.into_iter().filter(|&task| fairness.take(task)).collect()
            }
        }
    }

    /// Sends off those tasks that are still there, and returns them.
    pub(super) fn evict(
        &self,
        session: &mut Session<'_, '_>,
        statement: &mut Statement,
        tasks: Vec<Entity>,
    ) -> Vec<Entity> {
        let grounds = grounds(session, self.action, self.shortage.evictor.job);
        let mut gone = tasks;
        gone.retain(|&task| statement.evict(&mut session.cluster, task, grounds.clone()).is_ok());
        gone
    }

    /// Tries to place the job; without success nothing is changed.
    pub(super) fn place(&self, session: &mut Session<'_, '_>, statement: &mut Statement) -> bool {
        let start = statement.checkpoint();
        let mut pending = self.pending.clone();
        let rows = self.domain.rows.as_deref();
        let job = self.shortage.evictor.job;
        let reach = place_minimum(session, statement, job, &mut pending, rows);
        let placed = statement.checkpoint() > start && !matches!(reach, Reach::Short(_));
        if !placed {
            statement.rollback(&mut session.cluster, start);
        }
        placed
    }

    /// Starts the statement over: sends off what is taken, then places the job.
    pub(super) fn redo<'t>(
        &self,
        session: &mut Session<'_, '_>,
        statement: &mut Statement,
        taken: impl Iterator<Item = &'t TakenBundle>,
    ) -> bool {
        statement.rollback(&mut session.cluster, Checkpoint::START);
        for one in taken {
            self.evict(session, statement, one.tasks.clone());
        }
        self.place(session, statement)
    }

    /// Bundles were taken several at a time; finds the fewest from the front that are enough. With the
    /// first `short` of them the job could not be placed.
    fn shorten(
        &self,
        session: &mut Session<'_, '_>,
        statement: &mut Statement,
        taken: &mut Vec<TakenBundle>,
        short: usize,
    ) {
        let (mut low, mut high) = (short, taken.len());
        if high - low <= 1 {
            return;
        }
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if self.redo(session, statement, taken[..middle].iter()) {
                high = middle;
            } else {
                low = middle;
            }
        }
        taken.truncate(high);
        let placed = self.redo(session, statement, taken.iter());
        debug_assert!(placed, "the same evictions give the same placement");
    }

    /// Room in the place when the bundles taken have gone.
    pub(super) fn room<'t>(&self, taken: impl Iterator<Item = &'t TakenBundle>) -> ResourceVec {
        let mut room = self.domain.free.clone();
        for one in taken {
            room.add(self.bundle(one).freed());
        }
        room
    }
}

/// What an eviction is for, in words that stay the same while the situation does.
pub(super) fn grounds(session: &Session<'_, '_>, action: &EvictAction, job: Entity) -> Grounds {
    let item = session.cluster.job(job);
    let beneficiary = item.identity.key.object().clone();
    let reason = match action.purpose {
        EvictPurpose::Preempt => {
            format!("makes room for {beneficiary} of priority {}", item.spec.priority)
        }
        EvictPurpose::Reclaim => {
            let queue = &session.cluster.queue(item.spec.queue).identity.name;
            format!(
                "gives back room to {beneficiary} of queue {queue:?}, which has less than its due"
            )
        }
        EvictPurpose::Consolidate => format!("moves elsewhere, so that {beneficiary} finds room"),
    };
    Grounds { beneficiary: Some(beneficiary), reason }
}
