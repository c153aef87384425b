//! The resource vector itself: hot lanes plus tail, added and subtracted as one.

use super::{Dim, Lanes};

/// Amounts of dimensions beyond the hot lanes, sorted by dimension, none of them zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tail(Vec<(Dim, i64)>);

impl Tail {
    /// The amount of a dimension, zero where it is absent.
    pub fn get(&self, dim: Dim) -> i64 {
        self.0.binary_search_by_key(&dim, |entry| entry.0).map_or(0, |at| self.0[at].1)
    }

    /// Writes an amount; zero removes the entry.
    pub fn set(&mut self, dim: Dim, amount: i64) {
        match (self.0.binary_search_by_key(&dim, |entry| entry.0), amount) {
            (Ok(at), 0) => drop(self.0.remove(at)),
            (Ok(at), _) => self.0[at].1 = amount,
            (Err(_), 0) => {}
            (Err(at), _) => self.0.insert(at, (dim, amount)),
        }
    }

    /// Adds every entry of `other`.
    pub fn add(&mut self, other: &Self) {
        for &(dim, amount) in &other.0 {
            self.set(dim, self.get(dim).wrapping_add(amount));
        }
    }

    /// Subtracts every entry of `other`.
    pub fn sub(&mut self, other: &Self) {
        for &(dim, amount) in &other.0 {
            self.set(dim, self.get(dim).wrapping_sub(amount));
        }
    }

    /// Does every amount asked for find room?
    pub fn fits(&self, room: &Self) -> bool {
        self.0.iter().all(|&(dim, ask)| ask <= 0 || ask <= room.get(dim))
    }

    /// Entries in order of dimension.
    pub fn iter(&self) -> impl Iterator<Item = (Dim, i64)> + '_ {
        self.0.iter().copied()
    }

    /// Nothing beyond the hot lanes?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A whole resource vector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ResourceVec {
    /// The hot lanes.
    pub hot: Lanes,
    /// Everything else.
    pub tail: Tail,
}

impl ResourceVec {
    /// The amount of a dimension.
    pub fn get(&self, dim: Dim) -> i64 {
        dim.lane().map_or_else(|| self.tail.get(dim), |lane| self.hot.0[lane])
    }

    /// Writes the amount of a dimension.
    pub fn set(&mut self, dim: Dim, amount: i64) {
        match dim.lane() {
            Some(lane) => self.hot.0[lane] = amount,
            None => self.tail.set(dim, amount),
        }
    }

    /// Adds dimension by dimension.
    pub fn add(&mut self, other: &Self) {
        self.hot.add(&other.hot);
        self.tail.add(&other.tail);
    }

    /// Subtracts dimension by dimension; may go below zero.
    pub fn sub(&mut self, other: &Self) {
        self.hot.sub(&other.hot);
        self.tail.sub(&other.tail);
    }

    /// A multiple of it; `None` on overflow.
    pub fn times(&self, count: u32) -> Option<Self> {
        let mut product = Self::default();
        for (dim, amount) in self.iter() {
            product.set(dim, amount.checked_mul(i64::from(count))?);
        }
        Some(product)
    }

    /// Does every dimension that asks for something find it in `room`?
    pub fn fits(&self, room: &Self) -> bool {
        self.hot.fits(&room.hot) && self.tail.fits(&room.tail)
    }

    /// Dimensions whose amount is not zero, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Dim, i64)> + '_ {
        let hot = self.hot.0.iter().enumerate().map(|(lane, &amount)| (Dim(lane as u32), amount));
        hot.filter(|entry| entry.1 != 0).chain(self.tail.iter())
    }

    /// Nothing but pods? Such a task is best-effort.
    pub fn is_empty_but_pods(&self) -> bool {
        self.iter().all(|(dim, _)| dim == Dim::PODS)
    }
}
