//! What storage is left where: drivers that publish it, and what they say of each segment of the
//! cluster.

use std::collections::{BTreeMap, BTreeSet};

use crate::delta::{CapacityTracking, CsiDriverFacts, Operator, Requirement, StorageCapacityFacts};
use crate::ids::{Name, ObjectKey};
use crate::resource::Quantity;

/// Drivers that publish their capacity, and the capacities by class.
#[derive(Debug, Default)]
pub(crate) struct Capacities {
    publishers: BTreeSet<Name>,
    by_class: BTreeMap<Name, BTreeMap<ObjectKey, StorageCapacityFacts>>,
    /// The class each object was last known to speak of.
    classes: BTreeMap<ObjectKey, Name>,
}

impl Capacities {
    /// Replaces what a driver says of itself; true if that is news.
    pub(super) fn set_driver(&mut self, name: &Name, facts: Option<CsiDriverFacts>) -> bool {
        if facts.is_some_and(|facts| facts.capacity == CapacityTracking::Published) {
            self.publishers.insert(name.clone())
        } else {
            self.publishers.remove(name)
        }
    }

    /// Replaces what is known of a segment; gives what was known before.
    pub(super) fn set(
        &mut self,
        key: &ObjectKey,
        facts: Option<StorageCapacityFacts>,
    ) -> Option<StorageCapacityFacts> {
        let before = self.classes.remove(key).and_then(|class| {
            let of_class = self.by_class.get_mut(&class)?;
            let before = of_class.remove(key);
            if of_class.is_empty() {
                self.by_class.remove(&class);
            }
            before
        });
        if let Some(facts) = facts {
            self.classes.insert(key.clone(), facts.class.clone());
            self.by_class.entry(facts.class.clone()).or_default().insert(key.clone(), facts);
        }
        before
    }

    /// Segments in which the driver can make a volume of a class and size: a node must have all
    /// labels of any one of them. `None` where the driver does not say, or no size is asked for, as in
    /// Kubernetes.
    pub(super) fn segments(
        &self,
        driver: &Name,
        class: &Name,
        size: Quantity,
    ) -> Option<Vec<Vec<Requirement>>> {
        if size.is_zero() || !self.publishers.contains(driver) {
            return None;
        }
        let objects = self.by_class.get(class).into_iter().flat_map(BTreeMap::values);
        let serving = objects.filter(|facts| suffices(facts, size));
        Some(merged(serving.filter_map(|facts| facts.segment.clone())))
    }
}

/// Is a volume of the size possible in the segment?
pub(super) fn suffices(facts: &StorageCapacityFacts, size: Quantity) -> bool {
    facts.segment.is_some() && facts.largest.is_some_and(|largest| largest >= size)
}

/// Segments without repeats. Those that are one value of a label each, as nodes and zones are, come
/// to one segment with all the values, so that a node is looked up and not compared with each.
fn merged(segments: impl Iterator<Item = Vec<Requirement>>) -> Vec<Vec<Requirement>> {
    let mut by_label: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
    let mut others = BTreeSet::new();
    for segment in segments {
        match <[Requirement; 1]>::try_from(segment) {
            Ok([test]) if test.operator == Operator::In => {
                by_label.entry(test.key).or_default().extend(test.values);
            }
            Ok(tests) => drop(others.insert(tests.to_vec())),
            Err(tests) => drop(others.insert(tests)),
        }
    }
    let one_of = |(key, values): (Name, BTreeSet<Name>)| {
        vec![Requirement { key, operator: Operator::In, values: values.into_iter().collect() }]
    };
    by_label.into_iter().map(one_of).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(key: &str, operator: Operator, values: &[&str]) -> Requirement {
        let values = values.iter().map(|&value| value.into()).collect();
        Requirement { key: key.into(), operator, values }
    }

    fn capacity(name: &str, gib: i64, segment: Option<Vec<Requirement>>) -> StorageCapacityFacts {
        StorageCapacityFacts {
            key: ObjectKey::new("storage", name),
            class: "fast".into(),
            segment,
            largest: Some(Quantity::from_units(gib)),
        }
    }

    fn of_driver(tracking: CapacityTracking) -> Capacities {
        let mut capacities = Capacities::default();
        let driver = CsiDriverFacts { name: "d".into(), capacity: tracking };
        capacities.set_driver(&"d".into(), Some(driver));
        capacities
    }

    fn set(capacities: &mut Capacities, facts: StorageCapacityFacts) {
        capacities.set(&facts.key.clone(), Some(facts));
    }

    #[test]
    fn segments_of_one_value_each_come_to_one() {
        let mut capacities = of_driver(CapacityTracking::Published);
        let on = |value: &str| Some(vec![test("host", Operator::In, &[value])]);
        set(&mut capacities, capacity("b", 20, on("n2")));
        set(&mut capacities, capacity("a", 10, on("n1")));
        set(&mut capacities, capacity("full", 4, on("n3")));
        set(&mut capacities, capacity("nowhere", 90, None));
        set(
            &mut capacities,
            capacity("shared", 90, Some(vec![test("san", Operator::Exists, &[])])),
        );
        let segments =
            capacities.segments(&"d".into(), &"fast".into(), Quantity::from_units(10)).unwrap();
        let expected = [
            vec![test("host", Operator::In, &["n1", "n2"])],
            vec![test("san", Operator::Exists, &[])],
        ];
        assert_eq!(segments, expected);
        assert_eq!(
            capacities.segments(&"d".into(), &"slow".into(), Quantity::from_units(1)),
            Some(Vec::new()),
            "nothing is said of that class: nowhere"
        );
    }

    #[test]
    fn a_driver_that_does_not_publish_has_room_everywhere() {
        let capacities = of_driver(CapacityTracking::Absent);
        let ask = |capacities: &Capacities, size| {
            capacities.segments(&"d".into(), &"fast".into(), Quantity::from_units(size))
        };
        assert_eq!(ask(&capacities, 1), None);
        let capacities = of_driver(CapacityTracking::Published);
        assert_eq!(ask(&capacities, 1), Some(Vec::new()));
        assert_eq!(ask(&capacities, 0), None, "a claim that asks for no size");
    }

    #[test]
    fn what_is_replaced_or_gone_does_not_count() {
        let mut capacities = of_driver(CapacityTracking::Published);
        let everywhere = || Some(Vec::new());
        set(&mut capacities, capacity("a", 10, everywhere()));
        let moved =
            StorageCapacityFacts { class: "slow".into(), ..capacity("a", 10, everywhere()) };
        set(&mut capacities, moved.clone());
        let ask = |capacities: &Capacities, class: &str| {
            let size = Quantity::from_units(1);
            capacities.segments(&"d".into(), &class.into(), size).map(|segments| segments.len())
        };
        assert_eq!((ask(&capacities, "fast"), ask(&capacities, "slow")), (Some(0), Some(1)));
        assert_eq!(capacities.set(&moved.key.clone(), None), Some(moved));
        assert_eq!(ask(&capacities, "slow"), Some(0));
    }
}
