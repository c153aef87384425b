//! How a pod wants its resources scored, from two annotations.

use std::collections::BTreeMap;

use muster_core::delta::{Packing, StrategyWish};
use muster_core::ids::Name;

use crate::objects::Metadata;

/// `MostAllocated` or `LeastAllocated`.
const TYPE: &str = "volcano.sh/resource-strategy-scoring-type";

/// Weights by name: `{"cpu": 1, "nvidia.com/gpu": 5}`.
const WEIGHT: &str = "volcano.sh/resource-strategy-weight";

/// The wish, if the pod has one. Weights that are absent or cannot be read count as nothing, as upstream.
pub(in crate::objects) fn wish(metadata: &Metadata) -> Option<StrategyWish> {
    let packing = packing(metadata.annotations.get(TYPE)?)?;
    let weights = weights(metadata).unwrap_or_default();
    Some(StrategyWish { packing, weights })
}

fn packing(text: &str) -> Option<Packing> {
    match text {
        "MostAllocated" => Some(Packing::Most),
        "LeastAllocated" => Some(Packing::Least),
        _ => None,
    }
}

fn weights(metadata: &Metadata) -> Option<Vec<(Name, i64)>> {
    let text = metadata.annotations.get(WEIGHT)?;
    let weights: BTreeMap<String, i64> = serde_json::from_str(text).ok()?;
    Some(weights.into_iter().map(|(name, weight)| (Name::from(name), weight)).collect())
}

/// What is wrong with the annotations, if anything.
pub(in crate::objects) fn complaint(metadata: &Metadata) -> Option<String> {
    let kind = metadata.annotations.get(TYPE);
    if kind.is_none() && !metadata.annotations.contains_key(WEIGHT) {
        return None;
    }
    if kind.and_then(|text| packing(text)).is_none() {
        let problem = "that is neither MostAllocated nor LeastAllocated; the configuration counts";
        return Some(format!("has an annotation {TYPE} {problem}"));
    }
    weights(metadata).is_none().then(|| {
        format!("has no readable annotation {WEIGHT}; expected whole numbers by name, in JSON")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(kind: &str, weight: &str) -> Metadata {
        Metadata::annotated(&[(TYPE, kind), (WEIGHT, weight)])
    }

    #[test]
    fn type_and_weights_make_a_wish() {
        let good = metadata("MostAllocated", r#"{"nvidia.com/gpu": 5, "cpu": 1}"#);
        let weights = vec![("cpu".into(), 1), ("nvidia.com/gpu".into(), 5)];
        assert_eq!(wish(&good), Some(StrategyWish { packing: Packing::Most, weights }));
        assert_eq!(complaint(&good), None);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let no_weights = metadata("LeastAllocated", "cpu=1");
        let nothing = StrategyWish { packing: Packing::Least, weights: Vec::new() };
        assert_eq!(wish(&no_weights), Some(nothing));
        assert!(complaint(&no_weights).is_some());
        let no_type = metadata("Some", "{}");
        assert_eq!(wish(&no_type), None);
        assert!(complaint(&no_type).is_some());
        assert_eq!(complaint(&Metadata::default()), None);
    }
}
