//! What Go builds from source, once: kept in the user's cache directory.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::tool::{ToolError, cache_error, say};

/// A program, and what it is built from.
#[derive(Clone, Copy, Debug)]
pub struct GoBuild<'a> {
    /// What it is called in messages.
    pub name: &'a str,
    /// The folder of the Go module whose versions count.
    pub folder: &'a Path,
    /// `build`, or `test -c` for a package's tests.
    pub verb: &'a [&'a str],
    /// The Go package.
    pub package: &'a str,
    /// What the linker is told.
    pub linker_flags: &'a str,
}

impl GoBuild<'_> {
    /// Builds it at that place unless it is there. Of several processes that want the same one
    /// builds it, and the others wait.
    pub fn kept_at(&self, place: &Path) -> Result<(), ToolError> {
        if place.is_file() {
            return Ok(());
        }
        if let Some(home) = place.parent() {
            fs::create_dir_all(home).map_err(|error| cache_error(home, error))?;
        }
        let lock = place.with_extension("lock");
        let guard = File::create(&lock).map_err(|error| cache_error(&lock, error))?;
        guard.lock().map_err(|error| cache_error(&lock, error))?;
        // Another process may have built it while this one waited.
        if place.is_file() { Ok(()) } else { self.build(place) }
    }

    fn build(&self, place: &Path) -> Result<(), ToolError> {
        let name = self.name;
        check(name)?;
        say(&format!("building {name} from source, once; this can take minutes"));
        let begun = Instant::now();
        // A build that is cut off must not leave half a program under its name.
        let partial = place.with_extension("partial");
        let status = Command::new("go")
            .args(self.verb)
            .args(["-trimpath", "-buildvcs=false", "-ldflags", self.linker_flags])
            .arg("-o")
            .args([partial.as_os_str(), self.package.as_ref()])
            .current_dir(self.folder)
            .env("CGO_ENABLED", "0")
            .stdout(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            let module = self.folder.display().to_string();
            return Err(ToolError::Build { name: name.to_owned(), module });
        }
        fs::rename(&partial, place).map_err(|error| cache_error(place, error))?;
        say(&format!("{name} was built in {} s: {}", begun.elapsed().as_secs(), place.display()));
        Ok(())
    }
}

/// Is there a Go to build it with?
pub(super) fn check(name: &str) -> Result<(), ToolError> {
    let found = Command::new("go").arg("version").stdout(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    Err(ToolError::NoGo { name: name.to_owned() })
}

/// The folder below which what was built is kept.
pub fn cache() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
    let base = set("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .unwrap_or_else(std::env::temp_dir);
    base.join("muster")
}
