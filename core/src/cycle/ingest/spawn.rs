//! First pass: an entity for everything the batch names, known or merely mentioned.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::World;

use super::Dirty;
use super::domains::Finders;
use crate::delta::{ClusterDelta, DomainMember, Facts, PodFacts};
use crate::ids::{Name, ObjectKey};
use crate::world::{Directory, Domain, Job, JobKey, Node, Queue, QueueIdentity, Task};

/// Name of the queue every path ends in.
pub(crate) const ROOT_QUEUE: &str = "root";
/// Name of the queue for jobs that name none.
pub(crate) const DEFAULT_QUEUE: &str = "default";

/// The queues that exist in every world.
pub(super) fn found(world: &mut World) {
    with_directory(world, |maker| {
        for name in [ROOT_QUEUE, DEFAULT_QUEUE] {
            let queue = maker.queue(&name.into());
            if let Some(mut identity) = maker.world.get_mut::<QueueIdentity>(queue) {
                identity.present = true;
            }
        }
    });
    super::sweep::settle_queues(world);
}

pub(super) fn make_entities(world: &mut World, deltas: &[ClusterDelta]) {
    with_directory(world, |maker| {
        for delta in deltas {
            maker.mention(delta);
        }
    });
}

fn with_directory(world: &mut World, work: impl FnOnce(&mut Maker<'_>)) {
    world.resource_scope::<Directory, _>(|world, mut directory| {
        work(&mut Maker { world, directory: &mut directory });
    });
}

struct Maker<'a> {
    world: &'a mut World,
    directory: &'a mut Directory,
}

impl Maker<'_> {
    fn mention(&mut self, delta: &ClusterDelta) {
        match delta {
            ClusterDelta::Set(Facts::Node(facts)) => drop(self.node(&facts.name)),
            ClusterDelta::Set(Facts::Pod(facts)) => self.pod(facts),
            ClusterDelta::Set(Facts::PodGroup(facts)) => {
                self.job(&JobKey::Group(facts.key.clone()));
                if let Some(queue) = &facts.queue {
                    self.queue(queue);
                }
            }
            ClusterDelta::Set(Facts::Queue(facts)) => {
                self.queue(&facts.name);
                if let Some(parent) = &facts.parent {
                    self.queue(parent);
                }
            }
            ClusterDelta::Set(Facts::Domain(facts)) => {
                self.domain(&facts.name);
                for member in &facts.members {
                    if let DomainMember::Domain(child) = member {
                        self.domain(child);
                    }
                }
            }
            // What goes, fails or is set aside needs no entity it does not have already.
            _ => {}
        }
    }

    fn pod(&mut self, facts: &PodFacts) {
        self.task(&facts.key);
        let annotated = facts.annotated.as_ref().map(|annotated| &annotated.node);
        for node in facts.node.iter().chain(&facts.nominated).chain(annotated) {
            self.node(node);
        }
        if let Some(job) = super::pods::job_key(facts) {
            self.job(&job);
        }
        if let Some(queue) = &facts.queue {
            self.queue(queue);
        }
    }

    fn node(&mut self, name: &Name) -> Entity {
        let world = &mut *self.world;
        *self.directory.nodes.entry_ref(name).or_insert_with(|| {
            world.resource_mut::<Dirty>().nodes = true;
            let node = world.spawn(Node::columns(name.clone())).id();
            // Merely mentioned by a pod that does not take or hold room on it, it goes again.
            world.resource_mut::<Dirty>().vacant.push(node);
            node
        })
    }

    fn task(&mut self, key: &ObjectKey) {
        let world = &mut *self.world;
        self.directory.tasks.get_or_make(key, |key| world.spawn(Task::columns(key)).id());
    }

    fn job(&mut self, key: &JobKey) {
        // Of a gang's pods all but one name a job that is known.
        if self.directory.jobs.contains_key(key) {
            return;
        }
        let default = self.queue(&DEFAULT_QUEUE.into());
        let job = self.world.spawn(Job::columns(key.clone(), default)).id();
        self.directory.jobs.insert(key.clone(), job);
    }

    fn queue(&mut self, name: &Name) -> Entity {
        let world = &mut *self.world;
        *self.directory.queues.entry_ref(name).or_insert_with(|| {
            world.resource_mut::<Dirty>().queues = true;
            world.spawn(Queue::columns(name.clone())).id()
        })
    }

    fn domain(&mut self, name: &Name) {
        let world = &mut *self.world;
        self.directory.domains.entry_ref(name).or_insert_with(|| {
            world.spawn((Domain::columns(name.clone()), Finders::default())).id()
        });
    }
}
