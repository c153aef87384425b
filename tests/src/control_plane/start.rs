//! How each server is started, and when it is ready.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::access::{self, Access, CERTIFICATES, User};
use super::etcd;
use super::keeper::{Keeper, Server};
use super::plane::Options;
use super::tool::{Tool, ToolError};

/// Longest a server may take to answer. A broken one ends by itself and is noticed at once; this
/// is for a machine that is very busy.
const PATIENCE: Duration = Duration::from_mins(3);

/// Pause between two looks at a server that is not ready.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How often a start is tried when another program took the port meanwhile.
const TRIES: usize = 5;

/// Where a control plane lives.
#[derive(Debug)]
pub(super) struct Place {
    /// etcd and the API server.
    pub(super) programs: [PathBuf; 2],
    /// Holds the folder and ends the servers.
    pub(super) keeper: Arc<Keeper>,
    /// Who may speak to it.
    pub(super) access: Access,
    /// What is special about it.
    pub(super) options: Options,
    /// Port of the API server.
    pub(super) port: u16,
    /// Port of etcd.
    pub(super) etcd_port: u16,
}

impl Place {
    /// See [`super::ControlPlane::kubeconfig`].
    pub(super) fn kubeconfig(&self, user: User) -> PathBuf {
        self.access.kubeconfig(user, self.port).expect("the folder can be written")
    }

    /// The certificate the API server made for itself, with the one that signed it.
    pub(super) fn certificate(&self) -> PathBuf {
        self.keeper.folder().join(CERTIFICATES).join("apiserver.crt")
    }
}

/// Why a server did not come up.
struct Ended(Server);

/// Starts etcd on a free port, which it writes into the place.
pub(super) async fn etcd(place: &mut Place) -> Server {
    for _ in 0..TRIES {
        place.etcd_port = free_port();
        let url = format!("http://127.0.0.1:{}", place.etcd_port);
        let mut command = Command::new(&place.programs[0]);
        command
            .arg(format!("--data-dir={}", place.keeper.folder().join("etcd").display()))
            .arg(format!("--listen-client-urls={url}"))
            .arg(format!("--advertise-client-urls={url}"))
            // Its peers' port is not used; any will do.
            .args(["--listen-peer-urls=http://127.0.0.1:0", "--log-level=warn"])
            .arg("--unsafe-no-fsync");
        let server = start(place, Tool::Etcd.name(), command);
        let port = place.etcd_port;
        match ready(server, async || etcd::is_ready(port)).await {
            Ok(server) => return server,
            Err(Ended(server)) => port_was_taken(&server),
        }
    }
    panic!("no free port for etcd in {TRIES} tries");
}

/// Starts the API server on a free port, which it writes into the place.
pub(super) async fn api_server(place: &mut Place) -> Server {
    for _ in 0..TRIES {
        place.port = free_port();
        match try_api_server(place).await {
            Ok(server) => return server,
            Err(Ended(server)) => port_was_taken(&server),
        }
    }
    panic!("no free port for the API server in {TRIES} tries");
}

/// Starts the API server where it was before.
pub(super) async fn api_server_again(place: &Place) -> Server {
    match try_api_server(place).await {
        Ok(server) => server,
        Err(Ended(server)) => panic!("the API server did not start: {}", server.last_words()),
    }
}

async fn try_api_server(place: &Place) -> Result<Server, Ended> {
    let folder = place.keeper.folder();
    let access = &place.access;
    let mut command = Command::new(&place.programs[1]);
    command
        .arg(format!("--etcd-servers=http://127.0.0.1:{}", place.etcd_port))
        .arg(format!("--cert-dir={}", folder.join(CERTIFICATES).display()))
        .arg(format!("--secure-port={}", place.port))
        .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
        .args(["--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24"])
        .args(["--authorization-mode=RBAC", "--allow-privileged=true"])
        .arg(format!("--token-auth-file={}", access.tokens.display()))
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg(format!("--service-account-key-file={}", access.public_key.display()))
        .arg(format!("--service-account-signing-key-file={}", access.signing_key.display()))
        // No controller makes service accounts, and none takes a node's first taint away.
        .arg("--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
        .args(&place.options.api_server_flags);
    let server = start(place, Tool::KubeApiServer.name(), command);
    ready(server, async || api_server_is_ready(place).await).await
}

async fn api_server_is_ready(place: &Place) -> bool {
    // It makes its certificate first; without one there is no client.
    if !place.certificate().exists() {
        return false;
    }
    let Some(config) = access::try_config(&place.kubeconfig(User::Admin)).await else {
        return false;
    };
    access::is_ready(config).await
}

/// Starts Kubernetes' scheduler.
pub(super) fn kube_scheduler(place: &Place, qps: u32) -> Result<Server, ToolError> {
    let program = Tool::KubeScheduler.find()?;
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": false},
        "clientConnection": {
            "kubeconfig": place.kubeconfig(User::Admin), "qps": qps, "burst": qps,
        },
    });
    let file = place.keeper.folder().join("kube-scheduler.json");
    std::fs::write(&file, config.to_string()).expect("the folder can be written");
    let certificates = place.keeper.folder().join("kube-scheduler");
    let mut command = Command::new(program);
    command
        .arg(format!("--config={}", file.display()))
        .arg(format!("--secure-port={}", free_port()))
        .arg(format!("--cert-dir={}", certificates.display()))
        .arg("--bind-address=127.0.0.1")
        .args(
            ["--authentication-kubeconfig", "--authorization-kubeconfig"]
                .map(|flag| format!("{flag}={}", place.kubeconfig(User::Admin).display())),
        );
    Ok(start(place, Tool::KubeScheduler.name(), command))
}

/// Starts Kubernetes' controllers.
pub(super) fn controller_manager(place: &Place) -> Result<Server, ToolError> {
    let program = Tool::KubeControllerManager.find()?;
    let folder = place.keeper.folder();
    let access = place.kubeconfig(User::Admin);
    let mut command = Command::new(program);
    command
        .args(
            ["--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig"]
                .map(|flag| format!("{flag}={}", access.display())),
        )
        .arg(format!("--root-ca-file={}", place.certificate().display()))
        .arg(format!("--service-account-private-key-file={}", place.access.signing_key.display()))
        .arg(format!("--cert-dir={}", folder.join("kube-controller-manager").display()))
        .arg(format!("--secure-port={}", free_port()))
        .args(["--bind-address=127.0.0.1", "--leader-elect=false"])
        .args(["--kube-api-qps=200", "--kube-api-burst=400"]);
    Ok(start(place, Tool::KubeControllerManager.name(), command))
}

fn start(place: &Place, name: &str, command: Command) -> Server {
    let server = Server::start(&place.keeper, name, command);
    server.unwrap_or_else(|error| panic!("{name} cannot be started: {error}"))
}

/// The server once it is ready, or as it ended.
async fn ready(mut server: Server, is_ready: impl AsyncFn() -> bool) -> Result<Server, Ended> {
    let begun = Instant::now();
    loop {
        if server.has_ended() {
            return Err(Ended(server));
        }
        if is_ready().await {
            return Ok(server);
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "{} is not ready after {PATIENCE:?}; its last words:\n{}",
            server.name(),
            server.last_words()
        );
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Passes over an end another program caused, and stops the test on any other.
fn port_was_taken(server: &Server) {
    let words = server.last_words();
    let taken = words.contains("address already in use");
    assert!(taken, "{} ended; its last words:\n{words}", server.name());
}

/// A port nothing listens on, below those the system hands out to clients: a server that restarts
/// finds its port free.
pub fn free_port() -> u16 {
    const FIRST: u32 = 20_000;
    const COUNT: u32 = 12_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Test binaries that run side by side begin at different places.
    let begin = std::process::id().wrapping_mul(97);
    for _ in 0..COUNT {
        let offset = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = (FIRST + offset) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port from {FIRST} on");
}
