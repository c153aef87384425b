//! GPUs in the books: who shares which, and how many of a node's are whole.

use std::collections::BTreeMap;

use muster_core::delta::{DevicePart, DeviceRequest, DeviceShare, PodFacts};
use muster_core::ids::{Name, ObjectKey};
use muster_core::resource::{Dim, ResourceVec};

use super::{Books, PodEntry, PodStatus};

/// The resource that whole GPUs are.
pub(in crate::sim) const GPU: &str = "nvidia.com/gpu";

/// A whole GPU in its dimension.
const WHOLE: i64 = 1000;

/// MiB that GPUs of an unknown kind are taken to have.
const UNKNOWN_MEMORY: u32 = 100;

/// How many nodes have GPUs of so many MiB; those of an unknown kind are not among them.
#[derive(Clone, Debug, Default)]
pub(super) struct Memories(BTreeMap<u32, u32>);

impl Memories {
    /// A node comes with such GPUs.
    pub(super) fn add(&mut self, memory: Option<u32>) {
        if let Some(memory) = memory.filter(|&memory| memory > UNKNOWN_MEMORY) {
            *self.0.entry(memory).or_default() += 1;
        }
    }

    /// It goes.
    pub(super) fn remove(&mut self, memory: Option<u32>) {
        let Some(nodes) = memory.and_then(|memory| self.0.get_mut(&memory)) else { return };
        *nodes -= 1;
        self.0.retain(|_, nodes| *nodes > 0);
    }

    pub(super) fn least(&self) -> Option<u32> {
        self.0.keys().next().copied()
    }
}

/// What a pod asks for of GPUs that it shares.
pub(super) fn share_of(facts: &PodFacts) -> Option<DeviceShare> {
    match facts.devices {
        Some(DeviceRequest::Share(share)) => Some(share),
        _ => None,
    }
}

/// The GPUs of a node as some pods use them.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct GpuUse {
    /// MiB of each.
    memory: i64,
    /// Thousandths of whole GPUs that pods have for themselves.
    whole: i64,
    /// Thousandths of MiB that are taken of each shared one.
    shared: BTreeMap<Name, i64>,
}

impl GpuUse {
    /// Thousandths of GPUs nobody else can have as a whole.
    pub(in crate::sim) fn taken(&self) -> i64 {
        self.whole + WHOLE * self.shared.len() as i64
    }

    /// A shared GPU of which more is taken than there is.
    pub(in crate::sim) fn overfull(&self) -> Option<&Name> {
        let over = |entry: &(&Name, &i64)| *entry.1 > self.memory * 1000;
        self.shared.iter().find(over).map(|entry| entry.0)
    }

    /// GPUs in shared use that are not among those of others.
    pub(in crate::sim) fn shared_beyond(&self, others: &Self) -> i64 {
        self.shared.keys().filter(|name| !others.shared.contains_key(*name)).count() as i64
    }

    fn part(&self, share: DeviceShare) -> i64 {
        match share.part {
            DevicePart::Milli(milli) => i64::from(milli) * self.memory,
            DevicePart::Memory(mib) => i64::from(mib) * 1000,
        }
    }

    /// Adds a pod that says which GPUs it shares, or has whole ones.
    fn add(&mut self, pod: &PodEntry, gpu: Option<Dim>) {
        self.whole += gpu.map_or(0, |dim| pod.request.get(dim));
        if let Some(share) = pod.share {
            let part = self.part(share);
            for name in &pod.devices {
                *self.shared.entry(name.clone()).or_default() += part;
            }
        }
    }

    /// Finds GPUs for a pod that says nothing of them, among so many thousandths: the fullest first. Where
    /// there is no room nothing is changed.
    pub(in crate::sim) fn fit(&mut self, pod: &PodEntry, gpu: Option<Dim>, offers: i64) -> bool {
        let before = self.clone();
        self.whole += gpu.map_or(0, |dim| pod.request.get(dim));
        if let Some(share) = pod.share {
            let (part, room) = (self.part(share), self.memory * 1000);
            let mut open: Vec<(i64, Name)> =
                self.shared.iter().map(|(name, taken)| (*taken, name.clone())).collect();
            open.retain(|(taken, _)| taken + part <= room);
            open.sort();
            for number in 0..share.devices {
                let new = || (0, Name::from(format!("one more, {number} {}", self.shared.len())));
                let (taken, name) = open.pop().unwrap_or_else(new);
                self.shared.insert(name, taken + part);
            }
        }
        let fits = self.taken() <= offers && self.overfull().is_none();
        if !fits {
            *self = before;
        }
        fits
    }
}

impl Books {
    /// The dimension of whole GPUs, if anybody spoke of them.
    pub(in crate::sim) fn gpu(&self) -> Option<Dim> {
        self.names.find(GPU)
    }

    /// What queues count for a request: parts of GPUs, and instances as the GPUs they count as.
    pub(super) fn counted(
        &mut self,
        request: &ResourceVec,
        asked: Option<DeviceRequest>,
    ) -> ResourceVec {
        let mut counted = request.clone();
        let more = match asked {
            None | Some(DeviceRequest::LooseInstances) => return counted,
            Some(DeviceRequest::Instances { devices }) => WHOLE * i64::from(devices),
            Some(DeviceRequest::Share(share)) => {
                let of_one = match (share.part, self.memories.least()) {
                    (DevicePart::Milli(milli), _) => i64::from(milli),
                    (DevicePart::Memory(_), None) => 0,
                    (DevicePart::Memory(mib), Some(least)) => {
                        (i64::from(mib) * WHOLE + i64::from(least) - 1) / i64::from(least)
                    }
                };
                i64::from(share.devices) * of_one
            }
        };
        let dim = self.names.dim(&Name::from(GPU));
        counted.set(dim, counted.get(dim) + more);
        counted
    }

    /// A node has GPUs with other memory than before.
    pub(super) fn set_memory(&mut self, before: Option<u32>, after: Option<u32>) {
        let least = self.memories.least();
        self.memories.remove(before);
        self.memories.add(after);
        if self.memories.least() != least {
            self.count_memory_again();
        }
    }

    /// Counts requests for memory of GPUs again: the smallest ones are others now.
    fn count_memory_again(&mut self) {
        let of_memory =
            |pod: &PodEntry| pod.share.filter(|share| matches!(share.part, DevicePart::Memory(_)));
        let pods: Vec<(ObjectKey, DeviceShare)> = self
            .pods
            .iter()
            .filter_map(|(key, pod)| Some((key.clone(), of_memory(pod)?)))
            .collect();
        for (key, share) in pods {
            let Some(mut entry) = self.pods.remove(&key) else { continue };
            self.post(&entry, ResourceVec::sub, |count| *count -= 1);
            entry.counts = self.counted(&entry.request, Some(DeviceRequest::Share(share)));
            self.post(&entry, ResourceVec::add, |count| *count += 1);
            self.pods.insert(key, entry);
        }
    }

    /// Thousandths of GPUs that pods of a queue and those below it have on their nodes, memory counted by the
    /// GPUs of the node in whole hundredths.
    pub(in crate::sim) fn gpus_placed(&self, queue: &Name) -> i64 {
        let Some(gpu) = self.gpu() else { return 0 };
        let counts = |pod: &PodEntry| {
            let node = pod.seat().filter(|_| pod.status != PodStatus::Releasing).or(pod.hold())?;
            let Some(DeviceShare { devices, part: DevicePart::Memory(mib) }) = pod.share else {
                return Some(pod.counts.get(gpu));
            };
            let facts = self.nodes.get(node).and_then(|node| node.facts.as_ref());
            let memory = facts.and_then(|facts| facts.devices.memory).unwrap_or(UNKNOWN_MEMORY);
            let hundredths = (i64::from(mib) * 100 + i64::from(memory) - 1) / i64::from(memory);
            Some(hundredths * 10 * i64::from(devices))
        };
        let inside = |pod: &&PodEntry| self.queue_path(&self.queue_of(&pod.job)).contains(queue);
        self.pods.values().filter(inside).filter_map(counts).sum()
    }

    /// GPUs that pods share, each with its node.
    pub(in crate::sim) fn shared_devices(&self) -> impl Iterator<Item = (Name, Name)> + '_ {
        let seated = self.pods.values().filter_map(|pod| Some((pod.seat()?, pod)));
        seated.flat_map(|(node, pod)| {
            pod.devices.iter().map(move |device| (node.clone(), device.clone()))
        })
    }

    /// Does any pod share a GPU, or want to?
    pub(in crate::sim) fn has_shares(&self) -> bool {
        self.pods.values().any(|pod| pod.share.is_some())
    }

    /// The GPUs of a node as those of its pods use them that count.
    pub(in crate::sim) fn gpus(
        &self,
        node: &Name,
        counts: impl Fn(&ObjectKey, &PodEntry) -> bool,
    ) -> GpuUse {
        let facts = self.nodes.get(node).and_then(|node| node.facts.as_ref());
        let memory = facts.and_then(|facts| facts.devices.memory).unwrap_or(UNKNOWN_MEMORY);
        let mut used = GpuUse { memory: memory.into(), ..GpuUse::default() };
        let gpu = self.gpu();
        let there = self.pods.iter().filter(|(_, pod)| pod.seat() == Some(node));
        for (_, pod) in there.filter(|(key, pod)| counts(key, pod)) {
            used.add(pod, gpu);
        }
        used
    }

    /// Thousandths of a node's GPUs that are free as a whole, and that will be once those have left who
    /// leave.
    pub(in crate::sim) fn whole_gpus(&self, node: &Name) -> [i64; 2] {
        let (Some(entry), Some(gpu)) = (self.nodes.get(node), self.gpu()) else { return [0; 2] };
        let all = self.gpus(node, |_, _| true);
        let leaves = |pod: &PodEntry| pod.status == PodStatus::Releasing && !pod.stuck;
        let staying = self.gpus(node, |_, pod| !leaves(pod));
        let leaving = all.whole - staying.whole + WHOLE * all.shared_beyond(&staying);
        [entry.allocatable.get(gpu) - all.taken(), leaving]
    }
}
