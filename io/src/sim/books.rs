//! A plain second set of accounts, kept from the same deltas the scheduler is fed.
//!
//! Expectations, invariants and reports read these books and never the scheduler's own columns, so
//! that a wrong total in the scheduler cannot hide itself. Every entry costs by what changed: a delta
//! takes the old object's part out and puts the new one's in.

pub(super) mod devices;
pub(super) mod moves;
mod overdue;
mod standing;
mod status;

use std::collections::{BTreeMap, BTreeSet};

use muster_core::delta::{
    ClusterDelta, DeviceShare, DomainFacts, Facts, InterPodFacts, NodeFacts, ObjectRef, Ownership,
    PodClaim, PodFacts, PodGroupFacts, QueueFacts, TopologyFacts,
};
use muster_core::ids::{Name, ObjectKey, TimeMs};
use muster_core::resource::{Dim, ResourceList, ResourceNames, ResourceVec};

pub use standing::Standing;
pub use status::PodStatus;

/// The node held for a pod, as its annotations or its status say.
fn held_node(facts: &PodFacts) -> Option<&Name> {
    // A bound pod loses its annotations when the scheduler has seen it there.
    let annotated = facts.annotated.as_ref().filter(|_| facts.node.is_none());
    annotated.map(|annotated| &annotated.node).or(facts.nominated.as_ref())
}

/// A pod in the books.
#[derive(Clone, Debug)]
pub struct PodEntry {
    /// Object uid.
    pub uid: Name,
    /// PodGroup, or the pod itself when it is a gang of one.
    pub job: ObjectKey,
    /// Role within the gang.
    pub role: Name,
    /// Whose pod it is.
    pub ownership: Ownership,
    /// What it is doing.
    pub status: PodStatus,
    /// By when it is to be gone, if it leaves.
    pub leave_by: Option<TimeMs>,
    /// Should it have been gone for so long that nobody counts on it?
    pub stuck: bool,
    /// Node it is on.
    pub node: Option<Name>,
    /// Node held for it.
    pub nominated: Option<Name>,
    /// What it asks of a node, GPUs that it shares aside.
    pub request: ResourceVec,
    /// The same as queues count it, parts of GPUs included.
    pub counts: ResourceVec,
    /// What it asks for of GPUs that it shares.
    pub share: Option<DeviceShare>,
    /// GPUs that it shares.
    pub devices: Vec<Name>,
    /// Labels, sorted by key.
    pub labels: Vec<(Name, Name)>,
    /// What it asks of the pods around it.
    pub interpod: InterPodFacts,
    /// Claims its volumes name.
    pub claims: Vec<PodClaim>,
}

impl PodEntry {
    /// Node it takes room on now, if any.
    pub fn seat(&self) -> Option<&Name> {
        self.node.as_ref().filter(|_| !self.status.is_over())
    }

    /// Node where room is held for it, if any.
    pub fn hold(&self) -> Option<&Name> {
        self.nominated.as_ref().filter(|_| self.status == PodStatus::Pipelined)
    }
}

/// A node in the books. Pods may outlive their node, so an entry may have no object.
#[derive(Clone, Debug, Default)]
pub struct NodeEntry {
    /// The node's facts, if the object exists.
    pub facts: Option<Box<NodeFacts>>,
    /// Room for pods; all zero without an object.
    pub allocatable: ResourceVec,
    /// Taken by pods on it, leaving ones included.
    pub used: ResourceVec,
    /// The part of `used` that is leaving, as far as that is counted on.
    pub leaving: ResourceVec,
    /// Held for pods that will come.
    pub held: ResourceVec,
    /// Pods on it that still take room.
    pub pods: u32,
}

impl NodeEntry {
    /// What will be taken once all that leaves has left and all that is held has come.
    pub fn load(&self) -> ResourceVec {
        let mut load = self.used.clone();
        load.sub(&self.leaving);
        load.add(&self.held);
        load
    }
}

/// A job in the books: its pods and what they hold.
#[derive(Clone, Debug, Default)]
pub struct JobEntry {
    /// Its pods.
    pub pods: BTreeSet<ObjectKey>,
    /// Queue asked for by a pod without PodGroup.
    pub pod_queue: Option<Name>,
    /// Requests of its pods that are on nodes to stay.
    pub allocated: ResourceVec,
    /// Requests of its pods with room held for them.
    pub held: ResourceVec,
}

/// The whole set of accounts.
#[derive(Clone, Debug, Default)]
pub struct Books {
    /// Resource names met so far.
    pub names: ResourceNames,
    /// Pods by key.
    pub pods: BTreeMap<ObjectKey, PodEntry>,
    /// Room held for pods to come, by the pods in whose places they come.
    pub moves: BTreeMap<ObjectKey, PodEntry>,
    /// Nodes by name.
    pub nodes: BTreeMap<Name, NodeEntry>,
    /// Jobs that have pods, by key.
    pub jobs: BTreeMap<ObjectKey, JobEntry>,
    /// PodGroups by key.
    pub groups: BTreeMap<ObjectKey, PodGroupFacts>,
    /// Queues by name.
    pub queues: BTreeMap<Name, QueueFacts>,
    /// Topology domains by name.
    pub domains: BTreeMap<Name, DomainFacts>,
    /// Topologies by labels of nodes, by name.
    pub topologies: BTreeMap<Name, TopologyFacts>,
    /// Grows with every change that may move a node into or out of a domain.
    pub topology_version: u64,
    /// Every job and every pod there ever was: an expectation about one that never was is a typing
    /// error, not a zero.
    pub ever: BTreeSet<ObjectKey>,
    /// How much memory GPUs have.
    memories: devices::Memories,
    /// Pods that leave and by when they are to be gone, as far as they are counted on.
    leave_by: BTreeSet<(TimeMs, ObjectKey)>,
}

impl Books {
    /// Enters one delta.
    pub fn apply(&mut self, delta: &ClusterDelta) {
        match delta {
            ClusterDelta::Set(facts) => self.set(facts),
            ClusterDelta::Gone(object) => self.forget(object),
            ClusterDelta::SetAside { object, .. } => {
                if let ObjectRef::PodGroup(key) = object {
                    self.ever.insert(key.clone());
                }
                self.forget(object);
            }
            // Who stays needs no other place.
            ClusterDelta::EvictFailed { pod, .. } => self.drop_move(pod),
            ClusterDelta::BindFailed { .. } => {}
        }
    }

    /// Enters what is now known of an object. Kinds no expectation speaks of have no page.
    fn set(&mut self, facts: &Facts) {
        match facts {
            Facts::Node(facts) => self.set_node(facts),
            Facts::Pod(facts) => self.set_pod(facts),
            Facts::PodGroup(facts) => {
                self.ever.insert(facts.key.clone());
                self.groups.insert(facts.key.clone(), (**facts).clone());
            }
            Facts::Queue(facts) => {
                self.queues.insert(facts.name.clone(), (**facts).clone());
            }
            Facts::Domain(facts) => {
                self.topology_version += 1;
                self.domains.insert(facts.name.clone(), (**facts).clone());
            }
            Facts::Topology(facts) => {
                self.topologies.insert(facts.name.clone(), (**facts).clone());
            }
            _ => {}
        }
    }

    /// Takes an object out.
    fn forget(&mut self, object: &ObjectRef) {
        match object {
            ObjectRef::Node(name) => self.drop_node(name),
            ObjectRef::Pod(key) => self.drop_pod(key),
            ObjectRef::PodGroup(key) => drop(self.groups.remove(key)),
            ObjectRef::Queue(name) => drop(self.queues.remove(name)),
            ObjectRef::Domain(name) => {
                self.topology_version += 1;
                self.domains.remove(name);
            }
            ObjectRef::Topology(name) => drop(self.topologies.remove(name)),
            _ => {}
        }
    }

    /// Enters a pod that was set aside: it waits, and asks for nothing that could be counted.
    pub fn set_pod_aside(&mut self, key: &ObjectKey, uid: &str, job: ObjectKey) {
        self.drop_pod(key);
        let entry = PodEntry {
            uid: uid.into(),
            job: job.clone(),
            role: Name::default(),
            ownership: Ownership::Ours,
            status: PodStatus::Pending,
            leave_by: None,
            stuck: false,
            node: None,
            nominated: None,
            request: ResourceVec::default(),
            counts: ResourceVec::default(),
            share: None,
            devices: Vec::new(),
            labels: Vec::new(),
            interpod: InterPodFacts::default(),
            claims: Vec::new(),
        };
        self.jobs.entry(job.clone()).or_default().pods.insert(key.clone());
        self.ever.extend([key.clone(), job]);
        self.pods.insert(key.clone(), entry);
    }

    fn set_node(&mut self, facts: &NodeFacts) {
        let allocatable = self.names.vector(&facts.allocatable);
        let entry = self.nodes.entry(facts.name.clone()).or_default();
        if entry.facts.as_ref().is_none_or(|old| old.labels != facts.labels) {
            self.topology_version += 1;
        }
        let before = entry.facts.replace(Box::new(facts.clone()));
        entry.allocatable = allocatable;
        self.set_memory(before.and_then(|facts| facts.devices.memory), facts.devices.memory);
    }

    fn drop_node(&mut self, name: &Name) {
        self.topology_version += 1;
        if let Some(entry) = self.nodes.get_mut(name) {
            let before = entry.facts.take();
            entry.allocatable = ResourceVec::default();
            self.set_memory(before.and_then(|facts| facts.devices.memory), None);
        }
        self.forget_empty_node(name);
    }

    fn forget_empty_node(&mut self, name: &Name) {
        let empty = |entry: &NodeEntry| {
            entry.facts.is_none() && entry.pods == 0 && entry.held == ResourceVec::default()
        };
        if self.nodes.get(name).is_some_and(empty) {
            self.nodes.remove(name);
        }
    }

    fn set_pod(&mut self, facts: &PodFacts) {
        let before = self.pods.get(&facts.key).filter(|_| !self.moves.is_empty()).cloned();
        self.drop_pod(&facts.key);
        let group = facts.group.as_ref();
        let job = group.map_or_else(
            || facts.key.clone(),
            |group| ObjectKey::new(facts.key.namespace.clone(), group.clone()),
        );
        let request = self.names.vector(&facts.request);
        let entry = PodEntry {
            uid: facts.uid.clone(),
            job,
            role: facts.role.clone(),
            ownership: facts.ownership,
            status: PodStatus::of(facts),
            leave_by: facts.leave_by,
            stuck: false,
            node: facts.node.clone(),
            nominated: held_node(facts).cloned(),
            counts: self.counted(&request, facts.devices),
            request,
            share: devices::share_of(facts),
            devices: facts.shared_devices.clone(),
            labels: facts.labels.clone(),
            interpod: facts.constraints.interpod.clone(),
            claims: facts.claims.clone(),
        };
        self.post(&entry, ResourceVec::add, |count| *count += 1);
        if entry.ownership == Ownership::Ours {
            let job = self.jobs.entry(entry.job.clone()).or_default();
            job.pods.insert(facts.key.clone());
            // Of a pod that names a group only the group says which queue it is in.
            job.pod_queue = facts.queue.clone().filter(|_| facts.group.is_none());
        }
        let leaving = entry.leave_by.filter(|_| entry.status == PodStatus::Releasing);
        self.leave_by.extend(leaving.map(|leave_by| (leave_by, facts.key.clone())));
        if self.ever.insert(facts.key.clone()) {
            self.ever.insert(entry.job.clone());
        }
        self.pods.insert(facts.key.clone(), entry);
        if !self.moves.is_empty() {
            self.end_move(&facts.key, before.as_ref());
        }
    }

    fn drop_pod(&mut self, key: &ObjectKey) {
        let Some(entry) = self.pods.remove(key) else { return };
        if let Some(leave_by) = entry.leave_by {
            self.leave_by.remove(&(leave_by, key.clone()));
        }
        self.post(&entry, ResourceVec::sub, |count| *count -= 1);
        if let Some(job) = self.jobs.get_mut(&entry.job) {
            job.pods.remove(key);
        }
        self.forget_empty_job(&entry.job);
        for name in entry.node.iter().chain(&entry.nominated) {
            self.forget_empty_node(name);
        }
    }

    /// A job is there as long as it has a pod, or room for one.
    fn forget_empty_job(&mut self, job: &ObjectKey) {
        let empty =
            |entry: &JobEntry| entry.pods.is_empty() && entry.held == ResourceVec::default();
        if self.jobs.get(job).is_some_and(empty) {
            self.jobs.remove(job);
        }
    }

    /// Enters or takes out one pod's part of every total.
    fn post(
        &mut self,
        pod: &PodEntry,
        move_by: fn(&mut ResourceVec, &ResourceVec),
        count: fn(&mut u32),
    ) {
        if let Some(name) = pod.seat() {
            let node = self.nodes.entry(name.clone()).or_default();
            move_by(&mut node.used, &pod.request);
            count(&mut node.pods);
            if pod.status == PodStatus::Releasing && !pod.stuck {
                move_by(&mut node.leaving, &pod.request);
            }
        }
        if let Some(name) = pod.hold() {
            move_by(&mut self.nodes.entry(name.clone()).or_default().held, &pod.request);
        }
        if pod.ownership == Ownership::Foreign {
            return;
        }
        let job = self.jobs.entry(pod.job.clone()).or_default();
        if pod.seat().is_some() && pod.status != PodStatus::Releasing {
            move_by(&mut job.allocated, &pod.counts);
        }
        if pod.hold().is_some() {
            move_by(&mut job.held, &pod.counts);
        }
    }

    /// The queue a job is in.
    pub fn queue_of(&self, job: &ObjectKey) -> Name {
        let named = match self.groups.get(job) {
            Some(group) => group.queue.as_ref(),
            None => self.jobs.get(job).and_then(|entry| entry.pod_queue.as_ref()),
        };
        named.cloned().unwrap_or_else(|| Name::from("default"))
    }

    /// Is it a queue of KAI's?
    pub fn is_kai_queue(&self, queue: &Name) -> bool {
        self.queues.get(queue).is_some_and(|facts| facts.over_quota.is_some())
    }

    /// The queue and those above it, nearest first. The root is the last, whether or not there is an
    /// object of that name.
    pub fn queue_path(&self, queue: &Name) -> Vec<Name> {
        let mut path = vec![queue.clone()];
        while let Some(parent) = self.parent(&path[path.len() - 1]) {
            path.push(parent);
        }
        if path.last().is_some_and(|top| &**top != "root") {
            path.push(Name::from("root"));
        }
        path
    }

    /// The parent in force: queues that stand in a circle, and those whose parent does not exist,
    /// count as children of the root.
    fn parent(&self, queue: &Name) -> Option<Name> {
        let named = |queue: &Name| {
            let parent = self.queues.get(queue).and_then(|facts| facts.parent.clone());
            parent.filter(|parent| self.queues.contains_key(parent))
        };
        let mut above = named(queue);
        for _ in 0..=self.queues.len() {
            match above {
                Some(name) if name == *queue => return None,
                Some(name) => above = named(&name),
                None => break,
            }
        }
        named(queue)
    }

    /// What each queue's jobs, and those of the queues below it, have in all, by a measure of a
    /// job such as `|job| &job.allocated`.
    pub fn queue_totals(
        &self,
        measure: impl Fn(&JobEntry) -> &ResourceVec,
    ) -> BTreeMap<Name, ResourceVec> {
        let mut totals: BTreeMap<Name, ResourceVec> =
            self.queues.keys().map(|name| (name.clone(), ResourceVec::default())).collect();
        for (key, job) in &self.jobs {
            for queue in self.queue_path(&self.queue_of(key)) {
                totals.entry(queue).or_default().add(measure(job));
            }
        }
        totals
    }

    /// Amounts by dimension of a list that limits only what it names. A name nobody uses has no
    /// dimension and limits nothing.
    pub fn limits(&self, list: Option<&ResourceList>) -> Vec<(Dim, i64)> {
        let named = list.into_iter().flatten();
        named
            .filter_map(|(name, quantity)| {
                let dim = self.names.find(name)?;
                Some((dim, ResourceNames::units(dim, *quantity)))
            })
            .collect()
    }

    /// Pods of a job with their keys, in order; none for an unknown job.
    pub fn pods_of(&self, job: &ObjectKey) -> impl Iterator<Item = (&ObjectKey, &PodEntry)> {
        let keys = self.jobs.get(job).into_iter().flat_map(|entry| &entry.pods);
        keys.filter_map(|key| self.pods.get(key).map(|pod| (key, pod)))
    }

    /// Totals that differ from adding up the pods from nothing, in words: proof that keeping them
    /// delta by delta lost nothing.
    pub fn audit(&self) -> Vec<String> {
        let mut fresh = Self { names: self.names.clone(), ..Self::default() };
        for entry in self.pods.values().chain(self.moves.values()) {
            fresh.post(entry, ResourceVec::add, |count| *count += 1);
        }
        let mut faults = Vec::new();
        for (name, node) in &self.nodes {
            let again = fresh.nodes.remove(name).unwrap_or_default();
            if (&node.used, &node.leaving, &node.held, node.pods)
                != (&again.used, &again.leaving, &again.held, again.pods)
            {
                faults.push(format!("node {name}: kept totals differ from its pods added up"));
            }
        }
        for (key, job) in &self.jobs {
            let again = fresh.jobs.remove(key).unwrap_or_default();
            if (&job.allocated, &job.held) != (&again.allocated, &again.held) {
                faults.push(format!("job {key}: kept totals differ from its pods added up"));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests;
