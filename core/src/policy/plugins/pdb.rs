//! `pdb`: evictions stay within disruption budgets.
//!
//! Promise: along a list of candidates no `PodDisruptionBudget` gives up more pods than it allows. What
//! it allows is what its status says, less what was decided since; where it has no status (in a
//! simulation) it follows from `minAvailable` or `maxUnavailable` and the pods that run. A pod the status
//! lists as disrupted already costs nothing. A pod under several budgets needs room in all of them.
//!
//! It has a say wherever pods are evicted, for whole gangs too; upstream does not ask it there. Of what
//! others propose to `shuffle` it holds back what budgets do not allow, and it proposes nobody itself.
//!
//! It has no arguments.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::policy::{
    Ballot, Build, EvictPurpose, Evictor, Plugin, PluginSpec, PreemptablePlugin, ReclaimablePlugin,
    Setup, UnifiedEvictablePlugin, VictimGuardPlugin, Words, plugin,
};
use crate::world::{Budget, BudgetId, Budgets, Cluster};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    words: Words {
        victims: Some("disruption budgets allow it"),
        gang_victims: &[EvictPurpose::Preempt, EvictPurpose::Reclaim],
        ..Words::NONE
    },
    ..PluginSpec::of::<Pdb>("pdb", "evictions stay within the disruption budgets of the pods")
};

/// The plugin.
pub(in crate::policy) struct Pdb;

fn within_budgets(cluster: &Cluster<'_, '_>, candidates: &[Entity]) -> Ballot {
    let mut left: BTreeMap<BudgetId, i64> = BTreeMap::new();
    Ballot::filter(candidates, |task| {
        let task = cluster.task(task);
        let charged = || {
            let guards = task.cold.guards.0.iter().copied();
            guards.filter(|&id| {
                let budget = cluster.budgets.get(id);
                budget.is_some_and(|one| !Budgets::is_disrupted(one, &task.identity.key.name))
            })
        };
        for id in charged() {
            let allowed = || cluster.budgets.get(id).map_or(0, Budget::allowed);
            if *left.entry(id).or_insert_with(allowed) <= 0 {
                return false;
            }
        }
        for id in charged() {
            left.entry(id).and_modify(|left| *left -= 1);
        }
        true
    })
}

plugin!(Pdb);

impl Plugin for Pdb {}

impl Build for Pdb {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl PreemptablePlugin for Pdb {
    fn preemptable(&self, cluster: &Cluster<'_, '_>, _: &Evictor, tasks: &[Entity]) -> Ballot {
        within_budgets(cluster, tasks)
    }
}

impl ReclaimablePlugin for Pdb {
    fn reclaimable(&self, cluster: &Cluster<'_, '_>, _: &Evictor, tasks: &[Entity]) -> Ballot {
        within_budgets(cluster, tasks)
    }
}

impl UnifiedEvictablePlugin for Pdb {
    fn unified_evictable(
        &self,
        cluster: &Cluster<'_, '_>,
        _: &Evictor,
        tasks: &[Entity],
    ) -> Ballot {
        within_budgets(cluster, tasks)
    }
}

impl VictimGuardPlugin for Pdb {
    fn victim_guard(&self, cluster: &Cluster<'_, '_>, tasks: &[Entity]) -> Ballot {
        within_budgets(cluster, tasks)
    }
}

#[cfg(test)]
mod tests {
    use bevy_ecs::prelude::Res;
    use bevy_ecs::system::RunSystemOnce;

    use super::*;
    use crate::delta::{BudgetFacts, Operator, Requirement, Share};
    use crate::ids::ObjectKey;
    use crate::policy::testing::{Bed, evictor, named, tasks};
    use crate::world::{Assumption, Directory};

    fn budget(name: &str, value: &str) -> BudgetFacts {
        let app =
            Requirement { key: "app".into(), operator: Operator::In, values: vec![value.into()] };
        BudgetFacts {
            key: ObjectKey::new("default", name),
            selector: Some(vec![app]),
            min_available: None,
            max_unavailable: None,
            allowed: None,
            disrupted: Vec::new(),
        }
    }

    /// `g-0` to `g-3` of app web, `g-4` without labels; all run.
    fn bed(budgets: Vec<BudgetFacts>) -> Bed {
        let mut bed = Bed::new();
        bed.node("n", &[("cpu", 9)]).group("g", 0, |_| {});
        for index in 0..5 {
            let labels = if index < 4 { vec![("app".into(), "web".into())] } else { Vec::new() };
            bed.pod("g", index, Some("n"), |pod| pod.labels = labels);
        }
        for budget in budgets {
            bed.budget(budget);
        }
        bed
    }

    const ALL: [&str; 5] = ["g-2", "g-0", "g-4", "g-1", "g-3"];

    fn left(budgets: Vec<BudgetFacts>) -> Vec<String> {
        bed(budgets).look(|cluster, directory| {
            let evictor = evictor(directory, "g", None, EvictPurpose::Preempt);
            let candidates = tasks(directory, &ALL);
            let answer = Pdb.preemptable(cluster, &evictor, &candidates);
            assert_eq!(answer, Pdb.reclaimable(cluster, &evictor, &candidates));
            assert_eq!(answer, Pdb.unified_evictable(cluster, &evictor, &candidates));
            assert_eq!(answer, Pdb.victim_guard(cluster, &candidates));
            match answer {
                Ballot::Abstain => panic!("pdb has an opinion"),
                Ballot::Only(victims) => named(cluster, &victims),
            }
        })
    }

    #[test]
    fn a_budget_is_spent_along_the_list_and_others_are_free() {
        let status = BudgetFacts { allowed: Some(2), ..budget("b", "web") };
        assert_eq!(left(vec![status]), ["g-2", "g-0", "g-4"]);
        assert_eq!(left(Vec::new()), ALL);
    }

    #[test]
    fn without_status_a_budget_follows_from_what_runs() {
        let table = [
            (Some(Share::Count(3)), None, &["g-2", "g-4"][..]),
            (Some(Share::Percent(60)), None, &["g-2", "g-4"]),
            (Some(Share::Percent(50)), None, &["g-2", "g-0", "g-4"]),
            (None, Some(Share::Count(1)), &["g-2", "g-4"]),
            (None, Some(Share::Percent(0)), &["g-4"]),
            (None, None, &ALL),
        ];
        for (min_available, max_unavailable, want) in table {
            let budget = BudgetFacts { min_available, max_unavailable, ..budget("b", "web") };
            assert_eq!(left(vec![budget]), want, "{min_available:?} {max_unavailable:?}");
        }
    }

    #[test]
    fn a_pod_under_two_budgets_needs_both_and_spends_neither_if_one_is_empty() {
        let first = BudgetFacts { allowed: Some(1), ..budget("first", "web") };
        let none = BudgetFacts { allowed: Some(0), ..budget("none", "web") };
        assert_eq!(left(vec![first.clone(), none.clone()]), ["g-4"]);
        // A selector of nothing guards every pod of the namespace, none at all guards nobody.
        let everybody = BudgetFacts { selector: Some(Vec::new()), ..none.clone() };
        assert_eq!(left(vec![everybody]), [""; 0]);
        let nobody = BudgetFacts { selector: None, ..none };
        assert_eq!(left(vec![nobody]), ALL);
    }

    #[test]
    fn a_pod_counted_as_gone_already_costs_nothing() {
        let disrupted = vec!["g-0".into(), "g-2".into()];
        let budget = BudgetFacts { allowed: Some(1), disrupted, ..budget("b", "web") };
        assert_eq!(left(vec![budget]), ["g-2", "g-0", "g-4", "g-1"]);
    }

    #[test]
    fn what_one_decision_takes_the_next_does_not_have() {
        let tables = [
            BudgetFacts { allowed: Some(2), ..budget("b", "web") },
            BudgetFacts { min_available: Some(Share::Count(2)), ..budget("b", "web") },
        ];
        for budget in tables {
            let mut bed = bed(vec![budget]);
            bed.run();
            let mut world = bed.into_world();
            let (during, after) = world
                .run_system_once(|mut cluster: Cluster<'_, '_>, directory: Res<'_, Directory>| {
                    let allowed = |cluster: &Cluster<'_, '_>| {
                        cluster.budgets.iter().map(|entry| entry.1.allowed()).sum::<i64>()
                    };
                    let victim = tasks(&directory, &["g-1"])[0];
                    let before = cluster.assume(victim, Some(Assumption::Evicting));
                    let during = allowed(&cluster);
                    cluster.assume(victim, before);
                    (during, allowed(&cluster))
                })
                .expect("runs");
            assert_eq!((during, after), (1, 2));
            assert_eq!(crate::inspect::audit(&mut world), Vec::<String>::new());
        }
    }
}
