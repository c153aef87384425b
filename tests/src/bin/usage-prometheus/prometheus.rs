//! A Prometheus with the history, on loopback; it ends with its owner.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use http::Uri;
use muster_tests::control_plane::{Tool, free_port};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::Outcome;
use crate::history::open_metrics;

/// Longest wait for it to answer.
const UP_WITHIN: Duration = Duration::from_mins(1);

pub(crate) struct Prometheus {
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl Prometheus {
    /// One that answers, with the history in its store.
    pub(crate) async fn start() -> Outcome<Self> {
        let (server, tool) = (Tool::Prometheus.find()?, Tool::Promtool.find()?);
        let folder = std::env::temp_dir().join(format!("muster-usage-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let (history, store) = (folder.join("history.txt"), folder.join("store"));
        fs::write(&history, open_metrics())?;
        fs::write(folder.join("prometheus.yml"), "global: {}\n")?;
        let filled = Command::new(tool)
            .args(["tsdb", "create-blocks-from", "openmetrics"])
            .args([&history, &store])
            .stdout(Stdio::null())
            .status()?;
        if !filled.success() {
            return Err("promtool did not take the history".into());
        }
        let port = free_port();
        let child = Command::new(server)
            .arg(format!("--config.file={}", folder.join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", store.display()))
            .arg("--storage.tsdb.retention.time=100y")
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("log"))?)
            .spawn()?;
        let started = Self { child, port, folder };
        started.wait().await?;
        Ok(started)
    }

    pub(crate) fn address(&self) -> Uri {
        let address = format!("http://127.0.0.1:{}", self.port);
        address.parse().expect("a port of this machine is an address")
    }

    async fn wait(&self) -> Outcome<()> {
        let up = async {
            while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
                sleep(Duration::from_millis(100)).await;
            }
            // It listens a moment before it has read its store.
            sleep(Duration::from_secs(2)).await;
        };
        tokio::time::timeout(UP_WITHIN, up).await.map_err(|_| {
            let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            format!("Prometheus does not answer; its words:\n{log}")
        })?;
        Ok(())
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended by itself, and what it leaves is of no use to anybody.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
