//! Status of our shard of nodes: what we use of it.

use http::Method;
use muster_core::ids::Name;
use muster_core::status::ShardReport;
use serde_json::{Value, json};
use tracing::warn;

use super::api::ApiCalls;
use super::client::Body;
use crate::objects::ObjectKind;

impl ApiCalls {
    pub(super) async fn report_shard(&self, shard: &Name, report: &ShardReport) {
        let kind = ObjectKind::NodeShard;
        let (group, version, plural) = (kind.group(), kind.version(), kind.plural());
        let address = format!("/apis/{group}/{version}/{plural}/{shard}/status");
        let patch = json!({"status": status(report)});
        match self.client.write(Method::PATCH, &address, (Body::MergePatch, &patch)).await {
            Ok(()) => {}
            Err(failure) if failure.is(404) => {}
            Err(failure) => warn!(%shard, %failure, "the status of the shard was not written"),
        }
    }
}

/// Every list whole: a merge patch replaces lists.
fn status(report: &ShardReport) -> Value {
    let texts = |names: &[Name]| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
    json!({
        "nodesInUse": texts(&report.in_use),
        "nodesToAdd": texts(&report.to_add),
        "nodesToRemove": texts(&report.to_remove),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_became_empty_is_written() {
        let report = ShardReport { in_use: vec!["a".into()], ..ShardReport::default() };
        let expected = json!({"nodesInUse": ["a"], "nodesToAdd": [], "nodesToRemove": []});
        assert_eq!(status(&report), expected);
    }
}
