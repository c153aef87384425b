//! Whom the scheduler trusts to be the server, and who it says it is itself: the TLS settings that
//! Kubernetes' own scheduler has for its extenders, under names of this plugin.

use std::fs::File;
use std::path::PathBuf;

use kube::Config;
use muster_core::config::Values;
use muster_core::policy::BadArgument;

pub(super) const CA: &str = "extender.caFile";
pub(super) const CERTIFICATE: &str = "extender.certFile";
pub(super) const KEY: &str = "extender.keyFile";
pub(super) const SERVER_NAME: &str = "extender.serverName";
pub(super) const INSECURE: &str = "extender.insecure";

/// How the server is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// By the authorities of the system.
    System,
    /// By those in a file.
    Authorities(PathBuf),
    /// It is not.
    Anybody,
}

/// What `https` addresses go by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tls {
    trust: Trust,
    /// Files with the scheduler's own certificate and its key.
    identity: Option<[String; 2]>,
    /// The name in the server's certificate, where the address has another one.
    server_name: Option<String>,
}

impl Tls {
    pub(super) fn of(arguments: Values<'_>) -> Self {
        let given = |key| Some(arguments.text(key).to_owned()).filter(|text| !text.is_empty());
        let trust = match given(CA) {
            _ if arguments.bool(INSECURE) => Trust::Anybody,
            Some(path) => Trust::Authorities(PathBuf::from(path)),
            None => Trust::System,
        };
        let identity = given(CERTIFICATE).zip(given(KEY)).map(|(cert, key)| [cert, key]);
        Self { trust, identity, server_name: given(SERVER_NAME) }
    }

    /// Lets the client go by it; fails on a file that cannot be read, which the client would not name.
    pub(super) fn apply(&self, config: &mut Config) -> Result<(), String> {
        match &self.trust {
            Trust::System => {}
            Trust::Anybody => {
                config.root_cert = Some(Vec::new());
                config.accept_invalid_certs = true;
            }
            Trust::Authorities(path) => {
                readable(CA, &path.display().to_string())?;
                // Nobody else vouches for it; the file is read again as long as the client lives.
                config.root_cert = Some(Vec::new());
                config.root_cert_file = Some(path.clone());
            }
        }
        if let Some([certificate, key]) = &self.identity {
            readable(CERTIFICATE, certificate)?;
            readable(KEY, key)?;
            config.auth_info.client_certificate = Some(certificate.clone());
            config.auth_info.client_key = Some(key.clone());
        }
        config.tls_server_name.clone_from(&self.server_name);
        Ok(())
    }
}

fn readable(key: &str, path: &str) -> Result<(), String> {
    File::open(path).map(drop).map_err(|error| format!("{key} {path}: {error}"))
}

/// What is wrong with the arguments for a server at that address.
pub(super) fn check(arguments: Values<'_>, address: &str) -> Result<(), BadArgument> {
    let bad = |key: &str, problem: &str| {
        Err(BadArgument { key: key.to_owned(), problem: problem.to_owned() })
    };
    let given = |key: &str| !arguments.text(key).is_empty();
    let insecure = arguments.bool(INSECURE);
    if !address.starts_with("https://") {
        let texts = [CA, CERTIFICATE, KEY, SERVER_NAME];
        let first = texts.into_iter().find(|&key| given(key));
        if let Some(key) = first.or(insecure.then_some(INSECURE)) {
            return bad(key, "means something only where extender.urlPrefix begins with https://");
        }
    }
    match (given(CERTIFICATE), given(KEY)) {
        (true, false) => return bad(CERTIFICATE, "needs its key: give extender.keyFile too"),
        (false, true) => return bad(KEY, "needs its certificate: give extender.certFile too"),
        _ => {}
    }
    if insecure && given(CA) {
        return bad(INSECURE, "nobody has to vouch for the server then: leave extender.caFile out");
    }
    Ok(())
}
