//! The calls, each with the way it goes, and what they have in common.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use kube::Client;
use muster_core::config::EvictionMode;
use tokio::sync::mpsc::Sender;

use super::client::ApiClient;
use super::event::{Events, Happening};
use super::rate_limit::RateLimiter;
use super::{Act, ActKind, Call, Report};
use crate::kube::lease::Gate;
use crate::kube::loop_event::LoopEvent;
use crate::kube::status_cache::StatusCache;
use crate::metrics::Metrics;

/// Everything a call needs.
pub(crate) struct ApiCalls {
    pub(super) client: ApiClient,
    pub(super) statuses: Arc<StatusCache>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) events: Events,
    to_loop: Sender<LoopEvent>,
    eviction: Mutex<EvictionMode>,
    /// Is the status of a PodGroup a resource of its own? As Volcano defines it, it is not.
    pub(super) status_apart: AtomicBool,
}

impl ApiCalls {
    /// Issues up to `per_second` calls a second, and bursts of `burst`.
    pub(crate) fn new(parts: ApiCallsParts, per_second: u32, burst: u32) -> Self {
        let ApiCallsParts { client, gate, statuses, metrics, events, to_loop, eviction } = parts;
        let rate_limiter = RateLimiter::new(per_second, burst);
        Self {
            client: ApiClient::new(client, gate, rate_limiter, metrics.clone()),
            statuses,
            metrics,
            events,
            to_loop,
            eviction: Mutex::new(eviction),
            status_apart: false.into(),
        }
    }

    /// How pods are evicted.
    pub(super) fn eviction(&self) -> EvictionMode {
        *self.eviction.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Evicts pods in this way from now on.
    pub(crate) fn set_eviction(&self, mode: EvictionMode) {
        *self.eviction.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// Carries a call out. What the scheduler must know of its outcome goes to the loop.
    pub(super) async fn carry_out(&self, call: Call) {
        if self.is_for_others(&call) {
            return;
        }
        match call {
            Call::Act(Act { pod, kind }) => match kind {
                ActKind::Bind { node, ruling, claims } => {
                    self.bind(&pod, &node, &ruling, &claims).await;
                }
                ActKind::Evict { ruling } => self.evict(&pod, &ruling).await,
                ActKind::Nominate(node) => self.nominate(&pod, node.as_ref()).await,
                ActKind::Annotate(reservation) => self.annotate(&pod, reservation.as_ref()).await,
                ActKind::Held { node, ruling } => {
                    self.events.note(Happening::held(&pod, &ruling.job, &node));
                }
            },
            Call::Report(Report::Wait { pod, job, wait }) => {
                self.report_wait(&pod, &job, &wait).await;
            }
            Call::Report(Report::Group { group, phase, report }) => {
                self.report_group(&group, phase, &report).await;
            }
            Call::Report(Report::Past { group, report }) => self.report_past(&group, &report).await,
            Call::Report(Report::GangWait { group, wait }) => {
                self.report_gang_wait(&group, &wait).await;
            }
            Call::Report(Report::Queue { queue, report }) => {
                self.report_queue(&queue, &report).await;
            }
            Call::Report(Report::Shard { shard, report }) => {
                self.report_shard(&shard, &report).await;
            }
        }
    }

    /// Does it only say how a pod waits that has moved to another pool since? Nobody binds or evicts such
    /// pods here.
    fn is_for_others(&self, call: &Call) -> bool {
        match call {
            Call::Act(Act { pod, kind: ActKind::Nominate(_) | ActKind::Annotate(_) })
            | Call::Report(Report::Wait { pod, .. }) => self.statuses.is_elsewhere(&pod.key),
            _ => false,
        }
    }

    /// Tells the loop something; after its end nobody needs to know.
    pub(super) async fn tell(&self, event: impl Into<LoopEvent>) {
        let _ended = self.to_loop.send(event.into()).await;
    }
}

/// What an [`ApiCalls`] is made of.
pub(crate) struct ApiCallsParts {
    pub(crate) client: Client,
    pub(crate) gate: Gate,
    pub(crate) statuses: Arc<StatusCache>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) events: Events,
    pub(crate) to_loop: Sender<LoopEvent>,
    pub(crate) eviction: EvictionMode,
}

#[cfg(test)]
mod tests;
