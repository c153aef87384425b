//! Reads Scenarios: files to documents, documents to objects, short forms to real objects.
//!
//! Everything wrong is collected and reported together; with any error nothing of the input is used.

mod error;
mod files;
mod documents;
mod decode;
mod item;
mod batch;
mod expect;
mod variants;
mod written;
mod references;
mod warnings;
mod build;
mod locate;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::scenario::Scenario;
use build::Builder;
use files::File;

pub(crate) use decode::decode;
pub(crate) use error::FieldError;
pub use error::{LoadError, LoadErrors};

/// `apiVersion` of a Scenario.
pub(crate) const API_VERSION: &str = "muster.sh/v1alpha1";

/// `kind` of a Scenario.
const KIND: &str = "Scenario";

/// The one Scenario that these files and directories make, for `simulate`: a single Scenario
/// document, or any number of plain manifests, which form one Scenario together. Of a Scenario with
/// variants it is the first.
pub fn load_one(paths: &[PathBuf]) -> Result<Scenario, LoadErrors> {
    Ok(first(together(paths)?))
}

/// The same as [`load_one`], but the variant of that name.
pub fn load_variant(paths: &[PathBuf], name: &str) -> Result<Scenario, LoadErrors> {
    variants::choose(together(paths)?, name)
}

/// The Scenario in a text, for one that is built in; of one with variants the first.
pub fn load_text(source_name: &str, text: &str) -> Result<Scenario, LoadErrors> {
    let path = PathBuf::from(source_name);
    let documents = documents::parse(&path, text.as_bytes())?;
    alone(Document::all(vec![File { path, documents }])).map(first)
}

/// The Scenario that these files and directories make, once for each of its variants.
fn together(paths: &[PathBuf]) -> Result<Vec<Scenario>, LoadErrors> {
    let files = files::read(paths)?;
    let documents = Document::all(files);
    let scenario = if documents.iter().any(|document| document.is_scenario) {
        alone(documents)
    } else {
        manifests(documents, paths).map(|scenario| vec![scenario])
    };
    scenario.map_err(locate::fill_lines)
}

fn first(runs: Vec<Scenario>) -> Scenario {
    runs.into_iter().next().expect("a Scenario that was read is at least one run")
}

/// Every Scenario in these files and below these directories, for `test`, in the order given and
/// then by path; one with variants once for each of them. A plain manifest file that is named itself
/// is a Scenario without expectations; one that is merely found in a directory is none.
pub fn load_all(paths: &[PathBuf]) -> Result<Vec<Scenario>, LoadErrors> {
    let mut scenarios = Vec::new();
    let mut errors = Vec::new();
    for file in files::read(paths)? {
        let path = file.path.clone();
        let named = paths.contains(&path);
        let documents = Document::all(vec![file]);
        let result = if documents.iter().any(|document| document.is_scenario) {
            let each = documents.into_iter().map(|document| alone(vec![document]));
            each.collect::<Result<Vec<_>, _>>().map(|runs| runs.into_iter().flatten().collect())
        } else if named {
            manifests(documents, std::slice::from_ref(&path)).map(|scenario| vec![scenario])
        } else {
            Ok(Vec::new())
        };
        match result {
            Ok(found) => scenarios.extend(found),
            Err(LoadErrors(found)) => errors.extend(found),
        }
    }
    if errors.is_empty() && scenarios.is_empty() {
        let file = paths.first().cloned().unwrap_or_default();
        let problem = format!("no Scenario here; expected a file with `kind: {KIND}`");
        errors.push(LoadError { file, document: None, line: None, field: String::new(), problem });
    }
    if errors.is_empty() { Ok(scenarios) } else { Err(locate::fill_lines(LoadErrors(errors))) }
}

/// A document and where it stands.
struct Document {
    file: PathBuf,
    /// Counted from 1.
    number: usize,
    value: Value,
    is_scenario: bool,
}

impl Document {
    fn all(files: Vec<File>) -> Vec<Self> {
        let numbered = |file: File| {
            let path = file.path;
            file.documents.into_iter().enumerate().map(move |(at, value)| Self {
                file: path.clone(),
                number: at + 1,
                is_scenario: value.get("kind").and_then(Value::as_str) == Some(KIND),
                value,
            })
        };
        files.into_iter().flat_map(numbered).collect()
    }

    fn error(&self, field: &str, problem: String) -> LoadErrors {
        LoadError {
            file: self.file.clone(),
            document: Some(self.number),
            line: None,
            field: field.to_owned(),
            problem,
        }
        .into()
    }
}

/// The Scenario that is the only document, once for each of its variants.
fn alone(mut documents: Vec<Document>) -> Result<Vec<Scenario>, LoadErrors> {
    if documents.len() == 1
        && let Some(document) = documents.pop_if(|document| document.is_scenario)
    {
        return Builder::new(document.file, document.number).scenario(document.value);
    }
    let mut errors = Vec::new();
    let mut seen = false;
    for document in &documents {
        let problem = if !document.is_scenario {
            "a Scenario stands alone; move this object into its spec.objects or leave it out"
        } else if std::mem::replace(&mut seen, true) {
            "a second Scenario; expected one at a time (`test` runs several)"
        } else {
            continue;
        };
        errors.extend(document.error("kind", problem.to_owned()).0);
    }
    Err(LoadErrors(errors))
}

/// The Scenario that plain manifests make: nothing but objects.
fn manifests(documents: Vec<Document>, paths: &[PathBuf]) -> Result<Scenario, LoadErrors> {
    let source = paths.first().cloned().unwrap_or_default();
    if documents.is_empty() {
        let problem = "no objects here; expected Kubernetes manifests or a Scenario".to_owned();
        let error =
            LoadError { file: source, document: None, line: None, field: String::new(), problem };
        return Err(error.into());
    }
    let mut builder = Builder::new(source.clone(), 1);
    let name = source.file_stem().map_or_else(|| "manifests".into(), |stem| stem.to_string_lossy());
    for document in documents {
        builder.manifest(&document.file, document.number, document.value);
    }
    builder.finish_manifests(&name)
}

/// Where a value came from, for messages.
#[derive(Clone, Debug)]
struct Origin {
    file: std::sync::Arc<Path>,
    document: usize,
    path: String,
}

impl Origin {
    /// The error as the user sees it.
    fn error(&self, error: FieldError) -> LoadError {
        let FieldError { field, problem } = error.within(&self.path);
        LoadError {
            file: self.file.to_path_buf(),
            document: Some(self.document),
            line: None,
            field,
            problem,
        }
    }
}

#[cfg(test)]
mod tests;
