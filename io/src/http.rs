//! What people and Prometheus ask a running scheduler: health, readiness, numbers, a profile.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tracing::{debug, warn};

use crate::metrics::Metrics;
use crate::run::liveness::Liveness;

/// Longest profile.
const PROFILE_MAX_SECONDS: u64 = 300;
/// Samples a second; not a round number, so that nothing periodic hides.
const PROFILE_HZ: i32 = 997;
/// What is drawn of a process that did nothing.
const IDLE: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"400\" height=\"40\">\
    <text x=\"10\" y=\"25\">no samples: the process slept all the time</text></svg>\n";
/// Time a client has to send its request.
const HEADER_WITHIN: Duration = Duration::from_secs(5);

/// What an address answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topics {
    /// `/healthz` and `/readyz`.
    pub health: bool,
    /// `/metrics`.
    pub metrics: bool,
    /// `/debug/profile`.
    pub profile: bool,
}

/// What the answers are made from.
#[derive(Clone)]
pub(crate) struct Answers {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) liveness: Liveness,
    pub(crate) topics: Topics,
}

/// Answers on an address until the runtime ends.
pub(crate) async fn serve(listener: TcpListener, answers: Answers) {
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Too many open files, most likely; it passes.
                warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        tokio::spawn(converse(stream, peer, answers.clone()));
    }
}

async fn converse(stream: tokio::net::TcpStream, peer: SocketAddr, answers: Answers) {
    let service = service_fn(move |request| {
        let answers = answers.clone();
        async move { Ok::<_, Infallible>(answers.answer(&request).await) }
    });
    let mut builder = http1::Builder::new();
    let builder = builder.timer(TokioTimer::new()).header_read_timeout(HEADER_WITHIN);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        debug!(%peer, %error, "a connection broke");
    }
}

impl Answers {
    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() != Method::GET {
            return text(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here\n");
        }
        match request.uri().path() {
            "/healthz" | "/healthz/ping" | "/livez" if self.topics.health => self.health(),
            "/readyz" if self.topics.health => self.readiness(),
            "/metrics" if self.topics.metrics => {
                let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                response(StatusCode::OK, kind, self.metrics.text())
            }
            "/debug/profile" if self.topics.profile => profile(request.uri().query()).await,
            _ => text(StatusCode::NOT_FOUND, "nothing is answered here\n"),
        }
    }

    fn health(&self) -> Response<Full<Bytes>> {
        match self.liveness.stalled() {
            None => text(StatusCode::OK, "ok\n"),
            Some(since) => {
                let words = format!("the loop has not come round for {} s\n", since.as_secs());
                text(StatusCode::INTERNAL_SERVER_ERROR, words)
            }
        }
    }

    fn readiness(&self) -> Response<Full<Bytes>> {
        if self.metrics.is_ready() {
            return text(StatusCode::OK, "ok\n");
        }
        let words = format!("lists not read yet: {}\n", self.liveness.unread().join(", "));
        text(StatusCode::SERVICE_UNAVAILABLE, words)
    }
}

fn text(status: StatusCode, words: impl Into<Bytes>) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", words)
}

fn response(status: StatusCode, kind: &str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let builder = Response::builder().status(status).header(http::header::CONTENT_TYPE, kind);
    let built = builder.body(Full::new(body.into()));
    built.expect("the status and the header are constants of ours")
}

/// Watches what the process does for some seconds and draws it.
async fn profile(query: Option<&str>) -> Response<Full<Bytes>> {
    let pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let given = pairs.filter(|pair| pair.0 == "seconds").map(|pair| pair.1).next_back();
    let Ok(seconds) = given.unwrap_or("10").parse::<u64>() else {
        return text(StatusCode::BAD_REQUEST, "seconds: expected a whole number\n");
    };
    if !(1..=PROFILE_MAX_SECONDS).contains(&seconds) {
        let words = format!("seconds: expected 1 to {PROFILE_MAX_SECONDS}\n");
        return text(StatusCode::BAD_REQUEST, words);
    }
    match sample(Duration::from_secs(seconds)).await {
        Ok(svg) => response(StatusCode::OK, "image/svg+xml", svg),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("no profile: {error}\n")),
    }
}

async fn sample(time: Duration) -> pprof::Result<Vec<u8>> {
    let guard = pprof::ProfilerGuardBuilder::default().frequency(PROFILE_HZ).build()?;
    tokio::time::sleep(time).await;
    // Names of functions are looked up here, which takes a while.
    let drawn = tokio::task::spawn_blocking(move || {
        let report = guard.report().build()?;
        if report.data.is_empty() {
            return Ok(IDLE.as_bytes().to_vec());
        }
        let mut svg = Vec::new();
        report.flamegraph(&mut svg).map(|()| svg)
    });
    drawn.await.unwrap_or(Err(pprof::Error::NotRunning))
}
