//! Paths to files: what they name, or what lies below them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::documents;
use super::error::{LoadError, LoadErrors};

/// A file, parsed.
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) documents: Vec<Value>,
}

/// Every file these paths name, directories walked in order of name.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<File>, LoadErrors> {
    let mut found = Vec::new();
    let mut errors = Vec::new();
    for path in paths {
        walk(path, &mut found, &mut errors);
    }
    let mut files = Vec::new();
    for path in found {
        let parsed = fs::read(&path)
            .map_err(|problem| cannot_read(&path, &problem))
            .and_then(|bytes| documents::parse(&path, &bytes));
        match parsed {
            Ok(documents) => files.push(File { path, documents }),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(files) } else { Err(LoadErrors(errors)) }
}

/// A path that is given is read whatever its name; below a directory only YAML and JSON files are.
fn walk(path: &Path, found: &mut Vec<PathBuf>, errors: &mut Vec<LoadError>) {
    if !path.is_dir() {
        return found.push(path.to_owned());
    }
    let entries = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries: Vec<PathBuf> = match entries {
        Ok(entries) => entries.into_iter().map(|entry| entry.path()).collect(),
        Err(problem) => return errors.push(cannot_read(path, &problem)),
    };
    entries.sort();
    for entry in entries {
        // A link to a directory could lead back up and never end.
        let is_link = entry.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        let is_directory = entry.is_dir();
        if (is_directory && !is_link) || (!is_directory && has_manifest_name(&entry)) {
            walk(&entry, found, errors);
        }
    }
}

fn has_manifest_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| {
        ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    })
}

fn cannot_read(path: &Path, problem: &std::io::Error) -> LoadError {
    LoadError {
        file: path.to_owned(),
        document: None,
        line: None,
        field: String::new(),
        problem: format!("cannot be read: {problem}"),
    }
}
