//! What the server answers, under the names Volcano gives it.

use std::collections::BTreeMap;

use serde::Deserialize;

/// May the pod run on the node?
#[derive(Debug, Deserialize)]
pub(super) struct Predicate {
    /// Why not; empty where it may.
    #[serde(default)]
    status: Option<String>,
    /// Kubernetes' code of the reason.
    #[serde(default)]
    code: Option<i64>,
}

/// Kubernetes' code for a refusal that no eviction can lift.
const UNRESOLVABLE: i64 = 3;

impl Predicate {
    /// Why not, and whether that is for good.
    pub(super) fn refusal(&self) -> Option<(&str, bool)> {
        let why = self.status.as_deref().filter(|why| !why.is_empty())?;
        Some((why, self.code == Some(UNRESOLVABLE)))
    }
}

/// How good is each node?
#[derive(Debug, Deserialize)]
pub(super) struct Prioritize {
    #[serde(default, rename = "nodeScore")]
    scores: Option<BTreeMap<String, f64>>,
    #[serde(default, rename = "errorMessage")]
    error: Option<String>,
}

impl Prioritize {
    /// The scores by name, or why there are none.
    pub(super) fn scores(self) -> Result<BTreeMap<String, f64>, String> {
        match (self.error.filter(|error| !error.is_empty()), self.scores) {
            (Some(error), _) => Err(error),
            (None, Some(scores)) => Ok(scores),
            (None, None) => Err("the answer has neither scores nor an error".to_owned()),
        }
    }
}

/// Who may be evicted?
#[derive(Debug, Deserialize)]
pub(super) struct Victims {
    /// What the answer is worth: 0 is no opinion.
    #[serde(default)]
    pub(super) status: i64,
    #[serde(default)]
    victims: Option<Vec<Victim>>,
}

impl Victims {
    pub(super) fn named(&self) -> &[Victim] {
        self.victims.as_deref().unwrap_or_default()
    }
}

/// Which task, as far as it takes to find it.
#[derive(Debug, Deserialize)]
pub(super) struct Victim {
    #[serde(default, rename = "UID", alias = "uid")]
    pub(super) uid: String,
    #[serde(default, rename = "Namespace", alias = "namespace")]
    pub(super) namespace: String,
    #[serde(default, rename = "Name", alias = "name")]
    pub(super) name: String,
}

/// May the job be admitted? Above 0 it may, below it may not, and 0 is no opinion.
#[derive(Debug, Deserialize)]
pub(super) struct JobEnqueueable {
    pub(super) status: i64,
}

/// Has the queue too much?
#[derive(Debug, Deserialize)]
pub(super) struct QueueOverused {
    pub(super) overused: bool,
}

/// May the job start?
#[derive(Debug, Deserialize)]
pub(super) struct JobReady {
    pub(super) status: bool,
}

/// What is said to a pod's place.
#[derive(Debug, Deserialize)]
pub(super) struct Event {
    #[serde(default, rename = "errorMessage")]
    error: Option<String>,
}

impl Event {
    /// Why the pod may not have it.
    pub(super) fn objection(self) -> Option<String> {
        self.error.filter(|error| !error.is_empty())
    }
}

/// An answer nobody reads: whatever it is, it was heard.
#[derive(Debug)]
pub(super) struct Heard;

/// What an answer can be read as.
pub(super) trait Answer: Sized {
    /// Reads it; why it makes no sense otherwise.
    fn read(answer: &[u8]) -> Result<Self, String>;
}

impl Answer for Heard {
    fn read(_: &[u8]) -> Result<Self, String> {
        Ok(Self)
    }
}

macro_rules! in_json {
    ($($answer:ty),*) => {
        $(impl Answer for $answer {
            fn read(answer: &[u8]) -> Result<Self, String> {
                let read = serde_json::from_slice(answer);
                read.map_err(|error| format!("the answer makes no sense: {error}"))
            }
        })*
    };
}

in_json!(Predicate, Prioritize, Victims, JobEnqueueable, QueueOverused, JobReady, Event);
