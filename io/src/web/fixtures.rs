//! A server that gives recorded answers over HTTP.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;

use ::http::{Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// What the server was asked and what it answers, by a part of the request.
pub(crate) type Answers = BTreeMap<&'static str, (u16, String)>;

/// A server that answers a request with what is set for a word in its path or body, and asks for a
/// name and a password if one is given.
pub(crate) async fn serve(answers: Answers, authorization: Option<&'static str>) -> Uri {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address: SocketAddr = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answers = answers.clone();
            let answer = service_fn(move |request: Request<Incoming>| {
                let answers = answers.clone();
                async move {
                    let given = request.headers().get(header::AUTHORIZATION).cloned();
                    let path = request.uri().to_string();
                    let body = request.into_body().collect().await.expect("it is sent").to_bytes();
                    let asked = format!("{path} {}", String::from_utf8_lossy(&body));
                    let allowed =
                        authorization.is_none_or(|want| given.is_some_and(|given| given == want));
                    let found = answers.iter().find(|(word, _)| asked.contains(**word));
                    let (status, text) = match found {
                        _ if !allowed => (401, "who are you?".to_owned()),
                        Some((_, answer)) => answer.clone(),
                        None => (404, format!("nothing at {asked}")),
                    };
                    let mut response = Response::new(Full::new(Bytes::from(text)));
                    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
                    Ok::<_, Infallible>(response)
                }
            });
            let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
            tokio::spawn(serving);
        }
    });
    format!("http://{address}").parse().expect("an address")
}

/// An answer of Prometheus with these series, each with its labels and its value.
pub(crate) fn vector(entries: &[(&str, &str)]) -> String {
    let series = entries.iter().map(|(labels, value)| {
        format!("{{\"metric\":{{{labels}}},\"value\":[1767225600.5,\"{value}\"]}}")
    });
    let series: Vec<String> = series.collect();
    format!(
        "{{\"status\":\"success\",\"data\":{{\"resultType\":\"vector\",\"result\":[{}]}}}}",
        series.join(",")
    )
}
