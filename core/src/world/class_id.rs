//! The number of a class of tasks, and what tells classes apart beyond requests and node constraints.

use crate::delta::Constraints;

/// Number of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

/// What rules in force read of a pod beyond request and node constraints. What none reads does not
/// tell tasks apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent marks, not states")]
pub struct Reads {
    /// Images of containers.
    pub images: bool,
    /// Amounts assumed for containers without request.
    pub unasked: bool,
    /// How the pod wants its resources scored.
    pub strategy: bool,
    /// What it may use at most, for loads of nodes.
    pub load: bool,
    /// Whether the pod may use lent nodes.
    pub borrows: bool,
    /// Which job, role or controller it belongs to.
    pub kin: bool,
}

impl Reads {
    /// All that rules read in common. Whose kin a pod is makes a class of each job, which is too dear to be
    /// kept in case somebody asks.
    pub const COMMON: Self =
        Self { images: true, unasked: true, strategy: true, load: true, borrows: true, kin: false };

    /// Is all that the other reads among it?
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        self.or(other) == self
    }

    /// What either reads.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            images: self.images || other.images,
            unasked: self.unasked || other.unasked,
            strategy: self.strategy || other.strategy,
            load: self.load || other.load,
            borrows: self.borrows || other.borrows,
            kin: self.kin || other.kin,
        }
    }

    /// Takes out what nobody reads.
    pub(crate) fn strip(self, kept: &mut Constraints) {
        if !self.images {
            kept.images.clear();
        }
        if !self.unasked {
            kept.unasked = [0; 2];
        }
        if !self.strategy {
            kept.strategy = None;
        }
        if !self.load {
            kept.limits = [0; 2];
        }
        kept.borrows &= self.borrows;
    }
}
