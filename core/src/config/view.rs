//! What of a cluster a scheduler sees, where several divide it by labels, and how it reads what it sees.
//!
//! Both outside worlds go by it before anything reaches the core: to the core what is not seen is not
//! there.

use crate::ids::Name;

/// What is seen; by default all there is, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Nodes, queues and PodGroups of this pool alone; none is those of all pools.
    pub pool: Option<Pool>,
    /// Only nodes that are marked for what runs there; none is any node.
    pub workers: Option<WorkerLabels>,
    /// Label of a pod without PodGroup that names its queue; none is the dialect's own.
    pub queue_label: Option<Name>,
    /// Which queues divide the cluster.
    pub hierarchy: DividingQueues,
}

/// A pool of nodes with the queues and PodGroups that go with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Label that names the pool an object is of.
    pub key: Name,
    /// Our pool; empty is whatever has no such label.
    pub value: Name,
}

impl Pool {
    /// Is an object with that value of the label, if any, of the pool?
    pub fn has(&self, label: Option<&str>) -> bool {
        match label {
            Some(value) => !self.value.is_empty() && *value == *self.value,
            None => self.value.is_empty(),
        }
    }
}

/// Labels of nodes that say what may run there; their values do not matter. A node without either is
/// not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerLabels {
    /// Pods without GPUs run where this one is.
    pub cpu: Name,
    /// Pods with GPUs run where this one is; elsewhere a node's GPUs do not count.
    pub gpu: Name,
}

/// Which of KAI's queues divide the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DividingQueues {
    /// All, level by level.
    #[default]
    Full,
    /// Those that have a parent, side by side; those without one are not there.
    Flat,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_without_a_name_is_what_has_no_label() {
        let pool = |value: &str| Pool { key: "pool".into(), value: value.into() };
        let seen = |value: &str| [None, Some(""), Some("a")].map(|label| pool(value).has(label));
        assert_eq!(seen("a"), [false, false, true]);
        assert_eq!(seen("b"), [false, false, false]);
        assert_eq!(seen(""), [true, false, false]);
    }
}
