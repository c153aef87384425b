//! The way to the server: requests over HTTP, several at a time, each within its time.
//!
//! A cycle waits for the answers, and runs on threads that know nothing of asynchronous input and
//! output. So requests have a runtime of their own, and the cycle's thread sleeps until all are
//! answered or out of time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use futures::{StreamExt, stream};
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use kube::{Client, Config};
use tokio::runtime::{Builder, Runtime};

use super::settings::Settings;
use crate::causes::with_causes;

/// Requests under way at a time for one question of a cycle.
const AT_A_TIME: usize = 16;
/// Longest answer that is read.
const ANSWER_BYTES_MAX: usize = 10 << 20;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// Nobody was asked, because an earlier question of the cycle found nobody there.
    NotAsked,
    /// Nobody is there, or too slow.
    Silent(String),
    /// The server answered that it cannot answer.
    Unable(String),
}

/// The server, as far as it can be reached.
pub(super) struct Server {
    /// None only while it is being dropped, or where the machine gives no thread.
    runtime: Option<Runtime>,
    /// The client, or why there is none.
    client: Result<Client, String>,
    timeout: Duration,
}

impl Server {
    pub(super) fn new(settings: &Settings) -> Self {
        let (runtime, client) = match start() {
            Ok(runtime) => {
                let client = client(settings, &runtime);
                (Some(runtime), client)
            }
            Err(error) => (None, Err(format!("no thread can be started: {error}"))),
        };
        Self { runtime, client, timeout: settings.timeout }
    }

    /// Sends every body to the path behind the address, and gives the answers in their order. Once one
    /// finds nobody there `silent` is set, and whoever sees it set asks no more.
    pub(super) fn ask(
        &self,
        path: &str,
        bodies: Vec<String>,
        silent: &Arc<AtomicBool>,
    ) -> Vec<Result<Vec<u8>, Failure>> {
        let count = bodies.len();
        let (runtime, client) = match (&self.runtime, &self.client) {
            (Some(runtime), Ok(client)) => (runtime, client),
            (_, Err(error)) => return vec![Err(Failure::Silent(error.clone())); count],
            (None, Ok(_)) => return vec![Err(Failure::NotAsked); count],
        };
        let way = Way {
            client: client.clone(),
            path: format!("/{path}"),
            timeout: self.timeout,
            silent: Arc::clone(silent),
        };
        let (answered, wait) = mpsc::channel();
        runtime.spawn(async move {
            let asked = stream::iter(bodies).map(|body| way.ask(body)).buffered(AT_A_TIME);
            let answers: Vec<_> = asked.collect().await;
            // Who asked has gone away: nobody minds.
            let _gone = answered.send(answers);
        });
        wait.recv().unwrap_or_else(|_| vec![Err(Failure::NotAsked); count])
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Nothing is worth waiting for, and where this runs waiting may not be allowed.
            runtime.shutdown_background();
        }
    }
}

fn start() -> std::io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("muster-extender").enable_all().build()
}

fn client(settings: &Settings, runtime: &Runtime) -> Result<Client, String> {
    let address: http::Uri = settings.prefix.parse().map_err(|error| format!("{error}"))?;
    let plain = address.scheme_str() == Some("http");
    let mut config = Config::new(address);
    // Over plain HTTP nobody vouches for the server: an image without certificates is good enough.
    config.root_cert = plain.then(Vec::new);
    settings.tls.apply(&mut config)?;
    config.default_retry = false;
    config.connect_timeout = Some(settings.timeout);
    let _inside = runtime.enter();
    Client::try_from(config).map_err(|error| with_causes(&error))
}

/// What a request takes.
struct Way {
    client: Client,
    path: String,
    timeout: Duration,
    silent: Arc<AtomicBool>,
}

impl Way {
    async fn ask(&self, body: String) -> Result<Vec<u8>, Failure> {
        if self.silent.load(Ordering::Relaxed) {
            return Err(Failure::NotAsked);
        }
        let answer = tokio::time::timeout(self.timeout, self.post(body)).await;
        let answer = answer.unwrap_or_else(|_| {
            let within = self.timeout.as_millis();
            Err(Failure::Silent(format!("no answer within {within} ms")))
        });
        if matches!(answer, Err(Failure::Silent(_))) {
            self.silent.store(true, Ordering::Relaxed);
        }
        answer
    }

    async fn post(&self, body: String) -> Result<Vec<u8>, Failure> {
        let json = HeaderValue::from_static("application/json");
        let request = Request::builder().method(Method::POST).uri(&self.path);
        let request = request.header(header::CONTENT_TYPE, json);
        let request = request.body(Body::from(body.into_bytes()));
        let request = request.map_err(|error| Failure::Unable(error.to_string()))?;
        let response = self.client.send(request).await;
        let response = response.map_err(|error| Failure::Silent(with_causes(&error)))?;
        let status = response.status();
        if status != StatusCode::OK {
            return Err(Failure::Unable(format!("the server answered {status}")));
        }
        let whole = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
        match whole {
            Ok(whole) => Ok(whole.to_bytes().to_vec()),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                Err(Failure::Unable("the answer is longer than 10 MiB".to_owned()))
            }
            Err(error) => Err(Failure::Silent(with_causes(&*error))),
        }
    }
}
