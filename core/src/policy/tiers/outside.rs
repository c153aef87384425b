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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::config::Gates;
    use crate::policy::testing::Bed;
    use crate::policy::{Entity, PlacementPlugin, Plugin, plugin};
    use crate::verdict::Reason;

    /// Writes down what it hears, and objects or not.
    struct Listener {
        name: &'static str,
        objects: bool,
        heard: Arc<Mutex<Vec<String>>>,
    }

    plugin!(Listener);

    impl Plugin for Listener {}

    impl Listener {
        fn note(&self, what: &str, tasks: &[(Entity, Entity)]) {
            let text = format!("{} {what} {}", self.name, tasks.len());
            self.heard.lock().expect("nobody panicked").push(text);
        }

        fn verdict(&self) -> Verdict {
            Verdict::new(Reason::Refused, self.name)
        }
    }

    impl PlacementPlugin for Listener {
        fn left(&self, _: &Cluster<'_, '_>, tasks: &[(Entity, Entity)]) {
            self.note("left", tasks);
        }

        fn placed(&self, _: &Cluster<'_, '_>, tasks: &[(Entity, Entity)]) -> Result<(), Verdict> {
            self.note("placed", tasks);
            if self.objects && tasks.len() == 2 { Err(self.verdict()) } else { Ok(()) }
        }
    }

    /// What listeners hear of one that leaves and two that come; the third objects if that is said.
    fn hear(objects: bool) -> (Result<(), Verdict>, Vec<String>) {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let mut policies = Policies::default();
        for (name, objects) in [("a", false), ("b", objects), ("c", false)] {
            let listener = Listener { name, objects, heard: Arc::clone(&heard) };
            policies.add((0, name), Arc::new(listener), Gates::default());
        }
        let place = (Entity::from_raw_u32(1).unwrap(), Entity::from_raw_u32(2).unwrap());
        let shifts = Shifts { left: vec![place], taken: vec![place; 2] };
        let result = Bed::new().look(move |cluster, _| policies.shifted(cluster, &shifts));
        let heard = heard.lock().expect("nobody panicked").clone();
        (result, heard)
    }

    #[test]
    fn who_leaves_is_told_before_who_comes() {
        let (result, heard) = hear(false);
        assert_eq!(result, Ok(()));
        let all = ["a left 1", "a placed 2", "b left 1", "b placed 2", "c left 1", "c placed 2"];
        assert_eq!(heard, all);
    }

    #[test]
    fn an_objection_takes_back_what_was_told() {
        let (result, heard) = hear(true);
        assert_eq!(result.map_err(|verdict| verdict.message), Err("b".to_owned()));
        let told = ["a left 1", "a placed 2", "b left 1", "b placed 2"];
        let taken_back = ["a left 2", "a placed 1", "b placed 1"];
        assert_eq!(heard, [told.as_slice(), taken_back.as_slice()].concat());
    }
}
