//! A stand-in for kubelets: it registers nodes, keeps their heartbeats, and plays what kubelets do
//! with the pods bound to them. No container is ever started.
//!
//! A bound pod runs after a moment, its containers end when and how their [commands](command) say,
//! are started again as the pod's policy says, and a pod that is deleted goes as a real one would:
//! a server at once, a shell that does not hear the signal after its grace period.

pub mod command;
mod containers;
mod life;
mod node;

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use tokio::sync::watch;

pub use node::{Manner, NodeShape};

/// How long a deleted pod has left; `None` while nobody deleted it.
type Grace = Option<Duration>;

/// The pods that are played, by uid: whoever plays one listens here for its end.
type Played = BTreeMap<String, watch::Sender<Grace>>;

/// Kubelets of several nodes.
#[derive(Clone)]
pub struct Kubelets {
    client: Client,
    shapes: Vec<NodeShape>,
}

impl Kubelets {
    /// Registers the nodes, which are ready at once.
    pub async fn register(client: Client, shapes: Vec<NodeShape>) -> kube::Result<Self> {
        for shape in &shapes {
            node::register(&client, shape).await?;
        }
        Ok(Self { client, shapes })
    }

    /// Plays the pods bound to these nodes, until it is dropped.
    pub async fn run(self) {
        let pods = play(&self.client, &self.shapes);
        let beats = node::keep_alive(&self.client, &self.shapes);
        futures::future::join(pods, beats).await;
    }
}

async fn play(client: &Client, shapes: &[NodeShape]) {
    let all: Api<Pod> = Api::all(client.clone());
    let mut events = watcher(all, watcher::Config::default()).default_backoff().boxed();
    let mut played = Played::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Apply(pod) | watcher::Event::InitApply(pod)) => {
                see(client, shapes, &mut played, pod);
            }
            Ok(watcher::Event::Delete(pod)) => {
                played.remove(&pod.metadata.uid.unwrap_or_default());
            }
            // The watch begins again by itself.
            Ok(watcher::Event::Init | watcher::Event::InitDone) | Err(_) => {}
        }
    }
}

/// Begins to play a pod that was bound to one of the nodes, or passes on that it is to end.
fn see(client: &Client, shapes: &[NodeShape], played: &mut Played, pod: Pod) {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    let Some(shape) = shapes.iter().find(|shape| node == Some(&shape.name)) else { return };
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    let seconds = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
    let deleted = pod.metadata.deletion_timestamp.is_some();
    let grace = deleted.then(|| Duration::from_secs(seconds.max(0).cast_unsigned()));
    let begin = || {
        let (sender, receiver) = watch::channel(grace);
        tokio::spawn(life::of(client.clone(), pod, shape.manner, receiver));
        sender
    };
    let sender = played.entry(uid).or_insert_with(begin);
    if sender.borrow().is_none() && grace.is_some() {
        // Nobody listens any more if the pod is gone already.
        let _ = sender.send(grace);
    }
}
