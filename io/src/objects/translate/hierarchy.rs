//! A queue's place in the tree of shares, from two annotations.

use muster_core::ids::Name;

use crate::objects::Metadata;

/// Path of the queue, beginning with the root: `root/eng/dev`.
const PATH: &str = "volcano.sh/hierarchy";

/// Weight of each part of the path: `1/2/8`.
const WEIGHTS: &str = "volcano.sh/hierarchy-weights";

/// Names below the root with weights in thousandths. A weight that is absent, no number or below 1
/// counts as 1, as upstream.
pub(in crate::objects) fn path(metadata: &Metadata) -> Vec<(Name, u32)> {
    let Some(path) = metadata.annotations.get(PATH) else { return Vec::new() };
    let weights: Vec<&str> =
        metadata.annotations.get(WEIGHTS).map_or_else(Vec::new, |text| text.split('/').collect());
    let below_root = path.split('/').enumerate().skip(1).filter(|(_, name)| !name.is_empty());
    let entry = |(at, name): (usize, &str)| {
        let weight = weights.get(at).and_then(|text| thousandths(text)).unwrap_or(1000);
        (Name::from(name), weight.max(1000))
    };
    below_root.map(entry).collect()
}

/// What is wrong with the annotations, if anything.
pub(in crate::objects) fn complaint(metadata: &Metadata) -> Option<String> {
    let path = metadata.annotations.get(PATH)?;
    let names = path.split('/').count();
    let weights = metadata.annotations.get(WEIGHTS).map_or("", String::as_str);
    let good = weights.split('/').filter(|text| thousandths(text).is_some_and(|w| w >= 1000));
    (good.count() != names || weights.split('/').count() != names).then(|| {
        format!(
            "has an annotation {WEIGHTS} that does not give each part of {PATH} a weight of 1 or \
             more; what is missing counts as 1"
        )
    })
}

fn thousandths(text: &str) -> Option<u32> {
    let number: f64 = text.trim().parse().ok()?;
    let scaled = (number * 1000.0).round();
    (0.0..=4e9).contains(&scaled).then_some(scaled as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(path: &str, weights: &str) -> Metadata {
        Metadata::annotated(&[(PATH, path), (WEIGHTS, weights)])
    }

    #[test]
    fn paths_begin_below_the_root_and_lacking_weights_are_one() {
        let of = |path_text, weights| {
            let path = path(&metadata(path_text, weights));
            path.iter().map(|(name, weight)| format!("{name}={weight}")).collect::<Vec<_>>()
        };
        assert_eq!(of("root/eng/dev", "1/2/8"), ["eng=2000", "dev=8000"]);
        assert_eq!(of("root/eng/dev", "1/2.5"), ["eng=2500", "dev=1000"]);
        assert_eq!(of("root/eng", "1/0.5"), ["eng=1000"]);
        assert_eq!(of("root/eng", "1/x"), ["eng=1000"]);
        assert_eq!(of("root", "1"), [""; 0]);
        assert_eq!(path(&Metadata::default()), []);
    }

    #[test]
    fn weights_that_do_not_fit_the_path_are_said() {
        assert_eq!(complaint(&metadata("root/eng/dev", "1/2/8")), None);
        assert_eq!(complaint(&Metadata::default()), None);
        for weights in ["1/2", "1/2/8/9", "1/2/x", "1/2/0", ""] {
            assert!(complaint(&metadata("root/eng/dev", weights)).is_some(), "{weights}");
        }
    }
}
