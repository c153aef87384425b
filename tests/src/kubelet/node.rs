//! Nodes: registered once, and alive as long as their lease is renewed.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Who writes.
const FIELD_MANAGER: &str = "kubelet-stand-in";
/// Where leases of nodes are.
const LEASES: &str = "kube-node-lease";
/// Time between two renewals, as kubelets have it.
const BEAT: Duration = Duration::from_secs(10);

/// How pods come and go on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// As on a machine: containers take a moment to start and may take their grace to end.
    Machine,
    /// As KWOK plays it: pods run at once, never end by themselves, and are gone when deleted.
    Kwok,
}

/// A node that is to be registered.
#[derive(Clone, Debug)]
pub struct NodeShape {
    /// Its name, which is its `kubernetes.io/hostname`, too.
    pub name: String,
    /// Further labels.
    pub labels: Vec<(&'static str, &'static str)>,
    /// A taint that lets no pod in that does not tolerate it: key and value.
    pub closed: Option<(&'static str, &'static str)>,
    /// Processors.
    pub cpu: &'static str,
    /// Memory.
    pub memory: &'static str,
    /// How pods come and go.
    pub manner: Manner,
}

impl NodeShape {
    fn object(&self) -> Value {
        let mut labels = json!({
            "kubernetes.io/hostname": self.name,
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux",
        });
        for (key, value) in &self.labels {
            labels[*key] = (*value).into();
        }
        let taints: Vec<Value> = self
            .closed
            .iter()
            .map(|(key, value)| json!({"key": key, "value": value, "effect": "NoSchedule"}))
            .collect();
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": labels},
            "spec": {"taints": taints},
        })
    }

    fn status(&self) -> Value {
        let room = json!({"cpu": self.cpu, "memory": self.memory, "pods": "110"});
        let now = Timestamp::now();
        let condition = json!({
            "type": "Ready", "status": "True", "reason": "KubeletReady",
            "message": "the stand-in plays this node",
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        });
        json!({"status": {
            "capacity": room, "allocatable": room,
            "conditions": [condition],
            "addresses": [
                {"type": "InternalIP", "address": "127.0.0.1"},
                {"type": "Hostname", "address": self.name},
            ],
        }})
    }
}

/// Registers a node that is ready at once.
pub(super) async fn register(client: &Client, shape: &NodeShape) -> kube::Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    apply(&nodes, &shape.name, &shape.object()).await?;
    let status = Patch::Merge(shape.status());
    nodes.patch_status(&shape.name, &PatchParams::default(), &status).await?;
    beat(client, shape).await
}

/// Renews the leases of all nodes until it is dropped.
pub(super) async fn keep_alive(client: &Client, shapes: &[NodeShape]) {
    loop {
        tokio::time::sleep(BEAT).await;
        for shape in shapes {
            // The next beat makes up for one that was lost.
            let _ = beat(client, shape).await;
        }
    }
}

async fn beat(client: &Client, shape: &NodeShape) -> kube::Result<()> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), LEASES);
    let spec = json!({
        "holderIdentity": shape.name,
        "leaseDurationSeconds": 40,
        "renewTime": MicroTime(Timestamp::now()),
    });
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": shape.name},
        "spec": spec,
    });
    apply(&leases, &shape.name, &lease).await
}

/// Makes an object or changes it to this.
async fn apply<K>(api: &Api<K>, name: &str, object: &Value) -> kube::Result<()>
where
    K: Clone + std::fmt::Debug + DeserializeOwned,
{
    let params = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(name, &params, &Patch::Apply(object)).await.map(|_| ())
}
