//! `conformance`: what keeps the cluster running is never evicted.
//!
//! Promise: no pod of namespace `kube-system` and none of priority class `system-cluster-critical` or
//! `system-node-critical` is evicted, by any action. It goes by the name of the class, not by its value.
//!
//! It has no arguments.

use bevy_ecs::entity::Entity;

use crate::policy::{
    Ballot, Build, EvictPurpose, Evictor, Plugin, PluginSpec, PreemptablePlugin, ReclaimablePlugin,
    Setup, UnifiedEvictablePlugin, VictimGuardPlugin, Words, plugin,
};
use crate::world::{Cluster, TaskReadOnlyItem};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    words: Words {
        victims: Some("they are not the system's"),
        gang_victims: &[EvictPurpose::Preempt, EvictPurpose::Reclaim],
        ..Words::NONE
    },
    ..PluginSpec::of::<Conformance>(
        "conformance",
        "pods of kube-system and system-critical pods are never evicted",
    )
};

/// The plugin.
pub(in crate::policy) struct Conformance;

const SYSTEM_NAMESPACE: &str = "kube-system";
const SYSTEM_CLASSES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

fn is_critical(task: &TaskReadOnlyItem<'_, '_>) -> bool {
    let class = task.priority.class.as_deref().unwrap_or_default();
    &*task.identity.key.namespace == SYSTEM_NAMESPACE || SYSTEM_CLASSES.contains(&class)
}

fn spare(cluster: &Cluster<'_, '_>, candidates: &[Entity]) -> Ballot {
    Ballot::filter(candidates, |task| !is_critical(&cluster.task(task)))
}

plugin!(Conformance);

impl Plugin for Conformance {}

impl Build for Conformance {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl PreemptablePlugin for Conformance {
    fn preemptable(&self, cluster: &Cluster<'_, '_>, _: &Evictor, tasks: &[Entity]) -> Ballot {
        spare(cluster, tasks)
    }
}

impl ReclaimablePlugin for Conformance {
    fn reclaimable(&self, cluster: &Cluster<'_, '_>, _: &Evictor, tasks: &[Entity]) -> Ballot {
        spare(cluster, tasks)
    }
}

impl UnifiedEvictablePlugin for Conformance {
    fn unified_evictable(
        &self,
        cluster: &Cluster<'_, '_>,
        _: &Evictor,
        tasks: &[Entity],
    ) -> Ballot {
        spare(cluster, tasks)
    }
}

impl VictimGuardPlugin for Conformance {
    fn victim_guard(&self, cluster: &Cluster<'_, '_>, tasks: &[Entity]) -> Ballot {
        spare(cluster, tasks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ObjectKey;
    use crate::policy::testing::{Bed, evictor, named};

    #[test]
    fn system_pods_are_spared_by_namespace_and_by_class() {
        let mut bed = Bed::new();
        bed.node("n", &[("cpu", 9)]).group("g", 0, |_| {});
        let classes = ["", "system-cluster-critical", "system-node-critical", "mine"];
        for (index, class) in classes.into_iter().enumerate() {
            let class = Some(class.into()).filter(|_| !class.is_empty());
            bed.pod("g", index, Some("n"), |pod| pod.priority_class = class);
        }
        bed.pod("g", 4, Some("n"), |pod| pod.key = ObjectKey::new("kube-system", "g-4"));
        let left = bed.look(|cluster, directory| {
            let mut all: Vec<Entity> = cluster.tasks.iter().map(|task| task.entity).collect();
            all.sort_by_key(|&task| cluster.task(task).identity.key.name.clone());
            let evictor = evictor(directory, "g", None, EvictPurpose::Reclaim);
            let plugin = Conformance;
            let answers = [
                plugin.preemptable(cluster, &evictor, &all),
                plugin.reclaimable(cluster, &evictor, &all),
                plugin.unified_evictable(cluster, &evictor, &all),
                plugin.victim_guard(cluster, &all),
            ];
            answers.map(|answer| match answer {
                Ballot::Abstain => panic!("conformance has an opinion"),
                Ballot::Only(left) => named(cluster, &left),
            })
        });
        for left in left {
            assert_eq!(left, ["g-0", "g-3"]);
        }
    }
}
