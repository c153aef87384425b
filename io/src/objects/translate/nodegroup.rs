//! What a queue says of groups of nodes.

use std::collections::BTreeMap;

use muster_core::delta::{GroupLimits, NodeGroupFacts};
use muster_core::ids::Name;
use muster_core::resource::{Quantity, ResourceList};

use crate::objects::{Queue, ResourceMap, Scalar};

/// Annotation with how much of each group the queue may hold: `{"group": {"cpu": "4"}}`.
pub(in crate::objects) const LIMITS: &str = "volcano.sh/nodegroup-resource-limits";

pub(in crate::objects) fn facts(queue: &Queue) -> NodeGroupFacts {
    let names = |list: &[String]| list.iter().map(|name| Name::from(name.as_str())).collect();
    let affinity = &queue.spec.affinity;
    let (interpod, far) = (&affinity.node_group_affinity, &affinity.node_group_anti_affinity);
    NodeGroupFacts {
        required: names(&interpod.required),
        preferred: names(&interpod.preferred),
        anti_required: names(&far.required),
        anti_preferred: names(&far.preferred),
        limits: limits(queue).map_or(GroupLimits::Unreadable, GroupLimits::Given),
    }
}

/// The limits; `None` if they cannot be read.
pub(in crate::objects) fn limits(queue: &Queue) -> Option<Vec<(Name, ResourceList)>> {
    let Some(text) = queue.metadata.annotations.get(LIMITS) else { return Some(Vec::new()) };
    let groups: BTreeMap<String, ResourceMap> = serde_json::from_str(text).ok()?;
    let groups = groups.iter().map(|(group, amounts)| {
        let amounts: Option<ResourceList> = amounts
            .iter()
            .map(|(name, amount)| Some((Name::from(name.as_str()), quantity(amount)?)))
            .collect();
        Some((Name::from(group.as_str()), amounts?))
    });
    groups.collect()
}

fn quantity(amount: &Scalar) -> Option<Quantity> {
    amount.as_str().parse::<Quantity>().ok().filter(|quantity| !quantity.is_negative())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Metadata;

    fn queue(limits: &str) -> Queue {
        Queue { metadata: Metadata::annotated(&[(LIMITS, limits)]), ..Queue::default() }
    }

    #[test]
    fn limits_are_read_by_group_and_what_cannot_be_read_is_not_guessed() {
        let read = limits(&queue(r#"{"b": {"cpu": "500m", "nvidia.com/gpu": 2}, "a": {}}"#));
        let read = read.expect("valid");
        let names: Vec<_> = read.iter().map(|(group, list)| (&**group, list.len())).collect();
        assert_eq!(names, [("a", 0), ("b", 2)]);
        assert_eq!(limits(&Queue::default()), Some(Vec::new()));
        for bad in ["", "{", r#"{"a": {"cpu": "x"}}"#, r#"{"a": {"cpu": "-1"}}"#] {
            assert_eq!(limits(&queue(bad)), None, "{bad}");
            assert_eq!(facts(&queue(bad)).limits, GroupLimits::Unreadable);
        }
    }
}
