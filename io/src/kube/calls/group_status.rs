//! Status of a PodGroup: phase, counters and the condition that holds.

use std::sync::atomic::Ordering;

use http::Method;
use muster_core::delta::GroupPhase;
use muster_core::ids::ObjectKey;
use muster_core::status::{ConditionKind, GroupReport};
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::warn;

use super::api::ApiCalls;
use super::client::Body;
use super::event::Happening;
use super::failure::Failure;
use super::pod_status::{condition, now};
use crate::kube::status_cache::{CachedGroup, OUR_CONDITIONS};
use crate::objects::phase_text;

/// Further attempts at a status that others write into as well.
const CONFLICTS_MAX: u32 = 3;

/// Conditions of a PodGroup as they are, for those that are not ours.
#[derive(Deserialize)]
struct Conditions {
    metadata: Version,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    resource_version: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Vec<Value>,
}

/// As much of the answer to a write as shows whether the status was taken.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    status: Phase,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Phase {
    phase: String,
}

impl ApiCalls {
    pub(super) async fn report_group(
        &self,
        group: &ObjectKey,
        phase: GroupPhase,
        report: &GroupReport,
    ) {
        let Some(cached) = self.statuses.group(group) else { return };
        let mut written = self.write_group(group, &cached, phase, report).await;
        for _ in 0..CONFLICTS_MAX {
            // Somebody wrote their own condition between our look at it and our write.
            let overtaken = |failure: &Failure| failure.is(409) && cached.foreign_conditions;
            if !written.as_ref().is_err_and(overtaken) {
                break;
            }
            written = self.write_group(group, &cached, phase, report).await;
        }
        match written {
            Ok(()) => {
                for held in &report.conditions {
                    if held.kind == ConditionKind::Unschedulable {
                        self.events.note(Happening::group_waits(group, &cached.uid, &held.message));
                    }
                }
            }
            // Gone, or another group of that name by now.
            Err(failure) if failure.is(404) || failure.is(409) => {}
            Err(failure) => warn!(%group, %failure, "the status of the PodGroup was not written"),
        }
    }

    async fn write_group(
        &self,
        group: &ObjectKey,
        cached: &CachedGroup,
        phase: GroupPhase,
        report: &GroupReport,
    ) -> Result<(), Failure> {
        let address = group_path(group);
        let since = now();
        let ours = report
            .conditions
            .iter()
            .map(|held| condition(held.kind.as_str(), "True", &held.reason, &held.message, &since));
        let mut metadata = json!({"uid": cached.uid});
        let mut conditions: Vec<Value> = Vec::new();
        if cached.foreign_conditions {
            // A patch replaces the list as a whole.
            let found: Conditions = self.client.read(&address).await?;
            metadata["resourceVersion"] = found.metadata.resource_version.into();
            let foreign = |entry: &Value| {
                let kind = entry["type"].as_str().unwrap_or_default();
                !OUR_CONDITIONS.contains(&kind)
            };
            conditions.extend(found.status.conditions.into_iter().filter(foreign));
        }
        conditions.extend(ours);
        let patch = json!({
            "metadata": metadata,
            "status": {
                "phase": phase_text(phase),
                "running": report.running,
                "succeeded": report.succeeded,
                "failed": report.failed,
                "conditions": conditions,
            },
        });
        self.patch_group(&address, &patch).await
    }

    /// Volcano's definition keeps the status in the object itself, others apart. The answers show which
    /// one is in force: it may be replaced while this process runs.
    async fn patch_group(&self, address: &str, patch: &Value) -> Result<(), Failure> {
        let body = (Body::MergePatch, patch);
        if !self.status_apart.load(Ordering::Relaxed) {
            let answer: Answer = self.client.change(Method::PATCH, address, body).await?;
            if patch["status"]["phase"] == answer.status.phase {
                return Ok(());
            }
            // The status was passed over.
            self.status_apart.store(true, Ordering::Relaxed);
        }
        match self.client.write(Method::PATCH, &format!("{address}/status"), body).await {
            Err(failure) if failure.is(404) => {
                self.status_apart.store(false, Ordering::Relaxed);
                self.client.write(Method::PATCH, address, body).await
            }
            result => result,
        }
    }
}

fn group_path(group: &ObjectKey) -> String {
    let (namespace, name) = (&group.namespace, &group.name);
    format!("/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups/{name}")
}
