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
/// that is not among its files, so the version is chosen here: the newest that proxies have.
const TYPES: &str = "volcano.sh/apis";
/// Its version.
const TYPES_VERSION: &str = "v1.14.0";
/// What that version lacks of what Volcano uses: a file, and the one name it has to declare.
const LATER: (&str, &str) = (
    "pkg/apis/scheduling/v1beta1/later.go",
    "package v1beta1\n\nconst QueueAllocationGateKey = GroupName + \"/queue-allocation-gate\"\n",
);
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
        let module = downloaded(MODULE, VERSION)?;
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

/// The file with the versions the module is built with: its own, and our copy of the types.
fn versions(home: &Path, module: &Path) -> Result<PathBuf, SuitesError> {
    let folder = home.join("versions");
    let file = folder.join("go.mod");
    if file.is_file() {
        return Ok(file);
    }
    let types = home.join("types");
    copy_folder(&downloaded(TYPES, TYPES_VERSION)?, &types)?;
    let later = types.join(LATER.0);
    fs::write(&later, LATER.1).map_err(SuitesError::file(&later))?;
    fs::create_dir_all(&folder).map_err(SuitesError::file(&folder))?;
    let partial = folder.join("partial");
    copy(&module.join("go.sum"), &folder.join("go.sum"))?;
    copy(&module.join("go.mod"), &partial)?;
    let edited = Command::new("go")
        .args(["mod", "edit", &format!("-require={TYPES}@{TYPES_VERSION}")])
        .arg(format!("-replace={TYPES}={}", types.display()))
        .arg(&partial)
        .status();
    if !edited.is_ok_and(|status| status.success()) {
        return Err(SuitesError::Module(format!("go cannot edit {}", partial.display())));
    }
    fs::rename(&partial, &file).map_err(SuitesError::file(&file))?;
    Ok(file)
}

/// Copies the files of a folder, and of those in it, so that they can be changed.
fn copy_folder(from: &Path, to: &Path) -> Result<(), SuitesError> {
    fs::create_dir_all(to).map_err(SuitesError::file(to))?;
    for entry in fs::read_dir(from).map_err(SuitesError::file(from))? {
        let path = entry.map_err(SuitesError::file(from))?.path();
        let Some(name) = path.file_name() else { continue };
        let place = to.join(name);
        if path.is_dir() { copy_folder(&path, &place)? } else { copy(&path, &place)? }
    }
    Ok(())
}

/// Copies what is in a file; that it is read-only in Go's cache is left behind.
fn copy(from: &Path, to: &Path) -> Result<(), SuitesError> {
    let text = fs::read(from).map_err(SuitesError::file(from))?;
    fs::write(to, text).map_err(SuitesError::file(to))
}

/// The folder with a module's files; downloads them if they are not there.
fn downloaded(module: &str, version: &str) -> Result<PathBuf, SuitesError> {
    let module = format!("{module}@{version}");
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
