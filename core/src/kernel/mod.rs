//! Loops over slices of columns: vectorised, without knowledge of the ECS, of names or of rules.
//!
//! Each kernel has a naive twin in its tests and a property that compares the two.

pub mod lanes;
pub mod fit;
pub mod sum;
pub mod slots;
pub mod overbooked;
mod quad;
pub mod ratio;
pub mod pair;
pub mod roi;
