//! A way to an API server on which some calls go wrong: a proxy that refuses some, delays some, loses
//! the answers of some, and passes the rest on.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use tokio::net::TcpListener;

/// What the caller gets.
type Answer = Response<UnsyncBoxBody<Bytes, kube::Error>>;

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It never reaches the server; the answer has that status.
    Refused(StatusCode),
    /// It is carried out, and the answer has that status.
    Denied(StatusCode),
    /// It is carried out, and the connection ends without an answer.
    CutOff,
    /// It is carried out at once and answered only after that time.
    AnsweredLate(Duration),
    /// It reaches the server only after that time.
    DeliveredLate(Duration),
    /// It never reaches the server and is never answered.
    Swallowed,
}

/// The fault of the `n`th call: three of ten go wrong, each in another way.
fn three_of_ten(n: u64) -> Option<Fault> {
    // A step that shares no factor with ten, so that neighbours differ.
    match (n * 7) % 10 {
        0 => Some(Fault::Refused(StatusCode::SERVICE_UNAVAILABLE)),
        1 => Some(Fault::Refused(StatusCode::TOO_MANY_REQUESTS)),
        2 => Some(Fault::Denied(StatusCode::GATEWAY_TIMEOUT)),
        _ => None,
    }
}

/// Faults of certain calls, in order; when they are used up these calls pass.
#[derive(Debug, Default)]
pub struct Script(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    method: Method,
    path_end: String,
    faults: VecDeque<Fault>,
    seen: usize,
}

impl Script {
    /// The next calls of that method to a path that ends so go wrong in these ways.
    #[must_use]
    pub fn fail(mut self, method: Method, path_end: &str, faults: Vec<Fault>) -> Self {
        let (path_end, faults) = (path_end.to_owned(), faults.into());
        self.0.push(Rule { method, path_end, faults, seen: 0 });
        self
    }

    fn rule(&mut self, method: &Method, path: &str) -> Option<&mut Rule> {
        self.0.iter_mut().find(|rule| rule.method == *method && path.ends_with(&rule.path_end))
    }

    fn next(&mut self, method: &Method, path: &str) -> Option<Fault> {
        let rule = self.rule(method, path)?;
        rule.seen += 1;
        rule.faults.pop_front()
    }
}

/// Which calls go wrong.
enum Plan {
    ThreeOfTen(AtomicU64),
    Scripted(Mutex<Script>),
}

/// The proxy.
pub struct FaultyProxy {
    address: SocketAddr,
    state: Arc<State>,
}

impl FaultyProxy {
    /// Opens a proxy on which three calls of ten go wrong; it calls the server as the client given. It
    /// ends with the runtime.
    pub async fn open(client: Client) -> Self {
        Self::planned(client, Plan::ThreeOfTen(AtomicU64::new(0))).await
    }

    /// Opens a proxy on which the calls of the script go wrong. From the first of them on, nothing is
    /// heard of pods until [`Self::release_pods`].
    pub async fn scripted(client: Client, script: Script) -> Self {
        Self::planned(client, Plan::Scripted(script.into())).await
    }

    async fn planned(client: Client, plan: Plan) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let state = Arc::new(State {
            client,
            plan,
            failed: AtomicU64::new(0),
            pods_held: AtomicBool::new(false),
        });
        tokio::spawn(accept(listener, state.clone()));
        Self { address, state }
    }

    /// Where to find it, as `--master` takes it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Calls that went wrong so far.
    pub fn failed(&self) -> u64 {
        self.state.failed.load(Ordering::Relaxed)
    }

    /// Calls of a rule of the script that came so far, whatever became of them.
    pub fn seen(&self, method: &Method, path_end: &str) -> usize {
        let mut script = self.state.script();
        let rule = script.as_mut().and_then(|script| script.rule(method, path_end));
        rule.map_or(0, |rule| rule.seen)
    }

    /// Lets watches hear of pods again.
    pub fn release_pods(&self) {
        self.state.pods_held.store(false, Ordering::Relaxed);
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        let service = service_fn(move |request| state.clone().answer(request));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

struct State {
    client: Client,
    plan: Plan,
    failed: AtomicU64,
    /// Are events about pods held back?
    pods_held: AtomicBool,
}

impl State {
    fn script(&self) -> Option<MutexGuard<'_, Script>> {
        match &self.plan {
            Plan::ThreeOfTen(_) => None,
            Plan::Scripted(script) => Some(script.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    fn fault(&self, method: &Method, path: &str) -> Option<Fault> {
        let fault = match &self.plan {
            Plan::ThreeOfTen(calls) => three_of_ten(calls.fetch_add(1, Ordering::Relaxed)),
            Plan::Scripted(_) => self.script()?.next(method, path),
        };
        if fault.is_some() {
            let before = self.failed.fetch_add(1, Ordering::Relaxed);
            if before == 0 && matches!(self.plan, Plan::Scripted(_)) {
                self.pods_held.store(true, Ordering::Relaxed);
            }
        }
        fault
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> io::Result<Answer> {
        let fault = self.fault(request.method(), request.uri().path());
        let Some(request) = received(request).await else {
            return Ok(status(StatusCode::BAD_REQUEST));
        };
        let Some(fault) = fault else { return Ok(self.pass(request).await) };
        match fault {
            Fault::Refused(code) => Ok(status(code)),
            Fault::Denied(code) => {
                self.pass(request).await;
                Ok(status(code))
            }
            Fault::CutOff => {
                self.pass(request).await;
                Err(io::ErrorKind::ConnectionReset.into())
            }
            Fault::AnsweredLate(after) => {
                let response = self.pass(request).await;
                tokio::time::sleep(after).await;
                Ok(response)
            }
            Fault::DeliveredLate(after) => {
                // A task of its own: it is delivered even if the caller has gone by then.
                let delivered = tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    self.pass(request).await
                });
                delivered.await.map_err(io::Error::other)
            }
            Fault::Swallowed => std::future::pending().await,
        }
    }

    async fn pass(self: &Arc<Self>, request: Request<Body>) -> Answer {
        let about_pods = request.uri().path() == "/api/v1/pods";
        match self.client.send(request).await {
            Ok(response) if about_pods => response.map(|body| self.clone().hold(body)),
            Ok(response) => response.map(BodyExt::boxed_unsync),
            Err(_) => status(StatusCode::BAD_GATEWAY),
        }
    }

    /// A body that stops while nothing is to be heard of pods.
    fn hold(self: Arc<Self>, body: Body) -> UnsyncBoxBody<Bytes, kube::Error> {
        let parts = body.into_data_stream().then(move |part| {
            let state = self.clone();
            async move {
                while state.pods_held.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                part
            }
        });
        StreamBody::new(parts.map_ok(Frame::data)).boxed_unsync()
    }
}

/// The whole request, as it is to be passed on.
async fn received(request: Request<Incoming>) -> Option<Request<Body>> {
    let (mut head, body) = request.into_parts();
    // The client that passes it on has its own ideas of host and credentials.
    head.headers.remove(http::header::HOST);
    head.headers.remove(http::header::AUTHORIZATION);
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    head.uri = path.parse().unwrap_or_default();
    let body = body.collect().await.ok()?;
    Some(Request::from_parts(head, Body::from(body.to_bytes())))
}

fn status(status: StatusCode) -> Answer {
    let mut response = Response::new(Body::empty().boxed_unsync());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_ten_calls_go_wrong() {
        let wrong = (0..1000).filter(|&n| three_of_ten(n).is_some()).count();
        assert_eq!(wrong, 300);
    }

    #[test]
    fn calls_of_a_rule_go_wrong_in_order_and_then_pass() {
        let faults = vec![Fault::Swallowed, Fault::CutOff];
        let mut script = Script::default().fail(Method::POST, "/p/binding", faults);
        assert_eq!(script.next(&Method::GET, "/pods/p/binding"), None);
        assert_eq!(script.next(&Method::POST, "/pods/q/binding"), None);
        let next = [(); 3].map(|()| script.next(&Method::POST, "/pods/p/binding"));
        assert_eq!(next, [Some(Fault::Swallowed), Some(Fault::CutOff), None]);
        assert_eq!(script.rule(&Method::POST, "/p/binding").map(|rule| rule.seen), Some(3));
    }
}
