//! Our definitions of PodGroup, Queue and HyperNode, installed as the chart installs them, or those
//! of somebody else.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceSubresourceStatus, CustomResourceSubresources,
};
use kube::api::{ListParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::plane::PodGroupDefinition;
use crate::source::{files, read};

/// Where the chart has them, from the root of the repository.
const FOLDER: &str = "deploy/chart/crds";

/// The kind that is defined in two ways.
const KIND: &str = "PodGroup";

/// Pause between two looks at a definition that is not in force.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Installs them and waits until their objects can be used.
pub(super) async fn install(client: Client, definitions: &[CustomResourceDefinition]) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in definitions {
        let created = api.create(&PostParams::default(), definition).await;
        created.unwrap_or_else(|error| panic!("{:?}: {error}", definition.metadata.name));
    }
    for definition in definitions {
        served(&client, definition).await;
    }
}

/// Puts a definition of PodGroup in place of the one that is there, or where there is none.
pub(super) async fn redefine(client: Client, pod_group: PodGroupDefinition) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut definitions = definitions(pod_group).into_iter();
    let wanted = definitions.find(|found| found.spec.names.kind == KIND);
    let wanted = wanted.expect("we define PodGroup");
    let name = wanted.metadata.name.clone().unwrap_or_default();
    let found = api.get_opt(&name).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    let put = match found {
        Some(mut found) => {
            found.spec.versions.clone_from(&wanted.spec.versions);
            api.replace(&name, &PostParams::default(), &found).await
        }
        None => api.create(&PostParams::default(), &wanted).await,
    };
    put.unwrap_or_else(|error| panic!("{name}: {error}"));
    served(&client, &wanted).await;
}

/// Our definitions, from the chart; PodGroup's as asked for.
pub(super) fn definitions(pod_group: PodGroupDefinition) -> Vec<CustomResourceDefinition> {
    let paths = files(&["yaml"]).filter(|path| path.starts_with(Path::new(FOLDER)));
    paths
        .map(|path| {
            let mut definition = parsed(&path, &read(&path));
            let apart = pod_group == PodGroupDefinition::StatusApart;
            if apart && definition.spec.names.kind == KIND {
                set_status_apart(&mut definition);
            }
            definition
        })
        .collect()
}

/// The definitions in a folder, by name.
pub(super) fn definitions_in(folder: &Path) -> Vec<CustomResourceDefinition> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| unreadable(folder, &error));
    let paths =
        entries.map(|entry| entry.unwrap_or_else(|error| unreadable(folder, &error)).path());
    let is_definition = |path: &PathBuf| path.extension().is_some_and(|found| found == "yaml");
    let mut paths: Vec<PathBuf> = paths.filter(is_definition).collect();
    paths.sort();
    let text =
        |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| unreadable(path, &error));
    paths.iter().map(|path| parsed(path, &text(path))).collect()
}

/// A definition that is at hand.
pub(super) fn typed(definition: &Value) -> CustomResourceDefinition {
    let typed = serde_json::from_value(definition.clone());
    typed.unwrap_or_else(|error| panic!("{definition} is no definition: {error}"))
}

fn unreadable(path: &Path, error: &io::Error) -> ! {
    panic!("{}: {error}", path.display())
}

fn parsed(path: &Path, text: &str) -> CustomResourceDefinition {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn set_status_apart(definition: &mut CustomResourceDefinition) {
    let apart = CustomResourceSubresources {
        status: Some(CustomResourceSubresourceStatus(json!({}))),
        ..Default::default()
    };
    for version in &mut definition.spec.versions {
        version.subresources = Some(apart.clone());
    }
}

/// Waits until a list of its objects is answered.
async fn served(client: &Client, definition: &CustomResourceDefinition) {
    let spec = &definition.spec;
    let version = &spec.versions.first().expect("a definition has a version").name;
    let kind = GroupVersionKind::gvk(&spec.group, version, &spec.names.kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, &spec.names.plural);
    let objects: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    while objects.list(&ListParams::default().limit(1)).await.is_err() {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
