//! What is wrong with the input, and where.

use std::fmt;
use std::path::PathBuf;

/// One thing wrong with the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The file.
    pub file: PathBuf,
    /// Which document of the file, counted from 1; none when the file could not be read so far.
    pub document: Option<usize>,
    /// The line, where it is known.
    pub line: Option<usize>,
    /// Path of the field, as in `spec.objects[2].spec.minMember`; empty is the whole document.
    pub field: String,
    /// What is wrong and what was expected.
    pub problem: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(document) = self.document {
            write!(f, ": document {document}")?;
        }
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// Everything wrong with the input, never empty; nothing of the input is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadErrors(pub Vec<LoadError>);

/// Errors printed before the rest is only counted: a mistake in a template repeats a thousandfold.
const SHOWN_MAX: usize = 50;

impl fmt::Display for LoadErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().take(SHOWN_MAX).enumerate() {
            write!(f, "{}{error}", if at == 0 { "" } else { "\n" })?;
        }
        match self.0.len().saturating_sub(SHOWN_MAX) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for LoadErrors {}

impl From<LoadError> for LoadErrors {
    fn from(error: LoadError) -> Self {
        Self(vec![error])
    }
}

/// What is wrong with a field of a document, before it is known which document that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    /// Path of the field from the value that was read.
    pub(crate) field: String,
    /// What is wrong and what was expected.
    pub(crate) problem: String,
}

impl FieldError {
    pub(crate) fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }

    /// The same error, seen from the value that holds the one that was read.
    #[must_use]
    pub(crate) fn within(mut self, outer: &str) -> Self {
        self.field = join(outer, &self.field);
        self
    }
}

/// Two parts of a path as one.
pub(crate) fn join(outer: &str, inner: &str) -> String {
    match (outer, inner) {
        ("", path) | (path, "") => path.to_owned(),
        (outer, inner) if inner.starts_with('[') => format!("{outer}{inner}"),
        (outer, inner) => format!("{outer}.{inner}"),
    }
}
