//! The programs a control plane consists of, and Helm: found, or built from source once.
//!
//! `KUBEBUILDER_ASSETS` names a folder of ready ones. What is not there is built by Go from the
//! modules in `tests/control-plane/` and kept in the user's cache directory, by version.
//! Test binaries that need the same program at the same time wait for one build.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::go::{self, GoBuild};
use crate::source::root;

/// Folder of ready programs.
const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The store.
    Etcd,
    /// The API server.
    KubeApiServer,
    /// Kubernetes' controllers: they empty namespaces and make pods of Deployments.
    KubeControllerManager,
    /// Kubernetes' own scheduler.
    KubeScheduler,
    /// Renders the chart.
    Helm,
    /// Keeps what was measured.
    Prometheus,
    /// Fills its store.
    Promtool,
}

/// Why a program is not there.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// There is nothing to build it with.
    #[error(
        "{name} is missing: install Go 1.26 or newer, or name a folder that has it in {ASSETS}"
    )]
    NoGo {
        /// The program.
        name: String,
    },
    /// The build failed; Go has said why.
    #[error("{name} could not be built from {module}; see Go's messages above")]
    Build {
        /// The program.
        name: String,
        /// The module that lists it.
        module: String,
    },
    /// The cache directory cannot be used.
    #[error("{path}: {source}")]
    Cache {
        /// What could not be used.
        path: String,
        /// What the system says.
        source: io::Error,
    },
}

impl Tool {
    /// The name of the program's file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiServer => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Helm => "helm",
            Self::Prometheus => "prometheus",
            Self::Promtool => "promtool",
        }
    }

    /// The Go package it is built from.
    fn package(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::KubeApiServer => "k8s.io/kubernetes/cmd/kube-apiserver",
            Self::KubeControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
            Self::KubeScheduler => "k8s.io/kubernetes/cmd/kube-scheduler",
            Self::Helm => "helm.sh/helm/v4/cmd/helm",
            Self::Prometheus => "github.com/prometheus/prometheus/cmd/prometheus",
            Self::Promtool => "github.com/prometheus/prometheus/cmd/promtool",
        }
    }

    /// The folder of the Go module that lists it, from the root of the repository.
    fn module(self) -> &'static str {
        match self {
            Self::Helm => "tests/control-plane/helm",
            Self::Prometheus | Self::Promtool => "tests/control-plane/prometheus",
            _ => "tests/control-plane",
        }
    }

    /// How Go builds it. Prometheus needs to find nothing by itself here, which spares it the clients of
    /// every cloud there is.
    fn verb(self) -> &'static [&'static str] {
        match self {
            Self::Prometheus | Self::Promtool => &["build", "-tags", "remove_all_sd"],
            _ => &["build"],
        }
    }

    /// Where the program is; builds it if it is nowhere yet, which can take minutes.
    pub fn find(self) -> Result<PathBuf, ToolError> {
        if let Some(ready) = self.ready() {
            return Ok(ready);
        }
        let module = root().join(self.module());
        let program = go::cache().join("control-plane").join(version(&module)).join(self.name());
        let build = GoBuild {
            name: self.name(),
            folder: &module,
            verb: self.verb(),
            package: self.package(),
            linker_flags: &linker_flags(&module),
        };
        build.kept_at(&program)?;
        Ok(program)
    }

    /// The program among the ready ones.
    fn ready(self) -> Option<PathBuf> {
        let path = PathBuf::from(std::env::var_os(ASSETS)?).join(self.name());
        path.is_file().then_some(path)
    }
}

/// Says it to whoever runs the tests, even where the harness captures what tests print.
pub(super) fn say(text: &str) {
    // Nobody is left to tell if standard error is gone.
    let _ = writeln!(io::stderr(), "control plane: {text}");
}

pub(super) fn cache_error(path: &Path, source: io::Error) -> ToolError {
    ToolError::Cache { path: path.display().to_string(), source }
}

fn module_file(module: &Path, name: &str) -> String {
    let path = module.join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What tells builds of different versions apart.
fn version(module: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(module_file(module, "go.mod").as_bytes());
    hasher.write(module_file(module, "go.sum").as_bytes());
    hasher.write(linker_flags(module).as_bytes());
    format!("{:016x}", hasher.finish())
}

/// Leaves debug information out, and tells Kubernetes its own version, which its release build
/// would do.
fn linker_flags(module: &Path) -> String {
    let text = module_file(module, "go.mod");
    let kubernetes = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes ")?.split_whitespace().next());
    let Some(version) = kubernetes else { return "-s -w".to_owned() };
    let mut numbers = version.trim_start_matches('v').split('.');
    let mut number = || numbers.next().unwrap_or_else(|| panic!("{version} is no version"));
    let (major, minor) = (number(), number());
    let package = "k8s.io/component-base/version";
    format!(
        "-s -w -X {package}.gitVersion={version} -X {package}.gitMajor={major} \
         -X {package}.gitMinor={minor}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubernetes_is_told_its_version() {
        let flags = linker_flags(&root().join(Tool::KubeApiServer.module()));
        assert!(flags.contains("version.gitVersion=v1.36."), "{flags}");
        assert!(flags.contains("version.gitMajor=1 "), "{flags}");
        assert!(flags.ends_with("version.gitMinor=36"), "{flags}");
    }

    #[test]
    fn every_program_is_listed_as_a_tool_of_its_module() {
        for tool in [
            Tool::Etcd,
            Tool::KubeApiServer,
            Tool::KubeControllerManager,
            Tool::KubeScheduler,
            Tool::Helm,
            Tool::Prometheus,
            Tool::Promtool,
        ] {
            let text = module_file(&root().join(tool.module()), "go.mod");
            let (_, tools) = text.split_once("\ntool ").expect("the module lists tools");
            let (tools, _) = tools.split_once("\n\n").expect("the list ends");
            assert!(tools.lines().any(|line| line.trim() == tool.package()), "{tool:?}");
        }
    }
}
