//! The one world: what the cluster said and what was decided since, as columns.
//!
//! Each kind of entity (node, task, job, queue, domain) has one archetype and therefore one table.
//! State is a value in a column, never a marker component. Entities appear and disappear only while
//! deltas are taken in; a cycle writes values.

mod symbol;
mod names;
mod moment;
mod node;
mod oddities;
mod task;
mod job;
mod queue;
mod stake;
mod quota;
mod podset;
mod reservation;
mod domain;
mod knots;
mod volume;
mod rare;
mod affairs;
mod rows;
mod agenda;
mod index;
mod groups;
mod budget;
mod around;
mod cluster;
mod ledger;
mod audit;
mod fingerprint;
mod view;

pub use affairs::Affairs;
pub use agenda::{Agenda, AgendaMark};
pub use around::{Around, Images};
pub(crate) use audit::group_uses;
pub use audit::{audit, audit_reservations};
pub use budget::{Budget, BudgetCounts, BudgetId, Budgets, Guards};
pub use cluster::Cluster;
pub(crate) use cluster::totals_of;
pub use domain::{DomainIndex, DomainSpec, DomainSpot, DomainTotals, node_debt};
pub use fingerprint::fingerprint;
pub use groups::{Caps, GroupRule, GroupRuleId, Inheritance, NodeGroups};
pub use index::{ByKey, Directory, JobKey};
pub use job::{
    JobAllocated, JobBackoff, JobCounts, JobEvictions, JobIdentity, JobMembers, JobOverdue,
    JobSpec, JobVerdict, READY, Role, SubGroup,
};
pub use knots::{DomainView, Knots};
pub(crate) use ledger::{Kind, Seat, Seats};
pub use moment::Moment;
pub use names::{Names, PriorityClasses};
pub use node::{
    Allocatable, ChangeLog, ClusterTotals, ClusterUse, DomainPath, Idle, LogMark, NodeColumns,
    NodeIdentity, NodePlace, NodeRules, NodeTails, NodeTaint, Pipelined, Releasing, Tenants,
    Unasked, Used,
};
pub use oddities::Oddities;
pub use podset::PodSets;
pub use queue::{QueueDeserved, QueueIdentity, QueueSpec, QueueTerms, QueueUse, WHOLE_SHARE};
pub(crate) use quota::amount;
pub use quota::{Quota, Quotas};
pub use rare::{Nothing, Rare};
pub(crate) use reservation::End;
pub use reservation::{
    Annotated, Mirror, Nomination, Reservation, Reservations, Said, Say, Timing,
};
pub use rows::{
    Domain, DomainItem, DomainReadOnlyItem, Job, JobItem, JobReadOnlyItem, Node, NodeItem,
    NodeReadOnlyItem, Queue, QueueItem, QueueReadOnlyItem, Task, TaskItem, TaskReadOnlyItem,
};
pub use stake::{JobStake, lacking};
pub use symbol::{Symbol, Symbols};
pub use task::{
    Asked, Assumed, Assumption, Labels, LastTransaction, Membership, Observed, Request,
    TaskIdentity, TaskPriority, TaskStatus, TaskTraits, ToldWait, status_of,
};
pub(crate) use view::{Wait, view_queue};
pub use view::{census, jobs, pods, queues};
pub use volume::{
    Attachment, Attachments, Pick, Pin, SharedId, Spot, TaskVolumes, UseCounts, VolumeNeeds,
    VolumeRules, Volumes, Wish,
};
pub(crate) use volume::{Choice, Claimant, Resolved, holds};
