//! Tasks next in line that no rule can tell apart, placed as one stretch.
//!
//! What is asked for every task is asked once for all of them: whether the queue may have them, and
//! when the gang has enough. Only the choice of nodes is made task by task, on the one ranking they
//! share. Whatever a stretch cannot do (room that is not free yet, rules about other pods, volumes,
//! domains, limits that are close) is left to the way one task is placed; both give the same places.

use bevy_ecs::entity::Entity;

use super::drive::Scene;
use super::prospect::lacks;
use super::worksheet::Part;
use crate::class::Rules;
use crate::config::Upkeep;
use crate::kernel::fit::Fit;
use crate::resource::ResourceVec;
use crate::statement::Statement;
use crate::world::{Around, Cluster, DomainView, Kind, Seat, Seats, totals_of};

/// Fewer tasks than this are not worth it.
const LEAST: usize = 2;

/// Tasks that have been tried as a stretch, and are now placed one by one.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    passed_over: usize,
}

impl Stretches {
    /// Places a stretch at the head of a part, as long as the gang needs every task of it, and says how
    /// many have a place.
    pub(super) fn place(
        &mut self,
        scene: &mut Scene<'_, '_>,
        statement: &mut Statement,
        job: Entity,
        part: &mut Part,
    ) -> u32 {
        if self.passed_over > 0 {
            self.passed_over -= 1;
            return 0;
        }
        let Some(stretch) = Stretch::ahead(scene, job, part) else { return 0 };
        // What the queue may not have is not looked for.
        let seats = if stretch.tasks > 0 { stretch.choose(scene, part) } else { Vec::new() };
        if !seats.is_empty() {
            let request = &stretch.request;
            let asked = request.times(seats.len() as u32).expect("the queue was asked for as much");
            statement.allocate_alike(&mut scene.cluster, stretch.kind, &seats, request, &asked);
        }
        part.skip(seats.len());
        self.passed_over = (stretch.alike - seats.len()).saturating_sub(1);
        seats.len() as u32
    }
}

/// Tasks of one kind that follow on each other.
struct Stretch {
    kind: Kind,
    /// All of them that the gang needs.
    alike: usize,
    /// Those their queue may have.
    tasks: usize,
    /// What each of them asks for.
    request: ResourceVec,
}

impl Stretch {
    /// The tasks at the head of a part that may be placed together; none if there are too few.
    fn ahead(scene: &Scene<'_, '_>, job: Entity, part: &Part) -> Option<Self> {
        if part.ahead().len() < LEAST || scene.settings.tuning.upkeep == Upkeep::Rescan {
            return None;
        }
        let cluster = &scene.cluster;
        let needed = lacks(scene, &cluster.job(job), part.subgroup) as usize;
        let columns = cluster.task_columns()?;
        let kind_of = |task: &Entity| Kind::of_waiting(&columns, cluster.row(*task));
        let kind = kind_of(part.ahead().first()?)?;
        let class = scene.classes.get(kind.class);
        // Less than nothing is no request.
        let plain = class.group_rule.is_none()
            && class.volumes.is_none()
            && class.request.iter().all(|(_, amount)| amount > 0);
        if !plain || needed < LEAST {
            return None;
        }
        let alike = part.ahead().iter().take(needed).take_while(|task| kind_of(task) == Some(kind));
        let alike = Some(alike.count()).filter(|&alike| alike >= LEAST)?;
        let request = class.request.clone();
        let tasks = allowed(scene, job, &request, alike);
        Some(Self { kind, alike, tasks, request })
    }

    /// Finds free room for one task after the other and takes it, as far as there is any.
    fn choose(&self, scene: &mut Scene<'_, '_>, part: &Part) -> Vec<Seat> {
        scene.ranking(self.kind.class);
        let Scene { cluster, policies, classes, symbols, names, settings, rankings, .. } = scene;
        let Cluster { nodes, log, domains, tree, volumes, groups, images, .. } = cluster;
        let Some(ranking) = rankings.lend(self.kind.class, self.tasks) else { return Vec::new() };
        let Some(mut free) = Seats::of(nodes, log) else { return Vec::new() };
        let around = Around {
            domains: DomainView { index: tree, totals: totals_of(domains) },
            volumes,
            groups,
            images,
            names: &names.0,
        };
        let rules = Rules { classes, policies, symbols, tuning: &settings.tuning, around };
        let class = classes.get(self.kind.class);
        let mut seats = Vec::with_capacity(self.tasks);
        for &task in &part.ahead()[..self.tasks] {
            let Some(row) = ranking.best().filter(|&row| ranking.fit(row) == Fit::Idle) else {
                break;
            };
            seats.push((task, free.take(row, &class.asked)));
            ranking.renew(row, class, free.columns(), rules);
        }
        ranking.catch_up(free.mark());
        seats
    }
}

/// How many of so many equal tasks the job's queue may have.
fn allowed(scene: &Scene<'_, '_>, job: Entity, request: &ResourceVec, tasks: usize) -> usize {
    let cluster = &scene.cluster;
    let queue = cluster.queue(cluster.job(job).spec.queue);
    let may_have = |tasks: usize| {
        let asked = request.times(tasks as u32);
        let answer =
            |asked| scene.policies.allocatable(cluster, &scene.names.0, &queue, &asked).is_ok();
        asked.is_some_and(answer)
    };
    let (mut most, mut least_refused) = (0, tasks + 1);
    let mut next = tasks;
    while most + 1 < least_refused {
        if may_have(next) {
            most = next;
        } else {
            least_refused = next;
        }
        next = usize::midpoint(most, least_refused);
    }
    most
}
