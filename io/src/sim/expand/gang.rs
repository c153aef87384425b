//! The short form `Gang`: a PodGroup and its pods.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{OBJECTS_MAX, amounts};
use crate::objects::{
    Container, Metadata, NetworkTopology, Object, Pod, PodGroup, PriorityClass, ResourceMap,
    Resources,
};
use crate::sim::duration::DurationMs;
use crate::sim::load::FieldError;

/// Names the PodGroup of a pod.
const GROUP_NAME: &str = "scheduling.k8s.io/group-name";

/// How long a pod runs before it succeeds.
pub(crate) const RUN_FOR: &str = "muster.sh/run-for";

const PREEMPTABLE: &str = "volcano.sh/preemptable";
const TASK_SPEC: &str = "volcano.sh/task-spec";
const SCHEDULER: &str = "volcano";

/// A PodGroup and its pods, as written.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Gang {
    name: String,
    namespace: Option<String>,
    #[serde(default)]
    queue: String,
    min_member: Option<u32>,
    priority: Option<i32>,
    preemptable: Option<bool>,
    topology: Option<Topology>,
    created: Option<DurationMs>,
    run_for: Option<RunFor>,
    #[serde(default)]
    tasks: Vec<Task>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Topology {
    #[serde(default)]
    mode: Mode,
    tier: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Hard,
    Soft,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    role: String,
    #[serde(default = "one")]
    replicas: u32,
    min: Option<u32>,
    #[serde(default, deserialize_with = "amounts")]
    requests: ResourceMap,
    #[serde(default)]
    nodes: Vec<String>,
}

fn one() -> u32 {
    1
}

/// Milliseconds, none of them negative.
#[derive(Debug, Deserialize)]
#[serde(try_from = "DurationMs")]
struct RunFor(i64);

impl TryFrom<DurationMs> for RunFor {
    type Error = String;

    fn try_from(duration: DurationMs) -> Result<Self, String> {
        if duration.0 < 0 {
            return Err("is negative; a pod cannot run for less than 0s".to_owned());
        }
        Ok(Self(duration.0))
    }
}

impl Gang {
    /// Checks what one field alone does not tell.
    pub(super) fn checked(self) -> Result<Self, FieldError> {
        let pods: u64 = self.tasks.iter().map(|task| u64::from(task.replicas)).sum();
        if pods > u64::from(OBJECTS_MAX) {
            let problem = format!("{pods} pods are too many; expected at most {OBJECTS_MAX}");
            return Err(FieldError::new("tasks", problem));
        }
        for (at, task) in self.tasks.iter().enumerate() {
            if task.nodes.len() > task.replicas as usize {
                let problem = format!(
                    "names {} nodes for {} replicas; expected at most one node per replica",
                    task.nodes.len(),
                    task.replicas
                );
                return Err(FieldError::new(format!("tasks[{at}].nodes"), problem));
            }
            if self.tasks[..at].iter().any(|other| other.role == task.role) {
                let problem = format!("{:?} is the role of an earlier task too", task.role);
                return Err(FieldError::new(format!("tasks[{at}].role"), problem));
            }
        }
        Ok(self)
    }

    /// The priority class it needs, if it names a priority.
    pub(crate) fn priority_class(&self) -> Option<PriorityClass> {
        let value = self.priority?;
        let metadata = Metadata { name: class_name(value), ..Metadata::default() };
        Some(PriorityClass { metadata, value, ..PriorityClass::default() })
    }

    /// The PodGroup, then its pods role by role.
    pub(super) fn objects(self) -> Vec<Object> {
        let mut objects = vec![Object::PodGroup(Box::new(self.group()))];
        for task in &self.tasks {
            for index in 0..task.replicas {
                objects.push(Object::Pod(Box::new(self.pod(task, index))));
            }
        }
        objects
    }

    fn group(&self) -> PodGroup {
        let mut group = PodGroup { metadata: self.metadata(), ..PodGroup::default() };
        group.metadata.name.clone_from(&self.name);
        let min_member = self.min_member();
        let roles = self.tasks.iter();
        group.spec.min_member = Some(i64::from(min_member));
        group.spec.min_task_member = roles
            .filter_map(|task| Some((task.role.clone(), i64::from(task.min?))))
            .collect::<BTreeMap<_, _>>();
        group.spec.queue =
            if self.queue.is_empty() { "default".to_owned() } else { self.queue.clone() };
        group.spec.priority_class_name = self.priority.map(class_name).unwrap_or_default();
        group.spec.network_topology = self.topology.as_ref().map(|topology| NetworkTopology {
            mode: match topology.mode {
                Mode::Hard => "hard".to_owned(),
                Mode::Soft => "soft".to_owned(),
            },
            highest_tier_allowed: topology.tier.map(i64::from),
            highest_tier_name: String::new(),
        });
        // A gang whose minimum already runs was admitted long ago.
        let running: usize = self.tasks.iter().map(|task| task.nodes.len()).sum();
        if running > 0 && running >= min_member as usize {
            group.status.phase = Some("Running".to_owned());
        }
        group
    }

    fn min_member(&self) -> u32 {
        let replicas =
            || self.tasks.iter().fold(0, |sum: u32, task| sum.saturating_add(task.replicas));
        self.min_member.unwrap_or_else(replicas)
    }

    fn pod(&self, task: &Task, index: u32) -> Pod {
        let mut pod = Pod { metadata: self.metadata(), ..Pod::default() };
        pod.metadata.name = format!("{}-{}-{index}", self.name, task.role);
        let annotations = &mut pod.metadata.annotations;
        annotations.insert(GROUP_NAME.to_owned(), self.name.clone());
        annotations.insert(TASK_SPEC.to_owned(), task.role.clone());
        if let Some(RunFor(ms)) = self.run_for {
            annotations.insert(RUN_FOR.to_owned(), format!("{ms}ms"));
        }
        pod.spec.scheduler_name = Some(SCHEDULER.to_owned());
        pod.spec.priority_class_name = self.priority.map(class_name);
        pod.spec.containers = vec![Container {
            name: task.role.clone(),
            resources: Resources { requests: task.requests.clone(), ..Resources::default() },
            ..Container::default()
        }];
        if let Some(node) = task.nodes.get(index as usize) {
            pod.spec.node_name = Some(node.clone());
            pod.status.phase = Some("Running".to_owned());
        }
        pod
    }

    /// What the group and its pods have in common.
    fn metadata(&self) -> Metadata {
        let preemptable = self.preemptable.map(|value| (PREEMPTABLE.to_owned(), value.to_string()));
        Metadata {
            namespace: Some(self.namespace.clone().unwrap_or_else(|| "default".to_owned())),
            created_ms: self.created.map(|created| created.0),
            annotations: preemptable.into_iter().collect(),
            ..Metadata::default()
        }
    }
}

/// The class of a priority.
fn class_name(value: i32) -> String {
    // A minus sign is fine inside a name, so that `prio--1` is one too.
    format!("prio-{value}")
}
