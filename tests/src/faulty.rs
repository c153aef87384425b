//! A way to an API server on which some calls go wrong: a proxy that refuses some, loses the answers
//! of some, and passes the rest on.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use tokio::net::TcpListener;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Passed,
    /// It never reaches the server.
    Refused,
    /// The server is too busy, it says.
    Busy,
    /// It is carried out, and the answer says otherwise.
    Lost,
}

/// The fate of the `n`th call: three of ten go wrong, each in another way.
fn fate(n: u64) -> Fate {
    // A step that shares no factor with ten, so that neighbours differ.
    match (n * 7) % 10 {
        0 => Fate::Refused,
        1 => Fate::Busy,
        2 => Fate::Lost,
        _ => Fate::Passed,
    }
}

/// The proxy.
pub struct FaultyProxy {
    address: SocketAddr,
    failed: Arc<AtomicU64>,
}

impl FaultyProxy {
    /// Opens a proxy that calls the server as the client given. It ends with the runtime.
    pub async fn open(client: Client) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let failed = Arc::new(AtomicU64::new(0));
        let proxy = Proxy { client, calls: Arc::default(), failed: failed.clone() };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let proxy = proxy.clone();
                let service = service_fn(move |request| {
                    let proxy = proxy.clone();
                    async move { Ok::<_, Infallible>(proxy.pass(request).await) }
                });
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::spawn(connection);
            }
        });
        Self { address, failed }
    }

    /// Where to find it, as `--master` takes it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Calls that went wrong so far.
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }
}

#[derive(Clone)]
struct Proxy {
    client: Client,
    calls: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
}

impl Proxy {
    async fn pass(&self, request: Request<Incoming>) -> Response<Body> {
        let fate = fate(self.calls.fetch_add(1, Ordering::Relaxed));
        if fate != Fate::Passed {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        match fate {
            Fate::Refused => return answer(StatusCode::SERVICE_UNAVAILABLE),
            Fate::Busy => return answer(StatusCode::TOO_MANY_REQUESTS),
            Fate::Lost | Fate::Passed => {}
        }
        let (mut head, body) = request.into_parts();
        // The client that passes it on has its own ideas of host and credentials.
        head.headers.remove(http::header::HOST);
        head.headers.remove(http::header::AUTHORIZATION);
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        head.uri = path.parse().unwrap_or_default();
        let Ok(body) = body.collect().await else { return answer(StatusCode::BAD_REQUEST) };
        let body = Body::from(body.to_bytes());
        match self.client.send(Request::from_parts(head, body)).await {
            Ok(_) if fate == Fate::Lost => answer(StatusCode::GATEWAY_TIMEOUT),
            Ok(response) => response,
            Err(_) => answer(StatusCode::BAD_GATEWAY),
        }
    }
}

fn answer(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::from(Vec::new()));
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_ten_calls_go_wrong() {
        let wrong = (0..1000).filter(|&n| fate(n) != Fate::Passed).count();
        assert_eq!(wrong, 300);
    }
}
