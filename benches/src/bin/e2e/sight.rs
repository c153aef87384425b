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
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// As much of a pod as is looked at.
#[derive(Clone, Deserialize)]
struct Seen {
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: String,
    resource_version: String,
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
        let (sender, inbox) = unbounded_channel();
        let mut lookout = Lookout { client: client.clone(), version: String::new(), sender };
        lookout.list().await.map_err(E2eError::call("watching pods"))?;
        let task = tokio::spawn(async move {
            while !lookout.sender.is_closed() {
                if lookout.watch().await.is_err() {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    // Whatever is wrong shows in that nothing is seen any more.
                    let _again = lookout.list().await;
                }
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

/// The watch itself. An API server ends watches that do not keep up with it; they go on from where
/// they were.
struct Lookout {
    client: Client,
    /// The newest version that was seen.
    version: String,
    sender: UnboundedSender<(String, Instant)>,
}

impl Lookout {
    /// Sees everything there is.
    async fn list(&mut self) -> kube::Result<()> {
        let list: ObjectList<Seen> = self.client.request(get("")?).await?;
        self.version = list.metadata.resource_version.unwrap_or_default();
        list.items.into_iter().for_each(|pod| self.pass_on(pod));
        Ok(())
    }

    /// Sees what comes, until the server ends the watch.
    async fn watch(&mut self) -> kube::Result<()> {
        let request = get(&format!("?watch=1&resourceVersion={}", self.version))?;
        let mut events = pin!(self.client.request_events::<Seen>(request).await?);
        while let Some(event) = events.next().await {
            match event? {
                WatchEvent::Added(pod) | WatchEvent::Modified(pod) | WatchEvent::Deleted(pod) => {
                    self.version.clone_from(&pod.metadata.resource_version);
                    self.pass_on(pod);
                }
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
            }
        }
        Ok(())
    }

    fn pass_on(&self, pod: Seen) {
        if pod.spec.node_name.is_some() {
            // Nobody listens any more: the watch is about to end, too.
            let _ended = self.sender.send((pod.metadata.name, Instant::now()));
        }
    }
}

fn get(query: &str) -> kube::Result<Request<Vec<u8>>> {
    let path = format!("{}{query}", pods_path());
    Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)
}
