//! Where the configuration comes from, and its changes: a file, or a `SchedulingShard` of KAI's in the
//! cluster. A new text that is valid goes to the loop; one that is not is logged and leaves the old one
//! in force.
//!
//! The file is read rather than watched: a mounted `ConfigMap` is swapped by moving a symbolic link, and
//! reading a page every few seconds costs nothing. An object is watched, which costs nothing either.

use std::hash::Hasher;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use muster_core::policy::Registry;
use rustc_hash::FxHasher;
use serde_json::Value;
use tokio::sync::mpsc::Sender;
use tracing::{debug, error, warn};

use super::{Options, RunError, services};
use crate::causes::with_causes;
use crate::config::params::Params;
use crate::config::{self, ConfigErrors, DEFAULT_TEXT, parse_with, time_zone};
use crate::kube::backoff::Backoff;
use crate::kube::loop_event::{LoopEvent, NewConfig};
use crate::kube::raw::{Raw, api_resource};
use crate::metrics::Metrics;
use crate::objects::ObjectKind;

/// Pause between two looks at a file.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Where the configuration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// It is the built-in one, for good.
    BuiltIn,
    /// A file, looked at again and again.
    File(PathBuf),
    /// The `SchedulingShard` of that name, watched.
    Shard(String),
}

/// What a text may name, and the parameters that count before its own.
pub(super) struct Reading {
    pub(super) registry: Registry,
    pub(super) params: Params,
}

impl Reading {
    /// A text as a configuration, with its hash.
    fn read(&self, source: &str, text: &str) -> Result<NewConfig, ConfigErrors> {
        let mut parsed = parse_with(&self.registry, &self.params, source, text)?;
        // As Volcano does; a machine that does not say where it stands goes by UTC.
        parsed.config.clock.local = time_zone::of_process().unwrap_or_default();
        Ok(NewConfig { parsed, hash: hash(text) })
    }
}

/// Tells texts of a configuration apart.
fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// The configuration a process starts with.
pub(crate) fn first_config(
    options: &Options,
    registry: &Registry,
) -> Result<NewConfig, FirstConfigError> {
    let reading = Reading { registry: registry.clone(), params: options.params.clone() };
    Ok(match &options.config {
        ConfigSource::BuiltIn => reading.read("built-in configuration", DEFAULT_TEXT)?,
        ConfigSource::File(path) => {
            reading.read(&path.display().to_string(), &config::text_of(path)?)?
        }
        ConfigSource::Shard(name) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(RunError::Runtime)?;
            let shard = runtime.block_on(async {
                let client = services::client(options).await?;
                let found = shards(client).get(name).await;
                found.map_err(|source| RunError::Shard { name: name.clone(), source })
            })?;
            read_shard(&reading, name, shard.text())?
        }
    })
}

/// Why a process has no configuration to start with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FirstConfigError {
    /// It is not valid.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// It cannot be had.
    #[error(transparent)]
    Run(#[from] RunError),
}

fn shards(client: Client) -> Api<Raw> {
    let kind = ObjectKind::SchedulingShard;
    Api::all_with(client, &api_resource(kind, kind.version()))
}

/// An object as a configuration. Only its `spec` tells two texts apart: its status is another's.
fn read_shard(reading: &Reading, name: &str, text: &str) -> Result<NewConfig, ConfigErrors> {
    let object: Value = serde_json::from_str(text).unwrap_or_default();
    let read = reading.read(&format!("SchedulingShard {name}"), text);
    let read = read.map_err(ConfigErrors::without_places)?;
    Ok(NewConfig { hash: hash(&object["spec"].to_string()), ..read })
}

/// Whom to tell of a new configuration.
pub(super) struct Listener {
    pub(super) reading: Reading,
    pub(super) to_loop: Sender<LoopEvent>,
    pub(super) metrics: Arc<Metrics>,
    /// Hash of the text that was read last.
    pub(super) seen: u64,
}

/// The loop has ended.
struct Closed;

impl Listener {
    async fn tell(&mut self, read: Result<NewConfig, ConfigErrors>) -> Result<(), Closed> {
        match read {
            Ok(config) if config.hash == self.seen => Ok(()),
            Ok(config) => {
                self.seen = config.hash;
                let event = LoopEvent::Config(Box::new(config));
                self.to_loop.send(event).await.map_err(|_| Closed)
            }
            Err(errors) => {
                self.metrics.config_failed();
                error!("the new configuration is not valid, the old one stays in force: {errors}");
                Ok(())
            }
        }
    }
}

/// Hears of changes until the loop has ended.
pub(super) async fn follow(source: ConfigSource, client: Client, listener: Listener) {
    match source {
        ConfigSource::BuiltIn => {}
        ConfigSource::File(path) => look(path, listener).await,
        ConfigSource::Shard(name) => watch(client, name, listener).await,
    }
}

/// Looks at a file until the loop has ended.
async fn look(path: PathBuf, mut listener: Listener) {
    let source = path.display().to_string();
    let mut looked = listener.seen;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(text) = text_of(path.clone()).await else { continue };
        if std::mem::replace(&mut looked, hash(&text)) == hash(&text) {
            continue;
        }
        let read = listener.reading.read(&source, &text);
        if listener.tell(read).await.is_err() {
            return;
        }
    }
}

/// The text of the file; `None` if it cannot be read, as happens for a moment while it is replaced.
async fn text_of(path: PathBuf) -> Option<String> {
    tokio::task::spawn_blocking(move || config::text_of(&path)).await.ok()?.ok()
}

/// Watches the object until the loop has ended.
async fn watch(client: Client, name: String, mut listener: Listener) {
    let own = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut events = pin!(watcher::watcher(shards(client), own));
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(shard) | Event::InitApply(shard)) => {
                backoff.reset();
                let read = read_shard(&listener.reading, &name, shard.text());
                if listener.tell(read).await.is_err() {
                    return;
                }
            }
            Ok(Event::Delete(_)) => warn!(name, "the SchedulingShard is gone; it stays in force"),
            Ok(Event::Init | Event::InitDone) => {}
            Err(error) => {
                debug!(name, error = with_causes(&error), "the watch of the SchedulingShard broke");
                tokio::time::sleep(backoff.pause()).await;
            }
        }
    }
}
