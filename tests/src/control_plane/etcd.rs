//! The little that is said to etcd directly, over its JSON gateway.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// Longest an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Does it serve reads?
pub(super) fn is_ready(port: u16) -> bool {
    revision(port).is_ok()
}

/// Forgets all versions but the newest of each object.
pub(super) fn compact(port: u16) -> io::Result<()> {
    let revision = revision(port)?;
    call(port, "/v3/kv/compaction", &json!({"revision": revision, "physical": true}))?;
    Ok(())
}

/// The newest version, as text: the gateway writes large numbers so.
fn revision(port: u16) -> io::Result<Value> {
    // Any key will do: the header of each answer has it.
    let mut answer = call(port, "/v3/kv/range", &json!({"key": "YQ=="}))?;
    Ok(answer["header"]["revision"].take())
}

fn call(port: u16, path: &str, body: &Value) -> io::Result<Value> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let body = body.to_string();
    write!(
        stream,
        "POST {path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::InvalidData)?;
    if head.split_whitespace().nth(1) != Some("200") {
        return Err(io::Error::other(format!("{path}: {answer}")));
    }
    Ok(serde_json::from_str(body)?)
}
