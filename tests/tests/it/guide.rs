//! The guide of contributors, followed: the plugin it shows is added to a copy of the core under
//! another name, by the steps it lists and no others, and must then be known with all it says of
//! itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use muster_tests::source::{files, read};

/// What the copy's own test asks: the plugin is in the registry, and has a say where the one it was
/// made from has.
const TEST: &str = r#"
use muster_core::policy::{Registry, Support};

#[test]
fn the_plugin_of_the_guide_is_known() {
    let registry = Registry::standard();
    let find = |name| registry.plugin(name).expect("a plugin of the list");
    let (toy, model) = (find("toy"), find("conformance"));
    assert_eq!(toy.support, Support::Full);
    assert_eq!(toy.summary, model.summary);
    assert_eq!(format!("{:?}", toy.points), format!("{:?}", model.points));
    assert_eq!(format!("{:?}", toy.words), format!("{:?}", model.words));
    assert!(toy.build.is_some(), "it can be asked");
}
"#;

/// The section on plugins.
fn section() -> String {
    let guide = read(Path::new("CONTRIBUTING.md"));
    let from = guide.split_once("\n## A plugin\n").expect("the guide has the section").1;
    from.split("\n## ").next().unwrap_or(from).to_owned()
}

/// The plugin the section shows.
fn sample(section: &str) -> &str {
    let block = section.split_once("```rust\n").expect("the section shows a plugin").1;
    block.split_once("```").expect("the sample ends").0
}

/// A workspace that has the core and nothing else.
fn copy_of_core() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("guide");
    // What an earlier run built stays, so that only the core itself is built again.
    for part in ["core", "Cargo.toml", "Cargo.lock"] {
        let old = folder.join(part);
        let gone =
            if old.is_dir() { std::fs::remove_dir_all(&old) } else { std::fs::remove_file(&old) };
        assert!(gone.is_ok() || !old.exists(), "{} can be removed", old.display());
    }
    let core = files(&["rs", "toml"]).filter(|path| path.starts_with("core"));
    for path in core.chain(["Cargo.lock".into()]) {
        // Without what only its own tests need.
        let text = read(&path).replace("[dev-dependencies]\nproptest.workspace = true\n", "");
        write(&folder.join(&path), &text);
    }
    let workspace = read(Path::new("Cargo.toml"));
    let alone = workspace
        .replace(r#"members = ["core", "io", "benches", "tests"]"#, r#"members = ["core"]"#);
    let alone = alone.replace("default-members = [\"io\"]\n", "");
    assert_ne!(alone, workspace, "the list of members is as it was");
    write(&folder.join("Cargo.toml"), &alone);
    folder
}

fn write(path: &Path, text: &str) {
    let folder = path.parent().expect("a file is in a folder");
    std::fs::create_dir_all(folder).expect("the folder can be made");
    std::fs::write(path, text).expect("the file can be written");
}

#[test]
fn a_plugin_added_as_the_guide_says_is_known_and_has_its_say() {
    let section = section();
    let (file, list) = ("core/src/policy/plugins/<name>.rs", "core/src/policy/plugins/mod.rs");
    for step in [file, list, "a `mod` line and a row in `STANDARD`"] {
        assert!(section.contains(step), "the guide names {step}");
    }
    let folder = copy_of_core();
    let toy = sample(&section).replace("\"conformance\"", "\"toy\"");
    write(&folder.join(file.replace("<name>", "toy")), &toy);
    let plugins = read(Path::new(list));
    let plugins = plugins.replacen("mod conformance;", "mod conformance;\nmod toy;", 1);
    let plugins =
        plugins.replacen("&conformance::SPEC,", "&conformance::SPEC,\n    &toy::SPEC,", 1);
    write(&folder.join(list), &plugins);
    write(&folder.join("core/tests/toy.rs"), TEST);

    let cargo = Command::new(env!("CARGO"))
        .current_dir(&folder)
        .args(["test", "--offline", "--quiet", "--test", "toy", "--target-dir", "target"])
        // Nothing here is measured: what is built fastest serves best.
        .args(["--config", "profile.dev.opt-level=0", "--config", "profile.dev.debug=false"])
        .args(["--config", "profile.dev.package.\"*\".opt-level=0"])
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo can be started");
    let said = String::from_utf8_lossy(&cargo.stderr);
    assert!(cargo.status.success(), "{said}\n{}", String::from_utf8_lossy(&cargo.stdout));
}
