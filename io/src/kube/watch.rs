//! One watch a kind: objects as they come and go, turned into deltas.
//!
//! A watch begins with everything there is, streamed where the server can, in pages where it cannot,
//! and goes on from there. What it knows besides the last version of each object is nothing: objects
//! are decoded as far as scheduling reads them, translated, and dropped. After a gap the server cannot
//! bridge (410) everything is listed again; objects that have not changed meanwhile are skipped, those
//! that have gone are reported gone.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use hashbrown::{HashMap, HashSet};
use jiff::Timestamp;
use kube::core::ApiResource;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use muster_core::delta::ClusterDelta;
use muster_core::ids::ObjectKey;
use rustc_hash::FxBuildHasher;
use tokio::sync::mpsc::{Sender, UnboundedReceiver};
use tokio::task::JoinSet;
use tracing::{debug, info, warn};

use super::backoff::Backoff;
use super::loop_event::LoopEvent;
use super::namesakes::Namesakes;
use super::raw::{Raw, api_resource};
use super::served::{Next, ServedVersion};
use super::status_cache::StatusCache;
use crate::causes::with_causes;
use crate::metrics::Metrics;
use crate::objects::translate::{
    Fault, OwnerRule, TranslateError, gone, in_both_dialects, translate, unsupported,
};
use crate::objects::{Object, ObjectKind, Presence};

/// Pause before a kind the server does not know is looked for again.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// Failures in a row after which a watch begins with a list again: the version it continues from
/// may be one the server has never heard of.
const FAILURES_MAX: u32 = 8;

/// What all watches share.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) client: Client,
    pub(crate) owner: OwnerRule,
    pub(crate) to_loop: Sender<LoopEvent>,
    pub(crate) statuses: Arc<StatusCache>,
    pub(crate) namesakes: Arc<Namesakes>,
    pub(crate) metrics: Arc<Metrics>,
}

/// Starts a watch of every kind. They end when the loop has ended.
pub(crate) fn start(source: &Source) -> JoinSet<()> {
    let mut watches = JoinSet::new();
    for kind in ObjectKind::watched() {
        watches.spawn(Watch::new(kind, source.clone()).run());
    }
    watches
}

/// The loop has ended.
struct Closed;

/// How everything that exists is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    /// As events of the watch itself.
    Streamed,
    /// In pages before it.
    Paged,
}

struct Watch {
    kind: ObjectKind,
    version: ServedVersion,
    source: Source,
    list: List,
    /// Version of each object that was reported.
    known: HashMap<ObjectKey, Option<u64>, FxBuildHasher>,
    /// Objects met since a list began; none outside of lists.
    met: Option<HashSet<ObjectKey, FxBuildHasher>>,
    /// Has a first list been reported?
    listed: bool,
    /// Was it said that the server does not know the kind?
    missed: bool,
    /// Was it said that the watch broke, and has it brought nothing since?
    broken: bool,
    /// Objects to be told again: their namesakes have gone, or pods have moved with their PodGroups. None
    /// where neither can be.
    again: Option<UnboundedReceiver<ObjectKey>>,
    /// What objects asked for in vain, each said once.
    said: HashSet<String, FxBuildHasher>,
}

impl Watch {
    fn new(kind: ObjectKind, source: Source) -> Self {
        Self {
            kind,
            version: ServedVersion::new(kind.versions()),
            source,
            list: List::Streamed,
            known: HashMap::default(),
            met: None,
            listed: false,
            missed: false,
            broken: false,
            again: None,
            said: HashSet::default(),
        }
    }

    async fn run(mut self) {
        if self.kind.namesake().is_some() {
            self.again = Some(self.source.namesakes.listen(self.kind).await);
        } else if self.kind == ObjectKind::Pod {
            self.again = self.source.statuses.moved();
        }
        while self.watch().await.is_ok() {}
    }

    /// Waits until objects have to be told again; for ever, where none ever has.
    async fn asked_again(again: &mut Option<UnboundedReceiver<ObjectKey>>) -> Vec<ObjectKey> {
        let mut keys = Vec::new();
        match again {
            Some(again) => drop(again.recv_many(&mut keys, usize::MAX).await),
            None => std::future::pending().await,
        }
        keys
    }

    /// Watches until the watch has to begin with a list again.
    async fn watch(&mut self) -> Result<(), Closed> {
        let resource = api_resource(self.kind, self.version.get());
        let api: Api<Raw> = Api::all_with(self.source.client.clone(), &resource);
        let config = match self.list {
            List::Streamed => watcher::Config::default().streaming_lists(),
            List::Paged => watcher::Config::default(),
        };
        let mut events = pin!(watcher::watcher(api, config));
        let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
        let mut failures = 0;
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                keys = Self::asked_again(&mut self.again) => {
                    let unread = match self.kind {
                        ObjectKind::Pod => self.read_again(&resource, keys).await?,
                        _ => keys,
                    };
                    if unread.is_empty() {
                        continue;
                    }
                    self.forget_versions(&unread);
                    return Ok(());
                }
            };
            let Some(event) = event else { return Ok(()) };
            let error = match event {
                Ok(event) => {
                    failures = 0;
                    backoff.reset();
                    self.say_mended();
                    self.event(event).await?;
                    continue;
                }
                Err(error) => error,
            };
            self.source.metrics.watch_failed(self.kind);
            match recovery_from(&error, self.list) {
                Recovery::Paged => {
                    info!(kind = %self.kind, "the server streams no lists; reading pages");
                    self.list = List::Paged;
                    return Ok(());
                }
                Recovery::Missing => return self.not_served().await,
                Recovery::Anew => {
                    info!(kind = %self.kind, "the place of the watch is gone; beginning anew");
                    return Ok(());
                }
                Recovery::Again => {
                    failures += 1;
                    self.say_broken(&error);
                    tokio::time::sleep(backoff.pause()).await;
                    if failures >= FAILURES_MAX {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Reads some objects one by one and tells of them: of all the pods there are, a few have moved. Gives
    /// back those that could not be read.
    async fn read_again(
        &mut self,
        resource: &ApiResource,
        keys: Vec<ObjectKey>,
    ) -> Result<Vec<ObjectKey>, Closed> {
        let mut unread = Vec::new();
        for key in keys {
            let client = self.source.client.clone();
            let api: Api<Raw> = Api::namespaced_with(client, &key.namespace, resource);
            match api.get_opt(&key.name).await {
                Ok(Some(raw)) => self.tell(key, &raw).await?,
                // The watch says so itself.
                Ok(None) => {}
                Err(error) => {
                    debug!(%key, error = with_causes(&error), "a pod could not be read");
                    unread.push(key);
                }
            }
        }
        Ok(unread)
    }

    /// Lets the next list tell of these objects, whether or not they have changed.
    fn forget_versions(&mut self, keys: &[ObjectKey]) {
        for key in keys {
            if let Some(version) = self.known.get_mut(key) {
                *version = None;
            }
        }
    }

    /// Warns once of an outage, which may last for hours and concerns all watches alike.
    fn say_broken(&mut self, error: &watcher::Error) {
        let error = with_causes(error);
        if std::mem::replace(&mut self.broken, true) {
            debug!(kind = %self.kind, error, "the watch is still broken");
        } else {
            warn!(kind = %self.kind, error, "the watch broke; trying again until it works");
        }
    }

    fn say_mended(&mut self) {
        if std::mem::replace(&mut self.broken, false) {
            info!(kind = %self.kind, "the watch works again");
        }
    }

    async fn event(&mut self, event: Event<Raw>) -> Result<(), Closed> {
        self.source.metrics.watch_event(self.kind);
        match event {
            Event::Init => self.met = Some(HashSet::default()),
            Event::InitApply(raw) => {
                let key = raw.key(self.kind);
                let same = raw.version().is_some() && self.known.get(&key) == Some(&raw.version());
                if let Some(met) = &mut self.met {
                    met.insert(key.clone());
                }
                if !same {
                    self.tell(key, &raw).await?;
                }
            }
            Event::InitDone => {
                self.missed = false;
                self.version.confirm();
                let met = self.met.take().unwrap_or_default();
                self.drop_all_but(&met).await?;
                self.first_list().await?;
            }
            Event::Apply(raw) => self.tell(raw.key(self.kind), &raw).await?,
            Event::Delete(raw) => self.tell_gone(&raw.key(self.kind)).await?,
        }
        Ok(())
    }

    /// Tells what is now known of an object.
    async fn tell(&mut self, key: ObjectKey, raw: &Raw) -> Result<(), Closed> {
        let delta = match self.decode(&key, raw) {
            Ok(object) if !self.source.owner.sees(&object) => {
                return self.tell_elsewhere(&key).await;
            }
            Ok(object) => {
                self.source.statuses.note(&key, &object);
                if self.kind == ObjectKind::Pod && self.source.statuses.is_elsewhere(&key) {
                    return self.hide(&key).await;
                }
                self.say_unsupported(&key, &object);
                translate(&object, &self.source.owner).unwrap_or_else(|error| {
                    warn!(%error, "set aside");
                    error.set_aside()
                })
            }
            Err(error) => {
                warn!(%error, "set aside");
                error.set_aside()
            }
        };
        let namesakes = Arc::clone(&self.source.namesakes);
        let mut shared = namesakes.lock(self.kind).await;
        let both = shared.as_mut().is_some_and(|shared| shared.enter(self.kind, &key));
        let delta = if both { in_both_dialects(self.kind, &key) } else { delta };
        self.known.insert(key, raw.version());
        self.send(delta).await
    }

    fn decode(&self, key: &ObjectKey, raw: &Raw) -> Result<Object, TranslateError> {
        let fail = |field: String, problem: String| {
            let (kind, key, fault) = (self.kind, key.clone(), Fault::Object);
            TranslateError { kind, key, field, problem, fault }
        };
        let mut object = Object::from_json(self.kind, raw.text())
            .map_err(|error| fail(error.field, error.problem))?;
        object.read_times(|text| text.parse().ok().map(Timestamp::as_millisecond));
        Ok(object)
    }

    /// Says once what this version does not do for objects of the kind.
    fn say_unsupported(&mut self, key: &ObjectKey, object: &Object) {
        for what in unsupported(object) {
            if !self.said.contains(&what) {
                warn!(kind = %self.kind, first = %self.kind.title(key), "{what}");
                self.said.insert(what);
            }
        }
    }

    /// A pod that waits for others: gone, if it was there for us.
    async fn hide(&mut self, key: &ObjectKey) -> Result<(), Closed> {
        match self.known.remove(key) {
            Some(_) => self.send(gone(self.kind, key)).await,
            None => Ok(()),
        }
    }

    /// An object that is there for others: gone, if it was there for us.
    async fn tell_elsewhere(&mut self, key: &ObjectKey) -> Result<(), Closed> {
        if self.known.contains_key(key) {
            self.tell_gone(key).await?;
        }
        self.source.statuses.note_elsewhere(self.kind, key);
        Ok(())
    }

    async fn tell_gone(&mut self, key: &ObjectKey) -> Result<(), Closed> {
        self.source.statuses.forget(self.kind, key);
        if self.known.remove(key).is_none() {
            // It never was there for us.
            return Ok(());
        }
        let namesakes = Arc::clone(&self.source.namesakes);
        let mut shared = namesakes.lock(self.kind).await;
        if shared.as_mut().is_some_and(|shared| shared.leave(self.kind, key)) {
            // What is known under that name is what its namesake will say.
            return Ok(());
        }
        self.send(gone(self.kind, key)).await
    }

    /// Tells that every object not among these is gone.
    async fn drop_all_but(
        &mut self,
        met: &HashSet<ObjectKey, FxBuildHasher>,
    ) -> Result<(), Closed> {
        let lost = self.known.keys().filter(|key| !met.contains(*key)).cloned();
        let mut lost: Vec<ObjectKey> = lost.collect();
        lost.sort_unstable();
        for key in &lost {
            self.tell_gone(key).await?;
        }
        Ok(())
    }

    async fn first_list(&mut self) -> Result<(), Closed> {
        if std::mem::replace(&mut self.listed, true) {
            return Ok(());
        }
        self.deliver(LoopEvent::Listed(self.kind)).await
    }

    /// The server does not know the version in use: on to the next, or to waiting until the kind is
    /// installed.
    async fn not_served(&mut self) -> Result<(), Closed> {
        self.met = None;
        // In another version the same object may say other things.
        self.known.values_mut().for_each(|version| *version = None);
        let refused = self.version.get();
        if self.version.refuse() == Next::Version {
            let next = self.version.get();
            info!(kind = %self.kind, refused, next, "the server does not know this version");
            return Ok(());
        }
        if !std::mem::replace(&mut self.missed, true) {
            let group = self.kind.group();
            warn!(kind = %self.kind, group, "the server does not know this kind; looking again");
        }
        if self.kind.presence() == Presence::Optional {
            self.drop_all_but(&HashSet::default()).await?;
            self.first_list().await?;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
        Ok(())
    }

    async fn send(&self, delta: Option<ClusterDelta>) -> Result<(), Closed> {
        let Some(delta) = delta else { return Ok(()) };
        self.deliver(LoopEvent::Delta { delta, heard: Instant::now() }).await
    }

    async fn deliver(&self, event: LoopEvent) -> Result<(), Closed> {
        self.source.to_loop.send(event).await.map_err(|_| Closed)
    }
}

/// What to do after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    /// Read lists in pages.
    Paged,
    /// The kind does not exist.
    Missing,
    /// Begin with a new list.
    Anew,
    /// Go on from where it was.
    Again,
}

fn recovery_from(error: &watcher::Error, list: List) -> Recovery {
    use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    let (watcher::Error::WatchError(status)
    | InitialListFailed(kube::Error::Api(status))
    | WatchStartFailed(kube::Error::Api(status))
    | WatchFailed(kube::Error::Api(status))) = error
    else {
        return Recovery::Again;
    };
    match status.code {
        404 => Recovery::Missing,
        410 => Recovery::Anew,
        // An option of the watch the server does not know or does not allow.
        400 | 422 if list == List::Streamed => Recovery::Paged,
        _ => Recovery::Again,
    }
}

#[cfg(test)]
mod tests;
