//! Resource names met so far, and the dimension each of them has.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Format, LANES, Limits, Quantity, ResourceList, ResourceVec};
use crate::ids::Name;

/// Index of a resource dimension: below [`LANES`] a hot lane, above it a key of the tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dim(pub u32);

impl Dim {
    /// cpu, in milli.
    pub const CPU: Self = Self(0);
    /// memory, in bytes.
    pub const MEMORY: Self = Self(1);
    /// pods.
    pub const PODS: Self = Self(2);
    /// ephemeral-storage, in bytes.
    pub const EPHEMERAL: Self = Self(3);

    /// The dimension as an index of arrays by dimension.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The lane, if the dimension is hot.
    #[inline]
    pub fn lane(self) -> Option<usize> {
        (self.index() < LANES).then_some(self.index())
    }

    /// Is one unit of the resource counted as a thousand?
    pub fn in_milli(self) -> bool {
        !matches!(self, Self::MEMORY | Self::PODS | Self::EPHEMERAL)
    }
}

/// Names interned at run time. Which lane a name gets depends on the order of arrival; no decision
/// depends on which lane it is.
#[derive(Clone, Debug)]
pub struct ResourceNames {
    by_name: HashMap<Name, Dim, FxBuildHasher>,
    names: Vec<Name>,
}

impl Default for ResourceNames {
    fn default() -> Self {
        let mut names = Self { by_name: HashMap::default(), names: Vec::new() };
        for fixed in ["cpu", "memory", "pods", "ephemeral-storage"] {
            names.dim(&Name::from(fixed));
        }
        names
    }
}

impl ResourceNames {
    /// The dimension of a name, a new one if it was never met.
    ///
    /// Four thousand million names would exhaust the memory of any machine before the numbers.
    pub fn dim(&mut self, name: &Name) -> Dim {
        if let Some(&dim) = self.by_name.get(name) {
            return dim;
        }
        let dim = Dim(u32::try_from(self.names.len()).expect("fewer names than 2^32"));
        self.names.push(name.clone());
        self.by_name.insert(name.clone(), dim);
        dim
    }

    /// The dimension of a name, if it was met.
    pub fn find(&self, name: &str) -> Option<Dim> {
        self.by_name.get(name).copied()
    }

    /// The name of a dimension.
    pub fn name(&self, dim: Dim) -> &Name {
        &self.names[dim.index()]
    }

    /// Every dimension met so far.
    pub fn dims(&self) -> impl Iterator<Item = Dim> + use<> {
        (0..self.names.len()).map(|index| Dim(index as u32))
    }

    /// The vector of a list, each amount rounded up to its dimension's unit.
    pub fn vector(&mut self, list: &ResourceList) -> ResourceVec {
        let mut vector = ResourceVec::default();
        for (name, quantity) in list {
            let dim = self.dim(name);
            vector.set(dim, Self::units(dim, *quantity));
        }
        vector
    }

    /// The vector of what pods can ask for; names that only quotas know are left out.
    pub fn of_pods(&mut self, list: &ResourceList) -> ResourceVec {
        let mut vector = ResourceVec::default();
        for (name, quantity) in list.iter().filter(|(name, _)| is_of_pods(name)) {
            let dim = self.dim(name);
            vector.set(dim, Self::units(dim, *quantity));
        }
        vector
    }

    /// The vector of a list together with the names the list gives, each amount rounded up.
    pub fn limits(&mut self, list: &ResourceList) -> Limits {
        let mut limits = Limits::default();
        for (name, quantity) in list {
            let dim = self.dim(name);
            limits.set(dim, Self::units(dim, *quantity));
        }
        limits
    }

    /// An amount in a dimension's base units, rounded up.
    pub fn units(dim: Dim, quantity: Quantity) -> i64 {
        if dim.in_milli() { quantity.milli_ceil() } else { quantity.units_ceil() }
    }

    /// The amount as a Kubernetes quantity, for messages.
    pub fn quantity(dim: Dim, units: i64) -> Quantity {
        if dim.in_milli() { Quantity::from_milli(units) } else { Quantity::from_units(units) }
    }

    /// An amount in a dimension's base units as people write it: `1500m` cpu, `32Gi` memory.
    pub fn display(&self, dim: Dim, units: i64) -> String {
        Self::quantity(dim, units).format(Format::of(self.name(dim)))
    }
}

/// Is it a resource a container can ask for, rather than one that only quotas count, such as
/// `requests.cpu`, `count/pods` or `services`?
fn is_of_pods(name: &str) -> bool {
    let counted = ["requests.", "limits.", "count/"];
    matches!(name, "cpu" | "memory" | "pods" | "ephemeral-storage")
        || name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
        || (name.contains('/') && !counted.iter().any(|prefix| name.starts_with(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(&str, &str)]) -> ResourceList {
        entries.iter().map(|&(name, text)| (Name::from(name), text.parse().unwrap())).collect()
    }

    #[test]
    fn fixed_names_come_first_and_others_in_order_of_arrival() {
        let mut names = ResourceNames::default();
        assert_eq!(names.find("cpu"), Some(Dim::CPU));
        assert_eq!(names.find("memory"), Some(Dim::MEMORY));
        assert_eq!(names.find("pods"), Some(Dim::PODS));
        assert_eq!(names.find("ephemeral-storage"), Some(Dim::EPHEMERAL));
        assert_eq!(names.find("nvidia.com/gpu"), None);
        assert_eq!(names.dim(&"nvidia.com/gpu".into()), Dim(4));
        assert_eq!(names.dim(&"nvidia.com/gpu".into()), Dim(4));
        assert_eq!(names.dims().count(), 5);
    }

    #[test]
    fn names_beyond_sixteen_bits_keep_dimensions_of_their_own() {
        let mut names = ResourceNames::default();
        let dims = (0..70_000).map(|i| names.dim(&format!("example.com/r{i}").into()));
        let dims: std::collections::BTreeSet<Dim> = dims.collect();
        assert_eq!(dims.len(), 70_000);
        let last = *dims.last().unwrap();
        assert_eq!(&**names.name(last), "example.com/r69999");
        let mut vector = ResourceVec::default();
        vector.set(last, 7);
        assert_eq!(vector.iter().collect::<Vec<_>>(), [(last, 7)]);
    }

    #[test]
    fn each_dimension_is_counted_in_its_own_unit_and_rounded_up() {
        let mut names = ResourceNames::default();
        let vector = names.vector(&list(&[
            ("cpu", "1.0001"),
            ("memory", "1.5"),
            ("pods", "3"),
            ("ephemeral-storage", "1Ki"),
            ("nvidia.com/gpu", "2"),
        ]));
        assert_eq!(vector.get(Dim::CPU), 1001);
        assert_eq!(vector.get(Dim::MEMORY), 2);
        assert_eq!(vector.get(Dim::PODS), 3);
        assert_eq!(vector.get(Dim::EPHEMERAL), 1024);
        assert_eq!(vector.get(Dim(4)), 2000);
    }

    #[test]
    fn limits_remember_a_name_given_with_zero() {
        let mut names = ResourceNames::default();
        let limits = names.limits(&list(&[("cpu", "2"), ("nvidia.com/gpu", "0")]));
        assert_eq!(limits.get(Dim::CPU), Some(2000));
        assert_eq!(limits.get(Dim(4)), Some(0));
        assert_eq!(limits.get(Dim::MEMORY), None);
    }

    #[test]
    fn names_that_only_quotas_know_are_nothing_a_pod_asks_for() {
        let mut names = ResourceNames::default();
        let vector = names.of_pods(&list(&[
            ("count/pods", "5"),
            ("cpu", "2"),
            ("limits.memory", "1Gi"),
            ("nvidia.com/gpu", "1"),
            ("requests.cpu", "2"),
            ("requests.nvidia.com/gpu", "1"),
            ("services", "3"),
        ]));
        let found: Vec<_> =
            vector.iter().map(|(dim, amount)| (&**names.name(dim), amount)).collect();
        assert_eq!(found, [("cpu", 2000), ("nvidia.com/gpu", 1000)]);
    }

    #[test]
    fn amounts_are_shown_as_people_write_them() {
        let mut names = ResourceNames::default();
        let huge = names.dim(&"hugepages-2Mi".into());
        let gpu = names.dim(&"nvidia.com/gpu".into());
        assert_eq!(names.display(Dim::CPU, 3000), "3");
        assert_eq!(names.display(Dim::CPU, 1500), "1500m");
        assert_eq!(names.display(Dim::MEMORY, 34_359_738_368), "32Gi");
        assert_eq!(names.display(Dim::EPHEMERAL, 10 << 20), "10Mi");
        assert_eq!(names.display(Dim::PODS, 8000), "8000");
        assert_eq!(names.display(gpu, 8000), "8");
        assert_eq!(names.display(huge, 2_097_152_000), "2Mi");
        assert_eq!(names.display(Dim::CPU, -500), "-500m");
    }
}
