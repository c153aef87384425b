//! Tasks next in line that no rule can tell apart, placed in bulk.
//!
//! What is asked for every task is asked once for all of them: whether the queue may have them, and
//! when the gang has enough. Only the choice of nodes is made task by task, on the one ranking they
//! share. What bulk cannot do (room that is not free yet, rules about other pods, volumes,
//! domains, limits that are close) is left to the way one task is placed; both give the same places.

use bevy_ecs::entity::Entity;

use super::Session;
use super::domain_order::lacks;
use super::pending::PendingPart;
use crate::config::Upkeep;
use crate::kernel::fit::Fit;
use crate::ranking::Rules;
use crate::resource::ResourceVec;
use crate::statement::Statement;
use crate::world::{BulkKey, BulkNodes, BulkPlace, Cluster, ClusterFacts, DomainView, totals_of};

/// Fewer tasks than this are not worth it.
const LEAST: usize = 2;

/// Tasks that have been tried in bulk, and are now placed one by one.
#[derive(Debug, Default)]
pub(super) struct BulkPlacer {
    passed_over: usize,
}

impl BulkPlacer {
    /// Places equal tasks at the head of a part, as long as the gang needs every task of it, and says how
    /// many have a place.
    pub(super) fn place(
        &mut self,
        session: &mut Session<'_, '_>,
        statement: &mut Statement,
        job: Entity,
        part: &mut PendingPart,
    ) -> u32 {
        if self.passed_over > 0 {
            self.passed_over -= 1;
            return 0;
        }
        let Some(equal) = EqualTasks::ahead(session, job, part) else { return 0 };
        // What the queue may not have is not looked for.
        let places = if equal.tasks > 0 { equal.choose(session, part) } else { Vec::new() };
        if !places.is_empty() {
            let request = &equal.request;
            let asked =
                request.times(places.len() as u32).expect("the queue was asked for as much");
            statement.allocate_alike(&mut session.cluster, equal.kind, &places, request, &asked);
        }
        part.skip(places.len());
        self.passed_over = (equal.alike - places.len()).saturating_sub(1);
        places.len() as u32
    }
}

/// Tasks of one kind that follow on each other.
struct EqualTasks {
    kind: BulkKey,
    /// All of them that the gang needs.
    alike: usize,
    /// Those their queue may have.
    tasks: usize,
    /// What each of them asks for.
    request: ResourceVec,
}

impl EqualTasks {
    /// The tasks at the head of a part that may be placed together; `None` if there are too few.
    fn ahead(session: &Session<'_, '_>, job: Entity, part: &PendingPart) -> Option<Self> {
        if part.ahead().len() < LEAST || session.settings.tuning.upkeep == Upkeep::Rescan {
            return None;
        }
        let cluster = &session.cluster;
        let needed = lacks(session, &cluster.job(job), part.subgroup) as usize;
        let columns = cluster.task_columns()?;
        let kind_of = |task: &Entity| BulkKey::of_waiting(&columns, cluster.row(*task));
        let kind = kind_of(part.ahead().first()?)?;
        let class = session.classes.get(kind.class);
        // Less than nothing is no request.
        let plain = class.group_rule.is_none()
            && class.volumes.is_none()
            && class.asked.devices.is_none()
            && class.request.iter().all(|(_, amount)| amount > 0);
        if !plain || needed < LEAST {
            return None;
        }
        let alike = part.ahead().iter().take(needed).take_while(|task| kind_of(task) == Some(kind));
        let alike = Some(alike.count()).filter(|&alike| alike >= LEAST)?;
        let request = class.request.clone();
        let tasks = allowed(session, job, &request, alike);
        Some(Self { kind, alike, tasks, request })
    }

    /// Finds free room for one task after the other and takes it, as far as there is any.
    fn choose(&self, session: &mut Session<'_, '_>, part: &PendingPart) -> Vec<BulkPlace> {
        session.ranking(self.kind.class);
        let Session { cluster, policies, classes, symbols, names, settings, rankings, .. } =
            session;
        let Cluster { nodes, log, domains, tree, volumes, groups, lending, images, .. } = cluster;
        let Some(ranking) = rankings.lend(self.kind.class, self.tasks) else { return Vec::new() };
        let Some(mut free) = BulkNodes::of(nodes, log) else { return Vec::new() };
        let cluster_facts = ClusterFacts {
            domains: DomainView { index: tree, totals: totals_of(domains) },
            volumes,
            groups,
            lending,
            images,
            names: &names.0,
        };
        let rules = Rules { classes, policies, symbols, tuning: &settings.tuning, cluster_facts };
        let class = classes.get(self.kind.class);
        let mut places = Vec::with_capacity(self.tasks);
        for &task in &part.ahead()[..self.tasks] {
            let Some(row) = ranking.best().filter(|&row| ranking.fit(row) == Fit::Idle) else {
                break;
            };
            places.push((task, free.take(row, &class.asked)));
            ranking.renew(row, class, free.columns(), rules);
        }
        ranking.catch_up(free.mark());
        places
    }
}

/// How many of a number of equal tasks the job's queue may have.
fn allowed(session: &Session<'_, '_>, job: Entity, request: &ResourceVec, tasks: usize) -> usize {
    let cluster = &session.cluster;
    let job = cluster.job(job);
    let may_have = |tasks: usize| {
        let asked = request.times(tasks as u32);
        let answer =
            |asked| session.policies.allocatable(cluster, &session.names.0, &job, &asked).is_ok();
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
