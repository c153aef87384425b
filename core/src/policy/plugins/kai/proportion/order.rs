//! Which queue is served first, of those below one parent.
//!
//! The first difference decides:
//!
//! 1. one that has more than its fair share of all three resources goes last;
//! 2. one that stays within its quota of everything with its next job goes first;
//! 3. the one of higher priority;
//! 4. one that would have none of what it may have nothing of;
//! 5. the one whose largest part of what it may have is smaller with its next job;
//! 6. and without it;
//! 7. the one that may have less;
//! 8. the older one.
//!
//! Below its quota a queue may have its quota, above it the fair share, within its limit.

use bevy_ecs::entity::Entity;

use super::{Amounts, KaiProportion, ShareStanding, SharedResources};
use crate::policy::QueueOrderPlugin;
use crate::world::{Cluster, QueueReadOnlyItem, WHOLE_SHARE};

/// Keys of a queue; age comes after all of them anyway.
const KEYS: usize = 7;

impl QueueOrderPlugin for KaiProportion {
    fn queue_order(
        &self,
        cluster: &Cluster<'_, '_>,
        queue: &QueueReadOnlyItem<'_, '_>,
        next: Option<Entity>,
        keys: &mut [i64],
    ) {
        let Some(standing) = self.standing(queue) else { return };
        let next = next.map(|job| self.next_request(cluster, &cluster.job(job)));
        let (all, others) = (cluster.capacity(), cluster.taken_by_others());
        let (all, others) = (self.resources.amounts(all), self.resources.amounts(others));
        let total = std::array::from_fn(|at| all[at].saturating_sub(others[at]).max(0));
        let own = standing.keys(queue.spec.priority, next.unwrap_or_default(), total);
        keys.copy_from_slice(&own[..keys.len()]);
    }

    fn queue_levels(&self) -> usize {
        KEYS
    }

    fn by_level(&self) -> bool {
        true
    }
}

impl ShareStanding {
    pub(super) fn keys(&self, priority: i32, next: Amounts, total: Amounts) -> [i64; KEYS] {
        let with: Amounts = std::array::from_fn(|at| self.has[at].saturating_add(next[at]));
        let over = (0..SharedResources::COUNT).all(|at| self.share[at] < self.has[at]);
        let within = fits(&with, &self.quota);
        let due = self.due();
        let none_of_it = (0..SharedResources::COUNT).any(|at| due[at] == Some(0) && with[at] > 0);
        [
            i64::from(over),
            i64::from(!within),
            -i64::from(priority),
            i64::from(none_of_it),
            dominant_share(&with, &due, &total),
            dominant_share(&self.has, &due, &total),
            extent(&due, &total),
        ]
    }

    /// What the queue may have of each resource; none is everything.
    pub(super) fn due(&self) -> [Option<i64>; SharedResources::COUNT] {
        std::array::from_fn(|at| match (self.quota[at], self.limit[at]) {
            (None, limit) => limit,
            (Some(quota), limit) => {
                let due = quota.max(self.share[at]);
                Some(limit.map_or(due, |limit| due.min(limit)))
            }
        })
    }
}

/// Does everything fit below bounds, those that are none being endless?
pub(super) fn fits(amounts: &Amounts, bounds: &[Option<i64>; SharedResources::COUNT]) -> bool {
    amounts.iter().zip(bounds).all(|(&amount, bound)| bound.is_none_or(|bound| amount <= bound))
}

/// The largest part of what it may have, in parts per billion; a thousand times each unit of what it may
/// have nothing of.
fn dominant_share(
    has: &Amounts,
    due: &[Option<i64>; SharedResources::COUNT],
    total: &Amounts,
) -> i64 {
    let parts = (0..SharedResources::COUNT).map(|at| {
        let (has, due) = (i128::from(has[at].max(0)), i128::from(due[at].unwrap_or(total[at])));
        let whole = i128::from(WHOLE_SHARE);
        match due {
            due if due > 0 => has * whole / due,
            _ => has * 1000 * whole / i128::from(SharedResources::UNITS[at]),
        }
    });
    parts.max().map_or(0, |part| i64::try_from(part).unwrap_or(i64::MAX))
}

/// How much the queue may have of all of it together: less wherever another may have no less of anything and
/// more of something.
fn extent(due: &[Option<i64>; SharedResources::COUNT], total: &Amounts) -> i64 {
    let parts = (0..SharedResources::COUNT).map(|at| match (due[at], total[at]) {
        (None, _) => i128::from(WHOLE_SHARE) * 1000,
        (Some(_), 0) => 0,
        (Some(due), total) => i128::from(due) * i128::from(WHOLE_SHARE) / i128::from(total),
    });
    i64::try_from(parts.sum::<i128>()).unwrap_or(i64::MAX)
}
