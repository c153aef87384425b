//! What a cluster at rest costs.

use std::time::{Duration, Instant};

use muster_tests::control_plane::{ControlPlane, Options, User};

use crate::E2eError;
use crate::console::Step;
use crate::fleet::{self, Size};
use crate::sight::PATIENCE;
use crate::subject::start_muster;
use crate::usage::Usage;
use crate::writes::Writes;

/// Time between reading the lists and the measurement.
const SETTLE: Duration = Duration::from_secs(10);

/// What was measured.
#[derive(Clone, Debug)]
pub(crate) struct Idle {
    /// The cluster.
    pub(crate) size: Size,
    /// How long it was looked at.
    pub(crate) time: Duration,
    /// Processor seconds from the start to reading all lists.
    pub(crate) start_cpu: Duration,
    /// Time from the start to reading all lists.
    pub(crate) start_time: Duration,
    /// Processor time used at rest.
    pub(crate) cpu: Duration,
    /// The most memory it had, in MiB.
    pub(crate) memory_mib: f64,
    /// Renewals of leases: its own, and the one the API server has of itself.
    pub(crate) lease_renewals: u64,
    /// Writes of anything else a scheduler writes.
    pub(crate) writes: Writes,
}

/// Measures a cluster in which all pods run, for that time. Muster takes part in an election, as it
/// does where it is installed.
pub(crate) async fn measure(size: &Size, time: Duration) -> Result<Idle, E2eError> {
    drop(Step::begin("starting a control plane", 0));
    let plane = ControlPlane::start(Options::default()).await?;
    let client = plane.client(User::Admin).await;
    fleet::make_nodes(&client, size).await?;
    fleet::make_running_pods(&client, size).await?;
    let step = Step::begin("muster reads all lists", 0);
    let begun = Instant::now();
    let muster = start_muster(&plane, &["--leader-elect-resource-namespace", "default"])?;
    while !muster.log().contains("all first lists are read") {
        if begun.elapsed() > PATIENCE {
            let words = muster.last_words();
            let (subject, bound, pods) = ("muster", 0, size.pods);
            return Err(E2eError::Stuck { subject, bound, pods, patience: PATIENCE, words });
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (start_time, start_cpu) = (begun.elapsed(), Usage::of(muster.id())?.cpu);
    drop(step);
    tokio::time::sleep(SETTLE).await;
    let step = Step::begin(&format!("looking at it for {time:?}"), time.as_secs() as usize);
    let (used, written) = (Usage::of(muster.id())?, Writes::read(&client).await?);
    for _ in 0..time.as_secs() {
        tokio::time::sleep(Duration::from_secs(1)).await;
        step.next();
    }
    let usage = Usage::of(muster.id())?;
    let written = Writes::read(&client).await?.since(&written);
    Ok(Idle {
        size: *size,
        time,
        start_cpu,
        start_time,
        cpu: usage.cpu.saturating_sub(used.cpu),
        memory_mib: usage.memory_mib(),
        lease_renewals: written.of("PUT leases"),
        writes: written.of_schedulers(),
    })
}
