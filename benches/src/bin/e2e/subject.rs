//! Who is measured.

use std::process::Command;

use futures::{StreamExt, TryStreamExt, stream};
use kube::Client;
use muster_tests::control_plane::{ControlPlane, Server, User};
use serde_json::json;

use crate::E2eError;
use crate::fleet::{NAMESPACE, Size, node_name, pod_name, pods_path, post};

/// Calls a second a scheduler may make: more than any API server answers.
const QPS: u32 = 5_000;
/// Bindings the ceiling has under way: as many calls as `muster run` has.
const AT_ONCE: usize = 64;

/// Who gives pods their nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A loop that only posts bindings: nobody can be faster.
    Ceiling,
    /// Muster.
    Muster,
    /// Kubernetes' own scheduler.
    KubeScheduler,
}

impl Subject {
    /// All, in the order they take turns.
    pub(crate) const ALL: [Self; 3] = [Self::Ceiling, Self::Muster, Self::KubeScheduler];

    /// The name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ceiling => "ceiling",
            Self::Muster => "muster",
            Self::KubeScheduler => "kube-scheduler",
        }
    }

    /// The scheduler pods ask for.
    pub(crate) fn scheduler(self) -> &'static str {
        match self {
            Self::Ceiling => "nobody",
            Self::Muster => "muster",
            Self::KubeScheduler => "default-scheduler",
        }
    }

    /// Starts the process, if it is one.
    pub(crate) fn start(self, plane: &ControlPlane) -> Result<Option<Server>, E2eError> {
        match self {
            Self::Ceiling => Ok(None),
            Self::Muster => start_muster(plane, &["--leader-elect=false"]).map(Some),
            Self::KubeScheduler => Ok(Some(plane.start_kube_scheduler(QPS)?)),
        }
    }
}

/// Starts `muster run`, which this program can be, too.
pub(crate) fn start_muster(plane: &ControlPlane, flags: &[&str]) -> Result<Server, E2eError> {
    let mut command = Command::new(std::env::current_exe().map_err(E2eError::Program)?);
    command.arg("run").arg("--kubeconfig").arg(plane.kubeconfig(User::Admin));
    command.args(["--listen-address", "127.0.0.1:0", "--healthz-address", "127.0.0.1:0"]);
    let qps = QPS.to_string();
    command.args(["--kube-api-qps", &qps, "--kube-api-burst", &qps]);
    command.args(flags);
    Ok(plane.start_program("muster", command))
}

/// Gives every pod a node and decides nothing.
pub(crate) async fn bind_all(client: &Client, size: &Size) -> Result<(), E2eError> {
    let bind = async |at: usize| {
        let name = pod_name(at);
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node_name(at % size.nodes)},
        });
        post(client, &format!("{}/{name}/binding", pods_path()), &binding).await
    };
    let calls = stream::iter(0..size.pods).map(bind).buffer_unordered(AT_ONCE);
    calls.try_collect::<()>().await.map_err(E2eError::call("binding pods"))
}
