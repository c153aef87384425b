//! A server behind TLS, with certificates of the tests' own authority.
//!
//! `tls/` has them, good for a hundred years: `server` for 127.0.0.1, `named` for a name that is no
//! address of this machine, `client` for the scheduler.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoClientAuth, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned, crypto};

use super::*;

const CA: &str = include_str!("tls/ca.crt");
const SERVER: [&str; 2] = [include_str!("tls/server.crt"), include_str!("tls/server.key")];
const NAMED: [&str; 2] = [include_str!("tls/named.crt"), include_str!("tls/named.key")];

/// Who may ask.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asker {
    Anybody,
    /// Whoever shows a certificate of the authority's.
    Known,
}

/// A server that agrees to everything and shows this certificate.
fn server([certificate, key]: [&str; 2], asker: Asker) -> FakeServer {
    let provider = Arc::new(crypto::ring::default_provider());
    let verifier = match asker {
        Asker::Anybody => Arc::new(NoClientAuth),
        Asker::Known => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(CA.as_bytes()).expect("PEM")).expect("valid");
            let known =
                WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider));
            known.build().expect("there is an authority")
        }
    };
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).expect("PEM")];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("PEM");
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("ring has them").with_client_cert_verifier(verifier);
    let config = Arc::new(config.with_single_cert(chain, key).expect("they belong together"));
    let wrap = move |stream| {
        let session =
            ServerConnection::new(Arc::clone(&config)).expect("the configuration is valid");
        StreamOwned::new(session, stream)
    };
    FakeServer::start_with(wrap, |path, _| Reply::Json(yes(path)))
}

/// Where a file of the tests is.
fn file(name: &str) -> String {
    format!("{}/src/extender/tests/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Asks the server about a gang of two, with these arguments; returns how many were bound, and why the
/// others wait.
fn ask(server: &FakeServer, more: &str) -> (usize, Vec<String>) {
    let (spec, more) = (nodes_and_gang(2, 2), format!(", extender.httpTimeout: 5s{more}"));
    let setting = Setting::of(server, &["predicate"], &spec);
    let result = Setting { scheme: "https", more: &more, ..setting }.play();
    holds(&result);
    (binds(&result).len(), waits(&result))
}

#[test]
fn an_authority_of_ones_own_vouches_for_the_server() {
    let server = server(SERVER, Asker::Anybody);
    let (bound, waits) = ask(&server, &format!(", extender.caFile: {}", file("ca.crt")));
    assert_eq!(bound, 2, "{waits:?}");
    assert!(!server.asked("/v1/predicate").is_empty());
}

#[test]
fn a_server_nobody_vouches_for_is_not_asked() {
    let server = server(SERVER, Asker::Anybody);
    let (bound, waits) = ask(&server, "");
    assert_eq!(bound, 0);
    assert!(waits[0].contains("certificate"), "{waits:?}");
    // Another authority's word does not count either: that of a certificate that is none.
    let (bound, waits) = ask(&server, &format!(", extender.caFile: {}", file("client.crt")));
    assert_eq!(bound, 0);
    assert!(waits[0].contains("certificate"), "{waits:?}");
    assert!(server.paths().is_empty(), "{:?}", server.paths());
}

#[test]
fn a_certificate_is_for_the_address_or_for_the_name_that_is_given() {
    let server = server(NAMED, Asker::Anybody);
    let trust = format!(", extender.caFile: {}", file("ca.crt"));
    let (bound, waits) = ask(&server, &trust);
    assert_eq!(bound, 0);
    assert!(waits[0].contains("not valid for"), "{waits:?}");
    let (bound, waits) = ask(&server, &format!("{trust}, extender.serverName: extender.test"));
    assert_eq!(bound, 2, "{waits:?}");
}

#[test]
fn any_server_will_do_where_it_is_said_so() {
    let server = server(NAMED, Asker::Anybody);
    let (bound, waits) = ask(&server, ", extender.insecure: true");
    assert_eq!(bound, 2, "{waits:?}");
}

#[test]
fn a_server_that_wants_to_know_who_asks_is_shown_a_certificate() {
    let server = server(SERVER, Asker::Known);
    let trust = format!(", extender.caFile: {}", file("ca.crt"));
    let (bound, waits) = ask(&server, &trust);
    assert_eq!(bound, 0);
    assert!(waits[0].to_lowercase().contains("certificate"), "{waits:?}");
    let shown = format!(
        "{trust}, extender.certFile: {}, extender.keyFile: {}",
        file("client.crt"),
        file("client.key")
    );
    let (bound, waits) = ask(&server, &shown);
    assert_eq!(bound, 2, "{waits:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let server = server(SERVER, Asker::Anybody);
    let (bound, waits) = ask(&server, &format!(", extender.caFile: {}", file("nothing.crt")));
    assert_eq!(bound, 0);
    let named = waits[0].contains("extender.caFile") && waits[0].contains("nothing.crt");
    assert!(named, "{waits:?}");
}
