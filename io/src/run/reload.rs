//! Reads the configuration file again and again; a new text that is valid goes to the loop, one that
//! is not is logged and leaves the old one in force.
//!
//! The file is read rather than watched: a mounted `ConfigMap` is swapped by moving a symbolic link, and
//! reading a page every few seconds costs nothing.

use std::hash::Hasher;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use muster_core::policy::Registry;
use rustc_hash::FxHasher;
use tokio::sync::mpsc::Sender;
use tracing::error;

use crate::config::{self, ConfigErrors, parse, time_zone};
use crate::kube::loop_event::{LoopEvent, NewConfig};
use crate::metrics::Metrics;

/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Tells texts of a configuration apart.
pub(crate) fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// A text as a configuration, with its hash.
pub(crate) fn read(
    registry: &Registry,
    source: &str,
    text: &str,
) -> Result<NewConfig, ConfigErrors> {
    let mut parsed = parse(registry, source, text)?;
    // As Volcano does; a machine that does not say where it stands goes by UTC.
    parsed.config.clock.local = time_zone::of_process().unwrap_or_default();
    Ok(NewConfig { parsed, hash: hash(text) })
}

/// The file that is looked at, and what it may name.
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    pub(super) registry: Registry,
}

/// Looks until the loop has ended. `seen` is the hash of the text in force.
pub(super) async fn look(
    file: ConfigFile,
    mut seen: u64,
    to_loop: Sender<LoopEvent>,
    metrics: Arc<Metrics>,
) {
    let ConfigFile { path, registry } = file;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(text) = text_of(path.clone()).await else { continue };
        let hash = hash(&text);
        if std::mem::replace(&mut seen, hash) == hash {
            continue;
        }
        match read(&registry, &path.display().to_string(), &text) {
            Ok(config) => {
                if to_loop.send(LoopEvent::Config(Box::new(config))).await.is_err() {
                    return;
                }
            }
            Err(errors) => {
                metrics.config_failed();
                error!("the new configuration is not valid, the old one stays in force: {errors}");
            }
        }
    }
}

/// The text of the file; `None` if it cannot be read, as happens for a moment while it is replaced.
async fn text_of(path: PathBuf) -> Option<String> {
    tokio::task::spawn_blocking(move || config::text_of(&path)).await.ok()?.ok()
}
