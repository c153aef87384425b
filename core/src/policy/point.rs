//! The extension points: where in a cycle plugins have a say.
//!
//! A point is one row of the table below and one trait in [`extension`](super::extension). A plugin
//! has a say at a point because it implements the trait: [`plugin!`](crate::plugin) asks the compiler
//! which of the traits a type has, so that there is no list to keep.

use std::sync::Arc;

use super::asked::PluginsAsked;
use super::extension::{
    AllocatablePlugin, ApportionPlugin, CyclePlugin, DeadlinePlugin, DeviceOrderPlugin,
    DomainPullPlugin, DomainScorePlugin, FilterPlugin, GangVictimsPlugin, InnerDomainsPlugin,
    JobEnqueueablePlugin, JobEnqueuedPlugin, JobOrderPlugin, JobPipelinedPlugin, JobReadyPlugin,
    JobScorePlugin, JobStarvingPlugin, JobValidPlugin, LentZonesPlugin, MinRuntimePlugin,
    OverusedPlugin, PlacementPlugin, PreemptablePlugin, PreemptivePlugin, QueueOrderPlugin,
    ReclaimablePlugin, ScorePlugin, SearchSpacePlugin, SubGroupOrderPlugin, TaskOrderPlugin,
    UnifiedEvictablePlugin, VictimGuardPlugin, VictimQueueOrderPlugin, VictimTasksPlugin,
};
use crate::config::Gate;

/// The table: what a point is for, its name, its trait, the list of those asked there, and the flag
/// that switches a plugin's part in it.
///
/// In the order in which `check-config` lists what a plugin takes part in.
#[doc(hidden)]
#[macro_export]
macro_rules! __with_points {
    ($($request:tt)*) => {
        $crate::__points! {
            ($($request)*)
            /// How good is a domain for a job or sub-group?
            DomainScore: DomainScorePlugin, domain_score, Some(Gate::HyperNodeOrder);
            /// Within which domains may a job or sub-group be placed?
            SearchSpace: SearchSpacePlugin, search_space, Some(Gate::HyperNodeGradient);
            /// Scores nodes for a class of tasks.
            Score: ScorePlugin, score, Some(Gate::NodeOrder);
            /// Scores nodes for a task by where the others of its job are.
            JobScore: JobScorePlugin, job_score, Some(Gate::NodeOrder);
            /// Which parts of a domain are to be filled one after the other?
            InnerDomains: InnerDomainsPlugin, inner_domains, Some(Gate::NodeOrder);
            /// What does being in a domain add to the score of a node?
            DomainPull: DomainPullPlugin, domain_pull, Some(Gate::NodeOrder);
            /// Excludes nodes for a class of tasks.
            Filter: FilterPlugin, filter, Some(Gate::Predicate);
            /// Which zones of lent nodes are open?
            LentZones: LentZonesPlugin, lent_zones, None;
            /// Which device of a node does a part of one go to?
            DeviceOrder: DeviceOrderPlugin, device_order, None;
            /// Which job of a queue is served next.
            JobOrder: JobOrderPlugin, job_order, Some(Gate::JobOrder);
            /// Which task of a job is placed next.
            TaskOrder: TaskOrderPlugin, task_order, Some(Gate::TaskOrder);
            /// Which sub-group of a job is placed next.
            SubGroupOrder: SubGroupOrderPlugin, subgroup_order, Some(Gate::SubJobOrder);
            /// May the job be tried at all?
            JobValid: JobValidPlugin, job_valid, None;
            /// May what was placed be bound?
            JobReady: JobReadyPlugin, job_ready, Some(Gate::JobReady);
            /// May what was placed be held as a reservation?
            JobPipelined: JobPipelinedPlugin, job_pipelined, Some(Gate::JobPipelined);
            /// Does the job lack what it needs to run?
            JobStarving: JobStarvingPlugin, job_starving, Some(Gate::JobStarving);
            /// Until when may the job wait?
            Deadline: DeadlinePlugin, deadline, None;
            /// Which queue is served next.
            QueueOrder: QueueOrderPlugin, queue_order, Some(Gate::QueueOrder);
            /// What is each queue due, and what may it use at most?
            Apportion: ApportionPlugin, apportion, None;
            /// Who may be evicted for a task of the same queue.
            Preemptable: PreemptablePlugin, preemptable, Some(Gate::Preemptable);
            /// Who may be evicted for a task of another queue.
            Reclaimable: ReclaimablePlugin, reclaimable, Some(Gate::Reclaimable);
            /// Who may be evicted for a whole gang.
            UnifiedEvictable: UnifiedEvictablePlugin, unified_evictable, None;
            /// Who makes way for a whole gang, instead of the cheapest.
            GangVictims: GangVictimsPlugin, gang_victims, None;
            /// Until when does a job keep its minimum?
            MinRuntime: MinRuntimePlugin, min_runtime, None;
            /// Which queue's tasks are evicted first.
            VictimQueueOrder: VictimQueueOrderPlugin, victim_queue_order, None;
            /// Who is to leave its node though nobody asks for the room.
            VictimTasks: VictimTasksPlugin, victim_tasks, Some(Gate::Victim);
            /// Which of those may.
            VictimGuard: VictimGuardPlugin, victim_guard, Some(Gate::Victim);
            /// Has the queue had its part?
            Overused: OverusedPlugin, overused, Some(Gate::Overused);
            /// May the queue take one more task of a class?
            Allocatable: AllocatablePlugin, allocatable, Some(Gate::Allocatable);
            /// May the queue take back what others have, for so much?
            Preemptive: PreemptivePlugin, preemptive, Some(Gate::Preemptive);
            /// May the job be admitted?
            JobEnqueueable: JobEnqueueablePlugin, job_enqueueable, Some(Gate::JobEnqueued);
            /// Who is told that a job is admitted?
            JobEnqueued: JobEnqueuedPlugin, job_enqueued, Some(Gate::JobEnqueued);
            /// Who is told of places that are taken and left?
            Placement: PlacementPlugin, placement, None;
            /// Who is told of the cycle itself?
            Cycle: CyclePlugin, cycle, None;
        }
    };
}

/// What is made of the table: here the points themselves, and for each type of plugin the answer to
/// which of them it has.
#[doc(hidden)]
#[macro_export]
macro_rules! __points {
    ((define) $($(#[$doc:meta])* $point:ident: $trait:ident, $list:ident, $gate:expr;)*) => {
        /// A place in the cycle where plugins have a say.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Point {
            $($(#[$doc])* $point,)*
        }

        impl Point {
            /// Every point.
            pub const ALL: &'static [Self] = &[$(Self::$point),*];

            /// The flag that switches a plugin's part at this point.
            pub fn gate(self) -> Option<Gate> {
                match self {
                    $(Self::$point => $gate,)*
                }
            }
        }

        /// A plugin as each point sees it; none where it has no say.
        #[derive(Default)]
        #[expect(missing_docs, reason = "each is named after its point")]
        pub struct Facets {
            $(pub $list: Option<Arc<dyn $trait>>,)*
        }

        /// Whom each point asks.
        #[derive(Default)]
        pub(super) struct Lists {
            $(pub(super) $list: PluginsAsked<dyn $trait>,)*
        }

        impl Lists {
            /// Lists a plugin at every point it has a say at and may have.
            pub(super) fn add(
                &mut self,
                (tier, name): (usize, &'static str),
                facets: Facets,
                may: impl Fn(Point) -> bool,
            ) {
                $(if let Some(plugin) = facets.$list.filter(|_| may(Point::$point)) {
                    self.$list.add(tier, name, plugin);
                })*
            }

            /// Names of those asked at a point, in order.
            pub(super) fn names(&self, point: Point) -> Vec<&'static str> {
                match point {
                    $(Point::$point => self.$list.names().collect(),)*
                }
            }

            /// Is anybody asked at a point?
            pub(super) fn is_asked(&self, point: Point) -> bool {
                match point {
                    $(Point::$point => !self.$list.is_empty(),)*
                }
            }
        }

        $(impl<P: $trait + 'static> Has<P, { Point::$point as u8 }> {
            #[doc(hidden)]
            pub const POINTS: Points = Points::of(Point::$point);

            #[doc(hidden)]
            pub fn facet(plugin: &Arc<P>) -> Option<Arc<dyn $trait>> {
                Some(Arc::<P>::clone(plugin))
            }
        })*
    };
    ((implement $plugin:ty)
        $($(#[$doc:meta])* $point:ident: $trait:ident, $list:ident, $gate:expr;)*) => {
        impl $crate::policy::HasPoints for $plugin {
            const POINTS: $crate::policy::Points = {
                use $crate::policy::HasNot as _;
                $crate::policy::Points::NONE
                    $(.or($crate::policy::Has::<Self, { $crate::policy::Point::$point as u8 }>::POINTS))*
            };
        }

        impl $crate::policy::Extensions for $plugin {
            fn facets(self: std::sync::Arc<Self>) -> $crate::policy::Facets {
                use $crate::policy::HasNot as _;
                $crate::policy::Facets {
                    $($list: $crate::policy::Has::<Self, { $crate::policy::Point::$point as u8 }>::facet(
                        &self,
                    ),)*
                }
            }
        }
    };
}

__with_points!(define);

/// A set of points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Points(u64);

impl Points {
    /// No point.
    pub const NONE: Self = Self(0);

    /// One point.
    pub const fn of(point: Point) -> Self {
        Self(1 << point as u64)
    }

    /// The points of both.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Is the point among them?
    pub const fn contains(self, point: Point) -> bool {
        self.0 & (1 << point as u64) != 0
    }

    /// The points, in order.
    pub fn iter(self) -> impl Iterator<Item = Point> {
        Point::ALL.iter().copied().filter(move |&point| self.contains(point))
    }
}

/// Whether a type has the trait of a point, by the number of the point.
///
/// The compiler prefers what a type has itself over what a trait gives it: where the plugin has the
/// point's trait, `Has` has `POINTS` and `facet` itself, and everywhere else [`HasNot`] answers.
#[doc(hidden)]
pub struct Has<P, const POINT: u8>(std::marker::PhantomData<P>);

/// The answer for a type that lacks the trait of a point.
#[doc(hidden)]
pub trait HasNot<P> {
    /// None.
    const POINTS: Points = Points::NONE;

    /// Nothing.
    fn facet<T: ?Sized>(_plugin: &Arc<P>) -> Option<Arc<T>> {
        None
    }
}

impl<P, const POINT: u8> HasNot<P> for Has<P, POINT> {}

/// A plugin as each point sees it. [`plugin!`](crate::plugin) writes it, from the traits the type has.
pub trait Extensions {
    /// Itself, as each point sees it whose trait it has.
    fn facets(self: Arc<Self>) -> Facets;
}

/// The points of a type of plugin, also from [`plugin!`](crate::plugin).
pub trait HasPoints: Extensions {
    /// Those whose traits it has.
    const POINTS: Points;
}
