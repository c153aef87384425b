//! A resource vector that remembers which dimensions were named.
//!
//! A queue that says `nvidia.com/gpu: 0` and a queue that says nothing about it are different
//! queues. [`ResourceVec`] cannot tell them apart, [`Limits`] can.

use super::{Dim, LANES, ResourceVec};

/// Amounts of the dimensions that were named; what was not named is missing, and who compares says
/// what missing means ([`Missing`](super::Missing)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Zero wherever nothing was named.
    values: ResourceVec,
    /// Bit per hot lane.
    hot: u8,
    /// Named dimensions beyond the hot lanes, sorted.
    tail: Vec<Dim>,
}

const _: () = assert!(LANES == u8::BITS as usize, "one bit of `Limits::hot` for each lane");

impl Limits {
    /// Names a dimension and writes its amount.
    pub fn set(&mut self, dim: Dim, amount: i64) {
        self.values.set(dim, amount);
        match dim.lane() {
            Some(lane) => self.hot |= 1 << lane,
            None => {
                if let Err(at) = self.tail.binary_search(&dim) {
                    self.tail.insert(at, dim);
                }
            }
        }
    }

    /// Was the dimension named?
    pub fn names(&self, dim: Dim) -> bool {
        dim.lane().map_or_else(
            || self.tail.binary_search(&dim).is_ok(),
            |lane| self.hot & (1 << lane) != 0,
        )
    }

    /// The amount of a dimension, if it was named.
    pub fn get(&self, dim: Dim) -> Option<i64> {
        self.names(dim).then(|| self.values.get(dim))
    }

    /// The amounts, zero where nothing was named.
    pub fn values(&self) -> &ResourceVec {
        &self.values
    }

    /// Named dimensions with their amounts, in order of dimension.
    pub fn iter(&self) -> impl Iterator<Item = (Dim, i64)> + '_ {
        let hot = (0..LANES as u32).map(Dim).filter(|&dim| self.names(dim));
        hot.chain(self.tail.iter().copied()).map(|dim| (dim, self.values.get(dim)))
    }

    /// Was nothing named at all?
    pub fn is_empty(&self) -> bool {
        self.hot == 0 && self.tail.is_empty()
    }
}

/// What is in use or free, as a side of a comparison: cpu and memory count as named even at zero,
/// any other dimension where it is not zero. Volcano's vectors are the same: two fixed fields and a
/// map of the rest.
impl From<&ResourceVec> for Limits {
    fn from(values: &ResourceVec) -> Self {
        let mut limits = Self::default();
        for (dim, amount) in [Dim::CPU, Dim::MEMORY].map(|dim| (dim, values.get(dim))) {
            limits.set(dim, amount);
        }
        for (dim, amount) in values.iter() {
            limits.set(dim, amount);
        }
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_zero_is_not_a_missing_name() {
        for dim in [Dim::CPU, Dim(7), Dim(8), Dim(4000)] {
            let mut limits = Limits::default();
            assert!(limits.is_empty());
            assert_eq!(limits.get(dim), None);
            limits.set(dim, 0);
            assert_eq!(limits.get(dim), Some(0));
            assert!(!limits.is_empty());
            assert_eq!(limits.values(), &ResourceVec::default());
        }
    }

    #[test]
    fn names_are_listed_once_in_order() {
        let mut limits = Limits::default();
        for (dim, amount) in [(Dim(12), 1), (Dim::MEMORY, 2), (Dim(9), 0), (Dim(12), 5)] {
            limits.set(dim, amount);
        }
        assert_eq!(limits.iter().collect::<Vec<_>>(), [(Dim(1), 2), (Dim(9), 0), (Dim(12), 5)]);
    }

    #[test]
    fn a_vector_names_cpu_memory_and_what_it_holds() {
        let mut vector = ResourceVec::default();
        vector.set(Dim(10), 3);
        let limits = Limits::from(&vector);
        assert_eq!(limits.iter().collect::<Vec<_>>(), [(Dim(0), 0), (Dim(1), 0), (Dim(10), 3)]);
    }
}
