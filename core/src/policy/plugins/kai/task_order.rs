//! `kubeflow`, `ray` and `taskorder`: which pod of a job is served first, by a label.
//!
//! Promise: a job's master or launcher (`kubeflow`), its head (`ray`), or the pod with the larger number
//! in `kai.scheduler/task-priority` (`taskorder`) is placed before the others of its job, and evicted
//! after them. A pod with such a number goes before one without, and one whose number cannot be read
//! goes last.
//!
//! No arguments.

use crate::policy::{Build, Plugin, PluginSpec, Setup, TaskOrderPlugin, plugin};
use crate::world::TaskReadOnlyItem;

/// What is known of `kubeflow`.
pub(super) const KUBEFLOW: PluginSpec =
    PluginSpec::of::<Kubeflow>("kubeflow", "a job's master or launcher goes before its workers");

/// What is known of `ray`.
pub(super) const RAY: PluginSpec =
    PluginSpec::of::<Ray>("ray", "the head of a Ray cluster goes before its workers");

/// What is known of `taskorder`.
pub(super) const TASKORDER: PluginSpec = PluginSpec::of::<TaskOrder>(
    "taskorder",
    "pods go by the number in their label kai.scheduler/task-priority, the larger first",
);

/// `kubeflow`.
pub(in crate::policy) struct Kubeflow;
/// `ray`.
pub(in crate::policy) struct Ray;
/// `taskorder`.
pub(in crate::policy) struct TaskOrder;

plugin!(Kubeflow);
plugin!(Ray);
plugin!(TaskOrder);

impl Plugin for Kubeflow {}
impl Plugin for Ray {}
impl Plugin for TaskOrder {}

impl Build for Kubeflow {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl Build for Ray {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl Build for TaskOrder {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl TaskOrderPlugin for Kubeflow {
    fn task_order(&self, task: &TaskReadOnlyItem<'_, '_>) -> i64 {
        let role = task.labels.get("training.kubeflow.org/job-role").map(|role| &**role);
        i64::from(!matches!(role, Some("master" | "launcher")))
    }
}

impl TaskOrderPlugin for Ray {
    fn task_order(&self, task: &TaskReadOnlyItem<'_, '_>) -> i64 {
        let kind = task.labels.get("ray.io/node-type").map(|kind| &**kind);
        i64::from(kind != Some("head"))
    }
}

impl TaskOrderPlugin for TaskOrder {
    fn task_order(&self, task: &TaskReadOnlyItem<'_, '_>) -> i64 {
        by_number(task.labels.get("kai.scheduler/task-priority").map(|text| &**text))
    }
}

/// The key of a pod whose label has this text.
fn by_number(text: Option<&str>) -> i64 {
    const WITHOUT: i64 = 1 << 40;
    match text.map(str::parse::<i32>) {
        Some(Ok(number)) => -i64::from(number),
        None => WITHOUT,
        Some(Err(_)) => WITHOUT + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_before_none_and_what_is_no_number_goes_last() {
        let mut texts = [Some("x"), None, Some("-3"), Some("7"), Some("0")];
        texts.sort_by_key(|text| by_number(*text));
        assert_eq!(texts, [Some("7"), Some("0"), Some("-3"), None, Some("x")]);
    }
}
