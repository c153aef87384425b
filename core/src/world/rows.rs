//! Every kind of entity with all its columns, as queries hand them out.
#![expect(missing_docs, reason = "each field is the column of that name; the derive adds others")]

use bevy_ecs::entity::Entity;
use bevy_ecs::query::QueryData;

use super::affairs::Affairs;
use super::domain::{DomainSpec, DomainSpot, DomainTotals};
use super::job::{
    JobAllocated, JobBackoff, JobCounts, JobEvictions, JobIdentity, JobMembers, JobOverdue,
    JobSpec, JobVerdict,
};
use super::node::{
    Allocatable, DomainPath, Idle, NodeIdentity, NodePlace, NodeRules, NodeTails, Pipelined,
    Releasing, Tenants, Unasked, Used,
};
use super::oddities::Oddities;
use super::queue::{QueueDeserved, QueueIdentity, QueueSpec, QueueTerms, QueueUse};
use super::rare::Rare;
use super::reservation::Timing;
use super::stake::JobStake;
use super::task::{
    Assumed, Labels, Membership, Observed, Request, TaskIdentity, TaskPriority, TaskStatus,
    TaskTraits, status_of,
};
use super::volume::Attachments;
use crate::near::Neighbours;
use crate::resource::ResourceVec;

/// A node with all its columns.
#[derive(QueryData)]
#[query_data(mutable, contiguous(all))]
pub struct Node {
    pub entity: Entity,
    pub identity: &'static mut NodeIdentity,
    pub place: &'static mut NodePlace,
    pub rules: &'static mut NodeRules,
    pub oddities: &'static mut Oddities,
    pub allocatable: &'static mut Allocatable,
    pub idle: &'static mut Idle,
    pub used: &'static mut Used,
    pub releasing: &'static mut Releasing,
    pub pipelined: &'static mut Pipelined,
    pub tails: &'static mut NodeTails,
    pub unasked: &'static mut Unasked,
    pub tenants: &'static mut Tenants,
    pub domains: &'static mut DomainPath,
    pub neighbours: &'static mut Neighbours,
    pub attachments: &'static mut Attachments,
}

/// A task with all its columns.
#[derive(QueryData)]
#[query_data(mutable, contiguous(all))]
pub struct Task {
    pub entity: Entity,
    pub identity: &'static mut TaskIdentity,
    pub traits: &'static mut TaskTraits,
    pub priority: &'static mut TaskPriority,
    pub request: &'static mut Request,
    pub labels: &'static mut Labels,
    pub membership: &'static mut Membership,
    pub observed: &'static mut Observed,
    pub assumed: &'static mut Assumed,
    pub timing: &'static mut Timing,
    pub affairs: &'static mut Rare<Affairs>,
}

impl TaskItem<'_, '_> {
    /// Status and node.
    pub fn status(&self) -> (TaskStatus, Option<Entity>) {
        status_of(&self.observed, *self.assumed)
    }

    /// The node its status concerns, or the one it ended on.
    pub fn home(&self) -> Option<Entity> {
        self.status().1.or(self.observed.node)
    }
}

impl TaskReadOnlyItem<'_, '_> {
    /// Status and node.
    pub fn status(&self) -> (TaskStatus, Option<Entity>) {
        status_of(self.observed, *self.assumed)
    }

    /// All it asks for.
    pub fn whole_request(&self) -> ResourceVec {
        self.request.amounts.clone()
    }

    /// The node its status concerns, or the one it ended on.
    pub fn home(&self) -> Option<Entity> {
        self.status().1.or(self.observed.node)
    }
}

/// A job with all its columns.
#[derive(QueryData)]
#[query_data(mutable)]
pub struct Job {
    pub entity: Entity,
    pub identity: &'static mut JobIdentity,
    pub spec: &'static mut JobSpec,
    pub counts: &'static mut JobCounts,
    pub held: &'static mut JobAllocated,
    pub stake: &'static mut JobStake,
    pub overdue: &'static mut JobOverdue,
    pub members: &'static mut JobMembers,
    pub verdict: &'static mut JobVerdict,
    pub backoff: &'static mut JobBackoff,
    pub evictions: &'static mut JobEvictions,
}

/// A queue with all its columns.
#[derive(QueryData)]
#[query_data(mutable)]
pub struct Queue {
    pub entity: Entity,
    pub identity: &'static mut QueueIdentity,
    pub spec: &'static mut QueueSpec,
    pub usage: &'static mut QueueUse,
    pub deserved: &'static mut QueueDeserved,
    pub terms: &'static mut QueueTerms,
}

/// A domain with all its columns.
#[derive(QueryData)]
#[query_data(mutable, contiguous(immutable))]
pub struct Domain {
    pub entity: Entity,
    pub spec: &'static mut DomainSpec,
    pub spot: &'static mut DomainSpot,
    pub totals: &'static mut DomainTotals,
}
