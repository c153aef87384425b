//! What is written into KAI's PodGroup: the times of its past, and the condition of its node pool.
//!
//! Its phase, its counters and what it uses belong to KAI's own controllers. Both writes name no more than
//! changes: other annotations and the conditions of other node pools stay.

use http::Method;
use jiff::Timestamp;
use muster_core::ids::{ObjectKey, TimeMs};
use muster_core::status::{GangWait, GroupPastReport, GroupTimes, SaidIn};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tracing::warn;

use super::api::ApiCalls;
use super::client::Body;
use super::event::Happening;
use super::failure::Failure;
use super::pod_status::now;
use crate::kube::status_cache::CachedGang;
use crate::objects::{
    GroupPast, KaiPodGroupStatus, LAST_EVICTION, LAST_START, ObjectKind, STALE_SINCE,
    SchedulingCondition,
};

/// Further attempts at a list others write into as well.
const CONFLICTS_MAX: u32 = 3;

/// The conditions as they are, word for word: those of other node pools are written back.
#[derive(Deserialize)]
struct Found {
    metadata: Version,
    #[serde(default)]
    status: FoundStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    resource_version: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FoundStatus {
    scheduling_conditions: Vec<Value>,
}

impl ApiCalls {
    /// Writes the times that are not written yet.
    pub(super) async fn report_past(&self, group: &ObjectKey, report: &GroupPastReport) {
        let Some(cached) = self.statuses.gang(group) else { return };
        let changed = changes(cached.past, report.times);
        if changed.is_empty() {
            return;
        }
        let becomes_stale = changed.get(STALE_SINCE).is_some_and(Value::is_string)
            && cached.past.stale_since_ms.is_none();
        let patch = json!({"metadata": {"uid": cached.uid, "annotations": changed}});
        let body = (Body::MergePatch, &patch);
        match self.client.write(Method::PATCH, &path(group), body).await {
            Ok(()) if becomes_stale => {
                let GroupPastReport { holding, needed, .. } = report;
                let message = format!("{holding} of the {needed} pods it needs hold room");
                self.events.note(Happening::gang(group, &cached.uid, "StaleJob", message));
            }
            Ok(()) => {}
            // Gone, or another group of that name by now.
            Err(failure) if failure.is(404) || failure.is(409) => {}
            Err(failure) => warn!(%group, %failure, "the past of the PodGroup was not written"),
        }
    }

    /// Says why a group waits, unless it says so itself.
    pub(super) async fn report_gang_wait(&self, group: &ObjectKey, wait: &GangWait) {
        let Some(cached) = self.statuses.gang(group) else { return };
        if wait.class.said == SaidIn::Status {
            if says_already(&cached.status, wait) {
                return;
            }
            let mut written = self.write_condition(group, &cached, wait).await;
            for _ in 0..CONFLICTS_MAX {
                if !written.as_ref().is_err_and(|failure| failure.is(409)) {
                    break;
                }
                written = self.write_condition(group, &cached, wait).await;
            }
            match written {
                Ok(()) => {}
                Err(failure) if failure.is(404) || failure.is(409) => return,
                Err(failure) => {
                    return warn!(%group, %failure, "the condition of the PodGroup was not written");
                }
            }
        }
        let (reason, message) = (wait.class.lack.as_str(), wait.text());
        self.events.note(Happening::gang(group, &cached.uid, reason, message));
    }

    /// Puts the condition of our node pool at the end of the list, in place of an older one.
    async fn write_condition(
        &self,
        group: &ObjectKey,
        cached: &CachedGang,
        wait: &GangWait,
    ) -> Result<(), Failure> {
        let mut metadata = json!({"uid": cached.uid});
        let mut transition = cached.status.next_transition();
        let mut conditions: Vec<Value> = Vec::new();
        let others = |pool: &str| pool != &*wait.pool;
        if cached.status.scheduling_conditions.iter().any(|entry| others(&entry.node_pool)) {
            // A patch replaces the list as a whole.
            let found: Found = self.client.read(&path(group)).await?;
            metadata["resourceVersion"] = found.metadata.resource_version.into();
            conditions = found.status.scheduling_conditions;
            let read = |entry| serde_json::from_value::<SchedulingCondition>(entry).ok();
            let scheduling_conditions = conditions.iter().cloned().filter_map(read).collect();
            transition = KaiPodGroupStatus { scheduling_conditions }.next_transition();
            conditions.retain(|entry| others(entry["nodePool"].as_str().unwrap_or_default()));
        }
        let last_transition_time = Some(now());
        let own = SchedulingCondition::of(wait, transition);
        conditions.push(json!(SchedulingCondition { last_transition_time, ..own }));
        let patch = json!({"metadata": metadata, "status": {"schedulingConditions": conditions}});
        let address = format!("{}/status", path(group));
        self.client.write(Method::PATCH, &address, (Body::MergePatch, &patch)).await
    }
}

/// Does the last condition say the same of our node pool, numbers aside?
fn says_already(status: &KaiPodGroupStatus, wait: &GangWait) -> bool {
    let Some(newest) = status.newest() else { return false };
    let code = newest.message.split_once(": ").map_or("", |(code, _)| code);
    status.newest_pool() == Some(&*wait.pool)
        && code == wait.class.code.as_str()
        && newest.reasons.iter().map(|entry| entry.reason.as_str()).eq([wait.class.reason])
}

/// The annotations that have to change, each with its text; null takes one away.
fn changes(said: GroupPast, wanted: GroupTimes) -> Map<String, Value> {
    let ms = |time: Option<TimeMs>| time.map(|time| time.0);
    let times = [
        (LAST_START, said.last_start_ms, ms(wanted.last_start)),
        (STALE_SINCE, said.stale_since_ms, ms(wanted.stale_since)),
        (LAST_EVICTION, said.last_eviction_ms, ms(wanted.last_eviction)),
    ];
    let changed = times.into_iter().filter(|(_, said, wanted)| said != wanted);
    changed.map(|(key, _, wanted)| (key.to_owned(), json!(wanted.and_then(rfc3339)))).collect()
}

/// To the millisecond: a scheduler that starts anew goes by the same time as the one before it.
fn rfc3339(ms: i64) -> Option<String> {
    Timestamp::from_millisecond(ms).ok().map(|time| time.to_string())
}

fn path(group: &ObjectKey) -> String {
    let kind = ObjectKind::KaiPodGroup;
    let (api, version, plural) = (kind.group(), kind.version(), kind.plural());
    format!("/apis/{api}/{version}/namespaces/{}/{plural}/{}", group.namespace, group.name)
}

#[cfg(test)]
mod tests {
    use muster_core::status::{GangLack, OVER_LIMIT, POD_SCHEDULING_ERRORS, WaitClass};
    use muster_core::verdict::Reason;

    use super::*;

    fn wait(pool: &str, code: Reason, reason: &'static str) -> GangWait {
        let (lack, said) = (GangLack::Unschedulable, SaidIn::Status);
        GangWait {
            class: WaitClass { lack, said, reason, code },
            pool: pool.into(),
            message: "2 of 3 pods find a place".to_owned(),
        }
    }

    #[test]
    fn what_the_last_condition_says_is_not_said_again() {
        let lack = wait("a", Reason::NotEnoughResources, POD_SCHEDULING_ERRORS);
        let mut status = KaiPodGroupStatus::default();
        assert!(!says_already(&status, &lack));
        assert_eq!(status.next_transition(), 1);
        status.scheduling_conditions = vec![
            SchedulingCondition::of(&lack, 9),
            SchedulingCondition::of(&wait("b", Reason::NeverFits, POD_SCHEDULING_ERRORS), 4),
        ];
        assert_eq!(status.next_transition(), 10);
        let other_numbers =
            GangWait { message: "1 of 3 pods finds a place".into(), ..lack.clone() };
        assert!(says_already(&status, &other_numbers));
        assert!(!says_already(&status, &wait("a", Reason::QueueOverCapability, OVER_LIMIT)));
        assert!(!says_already(&status, &wait("b", Reason::NeverFits, POD_SCHEDULING_ERRORS)));
    }

    #[test]
    fn only_times_that_differ_are_written() {
        let said = GroupPast {
            last_start_ms: Some(1_000),
            stale_since_ms: Some(5_000),
            last_eviction_ms: None,
        };
        let wanted = GroupTimes {
            last_start: Some(TimeMs(1_000)),
            stale_since: None,
            last_eviction: Some(TimeMs(1_500)),
        };
        let changed = Value::Object(changes(said, wanted));
        assert_eq!(changed, json!({STALE_SINCE: null, LAST_EVICTION: "1970-01-01T00:00:01.5Z"}));
        assert!(
            changes(
                said,
                GroupTimes {
                    last_start: Some(TimeMs(1_000)),
                    stale_since: Some(TimeMs(5_000)),
                    last_eviction: None
                }
            )
            .is_empty()
        );
    }
}
