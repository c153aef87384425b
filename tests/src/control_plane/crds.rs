//! Our definitions of PodGroup, Queue and HyperNode, installed as the chart installs them.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};

use super::plane::PodGroupDefinition;
use crate::source::{files, read};

/// Where the chart has them, from the root of the repository.
const FOLDER: &str = "deploy/chart/crds";

/// The kind that is defined in two ways.
const KIND: &str = "PodGroup";

/// Pause between two looks at a definition that is not in force.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Installs them and waits until their objects can be used.
pub(super) async fn install(client: Client, pod_group: PodGroupDefinition) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut definitions = definitions();
    if pod_group == PodGroupDefinition::Volcano {
        let is_pod_group = |found: &&mut CustomResourceDefinition| found.spec.names.kind == KIND;
        let found = definitions.iter_mut().find(is_pod_group).expect("we define PodGroup");
        found.spec.versions.iter_mut().for_each(|version| version.subresources = None);
    }
    for definition in &definitions {
        let created = api.create(&PostParams::default(), definition).await;
        created.unwrap_or_else(|error| panic!("{:?}: {error}", definition.metadata.name));
    }
    for definition in &definitions {
        served(&client, definition).await;
    }
}

/// Our definitions, from the chart.
fn definitions() -> Vec<CustomResourceDefinition> {
    let paths = files(&["yaml"]).filter(|path| path.starts_with(Path::new(FOLDER)));
    paths
        .map(|path| {
            let definition = serde_saphyr::from_str(&read(&path));
            definition.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        })
        .collect()
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
