//! Rules of the repository as tests: what a file looks like, and who may know whom.

use std::path::{Path, PathBuf};
use std::process::Command;

use muster_tests::source::{before_tests, code, files, imports, read, root};

/// Longest a file may be.
const LINES_MAX: usize = 600;

/// Files that may be longer, with the reason.
const LONGER: [(&str, &str); 0] = [];

/// This file, which must name what it forbids.
const THIS: &str = "tests/tests/it/tidy.rs";

/// Every Rust file with its text.
fn sources() -> Vec<(PathBuf, String)> {
    let found: Vec<_> = files(&["rs"]).map(|path| (path.clone(), read(&path))).collect();
    assert!(found.len() > 50, "the source tree was not found");
    found
}

fn report(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// Faults of every source below a folder.
fn check_below(folder: &str, rule: impl Fn(&Path, &str) -> Vec<String>) {
    let mut faults = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| path.starts_with(folder)) {
        let found = rule(path, text);
        faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", path.display())));
    }
    report(&faults);
}

#[test]
fn every_source_says_what_it_is_for() {
    check_below("", |_, text| {
        let has = text.starts_with("//! ");
        if has { Vec::new() } else { vec!["begins without a //! header".into()] }
    });
}

#[test]
fn no_source_is_too_long() {
    check_below("", |path, text| {
        let lines = text.lines().count();
        let allowed = LONGER.iter().any(|(longer, _)| path == Path::new(longer));
        if lines <= LINES_MAX || allowed {
            return Vec::new();
        }
        vec![format!("has {lines} lines; split it where the interface is thin")]
    });
}

#[test]
fn nothing_is_left_for_later() {
    let marks = ["todo!", "unimplemented!", "dbg!", "#[ignore", "FIXME", "TODO", "XXX"];
    check_below("", |path, text| {
        let own = path == Path::new(THIS);
        let found = marks.iter().filter(|mark| !own && text.contains(**mark));
        found.map(|mark| format!("contains {mark}")).collect()
    });
}

/// Targets with `test = false` in their package, for want of tests: Cargo would not run any there.
const UNTESTED: [&str; 3] = ["io/src/main.rs", "benches/src", "tests/src/bin"];

/// Below those, targets whose tests are run.
const TESTED: [&str; 2] = ["benches/src/bin/e2e", "tests/src/bin/volcano-suites"];

#[test]
fn tests_stand_where_cargo_runs_them() {
    check_below("", |path, text| {
        let skipped = UNTESTED.iter().any(|folder| path.starts_with(folder));
        let run = TESTED.iter().any(|folder| path.starts_with(folder));
        let lost = skipped && !run && text.contains("#[test]");
        if lost { vec!["has a test, but its target has `test = false`".into()] } else { Vec::new() }
    });
    // Each further binary of tests links all of Muster once more.
    check_below("tests/tests", |path, _| {
        let inside = path.starts_with("tests/tests/it");
        if inside { Vec::new() } else { vec!["belongs into tests/tests/it, as a module".into()] }
    });
}

#[test]
fn no_text_names_a_place_on_somebody_s_machine() {
    let places = ["/work/", "/root/", "/home/", "/Users/", "/tmp/bash"];
    let mut faults = Vec::new();
    for path in files(&["rs", "md", "toml", "yaml", "yml", "json", "sh", "lock"]) {
        let text = read(&path);
        let found = places.iter().filter(|place| text.contains(**place));
        if path != Path::new(THIS) {
            faults.extend(found.map(|place| format!("{} contains {place}", path.display())));
        }
    }
    report(&faults);
}

/// Faults for every import that starts with one of the paths.
fn forbidden(path: &Path, text: &str, paths: &[&str]) -> Vec<String> {
    let code = code(text);
    let below = |import: &str, path: &str| {
        import.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let mut faults = Vec::new();
    for forbidden in paths {
        let imported = imports(path, &code).iter().any(|import| below(import, forbidden));
        // A path may also be written out where it is used.
        if imported || code.contains(&format!("{forbidden}::")) {
            faults.push(format!("must not know {forbidden}"));
        }
    }
    faults
}

#[test]
fn kernels_know_std_and_wide_only() {
    check_below("core/src/kernel", |path, text| {
        if path.ends_with("tests.rs") {
            return Vec::new();
        }
        let code = code(text);
        let known = ["std", "wide", "crate::kernel"];
        let strange = imports(path, before_tests(&code)).into_iter().filter(|import| {
            !known.iter().any(|known| import == known || import.starts_with(&format!("{known}::")))
        });
        strange.map(|import| format!("imports {import}")).collect()
    });
}

#[test]
fn the_core_has_no_outside() {
    let outside = ["std::time", "std::env", "std::fs", "std::net", "std::process", "std::thread"];
    check_below("core/src", |path, text| forbidden(path, text, &outside));
}

#[test]
fn the_two_outside_worlds_know_neither_each_other_nor_the_world_within() {
    check_below("io/src/sim", |path, text| {
        forbidden(path, text, &["crate::kube", "muster_core::world"])
    });
    check_below("io/src/kube", |path, text| {
        forbidden(path, text, &["crate::sim", "muster_core::world"])
    });
}

#[test]
fn objects_and_their_translation_know_neither_outside_world() {
    check_below("io/src/objects", |path, text| {
        forbidden(path, text, &["crate::sim", "crate::kube", "crate::run", "muster_core::world"])
    });
}

#[test]
fn the_core_depends_on_no_crate_that_reaches_outside() {
    let denied = [
        "async-std",
        "chrono",
        "clap",
        "env_logger",
        "h2",
        "http",
        "hyper",
        "indicatif",
        "k8s-openapi",
        "kube",
        "log4rs",
        "mio",
        "muster",
        "reqwest",
        "rustls",
        "serde-saphyr",
        "serde_json",
        "smol",
        "socket2",
        "time",
        "tokio",
        "tower",
        "tracing-subscriber",
        "ureq",
    ];
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = Command::new(cargo)
        .args(["tree", "--offline", "-p", "muster-core", "-e", "normal", "--prefix", "none"])
        .current_dir(root())
        .output()
        .expect("cargo can be started: it started this test");
    let text = String::from_utf8_lossy(&tree.stdout);
    assert!(text.contains("bevy_ecs"), "{}", String::from_utf8_lossy(&tree.stderr));
    let names = text.lines().filter_map(|line| line.split(' ').next());
    let found = names.filter(|name| denied.contains(name) || name.starts_with("kube-"));
    report(&found.map(|name| format!("muster-core depends on {name}")).collect::<Vec<_>>());
}

#[test]
fn stages_stand_in_running_order_in_the_code_and_on_the_page() {
    let module = code(&read(Path::new("core/src/cycle/mod.rs")));
    let declared: Vec<String> = before_tests(&module)
        .lines()
        .filter_map(|line| line.split_once("mod ")?.1.strip_suffix(';').map(Into::into))
        .collect();
    let page = read(Path::new("docs/ARCHITECTURE.md"));
    let block = page.split_once("```text stages\n").expect("the page lists the stages").1;
    let block = block.split_once("```").expect("the list ends").0;
    let listed: Vec<&str> = block.lines().map(str::trim).collect();
    assert_eq!(declared, listed, "core/src/cycle/mod.rs against docs/ARCHITECTURE.md");
}

#[test]
fn documents_are_wrapped_where_a_diff_can_be_read() {
    const COLUMNS: usize = 120;
    let mut faults = Vec::new();
    for path in files(&["md"]) {
        let mut fenced = false;
        for (at, line) in read(&path).lines().enumerate() {
            fenced ^= line.trim_start().starts_with("```");
            // A row of a table cannot be wrapped, and code is as long as it is.
            let prose = !fenced && !line.trim_start().starts_with('|');
            if prose && line.chars().count() > COLUMNS && line.trim().contains(' ') {
                faults.push(format!("{}:{} is longer than {COLUMNS}", path.display(), at + 1));
            }
        }
    }
    report(&faults);
}
