//! Servers beside the cluster that are asked over HTTP.

pub(crate) mod prometheus;
#[cfg(test)]
pub(crate) mod fixtures;

use std::time::Duration;

use ::http::{HeaderValue, Method, Request, Uri, header};
use ::kube::{Client, Config};

use crate::causes::with_causes;
use crate::config::Certificates;

/// Longest wait for a connection.
const CONNECTED_WITHIN: Duration = Duration::from_mins(1);

/// A client of a server.
pub(crate) fn client(
    address: &Uri,
    certificates: Certificates,
    credentials: Option<&(String, String)>,
) -> Result<Client, String> {
    let mut config = Config::new(address.clone());
    config.accept_invalid_certs = certificates == Certificates::Any;
    if config.accept_invalid_certs || address.scheme_str() == Some("http") {
        // Nobody is to vouch for it: an image without certificates of authorities is good enough.
        config.root_cert = Some(Vec::new());
    }
    config.default_retry = false;
    config.connect_timeout = Some(CONNECTED_WITHIN);
    if let Some((name, password)) = credentials {
        config.auth_info.username = Some(name.clone());
        config.auth_info.password = Some(password.clone().into());
    }
    Client::try_from(config).map_err(|error| error.to_string())
}

/// Asks a server for something and gives its answer as text.
pub(crate) async fn ask(
    client: &Client,
    method: Method,
    path: &str,
    body: Vec<u8>,
) -> Result<String, String> {
    let json = HeaderValue::from_static("application/json");
    let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, json);
    let request = request.body(body).map_err(|error| error.to_string())?;
    client.request_text(request).await.map_err(|error| with_causes(&error))
}
