//! Resource vectors: eight hot lanes and a sparse tail, exact integers throughout.
//!
//! cpu is counted in milli, memory and ephemeral storage in bytes, pods as they are, every other
//! name in milli-units. The first four dimensions are fixed; further names get the free lanes in the
//! order they are met and then live in the tail: no name is ever dropped.

mod names;
mod quantity;
mod vector;
mod limits;
pub mod compare;

pub use crate::kernel::lanes::{LANES, Lanes};
pub use compare::Missing;
pub use limits::Limits;
pub use names::{Dim, ResourceNames};
pub use quantity::{Format, Quantity, QuantityError, QuantityProblem};
pub use vector::{ResourceVec, Tail};

use crate::ids::Name;

/// Amounts by name as an object gives them, sorted by name, each name once.
pub type ResourceList = Vec<(Name, Quantity)>;
