//! What runs beside the loop, started and stopped: client, watches, dispatcher, leader election,
//! HTTP, signals.

use std::sync::Arc;
use std::time::Duration;

use ::http::Uri;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use muster_core::policy::Registry;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tracing::{error, info, warn};

use super::config_source::{self, Listener, Reading};
use super::liveness::Liveness;
use super::{Options, RunError};
use crate::config::{LoadSource, Parsed, UsageSource};
use crate::http::{self, Answers};
use crate::kube::calls::api::{ApiCalls, ApiCallsParts};
use crate::kube::calls::dispatcher::Dispatcher;
use crate::kube::calls::event::{self, Events};
use crate::kube::lease::{Candidate, Gate};
use crate::kube::loop_event::{LoopEvent, NewConfig};
use crate::kube::status_cache::StatusCache;
use crate::kube::watch as watches;
use crate::metrics::Metrics;
use crate::node_load::{self, LoadReader};
use crate::objects::ObjectKind;
use crate::objects::translate::OwnerRule;
use crate::past_use::{self, UsageReader};

/// Events that may wait for the loop; watches pause when there are more.
const EVENTS_MAX: usize = 65_536;

/// What runs beside the loop.
pub(super) struct Services {
    pub(super) metrics: Arc<Metrics>,
    pub(super) statuses: Arc<StatusCache>,
    pub(super) liveness: Liveness,
    pub(super) api: Arc<ApiCalls>,
    pub(super) dispatcher: Dispatcher,
    stop: watch::Sender<bool>,
    candidate: Option<JoinHandle<()>>,
    /// Ended when the loop ends.
    tasks: JoinSet<()>,
    watches: JoinSet<()>,
    sources: Sources,
}

/// From where things are read now and then.
struct Sources {
    /// The load of nodes.
    load: watch::Sender<Option<LoadSource>>,
    /// What queues used of late.
    usage: watch::Sender<Option<UsageSource>>,
}

impl Services {
    /// Starts everything; what the loop reacts to comes from the receiver.
    pub(super) async fn open(
        options: &Options,
        registry: Registry,
        config: &NewConfig,
    ) -> Result<(Self, Receiver<LoopEvent>), RunError> {
        let client = client(options).await?;
        let (to_loop, inbox) = channel(EVENTS_MAX);
        let view = &config.parsed.config.view;
        let metrics = Arc::new(Metrics::new());
        let statuses = Arc::new(StatusCache::new(view.pool.clone()));
        let liveness = Liveness::new(ObjectKind::watched());
        metrics.config(config.hash);
        metrics.speak(config.parsed.config.dialect);
        let mut tasks = JoinSet::new();
        listen(options, &metrics, &liveness, &mut tasks).await?;
        stop_on_signals(&mut tasks, &to_loop)?;
        let reading = Reading { registry, params: options.params.clone() };
        let (tell, metrics_of, seen) = (to_loop.clone(), metrics.clone(), config.hash);
        let listener = Listener { reading, to_loop: tell, metrics: metrics_of, seen };
        tasks.spawn(config_source::follow(options.config.clone(), client.clone(), listener));
        let owner = OwnerRule::named(options.scheduler_names.iter().map(String::as_str));
        let source = watches::Source {
            client: client.clone(),
            owner: owner.seeing(view.clone()),
            to_loop: to_loop.clone(),
            statuses: statuses.clone(),
            namesakes: Arc::default(),
            metrics: metrics.clone(),
        };
        let watches = watches::start(&source);
        let reader = LoadReader {
            cluster: client.clone(),
            to_loop: to_loop.clone(),
            metrics: metrics.clone(),
        };
        let sources = Sources::open(&config.parsed, reader, &mut tasks);
        let gate = if options.lease.is_some() { Gate::closed() } else { Gate::open() };
        metrics.leads(options.lease.is_none());
        let (events, happenings) = Events::channel();
        let parts = ApiCallsParts {
            client: client.clone(),
            gate: gate.clone(),
            statuses: statuses.clone(),
            metrics: metrics.clone(),
            events,
            to_loop: to_loop.clone(),
            eviction: config.parsed.config.tuning.eviction,
        };
        let api = Arc::new(ApiCalls::new(parts, options.calls_per_second, options.call_burst));
        let component = options.scheduler_names.first().cloned().unwrap_or_default();
        tasks.spawn(event::write(api.clone(), happenings, component));
        let dispatcher = Dispatcher::open(api.clone(), options.calls_in_flight);
        let (stop, stopped) = watch::channel(false);
        let candidate = options
            .lease
            .clone()
            .map(|terms| tokio::spawn(Candidate::new(client, terms, gate, to_loop).run(stopped)));
        let services = Self {
            metrics,
            statuses,
            liveness,
            api,
            dispatcher,
            stop,
            candidate,
            tasks,
            watches,
            sources,
        };
        Ok((services, inbox))
    }

    /// The load of nodes is read there from now on, if anywhere.
    pub(super) fn read_loads_from(&self, source: Option<LoadSource>) {
        send_other(&self.sources.load, source);
    }

    /// What queues used of late is asked of that one from now on, if of anybody.
    pub(super) fn read_usage_from(&self, source: Option<UsageSource>) {
        send_other(&self.sources.usage, source);
    }

    /// Ends everything in order: calls that were decided are made, or said; then the lease is given
    /// back.
    pub(super) async fn close(mut self, mut inbox: Receiver<LoopEvent>, grace: Duration) {
        self.watches.shutdown().await;
        let outcomes = async { while inbox.recv().await.is_some() {} };
        let left = tokio::select! {
            left = self.dispatcher.finish(grace) => left,
            () = outcomes => Vec::new(),
        };
        for call in &left {
            error!(call, "not finished in time");
        }
        info!(unfinished = left.len(), "all calls have ended");
        // Nobody waits any more but the candidate.
        let _gone = self.stop.send(true);
        if let Some(candidate) = self.candidate.take() {
            let _ended = candidate.await;
        }
        self.tasks.shutdown().await;
    }
}

impl Sources {
    /// Starts those who read.
    fn open(parsed: &Parsed, loads: LoadReader, tasks: &mut JoinSet<()>) -> Self {
        let usage = UsageReader { to_loop: loads.to_loop.clone(), metrics: loads.metrics.clone() };
        let (load, load_from) = watch::channel(parsed.load_source.clone());
        tasks.spawn(node_load::read(loads, load_from));
        let (past, usage_from) = watch::channel(parsed.usage_source.clone());
        tasks.spawn(past_use::read(usage, usage_from));
        Self { load, usage: past }
    }
}

/// Tells whoever listens of a value that is another one now.
fn send_other<T: PartialEq>(channel: &watch::Sender<T>, value: T) {
    channel.send_if_modified(|now| {
        let other = *now != value;
        *now = value;
        other
    });
}

/// The way to the cluster.
pub(super) async fn client(options: &Options) -> Result<Client, RunError> {
    let fail = |error: &dyn std::fmt::Display| RunError::Cluster(error.to_string());
    let master = options.master.as_deref().map(address).transpose()?;
    let mut config = match &options.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).map_err(|error| fail(&error))?;
            let read = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
            read.map_err(|error| fail(&error))?
        }
        None => match (Config::infer().await, &master) {
            (Ok(config), _) => config,
            // An address may be all there is to know, as with a proxy.
            (Err(_), Some(master)) => Config::new(master.clone()),
            (Err(error), None) => return Err(fail(&error)),
        },
    };
    if let Some(master) = master {
        config.cluster_url = master;
    }
    // What is tried again, and for how long, depends on the call: a used-up disruption budget has the
    // number of a busy server.
    config.default_retry = false;
    info!(server = %config.cluster_url, "the cluster");
    Client::try_from(config).map_err(|error| fail(&error))
}

fn address(text: &str) -> Result<Uri, RunError> {
    let found = text.parse::<Uri>().ok().filter(|uri| uri.scheme().is_some());
    let problem =
        || format!("--master {text:?}: expected an address such as https://10.0.0.1:6443");
    found.ok_or_else(|| RunError::Cluster(problem()))
}

async fn listen(
    options: &Options,
    metrics: &Arc<Metrics>,
    liveness: &Liveness,
    tasks: &mut JoinSet<()>,
) -> Result<(), RunError> {
    for &(address, topics) in &options.listen {
        let bound = TcpListener::bind(address).await;
        let listener = bound.map_err(|source| RunError::Listen { address, source })?;
        let address = listener.local_addr().unwrap_or(address);
        info!(%address, ?topics, "listening");
        let answers = Answers { metrics: metrics.clone(), liveness: liveness.clone(), topics };
        tasks.spawn(http::serve(listener, answers));
    }
    Ok(())
}

/// A first signal ends the loop, a second one the process.
fn stop_on_signals(tasks: &mut JoinSet<()>, to_loop: &Sender<LoopEvent>) -> Result<(), RunError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(RunError::Runtime)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(RunError::Runtime)?;
    let to_loop = to_loop.clone();
    tasks.spawn(async move {
        for again in [false, true] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if again {
                warn!("asked twice to stop; calls under way are left");
                std::process::exit(1);
            }
            info!("asked to stop; calls that were decided are made first");
            // The loop may be behind; it will come to this.
            let _ended = to_loop.send(LoopEvent::Stop).await;
        }
    });
    Ok(())
}
