//! A control plane: etcd and an API server on loopback, with our definitions installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::{Client, Config};
use serde_json::Value;

use super::access::{self, Access, User};
use super::keeper::{Keeper, Server};
use super::start::{self, Place};
use super::tool::{Tool, ToolError};
use super::{crds, etcd};

/// How a control plane differs from the usual one.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(super) api_server_flags: Vec<String>,
    pub(super) pod_group: PodGroupDefinition,
    pub(super) definitions: Vec<PathBuf>,
    pub(super) further: Vec<Value>,
}

/// Whose definition of PodGroup is installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodGroupDefinition {
    /// The chart's, which is as Volcano's: `status` is written with the rest of the object.
    #[default]
    Ours,
    /// One whose `status` is a resource of its own.
    StatusApart,
}

impl Options {
    /// A further flag of the API server; one the usual flags have replaces that one.
    #[must_use]
    pub fn api_server_flag(mut self, flag: &str) -> Self {
        self.api_server_flags.push(flag.to_owned());
        self
    }

    /// Whose definition of PodGroup is installed.
    #[must_use]
    pub fn pod_group(mut self, definition: PodGroupDefinition) -> Self {
        self.pod_group = definition;
        self
    }

    /// The definitions in that folder instead of ours, together with those of other calls.
    #[must_use]
    pub fn definitions(mut self, folder: PathBuf) -> Self {
        self.definitions.push(folder);
        self
    }

    /// These definitions beside the others.
    #[must_use]
    pub fn further(mut self, definitions: impl IntoIterator<Item = Value>) -> Self {
        self.further.extend(definitions);
        self
    }

    /// An API server without a cache of its own: every watch reads etcd, so that one that continues
    /// from before a [`ControlPlane::compact`] is told that its place is gone.
    #[must_use]
    pub fn without_watch_cache(self) -> Self {
        self.api_server_flag("--watch-cache=false")
    }
}

/// A running control plane. Dropping it stops its servers and removes their data.
#[derive(Debug)]
pub struct ControlPlane {
    api_server: Mutex<Option<Server>>,
    etcd: Server,
    place: Place,
}

impl ControlPlane {
    /// Starts a control plane, waits until it is ready and installs our definitions.
    ///
    /// Panics with the last words of a server that does not come up: a test cannot go on then.
    pub async fn start(options: Options) -> Result<Self, ToolError> {
        let programs = [Tool::Etcd.find()?, Tool::KubeApiServer.find()?];
        let keeper = Keeper::new().expect("a folder and a shell are to be had");
        let access = Access::create(keeper.folder()).expect("the folder can be written");
        let mut place = Place { programs, keeper, access, options, port: 0, etcd_port: 0 };
        let etcd = start::etcd(&mut place).await;
        let api_server = start::api_server(&mut place).await;
        let started = Self { api_server: Mutex::new(Some(api_server)), etcd, place };
        let options = &started.place.options;
        let mut definitions: Vec<_> =
            options.definitions.iter().flat_map(|folder| crds::definitions_in(folder)).collect();
        if definitions.is_empty() {
            definitions = crds::definitions(options.pod_group);
        }
        definitions.extend(options.further.iter().map(crds::typed));
        crds::install(started.client(User::Admin).await, &definitions).await;
        Ok(started)
    }

    /// A client of a user. A client belongs to the runtime it was made in.
    pub async fn client(&self, user: User) -> Client {
        access::client(self.config(user).await)
    }

    /// What a client of a user is made from.
    pub async fn config(&self, user: User) -> Config {
        access::config(&self.kubeconfig(user)).await
    }

    /// A file with what a client of a user needs, as `--kubeconfig` takes it.
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        self.place.kubeconfig(user)
    }

    /// The same for a service account, with a token the API server gives for it.
    pub async fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> PathBuf {
        let admin = self.client(User::Admin).await;
        let token = access::service_account_token(admin, namespace, name).await;
        let token = token.expect("the service account exists");
        let name = format!("{namespace}:{name}");
        let written = self.place.access.kubeconfig_of(&name, &token, self.place.port);
        written.expect("the folder can be written")
    }

    /// A client of a service account.
    pub async fn service_account_client(&self, namespace: &str, name: &str) -> Client {
        let file = self.service_account_kubeconfig(namespace, name).await;
        access::client(access::config(&file).await)
    }

    /// Port of the API server on 127.0.0.1; a restart keeps it.
    pub fn port(&self) -> u16 {
        self.place.port
    }

    /// The store, to be paused and resumed.
    pub fn etcd(&self) -> &Server {
        &self.etcd
    }

    /// Process id of the API server, to measure what it uses; `None` while it is killed.
    pub fn api_server_id(&self) -> Option<u32> {
        self.api_server().as_ref().map(Server::id)
    }

    /// Kills the API server, as a crash does. Nothing answers until
    /// [`Self::restart_api_server`]. Only for a control plane of one's own.
    pub fn kill_api_server(&self) {
        self.api_server().take();
    }

    /// Kills the API server if it still runs, starts it on the same port and data, and waits until
    /// it is ready. Only for a control plane of one's own.
    pub async fn restart_api_server(&self) {
        self.kill_api_server();
        let server = start::api_server_again(&self.place).await;
        *self.api_server() = Some(server);
    }

    /// Makes etcd forget all versions but the newest of each object. A watch that continues from
    /// an older one is told that it is gone.
    pub fn compact(&self) {
        etcd::compact(self.place.etcd_port).expect("etcd answers");
    }

    /// Puts another definition of PodGroup in force, as an upgrade does. Only for a control plane of
    /// one's own.
    pub async fn define_pod_groups(&self, definition: PodGroupDefinition) {
        crds::redefine(self.client(User::Admin).await, definition).await;
    }

    /// Starts Kubernetes' own scheduler. It serves pods that name it, or no scheduler at all.
    /// `qps` is how many calls a second it allows itself.
    pub fn start_kube_scheduler(&self, qps: u32) -> Result<Server, ToolError> {
        start::kube_scheduler(&self.place, qps)
    }

    /// Starts Kubernetes' controllers: those that empty namespaces, take away what nobody owns any
    /// more, bind claims to volumes and make the pods of Deployments.
    pub fn start_controller_manager(&self) -> Result<Server, ToolError> {
        start::controller_manager(&self.place)
    }

    /// A certificate for 127.0.0.1 that the API server made, and its key, for a server of one's own.
    pub fn certificate(&self) -> [PathBuf; 2] {
        let certificate = self.place.certificate();
        [certificate.clone(), certificate.with_extension("key")]
    }

    /// Starts a program that ends with the control plane; what it says is kept under that name.
    pub fn start_program(&self, name: &str, command: Command) -> Server {
        let started = Server::start(&self.place.keeper, name, command);
        started.expect("the program is there and may be started")
    }

    /// A folder for files of a test; it goes with the control plane.
    pub fn folder(&self) -> &Path {
        self.place.keeper.folder()
    }

    fn api_server(&self) -> MutexGuard<'_, Option<Server>> {
        self.api_server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
