//! Second pass, disruption budgets: whom they guard.

use bevy_ecs::entity::Entity;

use super::intake::Intake;
use crate::delta::BudgetFacts;
use crate::ids::ObjectKey;

impl Intake<'_, '_> {
    pub(super) fn budget(&mut self, facts: BudgetFacts) {
        if self.cluster.budgets.guards_as_before(&facts) {
            self.cluster.budgets.set(facts);
            return;
        }
        let namespace = facts.key.namespace.clone();
        self.reguard(&namespace, |intake| intake.cluster.budgets.set(facts));
    }

    pub(super) fn budget_gone(&mut self, key: &ObjectKey) {
        self.reguard(&key.namespace, |intake| intake.cluster.budgets.remove(key));
    }

    /// Changes budgets and finds out which of them guard the pods of their namespace.
    fn reguard(&mut self, namespace: &str, change: impl FnOnce(&mut Self)) {
        let inside = self.cluster.tasks.iter();
        let inside = inside.filter(|task| &*task.identity.key.namespace == namespace);
        let tasks: Vec<Entity> = inside.map(|task| task.entity).collect();
        for &task in &tasks {
            self.cluster.detach(task);
        }
        change(self);
        for task in tasks {
            if let Ok(mut item) = self.cluster.tasks.get_mut(task)
                && !item.identity.uid.is_empty()
            {
                let guards = self.cluster.budgets.guards_of(namespace, &item.labels);
                item.cold.guards = guards;
                item.cold.trim();
            }
            self.cluster.attach(task);
        }
    }
}
