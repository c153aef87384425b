//! What is built from Volcano's module: its controllers, webhooks, command line and suites.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use muster_tests::control_plane::{GoBuild, Tool, cache};
use serde_json::Value;

use crate::SuitesError;
use crate::args::Scheduler;
use crate::suites::Suite;

/// The Go module.
const MODULE: &str = "volcano.sh/volcano";
/// Its version.
pub(crate) const VERSION: &str = "v1.15.1";
/// The Go module with the types of Volcano's objects. Volcano's own module takes it from a folder
/// that is not among its files, so the version is chosen here: one that has every type in use.
const TYPES: &str = "volcano.sh/apis";
/// Its version.
pub(crate) const TYPES_VERSION: &str = "v1.14.0";
/// Volcano's chart, from the root of the module.
const CHART: &str = "installer/helm/chart/volcano";
/// No debug information.
const LINKER_FLAGS: &str = "-s -w";

/// Where everything is.
#[derive(Debug)]
pub(crate) struct Programs {
    /// What was built.
    home: PathBuf,
    /// The module's files.
    module: PathBuf,
    /// Which versions of other modules it is built with.
    versions: PathBuf,
}

impl Programs {
    /// Downloads and builds whatever is not there yet.
    pub(crate) fn find(suites: &[&Suite], scheduler: Scheduler) -> Result<Self, SuitesError> {
        for tool in
            [Tool::Etcd, Tool::KubeApiServer, Tool::KubeControllerManager, Tool::KubeScheduler]
        {
            tool.find()?;
        }
        let home = cache().join("volcano").join(VERSION);
        let module = module()?;
        let versions = versions(&home, &module)?;
        let programs = Self { home, module, versions };
        let mut packages = vec!["controller-manager", "webhook-manager", "cli"];
        if scheduler == Scheduler::Volcano {
            packages.push("scheduler");
        }
        for package in packages {
            let place = programs.program(package);
            programs.build(&place, "build", &format!("./cmd/{package}"))?;
        }
        for suite in suites {
            let place = programs.suite(suite);
            programs.build(&place, "test", &format!("./test/e2e/{}", suite.name))?;
        }
        Ok(programs)
    }

    fn build(&self, place: &Path, verb: &str, package: &str) -> Result<(), SuitesError> {
        let name = format!("Volcano's {}", package.trim_start_matches("./"));
        let versions = format!("-modfile={}", self.versions.display());
        let mut verb = vec![verb, &versions, "-mod=mod"];
        if verb[0] == "test" {
            // Builds the tests of a package and does not run them.
            verb.push("-c");
        }
        let build = GoBuild {
            name: &name,
            folder: &self.module,
            verb: &verb,
            package,
            linker_flags: LINKER_FLAGS,
        };
        Ok(build.kept_at(place)?)
    }

    /// A program, by the name of its package.
    pub(crate) fn program(&self, package: &str) -> PathBuf {
        self.home.join(if package == "cli" { "vcctl" } else { package })
    }

    /// The folder that has `vcctl`.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// The program that runs a suite.
    pub(crate) fn suite(&self, suite: &Suite) -> PathBuf {
        self.home.join(format!("{}.test", suite.name))
    }

    /// Folders with Volcano's definitions.
    pub(crate) fn definitions(&self) -> [PathBuf; 2] {
        ["crd/bases", "charts/jobflow/crd/bases"].map(|folder| self.module.join(CHART).join(folder))
    }

    /// The configuration of the scheduler in Volcano's CI.
    pub(crate) fn configuration(&self) -> Result<String, SuitesError> {
        let path = self.module.join(CHART).join("config/volcano-scheduler-ci.conf");
        fs::read_to_string(&path).map_err(SuitesError::file(&path))
    }
}

/// The file with the versions the module is built with: its own, and that of the types.
fn versions(home: &Path, module: &Path) -> Result<PathBuf, SuitesError> {
    let folder = home.join("versions");
    let file = folder.join("go.mod");
    if file.is_file() {
        return Ok(file);
    }
    fs::create_dir_all(&folder).map_err(SuitesError::file(&folder))?;
    let partial = folder.join("partial");
    for (name, to) in [("go.sum", folder.join("go.sum")), ("go.mod", partial.clone())] {
        // The module's own are read-only, and a copy of a file is as the file is.
        let path = module.join(name);
        let text = fs::read(&path).map_err(SuitesError::file(&path))?;
        fs::write(&to, text).map_err(SuitesError::file(&to))?;
    }
    let edited = Command::new("go")
        .args(["mod", "edit", &format!("-dropreplace={TYPES}")])
        .arg(format!("-require={TYPES}@{TYPES_VERSION}"))
        .arg(&partial)
        .status();
    if !edited.is_ok_and(|status| status.success()) {
        return Err(SuitesError::Module(format!("go cannot edit {}", partial.display())));
    }
    fs::rename(&partial, &file).map_err(SuitesError::file(&file))?;
    Ok(file)
}

/// The folder with the module's files; downloads them if they are not there.
fn module() -> Result<PathBuf, SuitesError> {
    let module = format!("{MODULE}@{VERSION}");
    let output = Command::new("go")
        .args(["mod", "download", "-json", &module])
        .current_dir(std::env::temp_dir())
        .output()
        .map_err(|error| SuitesError::Module(format!("go: {error}")))?;
    let answer: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| SuitesError::Module(String::from_utf8_lossy(&output.stderr).into_owned()))?;
    match answer["Dir"].as_str() {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => Err(SuitesError::Module(answer["Error"].as_str().unwrap_or(&module).to_owned())),
    }
}
