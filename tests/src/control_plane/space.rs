//! A test's own part of a control plane: a namespace, and nodes only its pods ask for.

use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PostParams,
};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::access::User;
use super::plane::ControlPlane;

/// Label of nodes that belong to a test; its value is the test's name.
pub const TEST_LABEL: &str = "muster.sh/test";

/// Where an object of any kind lives, by its own account: `apiVersion`, `kind` and, if it has one,
/// `metadata.namespace`.
pub fn api_of(client: Client, object: &Value) -> Api<DynamicObject> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    }
}

/// What one test has of a control plane. Whatever it makes outside its namespace begins with its
/// name, so that tests do not meet.
#[derive(Clone)]
pub struct Space<'a> {
    plane: &'a ControlPlane,
    client: Client,
    name: String,
}

impl<'a> Space<'a> {
    /// Makes the namespace.
    pub(super) async fn create(plane: &'a ControlPlane, name: &str) -> Self {
        let client = plane.client(User::Admin).await;
        let space = Self { plane, client, name: name.to_owned() };
        let namespace = json!({"metadata": {"name": name}});
        space.make::<Namespace>(&Api::all(space.client()), namespace).await;
        space
    }

    /// The control plane it is part of.
    pub fn plane(&self) -> &'a ControlPlane {
        self.plane
    }

    /// A client that may do everything.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.name
    }

    /// The name of something of the test's own that lives in no namespace: a node, a queue.
    pub fn own(&self, name: &str) -> String {
        format!("{}-{name}", self.name)
    }

    /// Makes nodes `n0`, `n1`, … of the test's own, ready and of that size.
    pub async fn create_nodes(&self, count: usize, allocatable: Value) {
        self.create_nodes_named("n", count, allocatable).await;
    }

    /// The same with another word before the number.
    pub async fn create_nodes_named(&self, word: &str, count: usize, allocatable: Value) {
        let nodes: Api<Node> = Api::all(self.client());
        for at in 0..count {
            let name = self.own(&format!("{word}{at}"));
            let labels = json!({TEST_LABEL: self.name, "kubernetes.io/hostname": name});
            let node = json!({
                "metadata": {"name": name, "labels": labels},
                "status": {
                    "capacity": allocatable, "allocatable": allocatable,
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            });
            self.make(&nodes, node).await;
        }
    }

    /// Makes a pod that may use the test's own nodes only.
    pub async fn create_pod(&self, name: &str, scheduler: &str, requests: Value) -> Pod {
        let container =
            json!({"name": "main", "image": "none", "resources": {"requests": requests}});
        let pod = json!({
            "metadata": {"name": name, "namespace": self.name},
            "spec": {
                "schedulerName": scheduler,
                "nodeSelector": {TEST_LABEL: self.name},
                "containers": [container],
            },
        });
        self.make(&Api::namespaced(self.client(), &self.name), pod).await
    }

    /// Makes an object, or ends the test.
    pub async fn make<K>(&self, api: &Api<K>, object: Value) -> K
    where
        K: Clone + serde::Serialize + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let typed: K = serde_json::from_value(object.clone())
            .unwrap_or_else(|error| panic!("{object} is no such object: {error}"));
        let created = api.create(&PostParams::default(), &typed).await;
        created.unwrap_or_else(|error| panic!("{object} is refused: {error}"))
    }

    /// Takes nodes and pods away, which other tests would see. The namespace stays: nothing here
    /// would empty it.
    pub(super) async fn clear(&self) -> kube::Result<()> {
        let nodes: Api<Node> = Api::all(self.client());
        let pods: Api<Pod> = Api::namespaced(self.client(), &self.name);
        let own = ListParams::default().labels(&format!("{TEST_LABEL}={}", self.name));
        let now = DeleteParams::default().grace_period(0);
        pods.delete_collection(&now, &ListParams::default()).await?;
        nodes.delete_collection(&DeleteParams::default(), &own).await?;
        Ok(())
    }
}
