//! Definitions of KAI's PodGroup, Queue and Topology, for clusters without KAI.
//!
//! What they let in and makes no sense is set aside by the scheduler, with a reason: KAI's own webhooks are
//! not needed for it.

use serde_json::{Value, json};

use super::{Definition, KEEP_UNKNOWN, definition, object_schema, schema_of};
use crate::objects::{
    KaiPodGroupSpec, KaiPodGroupStatus, KaiQueueSpec, LevelTopologySpec, ObjectKind,
};

/// All of them, in the order they are listed to people.
pub(super) fn definitions() -> [Definition; 3] {
    [pod_groups(), queues(), topologies()]
}

fn pod_groups() -> Definition {
    let columns = json!([
        {"name": "MinMember", "type": "integer", "jsonPath": ".spec.minMember"},
        {"name": "Queue", "type": "string", "jsonPath": ".spec.queue"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    let schema = object_schema(
        "A gang: pods that are of use only together.",
        schema_of::<KaiPodGroupSpec>(),
        schema_of::<KaiPodGroupStatus>(),
    );
    definition(ObjectKind::KaiPodGroup, &["pg"], columns, schema)
}

fn queues() -> Definition {
    let columns = json!([
        {"name": "Priority", "type": "string", "jsonPath": ".spec.priority"},
        {"name": "Parent", "type": "string", "jsonPath": ".spec.parentQueue"},
        {"name": "Children", "type": "string", "jsonPath": ".status.childQueues"},
        {"name": "DisplayName", "type": "string", "jsonPath": ".spec.displayName"},
    ]);
    let schema = object_schema(
        "A queue of gangs, with what it is due and what it may have at most.",
        schema_of::<KaiQueueSpec>(),
        foreign("Written by KAI's queue controller; not read."),
    );
    definition(ObjectKind::KaiQueue, &[], columns, schema)
}

fn topologies() -> Definition {
    let schema = object_schema(
        "Domains of nodes that are close to each other, by labels of the nodes.",
        schema_of::<LevelTopologySpec>(),
        foreign("Written by nobody; not read."),
    );
    definition(ObjectKind::LevelTopology, &[], json!([]), schema)
}

/// A status that belongs to somebody else.
fn foreign(description: &str) -> Value {
    json!({"description": description, "type": "object", (KEEP_UNKNOWN): true})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(definition: &Definition, part: &str) -> Value {
        let version = &definition.object()["spec"]["versions"][0];
        version["schema"]["openAPIV3Schema"]["properties"][part]["properties"].clone()
    }

    #[test]
    fn fields_have_the_names_and_types_of_kai_s_objects() {
        let [groups, queues, topologies] = definitions();
        assert_eq!(groups.object()["metadata"]["name"], "podgroups.scheduling.run.ai");
        let spec = schema(&groups, "spec");
        assert_eq!(spec["minMember"]["type"], "integer");
        assert_eq!(spec["subGroups"]["items"]["properties"]["parent"]["type"], "string");
        let conditions = &schema(&groups, "status")["schedulingConditions"]["items"]["properties"];
        assert_eq!(conditions["transitionID"]["type"], "string");
        assert_eq!(conditions["type"]["type"], "string");
        let gpu = &schema(&queues, "spec")["resources"]["properties"]["gpu"]["properties"];
        for amount in ["quota", "limit", "overQuotaWeight"] {
            assert_eq!(gpu[amount]["type"], "number", "half a device is an amount");
        }
        let levels = &schema(&topologies, "spec")["levels"]["items"]["properties"];
        assert_eq!(levels["nodeLabel"]["type"], "string");
    }
}
