//! The scheduler's configuration: suites change a `ConfigMap`, the scheduler reads a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

use crate::SuitesError;
use crate::cluster::SYSTEM;

/// Name of the `ConfigMap` in Volcano's CI.
const NAME: &str = "integration-scheduler-configmap";
/// The entry with the configuration.
const ENTRY: &str = "volcano-scheduler-ci.conf";
/// Pause between two looks at the `ConfigMap`.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Makes the `ConfigMap`, and the file with the same text.
pub(crate) async fn create(
    client: &Client,
    folder: &Path,
    text: &str,
) -> Result<PathBuf, SuitesError> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM);
    let object = json!({"metadata": {"name": NAME}, "data": {ENTRY: text}});
    let object = serde_json::from_value(object).expect("it is a `ConfigMap`");
    let made = api.create(&PostParams::default(), &object).await;
    made.map_err(SuitesError::call("making the scheduler's ConfigMap"))?;
    let path = folder.join(ENTRY);
    write(&path, text).map_err(SuitesError::file(&path))?;
    Ok(path)
}

/// Keeps the file as the `ConfigMap` is, until it is dropped.
pub(crate) async fn follow(client: Client, path: PathBuf, mut text: String) {
    let api: Api<ConfigMap> = Api::namespaced(client, SYSTEM);
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        // What could not be read or written now is at the next look.
        let found = api.get(NAME).await.ok().and_then(|found| found.data?.remove(ENTRY));
        let Some(found) = found.filter(|found| *found != text) else { continue };
        if write(&path, &found).is_ok() {
            text = found;
        }
    }
}

/// Nobody may read half a file.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let partial = path.with_extension("partial");
    fs::write(&partial, text)?;
    fs::rename(&partial, path)
}
