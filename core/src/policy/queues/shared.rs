//! The three resources that queues share by quota: cpu, memory and GPUs, of whatever maker.

use crate::ids::Name;
use crate::resource::{Dim, Limits, ResourceNames, ResourceVec};

/// An amount of each shared resource: milli-cores, bytes, and thousandths of GPUs.
pub(crate) type Amounts = [i64; SharedResources::COUNT];

/// Which dimensions the shared resources are counted in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedResources {
    /// Those of GPUs; what is said of GPUs as such stands in the first.
    gpus: [Dim; 2],
}

impl SharedResources {
    /// How many there are.
    pub(crate) const COUNT: usize = 3;
    /// What is given beyond quotas at least: a milli-core, a byte, a whole GPU.
    pub(crate) const UNITS: Amounts = [1, 1, 1000];

    /// The dimensions by their names; a name that was never met gets one.
    pub(crate) fn new(names: &mut ResourceNames) -> Self {
        Self { gpus: ["nvidia.com/gpu", "amd.com/gpu"].map(|name| names.dim(&Name::from(name))) }
    }

    /// The dimensions that shares and quotas are named by.
    pub(crate) fn dims(self) -> [Dim; Self::COUNT] {
        [Dim::CPU, Dim::MEMORY, self.gpus[0]]
    }

    /// Which of them a dimension counts as, if any.
    pub(crate) fn index(self, dim: Dim) -> Option<usize> {
        match dim {
            Dim::CPU => Some(0),
            Dim::MEMORY => Some(1),
            dim => self.gpus.contains(&dim).then_some(2),
        }
    }

    /// The dimensions that count as the same resource, this one among them.
    pub(crate) fn alike(self, dim: Dim) -> impl Iterator<Item = Dim> + use<> {
        let gpu = self.gpus.contains(&dim);
        let others = self.gpus.into_iter().filter(move |&other| gpu && other != dim);
        std::iter::once(dim).chain(others)
    }

    /// How much of each there is in a vector.
    pub(crate) fn amounts(self, vector: &ResourceVec) -> Amounts {
        let gpus = self.gpus.map(|dim| vector.get(dim));
        [vector.get(Dim::CPU), vector.get(Dim::MEMORY), gpus[0].saturating_add(gpus[1])]
    }

    /// How much of each is named; none where nothing is.
    pub(crate) fn named(self, limits: &Limits) -> [Option<i64>; Self::COUNT] {
        let gpus = self.gpus.iter().filter_map(|&dim| limits.get(dim)).reduce(i64::saturating_add);
        [limits.get(Dim::CPU), limits.get(Dim::MEMORY), gpus]
    }
}
