//! The way to the API server: within the rate limit, only while this process leads, again while the
//! trouble is transient; and where a guess would be harmful, until the object says how the call ended.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use muster_core::ids::ObjectKey;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use tokio::time::Instant;
use tracing::warn;

use super::failure::{Ask, Attempts, Cause, Failure, Retry};
use super::rate_limit::RateLimiter;
use super::verify::Seen;
use crate::kube::backoff::Backoff;
use crate::kube::lease::Gate;
use crate::metrics::{Answer, Metrics};

/// How long to wait for the API server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Longest time one attempt may take.
    pub(super) attempt: Duration,
    /// Time after its start in which a call without an answer may still be carried out.
    pub(super) late: Duration,
    /// First pause before another attempt.
    pub(super) pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        // An API server ends requests after a minute, by default of its `--request-timeout`.
        Self {
            attempt: Duration::from_secs(15),
            late: Duration::from_mins(1),
            pause: Duration::from_millis(100),
        }
    }
}

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

/// A request that changes something.
#[derive(Clone, Debug)]
pub(super) struct Write<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) body: (Body, &'a Value),
}

/// A request as it is sent, once or several times.
struct Message<'a> {
    method: Method,
    path: &'a str,
    /// Content type and content.
    body: Option<(&'static str, Vec<u8>)>,
}

impl<'a> Message<'a> {
    fn read(path: &'a str) -> Self {
        Self { method: Method::GET, path, body: None }
    }

    fn write(Write { method, path, body: (kind, value) }: &Write<'a>) -> Self {
        let body = Some((kind.content_type(), value.to_string().into_bytes()));
        Self { method: method.clone(), path, body }
    }

    fn request(&self) -> Result<Request<Vec<u8>>, Failure> {
        let mut builder = Request::builder().method(&self.method).uri(self.path);
        if let Some((content, _)) = &self.body {
            builder = builder.header(http::header::CONTENT_TYPE, *content);
        }
        let body = self.body.as_ref().map(|body| body.1.clone()).unwrap_or_default();
        let refused = |error: http::Error| Failure::Refused { code: 0, message: error.to_string() };
        builder.body(body).map_err(refused)
    }
}

/// Sends requests.
pub(super) struct ApiClient {
    client: Client,
    gate: Gate,
    rate_limiter: RateLimiter,
    metrics: Arc<Metrics>,
    patience: Patience,
}

impl ApiClient {
    pub(super) fn new(
        client: Client,
        gate: Gate,
        rate_limiter: RateLimiter,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self { client, gate, rate_limiter, metrics, patience: Patience::default() }
    }

    /// The same with other times to wait.
    #[cfg(test)]
    pub(super) fn with_patience(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(self.patience.pause, Duration::from_secs(5))
    }

    /// Reads an object.
    pub(super) async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.send(&Message::read(path), &mut Attempts::default()).await
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
        let message = Message::write(&Write { method, path, body });
        self.send(&message, &mut Attempts::default()).await
    }

    /// Writes, and returns once it is known whether that was carried out. Where the answers leave it
    /// open, the object at the path given is read until it tells.
    pub(super) async fn write_verified<T: DeserializeOwned>(
        &self,
        write: &Write<'_>,
        object: &str,
        attempts: &mut Attempts,
        judge: impl Fn(Option<T>) -> Seen,
    ) -> Result<(), Failure> {
        let message = Message::write(write);
        let mut backoff = self.backoff();
        loop {
            let sent = self.send::<IgnoredAny>(&message, attempts).await;
            let Err(failure) = sent else { return Ok(()) };
            // Decided before the object is read: what lands while it is read may be missed.
            let ask = attempts.ask(&failure, Instant::now());
            if ask == Ask::No {
                return Err(failure);
            }
            match judge(self.look(object).await?) {
                Seen::Done => return Ok(()),
                Seen::Impossible(why) => return Err(Failure::Overtaken(why)),
                Seen::NotDone if ask == Ask::Once => return Err(failure),
                Seen::NotDone => tokio::time::sleep(backoff.pause()).await,
            }
        }
    }

    /// The object as it is now, if there is one. While this process leads no error ends this: without
    /// an answer the caller would have to guess.
    async fn look<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Failure> {
        let mut backoff = self.backoff();
        let mut said = false;
        loop {
            match self.read(path).await {
                Ok(found) => return Ok(Some(found)),
                Err(failure) if failure.is(404) => return Ok(None),
                Err(Failure::NotLeading) => return Err(Failure::NotLeading),
                Err(failure) => {
                    if !std::mem::replace(&mut said, true) {
                        warn!(path, %failure, "cannot see how a call ended; asking again");
                    }
                    tokio::time::sleep(backoff.pause()).await;
                }
            }
        }
    }

    async fn send<T: DeserializeOwned>(
        &self,
        message: &Message<'_>,
        attempts: &mut Attempts,
    ) -> Result<T, Failure> {
        let mut backoff = self.backoff();
        loop {
            self.rate_limiter.turn().await;
            let left = self.gate.left().ok_or(Failure::NotLeading)?;
            let request = message.request()?;
            let begun = Instant::now();
            let attempt = self.client.request::<T>(request);
            let cause = match tokio::time::timeout(left.min(self.patience.attempt), attempt).await {
                Ok(Ok(answer)) => {
                    self.metrics.answered(&message.method, Answer::Done, begun.elapsed());
                    return Ok(answer);
                }
                Ok(Err(error)) => Cause::of(&error),
                Err(_) => Cause::NoAnswer,
            };
            match attempts.failed(cause, begun + self.patience.late) {
                Retry::GiveUp(failure) => {
                    self.metrics.answered(&message.method, Answer::Refused, begun.elapsed());
                    return Err(failure);
                }
                Retry::Again => {
                    self.metrics.answered(&message.method, Answer::Again, begun.elapsed());
                    tokio::time::sleep(backoff.pause()).await;
                }
            }
        }
    }
}

/// Path of a pod, or of a part of it.
pub(super) fn pod_path(pod: &ObjectKey, part: &str) -> String {
    format!("/api/v1/namespaces/{}/pods/{}{part}", pod.namespace, pod.name)
}
