//! One pod, from the moment it is bound until it is gone.

use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::Grace;
use super::containers::{Containers, seconds};
use super::node::Manner;

/// What a machine takes to start a container whose image it has, and to stop one that listens.
const MOMENT: Duration = Duration::from_millis(500);
/// Images every machine has.
const SMALL_IMAGES: [&str; 2] = ["busybox", "nginx"];
/// What a machine takes to get another. Those that watch a job see it wait meanwhile.
const PULL: Duration = Duration::from_secs(5);
/// Pause between two looks at claims that are not bound.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Pause before a call is made again that failed.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// A pod that is played.
struct Player {
    client: Client,
    pods: Api<Pod>,
    pod: Pod,
    manner: Manner,
    begun: Timestamp,
}

/// Plays a pod until it is gone.
pub(super) async fn of(client: Client, pod: Pod, manner: Manner, mut end: watch::Receiver<Grace>) {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let over = matches!(phase, Some("Succeeded" | "Failed"));
    let pods = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    let player = Player { client, pods, pod, manner, begun: Timestamp::now() };
    let mut containers = None;
    if !over {
        tokio::select! {
            () = player.run(&mut containers) => {}
            () = told(&mut end) => {}
        }
    }
    told(&mut end).await;
    // A closed channel without a time: the pod is gone.
    let Some(grace) = *end.borrow() else { return };
    player.end(containers, grace).await;
}

/// Waits until the pod is to end, or is gone.
async fn told(end: &mut watch::Receiver<Grace>) {
    // An error says that whoever tells has dropped it: the pod is gone.
    let _ = end.wait_for(Option::is_some).await;
}

impl Player {
    /// Runs the containers until all are done.
    async fn run(&self, slot: &mut Option<Containers>) {
        while !self.claims_are_bound().await {
            sleep(LOOK_AGAIN).await;
        }
        if self.manner == Manner::Machine {
            sleep(MOMENT + self.pull()).await;
        }
        let containers = slot.insert(Containers::start(&self.pod, self.manner == Manner::Kwok));
        loop {
            self.write(containers).await;
            match containers.next_change() {
                Some(at) => sleep_until(at).await,
                // Nothing happens any more, unless somebody deletes it.
                None => return,
            }
            containers.advance(Instant::now());
        }
    }

    /// How long it takes until all images are there.
    fn pull(&self) -> Duration {
        let containers = self.pod.spec.iter().flat_map(|spec| &spec.containers);
        let images = containers.filter_map(|container| container.image.as_deref());
        let small = |image: &str| SMALL_IMAGES.iter().any(|name| image.starts_with(name));
        if images.into_iter().all(small) { Duration::ZERO } else { PULL }
    }

    /// A pod is not started before its volumes can be mounted.
    async fn claims_are_bound(&self) -> bool {
        let volumes = self.pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        let names = volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref());
        let namespace = self.pod.namespace().unwrap_or_default();
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), &namespace);
        for source in names {
            let claim = claims.get_opt(&source.claim_name).await.ok().flatten();
            let status = claim.and_then(|claim| claim.status).unwrap_or_default();
            if status.phase.as_deref() != Some("Bound") {
                return false;
            }
        }
        true
    }

    /// Ends what still runs, and takes the pod away.
    async fn end(&self, containers: Option<Containers>, grace: Duration) {
        if let Some(mut containers) = containers.filter(|containers| !containers.are_done()) {
            let moment = if self.manner == Manner::Kwok { Duration::ZERO } else { MOMENT };
            let heeds = containers.heed_signals();
            sleep(if heeds { moment.min(grace) } else { grace }).await;
            containers.stop();
            self.write(&containers).await;
        }
        let uid = self.pod.metadata.uid.clone();
        let only_this = Preconditions { uid, resource_version: None };
        let now = DeleteParams::default().grace_period(0).preconditions(only_this);
        while let Err(error) = self.pods.delete(&self.pod.name_any(), &now).await {
            if is_gone(&error) {
                return;
            }
            sleep(TRY_AGAIN).await;
        }
    }

    /// Writes what the containers come to.
    async fn write(&self, containers: &Containers) {
        let patch = Patch::Strategic(self.status(containers));
        let name = self.pod.name_any();
        while let Err(error) = self.pods.patch_status(&name, &PatchParams::default(), &patch).await
        {
            if is_gone(&error) {
                return;
            }
            sleep(TRY_AGAIN).await;
        }
    }

    fn status(&self, containers: &Containers) -> Value {
        let now = seconds(Timestamp::now());
        let ready = if containers.are_ready() { "True" } else { "False" };
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": now});
        json!({
            // Another pod of the same name is none of ours.
            "metadata": {"uid": self.pod.metadata.uid},
            "status": {
                "phase": containers.phase(),
                "startTime": seconds(self.begun),
                "hostIP": "127.0.0.1",
                "podIP": "127.0.0.1",
                "podIPs": [{"ip": "127.0.0.1"}],
                "conditions": [
                    condition("PodScheduled", "True"),
                    condition("Initialized", "True"),
                    condition("ContainersReady", ready),
                    condition("Ready", ready),
                ],
                "containerStatuses": containers.statuses(),
            },
        })
    }
}

/// Is there no such pod any more, or another of its name?
fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if [404, 409, 422].contains(&status.code))
}
