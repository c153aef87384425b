//! Which tasks of a job are to be placed, in which order.
//!
//! Tasks that have room held come first, then those the gang cannot do without, then the surplus;
//! within each by task order. Sub-groups are placed one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bevy_ecs::entity::Entity;

use super::Session;
use crate::delta::PreemptionPolicy;
use crate::policy::Unit;
use crate::world::{COVERED, JobReadOnlyItem, READY, TaskReadOnlyItem, TaskStatus};

/// Which tasks an action looks after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskSet {
    /// Tasks that ask for resources, best-effort ones a mixed gang needs for its minimum, and those
    /// that have a slot held.
    Requesting,
    /// Best-effort tasks of other gangs.
    BestEffort,
    /// All of them.
    All,
}

/// The tasks of one job, in the order they are to be placed, by sub-group.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingTasks {
    parts: Vec<PendingPart>,
}

/// The tasks of one sub-group, or those that belong to none.
#[derive(Clone, Debug)]
pub(crate) struct PendingPart {
    /// Index of the sub-group in the job.
    pub(crate) subgroup: Option<u16>,
    /// Has it tasks that have room held, or that a role needs?
    required: bool,
    pub(super) standing: Standing,
    // Shared, because every domain tried gets a copy of the list.
    tasks: Arc<[Entity]>,
    next: usize,
}

/// What became of a part since the placing of its job began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// It was not tried.
    #[default]
    Open,
    /// It has what it needs.
    Placed,
    /// It found no place.
    Failed,
    /// It found none, but may find one once others of the gang have theirs, near whom it must be.
    Late,
}

impl PendingPart {
    /// The next task, taken off the part.
    pub(crate) fn pop(&mut self) -> Option<Entity> {
        let task = self.tasks.get(self.next).copied();
        self.next += usize::from(task.is_some());
        task
    }

    /// Nothing left?
    pub(crate) fn is_done(&self) -> bool {
        self.next == self.tasks.len()
    }

    /// Tasks that are left, in order.
    pub(super) fn ahead(&self) -> &[Entity] {
        &self.tasks[self.next..]
    }

    /// The same, one by one.
    pub(super) fn left(&self) -> impl Iterator<Item = Entity> + '_ {
        self.ahead().iter().copied()
    }

    /// How many tasks are left.
    pub(crate) fn left_count(&self) -> usize {
        self.tasks.len() - self.next
    }

    /// Takes this many tasks off the part.
    pub(super) fn skip(&mut self, tasks: usize) {
        self.next = (self.next + tasks).min(self.tasks.len());
    }
}

/// Something that has tasks left to place.
pub(super) trait Leftover: Clone {
    /// Those tasks, in order.
    fn left_over(&self) -> Vec<Entity>;
}

impl Leftover for PendingPart {
    fn left_over(&self) -> Vec<Entity> {
        self.left().collect()
    }
}

impl Leftover for PendingTasks {
    fn left_over(&self) -> Vec<Entity> {
        self.parts.iter().flat_map(PendingPart::left).collect()
    }
}

/// Urgency of a task: the derived order is the order of placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    Reserved,
    Required,
    Surplus,
}

/// Who goes first among tasks that are as urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precedence {
    /// The order of tasks alone counts.
    TaskOrder,
    /// Those nobody may be evicted for: they have to make do with what is free.
    Forbearing,
}

/// A task with what its place in the list depends on.
#[derive(Clone, Copy, Debug)]
struct Urgent {
    urgency: Urgency,
    /// May others have to go for it, and is that to be tried after all that needs no victims?
    evicts: bool,
    task: Entity,
    subgroup: Option<u16>,
}

impl PendingTasks {
    /// What is left to place of a job.
    pub(crate) fn of(session: &Session<'_, '_>, job: Entity, set: TaskSet) -> Self {
        Self::sorted(session, job, set, Precedence::TaskOrder)
    }

    /// The same for a job others may be evicted for.
    pub(crate) fn of_evictor(session: &Session<'_, '_>, job: Entity) -> Self {
        Self::sorted(session, job, TaskSet::Requesting, Precedence::Forbearing)
    }

    fn sorted(
        session: &Session<'_, '_>,
        job: Entity,
        set: TaskSet,
        precedence: Precedence,
    ) -> Self {
        let job = session.cluster.job(job);
        let open: Vec<_> = tasks_of(session, &job, set).collect();
        let order = session.policies.task_order(&session.cluster, &job, &open);
        let mut lacking: Vec<u32> = lacking_per_role(&job);
        let mut urgency = |task: &TaskReadOnlyItem<'_, '_>| {
            let lack = lacking.get_mut(usize::from(task.membership.role));
            match (task.status().0, lack) {
                (TaskStatus::Pipelined, _) => Urgency::Reserved,
                (_, Some(lack)) if *lack > 0 => {
                    *lack -= 1;
                    Urgency::Required
                }
                _ => Urgency::Surplus,
            }
        };
        let mut sorted: Vec<Urgent> = order
            .into_iter()
            .map(|at| &open[at])
            .map(|task| Urgent {
                urgency: urgency(task),
                evicts: precedence == Precedence::Forbearing
                    && task.priority.preempts != PreemptionPolicy::Never,
                task: task.entity,
                subgroup: task.membership.subgroup,
            })
            .collect();
        sorted.sort_by_key(|entry| (entry.urgency, entry.evicts));
        Self { parts: parts_of(session, &job, &sorted) }
    }

    /// Tasks of a job that are being evicted, to be placed again.
    pub(crate) fn of_victims(session: &Session<'_, '_>, job: Entity, victims: &[Entity]) -> Self {
        let job = session.cluster.job(job);
        let tasks: Vec<_> = victims.iter().map(|&task| session.cluster.task(task)).collect();
        let order = session.policies.task_order(&session.cluster, &job, &tasks);
        let sorted: Vec<Urgent> = order
            .into_iter()
            .map(|at| &tasks[at])
            .map(|task| Urgent {
                urgency: Urgency::Required,
                evicts: false,
                task: task.entity,
                subgroup: task.membership.subgroup,
            })
            .collect();
        Self { parts: parts_of(session, &job, &sorted) }
    }

    /// One of the parts.
    pub(crate) fn part_mut(&mut self, at: usize) -> &mut PendingPart {
        &mut self.parts[at]
    }

    /// All parts, in order.
    pub(super) fn parts_mut(&mut self) -> &mut [PendingPart] {
        &mut self.parts
    }

    /// Tasks left, in order.
    pub(crate) fn open_tasks(&self) -> impl Iterator<Item = Entity> + '_ {
        self.parts.iter().flat_map(PendingPart::left)
    }

    /// All parts, in order.
    pub(super) fn into_parts(self) -> impl Iterator<Item = PendingPart> {
        self.parts.into_iter()
    }

    /// Takes the parts of some sub-groups out.
    pub(super) fn take(&mut self, inside: impl Fn(u16) -> bool) -> Self {
        let all = std::mem::take(&mut self.parts);
        let (taken, left) = all.into_iter().partition(|part| part.subgroup.is_some_and(&inside));
        self.parts = left;
        Self { parts: taken }
    }

    /// Puts parts back that were taken out.
    pub(super) fn put_back(&mut self, parts: Self) {
        self.parts.extend(parts.parts);
    }

    /// Takes all tasks off the parts.
    pub(super) fn drop_tasks(&mut self) {
        self.parts.iter_mut().for_each(|part| part.skip(part.left_count()));
    }

    /// Nothing left?
    pub(crate) fn is_done(&self) -> bool {
        self.parts.iter().all(PendingPart::is_done)
    }
}

/// So many tasks that are placed first: where sub-groups form a tree, what each of them lacks goes before
/// what others have beyond.
pub(crate) fn first_tasks(
    session: &Session<'_, '_>,
    job: Entity,
    tasks: impl Iterator<Item = Entity>,
    count: usize,
) -> Vec<Entity> {
    let Some(progress) = session.cluster.job(job).progress(&COVERED) else {
        return tasks.take(count).collect();
    };
    let mut lacks: BTreeMap<Option<u16>, u32> = BTreeMap::new();
    let (mut first, beyond): (Vec<Entity>, Vec<Entity>) = tasks.partition(|&task| {
        let subgroup = session.cluster.task(task).membership.subgroup;
        let lacks = lacks.entry(subgroup).or_insert_with(|| progress.of(subgroup).lacks);
        let lacking = *lacks > 0;
        *lacks = lacks.saturating_sub(1);
        lacking
    });
    first.extend(beyond);
    first.truncate(count);
    first
}

/// Sorts tasks into parts: those without sub-group first, then sub-groups in the order plugins give,
/// then by the number in their label. Parts a role or a reservation needs go before all others, and
/// tasks without sub-group are two parts where some of them are such.
fn parts_of(
    session: &Session<'_, '_>,
    job: &JobReadOnlyItem<'_, '_>,
    tasks: &[Urgent],
) -> Vec<PendingPart> {
    if job.counts().subgroups.is_empty() {
        let tasks: Arc<[Entity]> = tasks.iter().map(|entry| entry.task).collect();
        let (required, standing) = (true, Standing::Open);
        let part = PendingPart { subgroup: None, required, standing, tasks, next: 0 };
        return if part.is_done() { Vec::new() } else { vec![part] };
    }
    let mut parts: BTreeMap<(Option<u16>, bool), Vec<Entity>> = BTreeMap::new();
    let needed = |entry: &Urgent| entry.urgency != Urgency::Surplus;
    let among: BTreeSet<Option<u16>> =
        tasks.iter().filter(|entry| needed(entry)).map(|entry| entry.subgroup).collect();
    for entry in tasks {
        let required = match entry.subgroup {
            None => needed(entry),
            subgroup => among.contains(&subgroup),
        };
        parts.entry((entry.subgroup, required)).or_default().push(entry.task);
    }
    let mut members: BTreeMap<u16, Vec<Entity>> = BTreeMap::new();
    for &task in &job.members.0 {
        if let Some(at) = session.cluster.task(task).membership.subgroup {
            members.entry(at).or_default().push(task);
        }
    }
    let rank = |subgroup: Option<u16>| {
        subgroup.map(|at| {
            let group = &job.counts().subgroups[usize::from(at)];
            let tasks = members.get(&at).map_or(&[][..], Vec::as_slice);
            let unit = Unit { job: &session.cluster.job(job.entity), subgroup };
            let keys = session.policies.subgroup_keys(&session.cluster, unit, tasks);
            (keys, group.index(), group.policy, &group.values)
        })
    };
    let part = |((subgroup, required), tasks): ((Option<u16>, bool), Vec<Entity>)| PendingPart {
        subgroup,
        required,
        standing: Standing::Open,
        tasks: tasks.into(),
        next: 0,
    };
    let mut parts: Vec<PendingPart> = parts.into_iter().map(part).collect();
    parts.sort_by_cached_key(|part| (!part.required, rank(part.subgroup)));
    parts
}

/// How many tasks each role still needs for its minimum.
fn lacking_per_role(job: &JobReadOnlyItem<'_, '_>) -> Vec<u32> {
    let had = |counts: &[u32; TaskStatus::COUNT]| {
        let pipelined = counts[TaskStatus::Pipelined as usize];
        READY.iter().map(|&status| counts[status as usize]).sum::<u32>() + pipelined
    };
    job.counts().roles.iter().map(|role| role.min.saturating_sub(had(&role.counts))).collect()
}

fn tasks_of<'a>(
    session: &'a Session<'_, '_>,
    job: &JobReadOnlyItem<'a, '_>,
    set: TaskSet,
) -> impl Iterator<Item = TaskReadOnlyItem<'a, 'a>> {
    let members = &job.members.0;
    let traits = session.cluster.task_columns().map_or(&[][..], |tasks| tasks.traits);
    let best_effort = |task: &Entity| traits[session.cluster.row(*task)].best_effort;
    let others = members.iter().filter(|task| !best_effort(task)).count();
    // A gang that cannot reach its minimum without best-effort members places them with the rest:
    // counting them before they have a place would bind a gang that is not whole. A turn of their
    // own could not complete the gang, and would put its own failure over what is in the way.
    let in_tree = job.tree().is_some();
    let mixed = others > 0 && others < job.spec.min_available as usize;
    members.iter().map(|&task| session.cluster.task(task)).filter(move |task| {
        let status = task.status().0;
        let held = status == TaskStatus::Pipelined;
        let open = held || status == TaskStatus::Pending;
        let ours = match set {
            TaskSet::Requesting => !task.traits.best_effort || mixed || held,
            TaskSet::BestEffort => task.traits.best_effort && !mixed,
            TaskSet::All => true,
        };
        // Where sub-groups form a tree, who belongs to none has no place.
        let lost = in_tree && task.membership.subgroup.is_none();
        open && ours && !task.traits.gated && !lost && !task.is_vacancy()
    })
}
