//! Second pass: what is now known of each object, written while all totals follow.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{DetectChangesMut, In, Res, ResMut, World};
use bevy_ecs::system::SystemParam;

use super::Dirty;
use super::spawn::{DEFAULT_QUEUE, ROOT_QUEUE};
use super::subgroups::Grouping;
use crate::class::Classes;
use crate::cycle::Leadership;
use crate::delta::{
    ClusterDelta, DomainFacts, Facts, NodeDeviceFacts, NodeFacts, ObjectRef, PastUseFacts,
    PodGroupFacts, PriorityClassFacts, QueueFacts, TopologyFacts,
};
use crate::ids::{Name, ObjectKey, TimeMs};
use crate::interpod::SelectorRegistry;
use crate::place::Now;
use crate::policy::Policies;
use crate::resource::ResourceVec;
use crate::world::{
    Catalog, Cluster, Directory, JobKey, JobSpec, Names, NodeRules, NodeTaint, PodSets, QueueSpec,
    Quotas, SetAside, Shards, Symbols, ToldGang, ToldUse, UsageRecord, priority_without_class,
};

/// Everything the second pass reads and writes.
#[derive(SystemParam)]
pub(super) struct Intake<'w, 's> {
    pub(super) cluster: Cluster<'w, 's>,
    pub(super) directory: Res<'w, Directory>,
    pub(super) symbols: ResMut<'w, Symbols>,
    pub(super) classes: ResMut<'w, Classes>,
    pub(super) interpod: ResMut<'w, SelectorRegistry>,
    pub(super) names: ResMut<'w, Names>,
    pub(super) priority_classes: ResMut<'w, Catalog<PriorityClassFacts>>,
    pub(super) topologies: ResMut<'w, Catalog<TopologyFacts>>,
    pub(super) shards: ResMut<'w, Shards>,
    pub(super) quotas: ResMut<'w, Quotas>,
    pub(super) told_use: ResMut<'w, ToldUse>,
    pub(super) usage_record: Res<'w, UsageRecord>,
    pub(super) pod_sets: ResMut<'w, PodSets>,
    pub(super) policies: Res<'w, Policies>,
    pub(super) set_aside: ResMut<'w, SetAside>,
    pub(super) dirty: ResMut<'w, Dirty>,
    pub(super) now: Res<'w, Now>,
    pub(super) role: Res<'w, Leadership>,
}

/// Makes the catalogs, which are filled here and nowhere else.
pub(super) fn init(world: &mut World) {
    world.init_resource::<Catalog<PriorityClassFacts>>();
    world.init_resource::<Catalog<TopologyFacts>>();
}

/// Applies a batch in its order.
pub(super) fn apply(world: &mut World, deltas: Vec<ClusterDelta>) {
    let run = world.run_system_cached_with(apply_all, deltas);
    debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
}

fn apply_all(In(deltas): In<Vec<ClusterDelta>>, mut intake: Intake<'_, '_>) {
    for delta in deltas {
        intake.take(delta);
    }
}

impl Intake<'_, '_> {
    fn take(&mut self, delta: ClusterDelta) {
        match delta {
            ClusterDelta::Set(facts) => {
                // Seldom is anything set aside, and names of objects are not free.
                if !self.set_aside.0.is_empty() {
                    self.set_aside.0.remove(&facts.object());
                }
                self.set(facts);
            }
            ClusterDelta::Gone(object) => {
                self.set_aside.0.remove(&object);
                self.forget(&object);
            }
            ClusterDelta::SetAside { object, reason } => {
                self.forget(&object);
                self.set_aside.0.insert(object, reason);
            }
            ClusterDelta::BindFailed { pod, uid, reason } => self.bind_failed(&pod, &uid, &reason),
            ClusterDelta::EvictFailed { pod, uid, .. } => self.evict_failed(&pod, &uid),
        }
    }

    /// Writes what is now known of an object.
    fn set(&mut self, facts: Facts) {
        match facts {
            Facts::Node(facts) => self.node(&facts),
            Facts::NodeLoad(facts) => self.node_load(&facts.node.clone(), Some(*facts)),
            Facts::Pod(facts) => self.pod(&facts),
            Facts::PodGroup(facts) => self.pod_group(&facts),
            Facts::Queue(facts) => self.queue(&facts),
            Facts::PastUse(facts) => self.past_use(&facts.queue.clone(), Some(facts)),
            Facts::PriorityClass(facts) => {
                self.priority_classes.set(facts);
                self.dirty.priorities = true;
            }
            Facts::Domain(facts) => self.domain(*facts),
            Facts::Topology(facts) => {
                self.topologies.set(*facts);
                self.dirty.domains = true;
            }
            Facts::Namespace(facts) => self.dirty.namespaces |= self.interpod.set_namespace(facts),
            Facts::Volume(facts) => self.volume(&facts.name.clone(), Some(*facts)),
            Facts::Claim(facts) => self.claim(&facts.key.clone(), Some(*facts)),
            Facts::StorageClass(facts) => self.storage_class(&facts.name.clone(), Some(*facts)),
            Facts::CsiNode(facts) => self.csi_node(&facts.node, Some(facts.limits)),
            Facts::CsiDriver(facts) => self.csi_driver(&facts.name.clone(), Some(facts)),
            Facts::StorageCapacity(facts) => {
                self.storage_capacity(&facts.key.clone(), Some(*facts));
            }
            Facts::NodeShard(facts) => {
                self.shards.set(*facts);
                self.dirty.shards = true;
            }
            Facts::Quota(facts) => self.quotas.of.set(*facts),
            Facts::DisruptionBudget(facts) => self.budget(*facts),
            Facts::PodSet(facts) => self.pod_set(*facts),
        }
    }

    /// Nothing that was known of an object holds any more.
    fn forget(&mut self, object: &ObjectRef) {
        match object {
            ObjectRef::Node(name) => self.node_gone(name),
            ObjectRef::NodeLoad(name) => self.node_load(name, None),
            ObjectRef::Pod(key) => self.pod_gone(key),
            ObjectRef::PodGroup(key) => self.pod_group_gone(key),
            ObjectRef::Queue(name) => self.queue_gone(name),
            ObjectRef::PastUse(name) => self.past_use(name, None),
            ObjectRef::PriorityClass(name) => {
                self.dirty.priorities |= self.priority_classes.remove(name).is_some();
            }
            ObjectRef::Domain(name) => self.domain_gone(name),
            ObjectRef::Topology(name) => {
                self.topologies.remove(name);
                self.dirty.domains = true;
            }
            ObjectRef::Namespace(name) => {
                self.dirty.namespaces |= self.interpod.drop_namespace(name);
            }
            ObjectRef::Volume(name) => self.volume(name, None),
            ObjectRef::Claim(key) => self.claim(key, None),
            ObjectRef::StorageClass(name) => self.storage_class(name, None),
            ObjectRef::CsiNode(name) => self.csi_node(name, None),
            ObjectRef::CsiDriver(name) => self.csi_driver(name, None),
            ObjectRef::StorageCapacity(key) => self.storage_capacity(key, None),
            ObjectRef::NodeShard(name) => {
                self.shards.remove(name);
                self.dirty.shards = true;
            }
            ObjectRef::Quota(key) => drop(self.quotas.of.remove(key)),
            ObjectRef::DisruptionBudget(key) => self.budget_gone(key),
            ObjectRef::PodSet(set) => self.pod_set_gone(set),
        }
    }

    fn node(&mut self, facts: &NodeFacts) {
        let Some(&node) = self.directory.nodes.get(&facts.name) else { return };
        let rules = self.node_rules(facts);
        let offer = self.names.0.vector(&facts.allocatable);
        let Ok(mut item) = self.cluster.nodes.get_mut(node) else { return };
        if !item.identity.present || *item.rules != rules {
            if item.identity.present {
                self.cluster.images.remove(&item.rules.images);
            }
            self.cluster.images.add(&rules.images);
            item.identity.present = true;
            *item.rules = rules;
            *item.flags = item.flags.with_object(&item.identity, &item.rules);
            self.dirty.nodes = true;
            self.dirty.changed_nodes.push(node);
        }
        if !item.offers(&offer) {
            self.cluster.offer(node, &offer);
        }
        self.node_devices(node, facts.devices);
        self.write_capacity(node, facts, &offer);
        self.write_limits(node);
    }

    fn node_rules(&mut self, facts: &NodeFacts) -> NodeRules {
        let symbols = &mut *self.symbols;
        let mut labels: Vec<_> = facts
            .labels
            .iter()
            .map(|(key, value)| (symbols.intern(key), symbols.intern(value)))
            .collect();
        labels.sort_unstable();
        let taints = facts.taints.iter().map(|taint| NodeTaint {
            key: symbols.intern(&taint.key),
            value: symbols.intern(&taint.value),
            effect: taint.effect,
        });
        let taints = taints.collect();
        let name = Some(symbols.intern(&facts.name));
        let read = self.cluster.images.read;
        let images = facts.images.iter().filter(|_| read);
        let mut images: Vec<_> = images.map(|(name, size)| (symbols.intern(name), *size)).collect();
        images.sort_unstable();
        images.dedup_by_key(|image| image.0);
        let share = self.shards.share(&facts.name);
        NodeRules { labels, taints, unschedulable: facts.unschedulable, name, images, share }
    }

    fn node_gone(&mut self, name: &Name) {
        let Some(&node) = self.directory.nodes.get(name) else { return };
        self.cluster.offer(node, &ResourceVec::default());
        self.node_devices(node, NodeDeviceFacts::default());
        let Ok(mut item) = self.cluster.nodes.get_mut(node) else { return };
        if item.identity.present {
            self.cluster.images.remove(&item.rules.images);
        }
        item.identity.present = false;
        *item.rules = NodeRules::default();
        *item.flags = item.flags.with_object(&item.identity, &item.rules);
        self.dirty.nodes = true;
        self.dirty.changed_nodes.push(node);
        self.dirty.vacant.push(node);
    }

    fn pod_group(&mut self, facts: &PodGroupFacts) {
        let Some(&job) = self.directory.jobs.get(&JobKey::Group(facts.key.clone())) else { return };
        let min_resources = facts.min_resources.as_ref().map(|list| self.names.0.of_pods(list));
        let priority = self.priority_classes.value(facts.priority_class.as_ref());
        let priority = priority.unwrap_or_else(|| priority_without_class(facts.tree.as_deref()));
        let queue = self.queue_named(facts.queue.as_ref());
        self.move_job(job, queue);
        let decided = self.cluster.job(job).spec.tree.as_ref().map(|tree| tree.times());
        self.regroup(job, Grouping::of(facts));
        let others_decide = *self.role == Leadership::Follows;
        let Ok(mut item) = self.cluster.jobs.get_mut(job) else { return };
        if !item.identity.present || item.identity.uid != facts.uid || others_decide {
            // Seen for the first time, made anew, or written by the one that leads: what the object
            // says of its phase and of its past is all there is.
            item.spec.phase = facts.phase.unwrap_or_default();
            item.identity.announced = facts.phase.map(|phase| (phase, facts.report.clone()));
            item.identity.told = ToldGang::read(facts.tree.as_deref());
        } else if let (Some(tree), Some(decided)) = (&mut item.spec.tree, decided) {
            tree.keep(decided);
        }
        item.identity.uid = facts.uid.clone();
        item.identity.created = facts.created;
        item.identity.present = true;
        item.spec.min_available = facts.min_member;
        let eases = (item.spec.preemptable, item.spec.priority) != (facts.preemptable, priority);
        item.spec.preemptable = facts.preemptable;
        item.spec.budget = facts.budget;
        item.spec.role_topology.clone_from(&facts.role_topology);
        item.spec.priority_class.clone_from(&facts.priority_class);
        item.spec.priority = priority;
        item.spec.min_resources = min_resources;
        item.spec.min_quota = facts.min_resources.clone().unwrap_or_default();
        item.spec.wait_ms = facts.wait_ms;
        item.spec.topology.clone_from(&facts.topology);
        item.set_role_minimums(&facts.min_task_member);
        self.cluster.settle(Some(job));
        if eases {
            self.terms_changed(job);
        }
    }

    /// Others may think differently of what the job holds, without any of it having moved.
    fn terms_changed(&mut self, job: Entity) {
        let counts = self.cluster.job(job).counts();
        if counts.tasks() > counts.pending() {
            self.cluster.log.renumber();
        }
    }

    fn pod_group_gone(&mut self, key: &ObjectKey) {
        let Some(&job) = self.directory.jobs.get(&JobKey::Group(key.clone())) else { return };
        // Nothing it said holds any more: a scheduler that starts now would not know it either.
        self.move_job(job, self.queue_named(None));
        self.regroup(job, Grouping::default());
        let Ok(mut item) = self.cluster.jobs.get_mut(job) else { return };
        item.identity.present = false;
        item.identity.uid = Name::default();
        item.identity.created = TimeMs::default();
        item.identity.announced = None;
        item.identity.told = None;
        *item.spec = JobSpec::empty(item.spec.queue);
        item.set_role_minimums(&[]);
        self.cluster.settle(Some(job));
        self.terms_changed(job);
        self.dirty.vacant.push(job);
    }

    /// The queue of that name, which the first pass has made; the default one where none is named.
    pub(super) fn queue_named(&self, name: Option<&Name>) -> Option<Entity> {
        let name = name.map_or(DEFAULT_QUEUE, |name| &**name);
        self.directory.queues.get(name).copied()
    }

    /// Moves a job, with all it holds, to another queue.
    pub(super) fn move_job(&mut self, job: Entity, queue: Option<Entity>) {
        let Some(queue) = queue else { return };
        let old = self.cluster.job(job).spec.queue;
        if old == queue {
            return;
        }
        self.cluster.detach_job(job);
        self.cluster.job_mut(job).spec.queue = queue;
        self.cluster.attach_job(job);
        self.terms_changed(job);
        self.dirty.groups = true;
        self.dirty.vacant.push(old);
    }

    fn queue(&mut self, facts: &QueueFacts) {
        let Some(&queue) = self.directory.queues.get(&facts.name) else { return };
        let Ok(mut item) = self.cluster.queues.get_mut(queue) else { return };
        let was_present = std::mem::replace(&mut item.identity.present, true);
        item.identity.uid = facts.uid.clone();
        item.identity.created = facts.created;
        let parent = item.spec.parent;
        if item.spec.reclaimable != facts.reclaimable || !was_present {
            self.cluster.log.renumber();
        }
        *item.spec = QueueSpec {
            parent,
            wanted_parent: facts.parent.clone(),
            weight: facts.weight,
            priority: facts.priority,
            capability: facts.capability.clone(),
            deserved: facts.deserved.clone(),
            guarantee: facts.guarantee.clone(),
            reclaimable: facts.reclaimable,
            state: facts.state,
            hierarchy: facts.hierarchy.clone(),
            node_groups: facts.node_groups.clone(),
            over_quota: facts.over_quota.clone(),
            fault: None,
        };
        self.dirty.queues = true;
        self.write_past_use(&facts.name);
    }

    /// What is told of the use of a queue, or that nothing is any more. It may come before the queue or
    /// after; where use is recorded here, the record counts.
    fn past_use(&mut self, name: &Name, facts: Option<PastUseFacts>) {
        match facts {
            Some(facts) => self.told_use.set(facts),
            None => self.told_use.remove(name),
        }
        self.write_past_use(name);
    }

    fn write_past_use(&mut self, name: &Name) {
        let Some(&queue) = self.directory.queues.get(name) else { return };
        let Ok(mut item) = self.cluster.queues.get_mut(queue) else { return };
        if !self.usage_record.is_kept() {
            item.past.set_if_neq(self.told_use.of(name));
        }
    }

    fn queue_gone(&mut self, name: &Name) {
        let Some(&queue) = self.directory.queues.get(name) else { return };
        let Ok(mut item) = self.cluster.queues.get_mut(queue) else { return };
        // The root and the default queue exist without an object.
        item.identity.present = [ROOT_QUEUE, DEFAULT_QUEUE].contains(&&**name);
        item.identity.uid = name.clone();
        item.identity.created = TimeMs::default();
        let parent = item.spec.parent;
        *item.spec = QueueSpec { parent, ..QueueSpec::default() };
        self.dirty.queues = true;
        self.dirty.vacant.push(queue);
    }

    fn domain(&mut self, facts: DomainFacts) {
        let Some(&domain) = self.directory.domains.get(&facts.name) else { return };
        let Ok(mut item) = self.cluster.domains.get_mut(domain) else { return };
        item.spec.facts = Some(facts);
        self.dirty.domains = true;
    }

    fn domain_gone(&mut self, name: &Name) {
        let Some(&domain) = self.directory.domains.get(name) else { return };
        let Ok(mut item) = self.cluster.domains.get_mut(domain) else { return };
        item.spec.facts = None;
        self.dirty.domains = true;
    }
}
