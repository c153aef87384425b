//! What the configuration says of the server: where it is, what it is asked, how long it has.

use std::time::Duration;

use http::Uri;
use muster_core::config::ArgumentKind::{self, Bool, List, Text};
use muster_core::config::{ArgumentSpec, Gate, Values, arg};
use muster_core::policy::BadArgument;

use super::tls::{self, Tls};

/// Key of the address.
const PREFIX: &str = "extender.urlPrefix";
/// Key of the time-out.
const TIMEOUT: &str = "extender.httpTimeout";

/// Every argument.
pub(super) const ARGUMENTS: &[ArgumentSpec] = &[
    arg(PREFIX, Text, "", "address all verbs are appended to, with http:// or https://"),
    arg(TIMEOUT, ArgumentKind::Duration, "1s", "longest wait for an answer"),
    arg(Verb::SessionOpen.key(), Text, "", "called when a cycle starts"),
    arg(Verb::SessionClose.key(), Text, "", "called when a cycle ends"),
    arg(Verb::Predicate.key(), Text, "", "asked whether a pod may run on a node"),
    arg(Verb::Prioritize.key(), Text, "", "asked for a score of each node"),
    arg(Verb::Preemptable.key(), Text, "", "asked which pods preempt may evict"),
    arg(Verb::Reclaimable.key(), Text, "", "asked which pods reclaim may evict"),
    arg(Verb::QueueOverused.key(), Text, "", "asked whether a queue has too much"),
    arg(Verb::JobEnqueueable.key(), Text, "", "asked whether a job may be admitted"),
    arg(Verb::JobEnqueued.key(), Text, "", "told that a job was admitted"),
    arg(Verb::JobReady.key(), Text, "", "asked whether a job may start"),
    arg(Verb::Allocate.key(), Text, "", "told that a pod is placed; may refuse"),
    arg(Verb::Deallocate.key(), Text, "", "told that a pod loses its place"),
    arg("extender.ignorable", Bool, "false", "goes on without answers when the server fails"),
    arg(
        "extender.managedResources",
        List(&Text),
        "",
        "asks about pods only if they request one of these resources",
    ),
    arg(
        tls::CA,
        Text,
        "",
        "PEM file with the authorities that vouch for the server; else the system's",
    ),
    arg(tls::CERTIFICATE, Text, "", "PEM file with the certificate the server is shown"),
    arg(tls::KEY, Text, "", "PEM file with the key of that certificate"),
    arg(
        tls::SERVER_NAME,
        Text,
        "",
        "name the server's certificate is for, if not that of the address",
    ),
    arg(tls::INSECURE, Bool, "false", "takes any server for the right one: for trials only"),
];

/// Flags that mean nothing without one of these verbs.
pub(super) const NEEDED_BY_FLAG: &[(Gate, &str)] = &[
    (Gate::Predicate, Verb::Predicate.key()),
    (Gate::NodeOrder, Verb::Prioritize.key()),
    (Gate::Preemptable, Verb::Preemptable.key()),
    (Gate::Reclaimable, Verb::Reclaimable.key()),
    (Gate::Overused, Verb::QueueOverused.key()),
    (Gate::JobEnqueued, Verb::JobEnqueueable.key()),
    (Gate::JobReady, Verb::JobReady.key()),
];

/// What the server may be asked or told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Verb {
    SessionOpen,
    SessionClose,
    Predicate,
    Prioritize,
    Preemptable,
    Reclaimable,
    QueueOverused,
    JobEnqueueable,
    JobEnqueued,
    JobReady,
    Allocate,
    Deallocate,
}

impl Verb {
    /// Every verb, by its number.
    const ALL: [Self; 12] = [
        Self::SessionOpen,
        Self::SessionClose,
        Self::Predicate,
        Self::Prioritize,
        Self::Preemptable,
        Self::Reclaimable,
        Self::QueueOverused,
        Self::JobEnqueueable,
        Self::JobEnqueued,
        Self::JobReady,
        Self::Allocate,
        Self::Deallocate,
    ];

    /// The argument that gives it its path.
    const fn key(self) -> &'static str {
        match self {
            Self::SessionOpen => "extender.onSessionOpenVerb",
            Self::SessionClose => "extender.onSessionCloseVerb",
            Self::Predicate => "extender.predicateVerb",
            Self::Prioritize => "extender.prioritizeVerb",
            Self::Preemptable => "extender.preemptableVerb",
            Self::Reclaimable => "extender.reclaimableVerb",
            Self::QueueOverused => "extender.queueOverusedVerb",
            Self::JobEnqueueable => "extender.jobEnqueueableVerb",
            Self::JobEnqueued => "extender.jobEnqueuedVerb",
            Self::JobReady => "extender.jobReadyVerb",
            Self::Allocate => "extender.allocateFuncVerb",
            Self::Deallocate => "extender.deallocateFuncVerb",
        }
    }
}

/// What a question comes to that the server has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnFailure {
    /// It was never asked: others decide.
    LeaveOut,
    /// The answer is no.
    Refuse,
}

/// The arguments.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// The address, without a slash at its end.
    pub(super) prefix: String,
    pub(super) timeout: Duration,
    pub(super) on_failure: OnFailure,
    /// Resources one of which a pod must ask for, so that the server is asked about it; none is every
    /// pod.
    pub(super) managed: Vec<String>,
    /// What an `https` address goes by.
    pub(super) tls: Tls,
    /// Paths, by the number of the verb; empty where there is none.
    verbs: [String; Verb::ALL.len()],
}

impl Settings {
    pub(super) fn of(arguments: Values<'_>) -> Self {
        let timeout_ms = arguments.duration_ms(TIMEOUT).and_then(|ms| u64::try_from(ms).ok());
        let ignorable = arguments.bool("extender.ignorable");
        Self {
            prefix: arguments.text(PREFIX).trim_end_matches('/').to_owned(),
            timeout: Duration::from_millis(timeout_ms.unwrap_or(1_000)),
            on_failure: if ignorable { OnFailure::LeaveOut } else { OnFailure::Refuse },
            managed: arguments.texts("extender.managedResources").map(str::to_owned).collect(),
            tls: Tls::of(arguments),
            verbs: Verb::ALL.map(|verb| arguments.text(verb.key()).to_owned()),
        }
    }

    /// The path of a verb behind the address; none where the server is not asked that.
    pub(super) fn path(&self, verb: Verb) -> Option<&str> {
        Some(&*self.verbs[verb as usize]).filter(|path| !path.is_empty())
    }

    /// Is the server asked that?
    pub(super) fn has(&self, verb: Verb) -> bool {
        self.path(verb).is_some()
    }

    /// Is the server asked anything at all?
    pub(super) fn has_any(&self) -> bool {
        self.verbs.iter().any(|path| !path.is_empty())
    }
}

/// What is wrong with the arguments beyond their types.
pub(super) fn check(arguments: Values<'_>) -> Result<(), BadArgument> {
    let bad = |key: &str, problem: String| BadArgument { key: key.to_owned(), problem };
    let settings = Settings::of(arguments);
    if settings.timeout.is_zero() {
        let problem = "0 leaves the server no time to answer; write for example 1s";
        return Err(bad(TIMEOUT, problem.to_owned()));
    }
    tls::check(arguments, &settings.prefix)?;
    if !settings.has_any() && settings.prefix.is_empty() {
        return Ok(());
    }
    if !is_address(&settings.prefix) {
        let given = arguments.text(PREFIX);
        let problem = format!(
            "{given:?} is no address of a server; write for example http://my-extender:8713"
        );
        return Err(bad(PREFIX, problem));
    }
    let paths = Verb::ALL.into_iter().filter_map(|verb| Some((verb, settings.path(verb)?)));
    for (verb, path) in paths {
        if !is_address(&format!("{}/{path}", settings.prefix)) {
            let problem = format!("{path:?} is no path; write for example predicate");
            return Err(bad(verb.key(), problem));
        }
    }
    Ok(())
}

/// Is it the address of something on a server?
fn is_address(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else { return false };
    let scheme = matches!(uri.scheme_str(), Some("http" | "https"));
    scheme && uri.host().is_some_and(|host| !host.is_empty()) && uri.query().is_none()
}
