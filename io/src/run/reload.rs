//! Looks at the configuration file again and again; a new text that is valid becomes news, one that
//! is not is said and leaves the old one in force.
//!
//! The file is read rather than watched: a mounted `ConfigMap` is swapped by moving a symbolic link, and
//! reading a page every few seconds costs nothing.

use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHasher;
use tokio::sync::mpsc::Sender;
use tracing::error;

use crate::config::{ConfigErrors, parse, unreadable};
use crate::kube::news::{NewConfig, News};
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
pub(crate) fn read(source: &str, text: &str) -> Result<NewConfig, ConfigErrors> {
    Ok(NewConfig { parsed: parse(source, text)?, hash: hash(text) })
}

/// A file as a configuration, with its hash.
pub(crate) fn load(path: &Path) -> Result<NewConfig, ConfigErrors> {
    let source = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => read(&source, &text),
        Err(error) => Err(unreadable(source, &error)),
    }
}

/// Looks until nobody takes news any more. `seen` is the hash of the text in force.
pub(super) async fn look(path: PathBuf, mut seen: u64, news: Sender<News>, metrics: Arc<Metrics>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(text) = text_of(path.clone()).await else { continue };
        let hash = hash(&text);
        if std::mem::replace(&mut seen, hash) == hash {
            continue;
        }
        match read(&path.display().to_string(), &text) {
            Ok(config) => {
                if news.send(News::Config(Box::new(config))).await.is_err() {
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

/// The text of the file; none if it cannot be read, as happens for a moment while it is replaced.
async fn text_of(path: PathBuf) -> Option<String> {
    let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(Path::new(&path)));
    read.await.ok()?.ok()
}
