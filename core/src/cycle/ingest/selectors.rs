//! Third pass, rules about other pods: who matches selectors that are new, and who is told of rules
//! that are new.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{In, World};

use super::intake::Intake;
use crate::interpod::{Fresh, SelectorId};
use crate::world::{ClassId, TaskReadOnlyItem};

/// Holds tasks against selectors that are new, or against all where namespaces changed.
pub(super) fn settle(world: &mut World, scope: MatchScope) {
    let run = world.run_system_cached_with(settle_all, scope);
    debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
}

/// Which selectors tasks are held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchScope {
    /// Those that are new.
    Fresh,
    /// All of them.
    All,
}

fn settle_all(In(scope): In<MatchScope>, mut intake: Intake<'_, '_>) {
    let fresh = intake.interpod.take_fresh();
    if scope == MatchScope::All || !fresh.is_empty() {
        for (task, matched) in moved(&intake, scope, &fresh) {
            intake.rematch(task, matched);
        }
        if intake.interpod.is_crowded() {
            intake.forget_unused();
        }
    }
    let Intake { classes, interpod, symbols, .. } = &mut intake;
    classes.settle(interpod, symbols);
}

/// Tasks that match other selectors than their class does, with all they match.
fn moved(
    intake: &Intake<'_, '_>,
    scope: MatchScope,
    fresh: &Fresh,
) -> Vec<(Entity, Vec<SelectorId>)> {
    let matched = |task: &TaskReadOnlyItem<'_, '_>| {
        let (namespace, labels) = (&task.identity.key.namespace, &task.labels.0);
        let known = intake.classes.get(task.membership.class).matched_selectors();
        if scope == MatchScope::All {
            let now = intake.interpod.matching(namespace, labels);
            return (now != known).then_some(now);
        }
        let mut news = intake.interpod.matching_fresh(fresh, namespace, labels);
        news.retain(|selector| known.binary_search(selector).is_err());
        if news.is_empty() {
            return None;
        }
        news.extend_from_slice(known);
        news.sort_unstable();
        Some(news)
    };
    let mut moved: Vec<_> = match &fresh.within {
        Some(namespaces) if scope == MatchScope::Fresh => {
            let inside = namespaces.iter().flat_map(|name| intake.directory.tasks.inside(name));
            inside.filter_map(|task| Some((task, matched(&intake.cluster.task(task))?))).collect()
        }
        _ => {
            let tasks = intake.cluster.tasks.iter();
            tasks.filter_map(|task| Some((task.entity, matched(&task)?))).collect()
        }
    };
    // One order for the same history, whatever a table of names has.
    moved.sort_unstable();
    moved
}

impl Intake<'_, '_> {
    /// Moves a task, with what it is counted by, to another class.
    pub(super) fn move_to_class(&mut self, task: Entity, class: ClassId) {
        self.cluster.detach(task);
        if let Ok(mut item) = self.cluster.tasks.get_mut(task) {
            item.membership.class = class;
            *item.request = self.classes.get(class).asked.clone();
        }
        self.cluster.attach(task);
    }

    fn rematch(&mut self, task: Entity, matched: Vec<SelectorId>) {
        let class = self.cluster.task(task).membership.class;
        let class = self.classes.rematch(class, matched, &mut self.interpod, &mut self.symbols);
        self.move_to_class(task, class);
    }

    /// Ends selectors no task's rules use, and takes tasks that matched them off their counts: else
    /// pods that run would be of as many classes as there were selectors once.
    pub(super) fn forget_unused(&mut self) {
        let classes = self.cluster.tasks.iter().map(|task| task.membership.class);
        let mut classes: Vec<_> = classes.collect();
        classes.sort_unstable();
        classes.dedup();
        let own = classes.iter().flat_map(|&class| self.classes.get(class).own_selectors());
        let mut used: Vec<SelectorId> = own.copied().collect();
        used.sort_unstable();
        used.dedup();
        self.interpod.keep(&used);
        let matched = |class: ClassId| self.classes.get(class).matched_selectors();
        let is_live = |selector: &SelectorId| used.binary_search(selector).is_ok();
        classes.retain(|&class| !matched(class).iter().all(is_live));
        let tasks = self.cluster.tasks.iter().map(|task| (task.entity, task.membership.class));
        let stale = tasks.filter(|(_, class)| classes.binary_search(class).is_ok());
        let live = |class| matched(class).iter().copied().filter(is_live).collect();
        let stale: Vec<(Entity, Vec<SelectorId>)> =
            stale.map(|(task, class)| (task, live(class))).collect();
        for (task, matched) in stale {
            self.rematch(task, matched);
        }
    }
}
