//! What can be wrong with a configuration, in words that say where, what and what to do next.

use std::fmt;

use thiserror::Error;

use super::tree::Place;

/// Everything wrong with one configuration, in file order.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigErrors {
    /// The file's name as the reader of the message knows it.
    pub source_name: String,
    /// At least one.
    pub errors: Vec<ConfigError>,
}

/// One thing wrong, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Where it stands in the file.
    pub at: Place,
    /// Path of the field, such as `tiers[0].plugins[1].name`; empty for the file as a whole.
    pub field: String,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// The file could not be read at all.
    #[error("cannot be read: {message}")]
    Unreadable {
        /// What the system said.
        message: String,
    },
    /// A key twice in one map. Volcano would take the last.
    #[error("the key `{}` is there twice; keep one of them", plain(key))]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// The text is not one YAML document.
    #[error("not valid YAML: {message}")]
    Syntax {
        /// What the parser said.
        message: String,
    },
    /// The document is an object of a cluster.
    #[error(
        "a Kubernetes object (kind {}), not a configuration; give the configuration alone, as a \
         ConfigMap has it in one key of its `data`",
        plain(kind)
    )]
    KubernetesObject {
        /// Its kind.
        kind: String,
    },
    /// A key no section of that kind has. Volcano would skip it; here nothing is skipped silently.
    #[error("unknown key `{}`{hint}", plain(key))]
    UnknownKey {
        /// The key.
        key: String,
        /// What may have been meant.
        hint: Hint,
    },
    /// A key that looks like a switch but is none of the 25.
    #[error("there is no flag `{}`{hint}", plain(key))]
    UnknownFlag {
        /// The key.
        key: String,
        /// What may have been meant.
        hint: Hint,
    },
    /// An action that does not exist.
    #[error("there is no action `{}`{hint}", plain(name))]
    UnknownAction {
        /// The name.
        name: String,
        /// What may have been meant.
        hint: Hint,
    },
    /// An action of older versions of Volcano.
    #[error("the action `{name}` is gone from Volcano as well; take it out of the line")]
    RemovedAction {
        /// The name.
        name: &'static str,
    },
    /// A plugin that does not exist.
    #[error("there is no plugin `{}`{hint}", plain(name))]
    UnknownPlugin {
        /// The name.
        name: String,
        /// What may have been meant.
        hint: Hint,
    },
    /// An argument its action or plugin does not take.
    #[error("{owner} has no argument `{}`{hint}", plain(key))]
    UnknownArgument {
        /// The action or plugin.
        owner: String,
        /// The key.
        key: String,
        /// What may have been meant.
        hint: Hint,
    },
    /// A value of another kind than the field takes.
    #[error("expected {expected}, found {found}{advice}")]
    WrongType {
        /// What the field takes.
        expected: String,
        /// What is there.
        found: String,
        /// How to mend it, beginning with its own separator; empty where that is plain.
        advice: &'static str,
    },
    /// A value of the right kind that cannot be used.
    #[error("expected {expected}, found {found}")]
    OutOfRange {
        /// What the field takes.
        expected: String,
        /// What is there.
        found: String,
    },
    /// An argument its plugin cannot use.
    #[error("{problem}")]
    BadArgument {
        /// What the plugin says.
        problem: String,
    },
    /// A field that must be there is not.
    #[error("is missing; {advice}")]
    Missing {
        /// What to write.
        advice: &'static str,
    },
    /// The `actions` line holds no name.
    #[error("names no action; write for example \"enqueue, allocate, backfill\"")]
    NoActions,
    /// Nothing between two commas of the `actions` line.
    #[error("has an empty name; remove the extra comma")]
    EmptyActionName,
    /// A plugin is in the tiers twice, so it would count twice.
    #[error("plugin `{name}` is listed already in line {first_line}; list each plugin once")]
    DuplicatePlugin {
        /// The plugin.
        name: String,
        /// Line of the first.
        first_line: u64,
    },
    /// One switch in its two spellings on one plugin.
    #[error("`{key}` is the same flag as the one in line {first_line}; keep one of them")]
    DuplicateFlag {
        /// The second spelling.
        key: String,
        /// Line of the first.
        first_line: u64,
    },
    /// Two entries of `configurations` for one action.
    #[error("`{name}` is configured already in line {first_line}; put all its arguments there")]
    DuplicateConfiguration {
        /// The action.
        name: String,
        /// Line of the first.
        first_line: u64,
    },
    /// One argument with two values, by two of the places that may hold it.
    #[error("`{key}` has another value in line {first_line}; keep one of them")]
    Contradiction {
        /// The argument.
        key: String,
        /// Line of the other.
        first_line: u64,
    },
    /// Two ways of ordering queues that exclude each other.
    #[error(
        "drf with enableHierarchy and proportion are in one tier; both would order the queues, so \
         remove one or move it to another tier"
    )]
    HierarchyWithProportion,
}

/// What may have been meant, as the end of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// A known name that looks much like it.
    Nearest(String),
    /// All known names, because none looks like it.
    Known(Vec<&'static str>),
    /// The name is right, but belongs somewhere else.
    BelongsTo(&'static str),
    /// There is nothing to choose from.
    NoneTaken,
}

/// A name from the file as it may be shown: on one line, and not endless.
fn plain(name: &str) -> String {
    const LONGEST: usize = 60;
    let mut text: String = name.chars().take(LONGEST).collect::<String>().escape_debug().collect();
    if name.chars().count() > LONGEST {
        text.push('…');
    }
    text
}

impl fmt::Display for Hint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nearest(name) => write!(formatter, "; did you mean `{name}`?"),
            Self::Known(names) => write!(formatter, "; known are {}", names.join(", ")),
            Self::BelongsTo(owner) => write!(formatter, "; it is an argument of {owner}"),
            Self::NoneTaken => write!(formatter, "; it takes none"),
        }
    }
}

impl ConfigErrors {
    /// The same errors for a reader who does not have the text the places are in.
    #[must_use]
    pub(crate) fn without_places(mut self) -> Self {
        for error in &mut self.errors {
            error.at = Place::default();
        }
        self
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                writeln!(formatter)?;
            }
            write!(formatter, "{}{error}", self.source_name)?;
        }
        Ok(())
    }
}

impl fmt::Display for ConfigError {
    /// Everything after the file's name, including the colon that follows it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, field, problem } = self;
        if at.line > 0 {
            write!(formatter, ":{}:{}", at.line, at.column)?;
        }
        if !field.is_empty() {
            write!(formatter, ": {field}")?;
        }
        write!(formatter, ": {problem}")
    }
}

impl std::error::Error for ConfigErrors {}
