//! Priority classes.

use crate::ids::Name;

/// A priority class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityClassFacts {
    /// Object name.
    pub name: Name,
    /// Its value.
    pub value: i32,
    /// Stands for pods and groups that name no class.
    pub global_default: bool,
    /// May others be evicted for pods of the class that do not say so themselves?
    pub preempts: PreemptionPolicy,
}

/// `preemptionPolicy` of a pod or a priority class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PreemptionPolicy {
    /// Others may be evicted for it.
    #[default]
    LowerPriority,
    /// It waits for free room.
    Never,
}
