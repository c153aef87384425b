//! A queue, as `QueueInfo`.

use muster_core::resource::ResourceNames;
use muster_core::world::{Cluster, QueueReadOnlyItem};
use serde_json::{Value, json};

use crate::objects::state_text;

use super::{list, quantities, time};

/// A queue as it stands.
pub(in super::super) fn queue(
    cluster: &Cluster<'_, '_>,
    names: &ResourceNames,
    queue: &QueueReadOnlyItem<'_, '_>,
) -> Value {
    let (identity, spec) = (queue.identity, queue.spec);
    let parent = spec.parent.map(|parent| cluster.queue(parent).identity.name.to_string());
    let (parent, state) = (parent.unwrap_or_default(), state_text(spec.state));
    let given = |amounts: &Option<_>| amounts.as_ref().map(list);
    let (capability, deserved) = (given(&spec.capability), given(&spec.deserved));
    let guarantee = json!({"resource": given(&spec.guarantee)});
    let allocated = quantities(names, &queue.usage().allocated);
    json!({
        "UID": &*identity.name,
        "Name": &*identity.name,
        "CreationTimestamp": time(identity.created),
        "Parent": parent,
        "Weight": spec.weight,
        "Capability": capability,
        "Guarantee": guarantee,
        "Deserved": deserved,
        "ReclaimableFlag": spec.reclaimable,
        "Priority": spec.priority,
        "State": state,
        "Allocated": allocated,
        "Queue": {
            "name": &*identity.name,
            "uid": &*identity.uid,
            "Spec": {
                "Weight": spec.weight,
                "Capability": capability,
                "Reclaimable": spec.reclaimable,
                "guarantee": guarantee,
                "deserved": deserved,
                "parent": parent,
                "priority": spec.priority,
            },
            "Status": {"State": state, "Allocated": allocated},
        },
    })
}
