//! Clears one place for a job: takes units in order until the job's minimum can be placed.

use bevy_ecs::entity::Entity;

use crate::cycle::drive::Scene;
use crate::cycle::place::{self, Reach};
use crate::cycle::worksheet::Sheet;
use crate::policy::EvictPurpose;
use crate::resource::ResourceVec;
use crate::statement::{Checkpoint, Grounds, Statement};

use super::bundle::State;
use super::fairness::Fairness;
use super::market::{Market, Unit};
use super::need::Need;
use super::raid::Raid;
use super::sites::Site;

/// What a set of victims costs; less is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Price {
    /// Does a gang end?
    pub(super) breaks: bool,
    /// What the purpose looks at first, then at last.
    weights: [i64; 3],
}

impl Price {
    /// What some units cost together.
    pub(super) fn of<'u>(raid: &Raid, units: impl Iterator<Item = &'u Unit>) -> Self {
        let (mut breaks, mut priority, mut cost, mut count) = (false, i64::MIN, 0i64, 0);
        for unit in units {
            breaks |= unit.state == State::Whole;
            priority = priority.max(i64::from(unit.priority));
            cost = cost.saturating_add(unit.cost);
            count += 1;
        }
        let weights = match raid.purpose {
            EvictPurpose::Preempt => [priority, cost, count],
            EvictPurpose::Reclaim => [cost, priority, count],
        };
        Self { breaks, weights }
    }
}

/// A search in one place.
pub(super) struct Hunt<'a> {
    pub(super) raid: &'a Raid,
    pub(super) need: &'a Need,
    pub(super) sheet: &'a Sheet,
    pub(super) site: &'a Site,
}

/// A unit that was taken.
#[derive(Debug)]
pub(super) struct Taken {
    /// Its index in the market.
    pub(super) unit: usize,
    /// Tasks it sent off that had not gone before.
    pub(super) tasks: Vec<Entity>,
}

impl Hunt<'_> {
    fn market(&self) -> &Market {
        &self.site.market
    }

    pub(super) fn unit(&self, taken: &Taken) -> &Unit {
        self.market().unit(taken.unit)
    }

    /// Takes units on offer until the job can be placed, and no more of them than that; the statement then
    /// holds the evictions and after them the placement. None, and the statement is empty, if all that
    /// may go is not enough.
    pub(super) fn drive_out(
        &self,
        scene: &mut Scene<'_, '_>,
        statement: &mut Statement,
        offered: &[usize],
    ) -> Option<Vec<Taken>> {
        let mut taken: Vec<Taken> = Vec::new();
        let mut room = self.site.free.clone();
        let (mut next, mut step, mut short) = (0, 1, 0);
        let freed = |at: usize| &self.market().unit(offered[at]).freed;
        loop {
            if self.need.least.fits(&room) && self.place(scene, statement) {
                break;
            }
            short = taken.len();
            if next == offered.len() {
                statement.rollback(&mut scene.cluster, Checkpoint::START);
                return None;
            }
            let from = next;
            let mut ahead = room.clone();
            while next < offered.len() && (next - from < step || !self.need.least.fits(&ahead)) {
                ahead.add(freed(next));
                next += 1;
            }
            step *= 2;
            for one in self.take(scene, statement, &offered[from..next]) {
                room.add(&self.unit(&one).freed);
                taken.push(one);
            }
        }
        self.shorten(scene, statement, &mut taken, short);
        Some(taken)
    }

    /// Judges some units and sends off those that may go.
    fn take(
        &self,
        scene: &mut Scene<'_, '_>,
        statement: &mut Statement,
        units: &[usize],
    ) -> Vec<Taken> {
        let standing = |scene: &Scene<'_, '_>, unit: &Unit| -> Vec<Entity> {
            let tasks = self.market().tasks(unit).iter().copied();
            tasks.filter(|&task| scene.cluster.task(task).status().0.is_allocated()).collect()
        };
        let units = units.iter().map(|&unit| (unit, standing(scene, self.market().unit(unit))));
        let units: Vec<(usize, Vec<Entity>)> = units.collect();
        // A unit of a core lists the safe tasks of its job once more; each is asked about once.
        let mut asked: Vec<Entity> = Vec::new();
        let mut seen = hashbrown::HashSet::<Entity, rustc_hash::FxBuildHasher>::default();
        asked.extend(units.iter().flat_map(|unit| &unit.1).filter(|&&task| seen.insert(task)));
        let allowed = self.allowed(scene, &asked);
        let mut taken = Vec::new();
        for (unit, tasks) in units {
            if tasks.is_empty() || !tasks.iter().all(|task| allowed.contains(task)) {
                continue;
            }
            let tasks = self.evict(scene, statement, tasks);
            taken.push(Taken { unit, tasks });
        }
        taken
    }

    /// Which tasks the rules let go, asked in order.
    pub(super) fn allowed(
        &self,
        scene: &Scene<'_, '_>,
        tasks: &[Entity],
    ) -> hashbrown::HashSet<Entity, rustc_hash::FxBuildHasher> {
        let named = scene.policies.unified_evictable(&scene.cluster, &self.need.evictor, tasks);
        match self.raid.purpose {
            EvictPurpose::Preempt => named.into_iter().collect(),
            EvictPurpose::Reclaim => {
                let mut fairness =
                    Fairness::new(&scene.cluster, &self.need.evictor, &self.need.sum);
                named.into_iter().filter(|&task| fairness.take(task)).collect()
            }
        }
    }

    /// Sends off those tasks that are still there, and returns them.
    pub(super) fn evict(
        &self,
        scene: &mut Scene<'_, '_>,
        statement: &mut Statement,
        tasks: Vec<Entity>,
    ) -> Vec<Entity> {
        let grounds = grounds(scene, self.raid, self.need.evictor.job);
        let mut gone = tasks;
        gone.retain(|&task| statement.evict(&mut scene.cluster, task, grounds.clone()).is_ok());
        gone
    }

    /// Tries to place the job; without success nothing is changed.
    pub(super) fn place(&self, scene: &mut Scene<'_, '_>, statement: &mut Statement) -> bool {
        let start = statement.checkpoint();
        let mut sheet = self.sheet.clone();
        let rows = self.site.rows.as_deref();
        let job = self.need.evictor.job;
        let reach = place::covering(scene, statement, job, &mut sheet, rows);
        let placed = statement.checkpoint() > start && !matches!(reach, Reach::Short(_));
        if !placed {
            statement.rollback(&mut scene.cluster, start);
        }
        placed
    }

    /// Starts the statement anew: sends off what is taken, then places the job.
    pub(super) fn redo<'t>(
        &self,
        scene: &mut Scene<'_, '_>,
        statement: &mut Statement,
        taken: impl Iterator<Item = &'t Taken>,
    ) -> bool {
        statement.rollback(&mut scene.cluster, Checkpoint::START);
        for one in taken {
            self.evict(scene, statement, one.tasks.clone());
        }
        self.place(scene, statement)
    }

    /// Units were taken several at a time; finds the fewest from the front that are enough. With the
    /// first `short` of them the job could not be placed.
    fn shorten(
        &self,
        scene: &mut Scene<'_, '_>,
        statement: &mut Statement,
        taken: &mut Vec<Taken>,
        short: usize,
    ) {
        let (mut low, mut high) = (short, taken.len());
        if high - low <= 1 {
            return;
        }
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if self.redo(scene, statement, taken[..middle].iter()) {
                high = middle;
            } else {
                low = middle;
            }
        }
        taken.truncate(high);
        let placed = self.redo(scene, statement, taken.iter());
        debug_assert!(placed, "the same evictions give the same placement");
    }

    /// Room in the place when the units taken have gone.
    pub(super) fn room<'t>(&self, taken: impl Iterator<Item = &'t Taken>) -> ResourceVec {
        let mut room = self.site.free.clone();
        for one in taken {
            room.add(&self.unit(one).freed);
        }
        room
    }
}

/// What an eviction is for, in words that stay the same while the situation does.
pub(super) fn grounds(scene: &Scene<'_, '_>, raid: &Raid, job: Entity) -> Grounds {
    let item = scene.cluster.job(job);
    let beneficiary = item.identity.key.object().clone();
    let reason = match raid.purpose {
        EvictPurpose::Preempt => {
            format!("makes room for {beneficiary} of priority {}", item.spec.priority)
        }
        EvictPurpose::Reclaim => {
            let queue = &scene.cluster.queue(item.spec.queue).identity.name;
            format!(
                "gives back room to {beneficiary} of queue {queue:?}, which has less than its due"
            )
        }
    };
    Grounds { beneficiary: Some(beneficiary), reason }
}
