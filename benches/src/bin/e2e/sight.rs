//! When pods get their nodes, as a watch sees it.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures::StreamExt;
use http::Request;
use kube::Client;
use kube::core::{ObjectList, WatchEvent};
use serde::Deserialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::E2eError;
use crate::console::Step;
use crate::fleet::pods_path;

/// Longest wait for another pod to get its node.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// As much of a pod as is looked at.
#[derive(Clone, Deserialize)]
struct Seen {
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
}

#[derive(Clone, Deserialize)]
struct Meta {
    name: String,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: Option<String>,
}

/// A watch of all pods. Dropping it ends it.
pub(crate) struct Sight {
    task: JoinHandle<()>,
    inbox: UnboundedReceiver<(String, Instant)>,
    bound: BTreeMap<String, Instant>,
}

impl Sight {
    /// Watches from now on.
    pub(crate) async fn open(client: &Client) -> Result<Self, E2eError> {
        let doing = E2eError::call("watching pods");
        let get = |query: String| {
            let path = format!("{}?{query}", pods_path());
            Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)
        };
        let list = get("limit=1".to_owned()).map_err(&doing)?;
        let list: ObjectList<Seen> = client.request(list).await.map_err(&doing)?;
        let version = list.metadata.resource_version.unwrap_or_default();
        let watch = get(format!("watch=1&resourceVersion={version}")).map_err(&doing)?;
        let events = client.request_events::<Seen>(watch).await.map_err(&doing)?;
        let (sender, inbox) = unbounded_channel();
        let task = tokio::spawn(async move {
            let mut events = pin!(events);
            while let Some(Ok(event)) = events.next().await {
                pass_on(event, &sender);
            }
        });
        Ok(Self { task, inbox, bound: BTreeMap::new() })
    }

    /// Waits until so many pods have their nodes; how many have if it takes too long.
    pub(crate) async fn until(&mut self, count: usize, step: &Step) -> Result<(), usize> {
        while self.bound.len() < count {
            let next = tokio::time::timeout(PATIENCE, self.inbox.recv()).await;
            let Ok(Some((name, when))) = next else { return Err(self.bound.len()) };
            self.bound.entry(name).or_insert(when);
            step.at(self.bound.len());
        }
        Ok(())
    }

    /// When the pod got its node.
    pub(crate) fn when(&self, name: &str) -> Option<Instant> {
        self.bound.get(name).copied()
    }

    /// Pods a second, from the first pod that got its node to the last.
    pub(crate) fn rate(&self) -> f64 {
        let (first, last) = (self.bound.values().min(), self.bound.values().max());
        let Some((first, last)) = first.zip(last) else { return 0.0 };
        let took = last.duration_since(*first).as_secs_f64();
        (self.bound.len() - 1) as f64 / took.max(f64::EPSILON)
    }
}

impl Drop for Sight {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn pass_on(event: WatchEvent<Seen>, sender: &UnboundedSender<(String, Instant)>) {
    let (WatchEvent::Added(pod) | WatchEvent::Modified(pod)) = event else { return };
    if pod.spec.node_name.is_some() {
        // Nobody listens any more: the watch is about to end, too.
        let _ended = sender.send((pod.metadata.name, Instant::now()));
    }
}
