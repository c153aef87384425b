//! Everything around the loop, put together and taken apart: client, watches, calls, election,
//! addresses, signals.

use std::sync::Arc;
use std::time::Duration;

use ::http::Uri;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tracing::{error, info, warn};

use super::pulse::Pulse;
use super::{Options, RunError, reload};
use crate::http::{self, Answers};
use crate::kube::calls::desk::Desk;
use crate::kube::calls::event::{self, Events};
use crate::kube::calls::office::{Office, OfficeParts};
use crate::kube::lease::{Candidate, Gate};
use crate::kube::memo::Memo;
use crate::kube::news::{NewConfig, News};
use crate::kube::watch as watches;
use crate::metrics::Metrics;
use crate::translate::OwnerRule;

/// News that wait for the loop; watches pause when there are more.
const NEWS_MAX: usize = 65_536;

/// Everything around the loop.
pub(super) struct Outside {
    pub(super) metrics: Arc<Metrics>,
    pub(super) pulse: Pulse,
    pub(super) office: Arc<Office>,
    pub(super) desk: Desk,
    stop: watch::Sender<bool>,
    candidate: Option<JoinHandle<()>>,
    /// Ended when the loop ends.
    tasks: JoinSet<()>,
    watches: JoinSet<()>,
}

impl Outside {
    /// Opens everything; what is heard comes from the receiver.
    pub(super) async fn open(
        options: &Options,
        config: &NewConfig,
    ) -> Result<(Self, Receiver<News>), RunError> {
        let client = client(options).await?;
        let (news, inbox) = channel(NEWS_MAX);
        let (metrics, memo) = (Arc::new(Metrics::new()), Arc::new(Memo::default()));
        let pulse = Pulse::new(&watches::KINDS);
        metrics.config(config.hash);
        let mut tasks = JoinSet::new();
        listen(options, &metrics, &pulse, &mut tasks).await?;
        stop_on_signals(&mut tasks, &news)?;
        if let Some(path) = &options.config_file {
            let looking = reload::look(path.clone(), config.hash, news.clone(), metrics.clone());
            tasks.spawn(looking);
        }
        let source = watches::Source {
            client: client.clone(),
            owner: OwnerRule::named(options.scheduler_names.iter().map(String::as_str)),
            news: news.clone(),
            memo: memo.clone(),
            metrics: metrics.clone(),
        };
        let watches = watches::start(&source);
        let gate = if options.lease.is_some() { Gate::closed() } else { Gate::open() };
        metrics.leads(options.lease.is_none());
        let (events, happenings) = Events::channel();
        let parts = OfficeParts {
            client: client.clone(),
            gate: gate.clone(),
            memo,
            metrics: metrics.clone(),
            events,
            news: news.clone(),
            eviction: config.parsed.config.tuning.eviction,
        };
        let office = Arc::new(Office::new(parts, options.calls_per_second, options.call_burst));
        let component = options.scheduler_names.first().cloned().unwrap_or_default();
        tasks.spawn(event::write(office.clone(), happenings, component));
        let desk = Desk::open(office.clone(), options.calls_in_flight);
        let (stop, stopped) = watch::channel(false);
        let candidate = options
            .lease
            .clone()
            .map(|terms| tokio::spawn(Candidate::new(client, terms, gate, news).run(stopped)));
        Ok((Self { metrics, pulse, office, desk, stop, candidate, tasks, watches }, inbox))
    }

    /// Ends everything in order: calls that were decided are made, or said; then the lease is given
    /// back.
    pub(super) async fn close(mut self, mut news: Receiver<News>, grace: Duration) {
        self.watches.shutdown().await;
        let outcomes = async { while news.recv().await.is_some() {} };
        let left = tokio::select! {
            left = self.desk.finish(grace) => left,
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

async fn client(options: &Options) -> Result<Client, RunError> {
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
    pulse: &Pulse,
    tasks: &mut JoinSet<()>,
) -> Result<(), RunError> {
    for &(address, topics) in &options.listen {
        let bound = TcpListener::bind(address).await;
        let listener = bound.map_err(|source| RunError::Listen { address, source })?;
        let address = listener.local_addr().unwrap_or(address);
        info!(%address, ?topics, "listening");
        let answers = Answers { metrics: metrics.clone(), pulse: pulse.clone(), topics };
        tasks.spawn(http::serve(listener, answers));
    }
    Ok(())
}

/// A first signal ends the loop, a second one the process.
fn stop_on_signals(tasks: &mut JoinSet<()>, news: &Sender<News>) -> Result<(), RunError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(RunError::Runtime)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(RunError::Runtime)?;
    let news = news.clone();
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
            // The loop may be behind with its news; it will come to this.
            let _ended = news.send(News::Stop).await;
        }
    });
    Ok(())
}
