//! Who may decide: one process at a time, by a Lease everybody can see.
//!
//! Whoever holds the lease renews it again and again. One that was not renewed for its whole duration,
//! counted from when a standby last saw it change (clocks of two machines are never compared), may be
//! taken. The holder stops issuing calls well before that: its [`Gate`] closes when it has not managed
//! to renew for the renew deadline, which is shorter than the lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tracing::{info, warn};

use super::loop_event::{Leadership, LoopEvent};

/// Which lease, who asks for it, and how long things last.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Namespace of the lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who asks: unique to this process.
    pub identity: String,
    /// How long a lease holds that is not renewed.
    pub duration: Duration,
    /// How long the holder goes on without having renewed it.
    pub renew_deadline: Duration,
    /// Pause between two attempts.
    pub retry_period: Duration,
}

/// Longest pause between two looks of a standby: how long ago a lease was last renewed is known only
/// as well as that.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// May calls be issued, and for how long still? Shared with whoever issues them.
#[derive(Clone, Debug)]
pub struct Gate {
    start: Instant,
    /// Milliseconds after `start` at which it closes.
    closes: Arc<AtomicU64>,
}

impl Gate {
    /// A gate that is closed until it is opened.
    pub fn closed() -> Self {
        Self { start: Instant::now(), closes: Arc::new(AtomicU64::new(0)) }
    }

    /// A gate that stays open: nobody else decides.
    pub fn open() -> Self {
        let gate = Self::closed();
        gate.closes.store(u64::MAX, Ordering::Release);
        gate
    }

    /// How long it stays open; `None` if it is closed.
    pub fn left(&self) -> Option<Duration> {
        let closes = self.closes.load(Ordering::Acquire);
        let now = self.start.elapsed().as_millis() as u64;
        closes.checked_sub(now).filter(|&left| left > 0).map(Duration::from_millis)
    }

    fn open_until(&self, end: Instant) {
        let closes = end.saturating_duration_since(self.start).as_millis() as u64;
        self.closes.store(closes, Ordering::Release);
    }

    fn close(&self) {
        self.closes.store(0, Ordering::Release);
    }
}

/// Whose the lease is after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Ours,
    Others,
    /// Somebody changed it at the same time.
    Unsure,
}

/// A lease as it was last seen.
struct Seen {
    lease: Lease,
    /// When it was first seen like this.
    since: Instant,
}

/// Takes part in the election until it is stopped; then gives the lease back if it has it.
pub(crate) struct Candidate {
    api: Api<Lease>,
    terms: Terms,
    gate: Gate,
    to_loop: Sender<LoopEvent>,
    seen: Option<Seen>,
    /// When the renewal that last went well was begun; `None` while another one leads.
    renewed: Option<Instant>,
}

impl Candidate {
    pub(crate) fn new(
        client: Client,
        terms: Terms,
        gate: Gate,
        to_loop: Sender<LoopEvent>,
    ) -> Self {
        let api = Api::namespaced(client, &terms.namespace);
        Self { api, terms, gate, to_loop, seen: None, renewed: None }
    }

    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            self.turn().await;
            let pause = self.pause();
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = stop.changed() => {}
            }
        }
        self.release().await;
    }

    /// One attempt to get or keep the lease.
    async fn turn(&mut self) {
        let begun = Instant::now();
        // An answer that comes after the deadline is of no use.
        let left = match self.renewed {
            Some(renewed) => (renewed + self.terms.renew_deadline).saturating_duration_since(begun),
            None => self.terms.renew_deadline,
        };
        let result = tokio::time::timeout(left, self.acquire_or_renew()).await;
        match result {
            Ok(Ok(Hold::Ours)) => self.lead(begun).await,
            Ok(Ok(Hold::Others)) => self.step_down("another process holds it").await,
            Ok(Err(error)) => {
                warn!(%error, "the lease cannot be reached");
                self.step_down_if_due().await;
            }
            Ok(Ok(Hold::Unsure)) | Err(_) => self.step_down_if_due().await,
        }
    }

    fn pause(&self) -> Duration {
        match &self.seen {
            _ if self.renewed.is_some() => self.terms.retry_period,
            // Whoever waits for a lease to run out comes back in time.
            Some(seen) => {
                let left = (seen.since + duration_of(&seen.lease))
                    .saturating_duration_since(Instant::now());
                let least = Duration::from_millis(50);
                left.clamp(least, self.terms.retry_period.min(LOOK_MAX))
            }
            None => self.terms.retry_period.min(LOOK_MAX),
        }
    }

    async fn lead(&mut self, begun: Instant) {
        self.gate.open_until(begun + self.terms.renew_deadline);
        if self.renewed.replace(begun).is_none() {
            info!(identity = %self.terms.identity, "this process leads");
            self.tell(Leadership::Leads).await;
        }
    }

    async fn step_down_if_due(&mut self) {
        if self.renewed.is_some_and(|renewed| renewed.elapsed() >= self.terms.renew_deadline) {
            self.step_down("it could not be renewed in time").await;
        }
    }

    async fn step_down(&mut self, why: &str) {
        if self.renewed.take().is_some() {
            self.gate.close();
            warn!(why, "this process leads no longer; it follows");
            self.tell(Leadership::Follows).await;
        }
    }

    async fn tell(&self, leadership: Leadership) {
        // The loop has ended: so will this.
        let _ended = self.to_loop.send(LoopEvent::Leadership(leadership)).await;
    }

    async fn acquire_or_renew(&mut self) -> kube::Result<Hold> {
        let Some(current) = self.api.get_opt(&self.terms.name).await? else {
            let lease = self.held(None);
            return self.written(self.api.create(&PostParams::default(), &lease).await);
        };
        self.look(&current);
        let holder = holder(&current);
        let free = holder.is_empty() || holder == self.terms.identity;
        if !free && !self.has_run_out() {
            return Ok(Hold::Others);
        }
        let lease = self.held(Some(current));
        self.written(self.api.replace(&self.terms.name, &PostParams::default(), &lease).await)
    }

    /// Notes when the lease last changed.
    fn look(&mut self, current: &Lease) {
        let same = |seen: &Seen| seen.lease.spec == current.spec;
        if !self.seen.as_ref().is_some_and(same) {
            self.seen = Some(Seen { lease: current.clone(), since: Instant::now() });
        }
    }

    fn has_run_out(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.since.elapsed() >= duration_of(&seen.lease))
    }

    /// A conflict means that somebody was faster; the next look tells who.
    fn written(&mut self, result: kube::Result<Lease>) -> kube::Result<Hold> {
        match result {
            Ok(lease) => {
                self.look(&lease);
                Ok(Hold::Ours)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Hold::Unsure),
            Err(error) => Err(error),
        }
    }

    /// The lease as this process holds it from now on.
    fn held(&self, current: Option<Lease>) -> Lease {
        let now = Some(MicroTime(Timestamp::now()));
        let mut lease = current.unwrap_or_else(|| Lease {
            metadata: ObjectMeta {
                name: Some(self.terms.name.clone()),
                namespace: Some(self.terms.namespace.clone()),
                ..ObjectMeta::default()
            },
            spec: None,
        });
        let old = lease.spec.take().unwrap_or_default();
        let mine = old.holder_identity.as_deref() == Some(self.terms.identity.as_str());
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(self.terms.identity.clone()),
            lease_duration_seconds: i32::try_from(self.terms.duration.as_secs().max(1)).ok(),
            acquire_time: if mine { old.acquire_time.clone() } else { now.clone() },
            renew_time: now,
            lease_transitions: Some(old.lease_transitions.unwrap_or(0) + i32::from(!mine)),
            ..old
        });
        lease
    }

    /// Gives the lease back, so that another process need not wait for its end.
    async fn release(&mut self) {
        if self.renewed.take().is_none() {
            return;
        }
        self.gate.close();
        let Some(mut lease) = self.seen.take().map(|seen| seen.lease) else { return };
        if let Some(spec) = &mut lease.spec {
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            spec.renew_time = Some(MicroTime(Timestamp::now()));
        }
        let params = PostParams::default();
        let replaced = self.api.replace(&self.terms.name, &params, &lease);
        match tokio::time::timeout(self.terms.retry_period, replaced).await {
            Ok(Ok(_)) => info!("the lease is given back"),
            Ok(Err(error)) => warn!(%error, "the lease could not be given back; it runs out"),
            Err(_) => warn!("the lease could not be given back in time; it runs out"),
        }
    }
}

fn holder(lease: &Lease) -> &str {
    let spec = lease.spec.as_ref();
    spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

fn duration_of(lease: &Lease) -> Duration {
    let spec = lease.spec.as_ref();
    let seconds = spec.and_then(|spec| spec.lease_duration_seconds).unwrap_or(0);
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_open_only_until_its_time() {
        let gate = Gate::closed();
        assert_eq!(gate.left(), None);
        gate.open_until(Instant::now() + Duration::from_mins(1));
        assert!(gate.left().is_some_and(|left| left > Duration::from_secs(50)));
        gate.open_until(gate.start);
        assert_eq!(gate.left(), None);
        gate.close();
        assert_eq!(gate.left(), None);
        assert!(Gate::open().left().is_some());
    }
}
