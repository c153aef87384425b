//! Whole files in, Scenarios or the exact complaints out.

mod refused;
mod expanded;
mod varied;
mod kai;
mod random;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Writes the files into a folder of their own and hands their paths to `act`.
fn with_files<T>(files: &[(&str, &str)], act: impl FnOnce(&[PathBuf]) -> T) -> T {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("muster-load-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
    for (path, (_, text)) in paths.iter().zip(files) {
        fs::write(path, text).unwrap();
    }
    let result = act(&paths);
    fs::remove_dir_all(&folder).unwrap();
    result
}

fn load_text(text: &str) -> Result<Scenario, LoadErrors> {
    with_files(&[("f.yaml", text)], load_one)
}

/// The complaints about a text, without the folder's name.
fn complaints(text: &str) -> Vec<String> {
    let errors = load_text(text).expect_err("the text must be refused").0;
    let named = errors.into_iter().map(|error| LoadError { file: "f.yaml".into(), ..error });
    named.map(|error| error.to_string()).collect()
}

/// The complaints about a Scenario's spec, which begins on line 3.
fn spec_complaints(spec: &str) -> Vec<String> {
    complaints(&format!("kind: Scenario\nspec:\n{spec}"))
}

fn read_spec(spec: &str) -> Scenario {
    load_text(&format!("kind: Scenario\nspec:\n{spec}")).unwrap_or_else(|errors| panic!("{errors}"))
}
