//! Points for images a node already holds, as Kubernetes counts them.
//!
//! Each container's image counts with its size times the part of all nodes that hold it, so that an
//! image only one node has does not draw every pod there. Sums below 23 MiB are worth nothing, those of
//! 1000 MiB a container or more 100 points.

use crate::class::Class;
use crate::kernel::ratio::SCORE_SCALE;
use crate::world::{Images, NodeRules};

const MIB: i64 = 1 << 20;
/// Less than this is fetched in no time.
const LEAST: i64 = 23 * MIB;
/// More than this for a container does not count.
const MOST: i64 = 1000 * MIB;

/// Does any node hold any image of the class? Without one all nodes are equal.
pub(super) fn matter(class: &Class, images: &Images) -> bool {
    class.images.iter().any(|&image| images.holders(image) > 0)
}

/// Points of a node, in units of the score scale.
pub(super) fn points(class: &Class, images: &Images, node: &NodeRules) -> i64 {
    let nodes = i128::from(images.nodes().max(1));
    let sizes = class.images.iter().filter_map(|&image| {
        let at = node.images.binary_search_by_key(&image, |entry| entry.0).ok()?;
        let size = i128::from(node.images[at].1.max(0));
        i64::try_from(size * i128::from(images.holders(image)) / nodes).ok()
    });
    let most = MOST.saturating_mul(class.images.len() as i64).max(LEAST + 1);
    let sum = sizes.fold(0, i64::saturating_add).clamp(LEAST, most);
    let points = i128::from(sum - LEAST) * 100 / i128::from(most - LEAST);
    points as i64 * SCORE_SCALE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::{Asks, Classes};
    use crate::delta::Constraints;
    use crate::interpod::SelectorRegistry;
    use crate::resource::ResourceVec;
    use crate::world::{Reads, Symbols, VolumeNeeds};

    fn asks(constraints: Constraints) -> Asks {
        let request = ResourceVec::default();
        let (matched, volumes) = (Vec::new(), VolumeNeeds::default());
        let (group_rule, default_spread, kin) = (None, None, None);
        Asks {
            request,
            constraints,
            group_rule,
            matched,
            volumes,
            default_spread,
            devices: None,
            kin,
        }
    }

    #[test]
    fn size_counts_by_how_common_the_image_is() {
        let mut symbols = Symbols::default();
        let reads = Reads { images: true, ..Reads::default() };
        let (mut classes, mut images) = (Classes::new(reads), Images::new(reads));
        let constraints =
            Constraints { images: vec!["a:1".into(), "b:1".into()], ..Constraints::default() };
        let id = classes.intern(asks(constraints), &mut SelectorRegistry::default(), &mut symbols);
        let class = classes.get(id);
        let node = |names: &[(usize, i64)]| NodeRules {
            images: names.iter().map(|&(at, size)| (class.images[at], size)).collect(),
            ..NodeRules::default()
        };
        let nodes =
            [node(&[(0, 1000 * MIB)]), node(&[(0, 1000 * MIB), (1, 4000 * MIB)]), node(&[])];
        assert!(!matter(class, &images));
        for node in &nodes {
            images.add(&node.images);
        }
        assert!(matter(class, &images));
        let points: Vec<i64> =
            nodes.iter().map(|node| super::points(class, &images, node) / SCORE_SCALE).collect();
        // a: 1000 on two of three nodes counts 666; b: 4000 on one of three 1333. The scale goes from
        // 23 to 2000: (666 - 23) / 1977 and (2000 - 23 - 1) / 1977, in whole points.
        assert_eq!(points, [32, 99, 0]);
    }

    #[test]
    fn the_rules_that_read_no_images_see_pods_with_different_ones_as_equal() {
        let mut symbols = Symbols::default();
        let mut classes = Classes::new(Reads::default());
        let mut class = |image: &str| {
            let constraints = Constraints { images: vec![image.into()], ..Constraints::default() };
            classes.intern(asks(constraints), &mut SelectorRegistry::default(), &mut symbols)
        };
        assert_eq!(class("a:1"), class("b:1"));
    }
}
