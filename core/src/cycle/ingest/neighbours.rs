//! Third pass, rules about other pods: who matches selectors that are new, and who is told of rules
//! that are new.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{In, World};

use super::intake::Intake;
use crate::near::SelectorId;
use crate::world::TaskReadOnlyItem;

/// Holds tasks against selectors that are new, or against all where namespaces changed.
pub(super) fn settle(world: &mut World, scope: Scope) {
    let run = world.run_system_cached_with(settle_all, scope);
    debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
}

/// Which selectors tasks are held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those that are new.
    Fresh,
    /// All of them.
    All,
}

fn settle_all(In(scope): In<Scope>, mut intake: Intake<'_, '_>) {
    let fresh = intake.near.take_fresh();
    if scope == Scope::All || !fresh.is_empty() {
        for (task, matched) in moved(&intake, scope, &fresh) {
            intake.rematch(task, matched);
        }
        if intake.near.is_crowded() {
            intake.forget_unused();
        }
    }
    let Intake { classes, near, symbols, .. } = &mut intake;
    classes.settle(near, symbols);
}

/// Tasks that match other selectors than their class does, with all they match.
fn moved(
    intake: &Intake<'_, '_>,
    scope: Scope,
    fresh: &[SelectorId],
) -> Vec<(Entity, Vec<SelectorId>)> {
    let matched = |task: &TaskReadOnlyItem<'_, '_>| {
        let (namespace, labels) = (&task.identity.key.namespace, &task.labels.0);
        let known = intake.classes.get(task.membership.class).matched_selectors();
        if scope == Scope::All {
            let now = intake.near.matching(namespace, labels);
            return (now != known).then_some(now);
        }
        let news = fresh.iter().copied().filter(|selector| {
            known.binary_search(selector).is_err()
                && intake.near.is_match(*selector, namespace, labels)
        });
        let mut news: Vec<SelectorId> = news.collect();
        if news.is_empty() {
            return None;
        }
        news.extend_from_slice(known);
        news.sort_unstable();
        Some(news)
    };
    let tasks = intake.cluster.tasks.iter();
    tasks.filter_map(|task| matched(&task).map(|matched| (task.entity, matched))).collect()
}

impl Intake<'_, '_> {
    fn rematch(&mut self, task: Entity, matched: Vec<SelectorId>) {
        let class = self.cluster.task(task).membership.class;
        let class = self.classes.rematch(class, matched, &mut self.near, &mut self.symbols);
        self.cluster.detach(task);
        if let Ok(mut item) = self.cluster.tasks.get_mut(task) {
            item.membership.class = class;
            *item.request = self.classes.get(class).asked.clone();
        }
        self.cluster.attach(task);
    }

    /// Ends selectors no task's rules use. Tasks that matched them keep counts nobody reads.
    fn forget_unused(&mut self) {
        let classes = self.cluster.tasks.iter().map(|task| task.membership.class);
        let mut classes: Vec<_> = classes.collect();
        classes.sort_unstable();
        classes.dedup();
        let own = classes.iter().flat_map(|&class| self.classes.get(class).own_selectors());
        let mut used: Vec<SelectorId> = own.copied().collect();
        used.sort_unstable();
        used.dedup();
        self.near.keep(&used);
    }
}
