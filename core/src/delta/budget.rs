//! Disruption budgets.

use super::Requirement;
use crate::ids::{Name, ObjectKey};

/// A disruption budget: how many pods must stay.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetFacts {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Which pods of the namespace it guards: an empty list all, none nobody.
    pub selector: Option<Vec<Requirement>>,
    /// How many must stay.
    pub min_available: Option<Share>,
    /// How many may be gone; counts where `min_available` is absent.
    pub max_unavailable: Option<Share>,
    /// `status.disruptionsAllowed`; where absent it is computed.
    pub allowed: Option<i64>,
    /// Names in `status.disruptedPods`, sorted.
    pub disrupted: Vec<Name>,
}

/// A number of pods, or a part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// A number of pods.
    Count(u32),
    /// A percentage of the pods, rounded up.
    Percent(u32),
}
