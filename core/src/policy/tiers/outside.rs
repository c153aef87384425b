//! What concerns plugins that speak with somebody outside: they hear of the cycle and of what is decided,
//! and may have more to say than yes and no.

use super::super::{CycleScene, Point, Shifts};
use super::Policies;
use crate::class::Class;
use crate::intent::Consultation;
use crate::verdict::Verdict;
use crate::world::{Cluster, JobReadOnlyItem};

impl Policies {
    /// A cycle begins: everybody is told.
    pub fn cycle_begins(&self, cluster: &Cluster<'_, '_>, scene: &CycleScene<'_>) {
        self.at.cycle.iter().for_each(|policy| policy.cycle_begins(cluster, scene));
    }

    /// A cycle has ended: what each says of it, with its name.
    pub fn cycle_ends(&self) -> Vec<(&'static str, Consultation)> {
        self.at.cycle.named().map(|(name, policy)| (name, policy.cycle_ends())).collect()
    }

    /// A job is about to be admitted: everybody is told.
    pub fn job_enqueued(&self, cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) {
        self.at.job_enqueued.iter().for_each(|policy| policy.job_enqueued(cluster, job));
    }

    /// A transaction is about to be made good: who leaves is told before who comes. The first objection
    /// takes everything back from those who have heard of it.
    pub fn shifted(&self, cluster: &Cluster<'_, '_>, shifts: &Shifts) -> Result<(), Verdict> {
        for (at, policy) in self.at.placement.iter().enumerate() {
            if !shifts.left.is_empty() {
                policy.left(cluster, &shifts.left);
            }
            if shifts.taken.is_empty() {
                continue;
            }
            if let Err(verdict) = policy.placed(cluster, &shifts.taken) {
                self.take_back(cluster, shifts, at);
                return Err(verdict);
            }
        }
        Ok(())
    }

    /// Tells the plugin that objected, and those before it, that nothing comes of a transaction.
    fn take_back(&self, cluster: &Cluster<'_, '_>, shifts: &Shifts, objector: usize) {
        for (at, policy) in self.at.placement.iter().enumerate().take(objector + 1) {
            if at < objector {
                policy.left(cluster, &shifts.taken);
            }
            if !shifts.left.is_empty() {
                // They stay where they are, whatever is said to that.
                let _heard = policy.placed(cluster, &shifts.left);
            }
        }
    }

    /// Do answers of a plugin rest on more than the cluster, so that they are not kept?
    pub fn is_moody(&self) -> bool {
        self.is_asked(Point::Cycle)
    }

    /// Why a job may not be bound though enough of it has a place: what the first plugin says that
    /// objects, if all that do have more to say than how many tasks have a place.
    pub fn unready(
        &self,
        cluster: &Cluster<'_, '_>,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Option<Verdict> {
        let mut said = None;
        for policy in self.at.job_ready.iter().filter(|policy| !policy.job_ready(cluster, job)) {
            said = said.or(Some(policy.unready(cluster, job)?));
        }
        said
    }

    /// What plugins have to say of nodes that are barred for a class, beyond their number.
    pub fn remarks(&self, class: &Class) -> Vec<String> {
        self.at.filter.iter().filter_map(|policy| policy.remark(class)).collect()
    }
}
