//! What a failed attempt at a call means: is another one worth it, and may this one have been carried
//! out all the same?
//!
//! | the attempt | tried again | carried out? |
//! | --- | --- | --- |
//! | no answer in time, connection lost, 502 to 504 | while this process leads | maybe, even later |
//! | 500: etcd in trouble, or a broken webhook, which lasts | a few times | maybe |
//! | a success that cannot be read | no | maybe |
//! | 401: the client fetches credentials that ran out | a few times | no |
//! | 429: the server is busy | while this process leads | no |
//! | any other refusal | no | no |
//!
//! Each cause has its own count: neither time-outs nor a server that was busy use up the attempts of
//! another cause. Once an attempt may have been carried out, no later refusal says that it was not;
//! only the object does.

use kube::core::Status;
use tokio::time::Instant;

/// Attempts that may fail for one cause that can last forever.
const ATTEMPTS_MAX: u32 = 5;
/// Attempts after a conflict that left the object as it was.
const CONFLICTS_MAX: u32 = 3;

/// Why a call is given up.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum Failure {
    /// The server said no, and will say it again.
    #[error("{message}")]
    Refused {
        /// HTTP status.
        code: u16,
        /// What it said.
        message: String,
    },
    /// The object has changed so that the call can never be carried out.
    #[error("{0}")]
    Overtaken(String),
    /// This process may issue no calls any more.
    #[error("this process leads no longer")]
    NotLeading,
}

impl Failure {
    /// Was it refused with that HTTP status?
    pub(crate) fn is(&self, status: u16) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == status)
    }
}

/// How one attempt failed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cause {
    /// No answer in time, or none of the server's own: the connection was lost, or a gateway gave up.
    NoAnswer,
    /// The server had no time for it.
    Busy,
    /// The server did not take the credentials.
    Unauthorized(Failure),
    /// Something went wrong inside the server.
    ServerError(Failure),
    /// The server said that all is well in words that make no sense.
    Garbled(Failure),
    /// The server said no, or the request could not even be built.
    Refused(Failure),
}

impl Cause {
    pub(super) fn of(error: &kube::Error) -> Self {
        let status = match error {
            kube::Error::Api(status) => status,
            kube::Error::BuildRequest(_) | kube::Error::HttpError(_) => {
                return Self::Refused(without_status(error));
            }
            kube::Error::SerdeError(_) => return Self::Garbled(without_status(error)),
            _ => return Self::NoAnswer,
        };
        let failure = Failure::Refused { code: status.code, message: words(status) };
        match status.code {
            // The same number says that the server is busy, and that a disruption budget is used up.
            429 if is_about_budget(status) => Self::Refused(failure),
            429 => Self::Busy,
            502..=504 => Self::NoAnswer,
            401 => Self::Unauthorized(failure),
            500 => Self::ServerError(failure),
            _ => Self::Refused(failure),
        }
    }
}

fn without_status(error: &kube::Error) -> Failure {
    Failure::Refused { code: 0, message: error.to_string() }
}

fn is_about_budget(status: &Status) -> bool {
    let causes = status.details.as_ref().map(|details| details.causes.as_slice());
    causes.unwrap_or_default().iter().any(|cause| cause.reason == "DisruptionBudget")
}

fn words(status: &Status) -> String {
    if status.message.is_empty() {
        format!("{} ({})", status.reason, status.code)
    } else {
        status.message.clone()
    }
}

/// Is another attempt worth it?
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Retry {
    /// Yes, after a pause.
    Again,
    /// No.
    GiveUp(Failure),
}

/// Does an object have to be asked how a call about it ended?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// No: the call was never carried out.
    No,
    /// Yes, and if it was not carried out by then, it never will be.
    Once,
    /// Yes, but it may still be carried out later: if it was not, make it again.
    AndRetry,
}

/// What is known of the attempts at one call, over all requests made for it.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    unauthorized: u32,
    server_errors: u32,
    conflicts: u32,
    /// May one of them have been carried out?
    uncertain: bool,
    /// Until when one of them may still be carried out.
    lands_by: Option<Instant>,
}

impl Attempts {
    /// Notes a failed attempt. One without an answer may be carried out until the time given.
    pub(super) fn failed(&mut self, cause: Cause, lands_by: Instant) -> Retry {
        match cause {
            Cause::NoAnswer => {
                self.uncertain = true;
                self.lands_by = self.lands_by.max(Some(lands_by));
                Retry::Again
            }
            Cause::Busy => Retry::Again,
            Cause::Unauthorized(failure) => a_few_times(&mut self.unauthorized, failure),
            Cause::ServerError(failure) => {
                self.uncertain = true;
                a_few_times(&mut self.server_errors, failure)
            }
            Cause::Garbled(failure) => {
                self.uncertain = true;
                Retry::GiveUp(failure)
            }
            Cause::Refused(failure) => {
                self.conflicts += u32::from(failure.is(409));
                Retry::GiveUp(failure)
            }
        }
    }

    /// Attempts that were answered with a conflict.
    pub(super) fn conflicts(&self) -> u32 {
        self.conflicts
    }

    /// Does the object have to be asked, now that the call would be given up?
    pub(super) fn ask(&self, failure: &Failure, now: Instant) -> Ask {
        // A conflict says that the object is not as the call takes it to be.
        let conflict = failure.is(409);
        if !self.uncertain && !conflict {
            return Ask::No;
        }
        let late = self.lands_by.is_some_and(|lands_by| now < lands_by);
        if late || conflict && self.conflicts <= CONFLICTS_MAX { Ask::AndRetry } else { Ask::Once }
    }
}

fn a_few_times(count: &mut u32, failure: Failure) -> Retry {
    *count += 1;
    if *count < ATTEMPTS_MAX { Retry::Again } else { Retry::GiveUp(failure) }
}

#[cfg(test)]
mod tests;
