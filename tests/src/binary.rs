//! The `muster` binary of this build, as users run it.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;

/// Builds the binary once, beside the test that asks for it, and says where it is.
fn path() -> &'static PathBuf {
    static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
        let test = std::env::current_exe().expect("a running test has a path");
        // target/<profile>/deps/<test>
        let profile = test.ancestors().nth(2).expect("tests are built into target/<profile>/deps");
        let target = profile.parent().expect("profiles are folders of the target folder");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "-p", "muster", "--bin", "muster", "--target-dir"]);
        build.arg(target).current_dir(crate::source::root());
        if profile.ends_with("release") {
            build.arg("--release");
        }
        let done = build.status().expect("cargo can be started: it started this test");
        assert!(done.success(), "the binary does not build");
        profile.join(format!("muster{}", std::env::consts::EXE_SUFFIX))
    });
    &PATH
}

/// Runs the binary in the repository's root and waits for it to end.
pub fn muster<A: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    let mut command = Command::new(path());
    command.args(arguments).current_dir(crate::source::root());
    command.output().expect("the binary was built a moment ago")
}
