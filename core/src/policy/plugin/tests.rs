//! What a plugin takes part in follows from its traits, and from nothing else.

use std::sync::Arc;

use crate::class::Class;
use crate::config::{Gate, Gates};
use crate::ids::TimeMs;
use crate::policy::*;
use crate::resource::{ResourceNames, ResourceVec};
use crate::verdict::Verdict;
use crate::world::{
    Cluster, DomainTotals, Exclusion, JobReadOnlyItem, QueueReadOnlyItem, TaskReadOnlyItem,
};

/// For each point a plugin that has its trait and no other.
macro_rules! only {
    ($($point:ident: $trait:ident { $method:item })*) => {
        mod only {
            $(pub(super) struct $point;)*
        }

        $(
            plugin!(only::$point);
            impl Plugin for only::$point {}
            impl $trait for only::$point { $method }
        )*

        /// Each point, the points of the type that has its trait, and where such a plugin is asked.
        fn with_one_trait(gates: Gates) -> Vec<(Point, Points, Vec<Point>)> {
            vec![$({
                let mut policies = Policies::default();
                policies.add((0, "only"), Arc::new(only::$point), gates);
                let asked = Point::ALL.iter().copied().filter(|&at| policies.is_asked(at));
                (Point::$point, <only::$point as HasPoints>::POINTS, asked.collect())
            }),*]
        }
    };
}

only! {
    DomainScore: DomainScorePlugin {
        fn domain_score(&self, _: &Cluster<'_, '_>, _: Unit<'_>, _: &UnitAsks, _: Entity) -> i64 { 0 }
    }
    SearchSpace: SearchSpacePlugin {
        fn search_space(&self, _: &Cluster<'_, '_>, _: Unit<'_>, _: Purpose) -> Option<SearchSpace> { None }
    }
    Score: ScorePlugin { fn score(&self, _: &Pairing<'_>, _: ScoreScale, _: &mut [i64]) {} }
    JobScore: JobScorePlugin {
        fn arrangement(&self, _: &Cluster<'_, '_>, _: &JobReadOnlyItem<'_, '_>) -> Option<Box<dyn Arrangement>> {
            None
        }
    }
    InnerDomains: InnerDomainsPlugin {
        fn inner_domains(&self, _: &Cluster<'_, '_>, _: Unit<'_>, _: Option<Entity>) -> Vec<Entity> {
            Vec::new()
        }
    }
    DomainPull: DomainPullPlugin {
        fn domain_pull(&self, _: &Class, _: &[u64], _: usize, _: Option<&DomainTotals>) -> i64 { 0 }
    }
    Filter: FilterPlugin { fn filter(&self, _: &Pairing<'_>, _: &mut [Exclusion]) {} }
    LentZones: LentZonesPlugin { fn lent_zones(&self, _: TimeMs) -> LentZones { LentZones::default() } }
    DeviceOrder: DeviceOrderPlugin {
        fn device_order(&self) -> crate::world::DeviceOrder { crate::world::DeviceOrder::Fullest }
    }
    JobOrder: JobOrderPlugin { fn job_order(&self, _: &Cluster<'_, '_>, _: &JobReadOnlyItem<'_, '_>) -> i64 { 0 } }
    TaskOrder: TaskOrderPlugin { fn task_order(&self, _: &TaskReadOnlyItem<'_, '_>) -> i64 { 0 } }
    SubGroupOrder: SubGroupOrderPlugin {
        fn subgroup_order(&self, _: &Cluster<'_, '_>, _: Unit<'_>, _: &[Entity]) -> i64 { 0 }
    }
    JobValid: JobValidPlugin {
        fn job_valid(&self, _: &JobReadOnlyItem<'_, '_>) -> Result<(), Verdict> { Ok(()) }
    }
    JobReady: JobReadyPlugin { fn job_ready(&self, _: &Cluster<'_, '_>, _: &JobReadOnlyItem<'_, '_>) -> bool { true } }
    JobPipelined: JobPipelinedPlugin {
        fn job_pipelined(&self, _: &JobReadOnlyItem<'_, '_>) -> Vote { Vote::Abstain }
    }
    JobStarving: JobStarvingPlugin {
        fn job_starving(&self, _: &JobReadOnlyItem<'_, '_>) -> bool { true }
    }
    Deadline: DeadlinePlugin {
        fn deadline(&self, _: &JobReadOnlyItem<'_, '_>) -> Option<TimeMs> { None }
    }
    QueueOrder: QueueOrderPlugin {
        fn queue_order(
            &self,
            _: &Cluster<'_, '_>,
            _: &QueueReadOnlyItem<'_, '_>,
            _: Option<Entity>,
            _: &mut [i64],
        ) {
        }
    }
    Apportion: ApportionPlugin {
        fn apportion(&self, _: &Claims<'_>) -> Vec<Portion> { Vec::new() }
    }
    Preemptable: PreemptablePlugin {
        fn preemptable(&self, _: &Cluster<'_, '_>, _: &Evictor, _: &[Entity]) -> Ballot {
            Ballot::Abstain
        }
    }
    Reclaimable: ReclaimablePlugin {
        fn reclaimable(&self, _: &Cluster<'_, '_>, _: &Evictor, _: &[Entity]) -> Ballot {
            Ballot::Abstain
        }
    }
    UnifiedEvictable: UnifiedEvictablePlugin {
        fn unified_evictable(&self, _: &Cluster<'_, '_>, _: &Evictor, _: &[Entity]) -> Ballot {
            Ballot::Abstain
        }
    }
    GangVictims: GangVictimsPlugin {
        fn gang_victims(
            &self,
            _: &Cluster<'_, '_>,
            _: &Evictor,
            _: &ResourceVec,
            _: &[Entity],
        ) -> Option<Vec<(Entity, Vec<Entity>)>> {
            None
        }
    }
    MinRuntime: MinRuntimePlugin {
        fn keeps_until(
            &self,
            _: &Cluster<'_, '_>,
            _: &Evictor,
            _: &JobReadOnlyItem<'_, '_>,
        ) -> Option<TimeMs> {
            None
        }
    }
    VictimQueueOrder: VictimQueueOrderPlugin {
        fn victim_queue_order(
            &self,
            _: &Cluster<'_, '_>,
            _: &QueueReadOnlyItem<'_, '_>,
            _: Entity,
        ) -> i64 {
            0
        }
    }
    VictimTasks: VictimTasksPlugin {
        fn victim_tasks(&self, _: &Cluster<'_, '_>, _: TimeMs, _: &[Entity]) -> Proposal {
            Proposal::default()
        }
    }
    VictimGuard: VictimGuardPlugin {
        fn victim_guard(&self, _: &Cluster<'_, '_>, _: &[Entity]) -> Ballot { Ballot::Abstain }
    }
    Overused: OverusedPlugin {
        fn overused(&self, _: &Cluster<'_, '_>, _: &QueueReadOnlyItem<'_, '_>) -> bool { false }
    }
    Allocatable: AllocatablePlugin {
        fn allocatable(
            &self,
            _: &Cluster<'_, '_>,
            _: &ResourceNames,
            _: &JobReadOnlyItem<'_, '_>,
            _: &ResourceVec,
        ) -> Result<(), Verdict> {
            Ok(())
        }
    }
    Preemptive: PreemptivePlugin {
        fn preemptive(
            &self,
            _: &Cluster<'_, '_>,
            _: &JobReadOnlyItem<'_, '_>,
            _: &ResourceVec,
        ) -> bool {
            true
        }
    }
    JobEnqueueable: JobEnqueueablePlugin {
        fn job_enqueueable(
            &self,
            _: &Cluster<'_, '_>,
            _: &AdmissionContext<'_>,
            _: &JobReadOnlyItem<'_, '_>,
        ) -> Admittance {
            Admittance::Abstain
        }
    }
    JobEnqueued: JobEnqueuedPlugin {
        fn job_enqueued(&self, _: &Cluster<'_, '_>, _: &JobReadOnlyItem<'_, '_>) {}
    }
    Placement: PlacementPlugin {
        fn placed(&self, _: &Cluster<'_, '_>, _: &[(Entity, Entity)]) -> Result<(), Verdict> { Ok(()) }
    }
    Cycle: CyclePlugin {
        fn cycle_begins(&self, _: &Cluster<'_, '_>, _: &CycleScene<'_>) {}
    }
}

#[test]
fn a_plugin_with_one_trait_has_that_point_and_no_other() {
    let found = with_one_trait(Gates::default());
    let points: Vec<Point> = found.iter().map(|entry| entry.0).collect();
    assert_eq!(points, Point::ALL, "every point is tried");
    for (point, points, asked) in found {
        assert_eq!(points, Points::of(point), "{point:?}");
        assert_eq!(asked, [point]);
    }
}

#[test]
fn a_closed_gate_keeps_a_plugin_out_of_its_points_and_of_no_other() {
    for gate in Gate::ALL {
        let mut gates = Gates::default();
        gates.close(gate);
        for (point, _, asked) in with_one_trait(gates) {
            assert_eq!(asked.is_empty(), point.gate() == Some(gate), "{gate:?} {point:?}");
        }
    }
}

/// Two traits, one of which it stays out of.
struct Reluctant;

plugin!(Reluctant);

impl Plugin for Reluctant {
    fn takes_part(&self, point: Point) -> bool {
        point != Point::TaskOrder
    }
}

impl TaskOrderPlugin for Reluctant {
    fn task_order(&self, _: &TaskReadOnlyItem<'_, '_>) -> i64 {
        0
    }
}

impl JobReadyPlugin for Reluctant {
    fn job_ready(&self, _: &Cluster<'_, '_>, _: &JobReadOnlyItem<'_, '_>) -> bool {
        true
    }
}

#[test]
fn a_plugin_may_stay_out_of_a_point_it_has_the_trait_for() {
    let both = Points::of(Point::TaskOrder).or(Points::of(Point::JobReady));
    assert_eq!(Reluctant::POINTS, both);
    let mut policies = Policies::default();
    policies.add((0, "reluctant"), Arc::new(Reluctant), Gates::default());
    assert!(!policies.is_asked(Point::TaskOrder));
    assert_eq!(policies.asked(Point::JobReady).collect::<Vec<_>>(), ["reluctant"]);
}
