//! Issues single calls: at the pace allowed, only while this process leads, again while the trouble
//! is transient.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Method, Request};
use kube::Client;
use muster_core::ids::ObjectKey;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use tokio::sync::mpsc::Sender;

use super::event::Events;
use super::failure::{Failure, Fate, fate};
use super::pace::Pace;
use super::{Act, Call, Report, Subject};
use crate::kube::backoff::Backoff;
use crate::kube::lease::Gate;
use crate::kube::memo::Memo;
use crate::kube::news::News;
use crate::metrics::{Answer, Metrics};
use muster_core::config::EvictionMode;

/// Longest time one attempt may take.
const ATTEMPT_MAX: Duration = Duration::from_secs(15);
/// Attempts that may fail in a way that can last forever.
const ATTEMPTS_MAX: u32 = 5;

/// How the body of a write is to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// A whole object.
    Whole,
    /// Fields to set; null takes one away.
    MergePatch,
    /// The same, with lists merged by their keys; only kinds of Kubernetes itself know it.
    StrategicPatch,
}

impl Body {
    fn content_type(self) -> &'static str {
        match self {
            Self::Whole => "application/json",
            Self::MergePatch => "application/merge-patch+json",
            Self::StrategicPatch => "application/strategic-merge-patch+json",
        }
    }
}

/// Everything a call needs.
pub(crate) struct Office {
    pub(crate) client: Client,
    pub(crate) gate: Gate,
    pub(super) pace: Pace,
    pub(crate) memo: Arc<Memo>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) events: Events,
    pub(crate) news: Sender<News>,
    pub(super) eviction: std::sync::Mutex<EvictionMode>,
    /// Is the status of a PodGroup a resource of its own? As Volcano defines it, it is not.
    pub(super) status_apart: std::sync::atomic::AtomicBool,
}

impl Office {
    /// An office that issues so many calls a second, and bursts of so many.
    pub(crate) fn new(parts: OfficeParts, per_second: u32, burst: u32) -> Self {
        let OfficeParts { client, gate, memo, metrics, events, news, eviction } = parts;
        Self {
            client,
            gate,
            pace: Pace::new(per_second, burst),
            memo,
            metrics,
            events,
            news,
            eviction: std::sync::Mutex::new(eviction),
            status_apart: false.into(),
        }
    }

    /// Evicts otherwise from now on.
    pub(crate) fn set_eviction(&self, mode: EvictionMode) {
        *self.eviction.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = mode;
    }

    /// Carries a call out. Whatever the scheduler must know of its outcome it is told as news.
    pub(super) async fn carry_out(&self, subject: &Subject, call: Call) {
        match (subject, call) {
            (Subject::Pod(pod), Call::Act(Act::Bind { uid, node, job, claims })) => {
                self.bind(pod, &uid, &node, &job, claims).await;
            }
            (Subject::Pod(pod), Call::Act(Act::Evict { uid, job, reason })) => {
                self.evict(pod, &uid, &job, &reason).await;
            }
            (Subject::Pod(pod), Call::Act(Act::Nominate { uid, node })) => {
                self.nominate(pod, &uid, node.as_ref()).await;
            }
            (Subject::Pod(pod), Call::Act(Act::Annotate { uid, reservation })) => {
                self.annotate(pod, &uid, reservation.as_ref()).await;
            }
            (Subject::Pod(pod), Call::Report(report @ Report::Wait { .. })) => {
                self.tell_wait(pod, report).await;
            }
            (Subject::Group(group), Call::Report(Report::Group { phase, report })) => {
                self.tell_group(group, phase, &report).await;
            }
            (Subject::Queue(queue), Call::Report(Report::Queue(report))) => {
                self.tell_queue(queue, &report).await;
            }
            (subject, call) => debug_assert!(false, "{call:?} is not about {subject:?}"),
        }
    }

    /// Writes, and throws the answer away.
    pub(super) async fn write(
        &self,
        method: Method,
        path: &str,
        body: (Body, &Value),
    ) -> Result<(), Failure> {
        self.change::<IgnoredAny>(method, path, body).await.map(|_| ())
    }

    /// Writes, and gives the answer.
    pub(super) async fn change<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: (Body, &Value),
    ) -> Result<T, Failure> {
        let text = body.1.to_string().into_bytes();
        self.send(method, path, Some((body.0.content_type(), text))).await
    }

    /// Reads an object.
    pub(super) async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.send(Method::GET, path, None).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Vec<u8>)>,
    ) -> Result<T, Failure> {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        let mut attempts = 0;
        loop {
            self.pace.turn().await;
            let left = self.gate.left().ok_or(Failure::NotLeading)?;
            let request = request(&method, path, body.as_ref())?;
            let begun = Instant::now();
            let attempt = self.client.request::<T>(request);
            let result = tokio::time::timeout(left.min(ATTEMPT_MAX), attempt).await;
            let fate = match result {
                Ok(Ok(answer)) => {
                    self.metrics.answered(&method, Answer::Done, begun.elapsed());
                    return Ok(answer);
                }
                Ok(Err(error)) => fate(&error),
                Err(_) => Fate::Again,
            };
            attempts += 1;
            match fate {
                Fate::Refused(failure) => {
                    self.metrics.answered(&method, Answer::Refused, begun.elapsed());
                    return Err(failure);
                }
                Fate::AgainAFewTimes(failure) if attempts >= ATTEMPTS_MAX => {
                    self.metrics.answered(&method, Answer::Refused, begun.elapsed());
                    return Err(failure);
                }
                Fate::Again | Fate::AgainAFewTimes(_) => {
                    self.metrics.answered(&method, Answer::Again, begun.elapsed());
                    tokio::time::sleep(backoff.pause()).await;
                }
            }
        }
    }

    /// Tells the loop something; after its end nobody needs to know.
    pub(super) async fn tell(&self, news: impl Into<News>) {
        let _ended = self.news.send(news.into()).await;
    }
}

/// What an [`Office`] is made of.
pub(crate) struct OfficeParts {
    pub(crate) client: Client,
    pub(crate) gate: Gate,
    pub(crate) memo: Arc<Memo>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) events: Events,
    pub(crate) news: Sender<News>,
    pub(crate) eviction: EvictionMode,
}

fn request(
    method: &Method,
    path: &str,
    body: Option<&(&'static str, Vec<u8>)>,
) -> Result<Request<Vec<u8>>, Failure> {
    let mut builder = Request::builder().method(method).uri(path);
    if let Some((content, _)) = body {
        builder = builder.header(http::header::CONTENT_TYPE, *content);
    }
    let body = body.map(|body| body.1.clone()).unwrap_or_default();
    let refused = |error: http::Error| Failure::Refused { code: 0, message: error.to_string() };
    builder.body(body).map_err(refused)
}

/// Path of a pod, or of a part of it.
pub(super) fn pod_path(pod: &ObjectKey, part: &str) -> String {
    format!("/api/v1/namespaces/{}/pods/{}{part}", pod.namespace, pod.name)
}
