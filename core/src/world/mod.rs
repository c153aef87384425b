//! The one world: what the cluster said and what was decided since, as columns.
//!
//! Each kind of entity (node, task, job, queue, domain) has one archetype and therefore one table.
//! State is a value in a column, never a marker component. Entities appear and disappear only while
//! deltas are taken in; a cycle writes values.

mod symbol;
mod catalog;
mod names;
mod option_time;
mod class_id;
mod pod_counts;
mod label_index;
mod selector;
mod shards;
mod device;
mod node;
mod node_flags;
mod load;
mod rounds;
mod task;
mod job;
mod job_tree;
mod queue;
mod past_use;
mod job_charge;
mod quota;
mod podset;
mod reservation;
mod moves;
mod domain;
mod domain_tree;
mod levels;
mod volume;
mod cold;
mod task_cold;
mod rows;
mod active_jobs;
mod index;
mod groups;
mod lending;
mod budget;
mod cluster_facts;
mod set_aside;
mod exclusion;
mod cluster;
mod ledger;

use bevy_ecs::prelude::World;

pub use active_jobs::{ActiveJobs, ActiveMark};
pub use budget::{Budget, BudgetCounts, BudgetId, Budgets, Guards};
pub use catalog::Catalog;
pub use class_id::{ClassId, Reads};
pub use cluster::Cluster;
pub(crate) use cluster::totals_of;
pub use cluster_facts::{ClusterFacts, Images};
pub use cold::{Cold, Empty};
pub(crate) use device::WHOLE as WHOLE_DEVICE;
pub use device::{
    DeviceAsk, DeviceFleet, DeviceOrder, DeviceSlots, DeviceUse, FreeDevices, NodeDevices,
    ShareAsk, SharedDevice,
};
pub use domain::{DomainIndex, DomainSpec, DomainSpot, DomainTotals, node_debt};
pub use domain_tree::{DomainTree, DomainView};
pub use exclusion::{Exclusion, Obstacle};
pub use groups::{Caps, GroupRule, GroupRuleId, Inheritance, NodeGroups};
pub use index::{ByKey, Directory, JobKey};
pub(crate) use job::priority_without_class;
pub use job::{
    COVERED, JobAllocated, JobBackoff, JobCounts, JobEvictions, JobIdentity, JobMembers,
    JobOverdue, JobSpec, JobVerdict, READY, Role, SubGroup, ToldGang,
};
pub(crate) use job_charge::charge;
pub use job_charge::{JobCharge, lacking};
pub use job_tree::{Progress, TreeProgress, TreeSpare};
pub(crate) use label_index::{LabelIndex, has_labels, label_value};
pub(crate) use ledger::{
    BulkKey, BulkNodes, BulkPlace, Holdings, clear_usage, holds_of_group, place_domains,
};
pub use lending::Lending;
pub use levels::{LevelTree, LevelValues, TreeLevel};
pub use load::{NodeLoad, NodeLoads, Unmeasured, WHOLE_LOAD, load_share};
pub use names::Names;
pub(crate) use node::is_vacant;
pub use node::{
    ChangeLog, ClusterTotals, ClusterUse, DomainPath, LogMark, NodeColumns, NodeIdentity,
    NodePlace, NodeRules, NodeTails, NodeTaint,
};
pub use node_flags::NodeFlags;
pub use option_time::OptionTime;
pub(crate) use past_use::UsageRecord;
pub use past_use::{QueuePast, ToldUse};
pub use pod_counts::{CountId, CountedBy, PodCounts, Presence, Stay};
pub use podset::PodSets;
pub use queue::{
    QueueDeserved, QueueIdentity, QueueSpec, QueueTerms, QueueUse, QuotaTerms, WHOLE_SHARE,
};
pub use quota::Quotas;
pub(crate) use quota::amount;
pub(crate) use reservation::End;
pub use reservation::{
    Annotated, Mirror, Nomination, Reservation, Reservations, Said, Say, Timing,
};
pub use rounds::Rounds;
pub use rows::{
    Domain, DomainItem, DomainReadOnlyItem, Job, JobItem, JobReadOnlyItem, Node, NodeItem,
    NodeReadOnlyItem, Queue, QueueItem, QueueReadOnlyItem, Task, TaskItem, TaskReadOnlyItem,
};
pub use selector::{Matcher, ToleranceSet};
pub(crate) use set_aside::SetAside;
pub use shards::NodeShare;
pub(crate) use shards::Shards;
pub use symbol::{Symbol, Symbols};
pub use task::{
    Asked, Assumed, Assumption, Labels, LastTransaction, Membership, Observed, ReportedWait,
    Request, TaskIdentity, TaskPriority, TaskStatus, TaskTraits, heir_home_of, status_of,
};
pub use task_cold::TaskCold;
pub use volume::{
    Attachment, Attachments, Pick, Pin, SharedId, Spot, TaskVolumes, UseCounts, VolumeNeeds,
    VolumeRules, Volumes, Wish,
};
pub(crate) use volume::{Choice, Claimant, Resolved, holds};

/// Makes the resources of this room, as they are before anything is known.
pub(crate) fn init(world: &mut World) {
    world.init_resource::<Directory>();
    world.init_resource::<Symbols>();
    world.init_resource::<DomainIndex>();
    world.init_resource::<ClusterTotals>();
    world.init_resource::<ClusterUse>();
    world.init_resource::<Quotas>();
    world.init_resource::<ChangeLog>();
    world.init_resource::<ActiveJobs>();
    world.init_resource::<Volumes>();
    world.init_resource::<DeviceFleet>();
    world.init_resource::<Budgets>();
    world.init_resource::<PodSets>();
    world.init_resource::<SetAside>();
    world.init_resource::<NodeLoads>();
    world.init_resource::<ToldUse>();
    world.init_resource::<UsageRecord>();
    world.init_resource::<Rounds>();
    world.init_resource::<Lending>();
}
