//! The cluster a suite runs on: Kubernetes' control plane, Volcano's programs, nodes, a scheduler.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Namespace;
use kube::api::PostParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use muster_tests::control_plane::{ControlPlane, Options, Server, User, free_port};
use muster_tests::kubelet::Kubelets;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::SuitesError;
use crate::args::Scheduler;
use crate::programs::Programs;
use crate::suites::Suite;
use crate::{configuration, network, webhooks};

/// Namespace of Volcano's own things.
pub(crate) const SYSTEM: &str = "volcano-system";
/// The name pods of the suites ask for.
const SCHEDULER_NAME: &str = "--scheduler-name=volcano";
/// Longest wait for a program to be ready.
const PATIENCE: Duration = Duration::from_mins(3);
/// Pause between two looks at one that is not.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A running cluster. Dropping it ends everything.
pub(crate) struct Cluster {
    servers: Vec<Server>,
    tasks: Vec<JoinHandle<()>>,
    plane: ControlPlane,
    kubeconfig: PathBuf,
}

impl Cluster {
    /// Starts everything and waits until it is ready.
    pub(crate) async fn start(
        suite: &Suite,
        programs: &Programs,
        scheduler: Scheduler,
    ) -> Result<Self, SuitesError> {
        let options =
            programs.definitions().into_iter().fold(Options::default(), Options::definitions);
        let plane = ControlPlane::start(options).await?;
        let client = plane.client(User::Admin).await;
        let kubeconfig = plane.kubeconfig(User::Admin);
        let mut cluster = Self { servers: Vec::new(), tasks: Vec::new(), plane, kubeconfig };
        cluster.servers.push(cluster.plane.start_controller_manager()?);
        cluster.servers.push(cluster.plane.start_kube_scheduler(100)?);
        make_namespace_and_queues(&client).await?;
        let nodes = suite.nodes();
        let count = nodes.len();
        let registered = Kubelets::register(client.clone(), nodes).await;
        let kubelets = registered.map_err(SuitesError::call("registering nodes"))?;
        cluster.tasks.push(tokio::spawn(kubelets.run()));
        network::install(&client, count).await?;
        let text = programs.configuration()?;
        let file = configuration::create(&client, cluster.plane.folder(), &text).await?;
        let followed = configuration::follow(client.clone(), file.clone(), text);
        cluster.tasks.push(tokio::spawn(followed));
        cluster.start_controllers(programs);
        cluster.start_webhooks(programs, &client).await?;
        cluster.start_scheduler(programs, scheduler, &file).await?;
        Ok(cluster)
    }

    /// A program that speaks to this cluster as its administrator.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.arg(format!("--kubeconfig={}", self.kubeconfig.display()));
        command
    }

    fn start_controllers(&mut self, programs: &Programs) {
        let mut command = self.command(&programs.program("controller-manager"));
        command
            .args([SCHEDULER_NAME, "--leader-elect=false", "--logtostderr", "-v=3"])
            .args(["--kube-api-qps=50", "--kube-api-burst=100", "--worker-threads-for-gc=5"])
            .envs([("KUBE_POD_NAMESPACE", SYSTEM), ("HELM_RELEASE_NAME", "integration")]);
        self.servers.push(self.plane.start_program("volcano-controllers", command));
    }

    async fn start_webhooks(
        &mut self,
        programs: &Programs,
        client: &Client,
    ) -> Result<(), SuitesError> {
        let port = free_port();
        let [certificate, key] = self.plane.certificate();
        // The server begins to listen when it has found them.
        webhooks::install(client, port, &certificate).await?;
        let mut command = self.command(&programs.program("webhook-manager"));
        command
            .args([SCHEDULER_NAME, "--logtostderr", "-v=3", "--listen-address=127.0.0.1"])
            .args([format!("--port={port}"), webhooks::enabled()])
            .arg(format!("--webhook-url=https://127.0.0.1:{port}"))
            .arg(format!("--tls-cert-file={}", certificate.display()))
            .arg(format!("--ca-cert-file={}", certificate.display()))
            .arg(format!("--tls-private-key-file={}", key.display()));
        let mut server = self.plane.start_program("volcano-webhooks", command);
        ready(&mut server, |_| TcpStream::connect(("127.0.0.1", port)).is_ok()).await?;
        self.servers.push(server);
        Ok(())
    }

    async fn start_scheduler(
        &mut self,
        programs: &Programs,
        scheduler: Scheduler,
        file: &Path,
    ) -> Result<(), SuitesError> {
        let conf = format!("--scheduler-conf={}", file.display());
        let (command, ready_words) = match scheduler {
            Scheduler::Muster => {
                let this = std::env::current_exe().map_err(SuitesError::Start)?;
                let mut command = Command::new(this);
                command
                    .args(["run", SCHEDULER_NAME, "--leader-elect=false", &conf])
                    .args(["--listen-address=127.0.0.1:0", "--healthz-address=127.0.0.1:0"])
                    .arg(format!("--kubeconfig={}", self.kubeconfig.display()));
                (command, "all first lists are read")
            }
            Scheduler::Volcano => {
                let mut command = self.command(&programs.program("scheduler"));
                command
                    .args([SCHEDULER_NAME, "--leader-elect=false", "--logtostderr", "-v=3", &conf])
                    .args(["--kube-api-qps=2000", "--kube-api-burst=2000", "--schedule-period=1s"])
                    .arg(format!("--listen-address=127.0.0.1:{}", free_port()))
                    .env("DEBUG_SOCKET_DIR", self.plane.folder().join("klog"));
                (command, "Open Session")
            }
        };
        let mut server = self.plane.start_program("scheduler", command);
        ready(&mut server, |server| server.log().contains(ready_words)).await?;
        self.servers.push(server);
        Ok(())
    }

    /// Starts the program of a suite.
    pub(crate) fn start_suite(&self, mut command: Command) -> Server {
        command.env("KUBECONFIG", &self.kubeconfig);
        self.plane.start_program("suite", command)
    }

    /// Keeps what everybody said, and tells who is not there any more.
    pub(crate) fn keep_logs(&mut self, folder: &Path) -> Result<Vec<String>, SuitesError> {
        for server in &self.servers {
            let path = folder.join(format!("{}.log", server.name()));
            fs::write(&path, server.log()).map_err(SuitesError::file(&path))?;
        }
        let gone = self.servers.iter_mut().filter_map(|server| {
            server.has_ended().then(|| format!("{} has ended", server.name()))
        });
        Ok(gone.collect())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn ready(server: &mut Server, is_ready: impl Fn(&Server) -> bool) -> Result<(), SuitesError> {
    let begun = Instant::now();
    while !is_ready(server) {
        if server.has_ended() || begun.elapsed() > PATIENCE {
            let (name, words) = (server.name().to_owned(), server.last_words());
            return Err(SuitesError::Gone { name, words });
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Ok(())
}

/// Makes what an installation of Volcano begins with; its scheduler makes the queues itself.
async fn make_namespace_and_queues(client: &Client) -> Result<(), SuitesError> {
    let failed = SuitesError::call("making Volcano's namespace and queues");
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let object = serde_json::from_value(json!({"metadata": {"name": SYSTEM}}));
    let object = object.expect("it is a namespace");
    namespaces.create(&PostParams::default(), &object).await.map_err(&failed)?;
    let kind = GroupVersionKind::gvk("scheduling.volcano.sh", "v1beta1", "Queue");
    let kind = ApiResource::from_gvk_with_plural(&kind, "queues");
    let queues: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    for (name, reclaimable) in [("root", false), ("default", true)] {
        let object = json!({
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"weight": 1, "reclaimable": reclaimable},
        });
        let object = serde_json::from_value(object).expect("it is an object");
        queues.create(&PostParams::default(), &object).await.map_err(&failed)?;
    }
    Ok(())
}
