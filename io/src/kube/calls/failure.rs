//! What an error of a call means: try again, or take it as the answer.

use kube::core::Status;

/// Why a call was not carried out.
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

/// What to do about an error.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fate {
    /// The server, or the way to it, is in trouble; it may have carried the call out.
    Again,
    /// The same, but of a kind that can last forever: a broken webhook looks like this.
    AgainAFewTimes(Failure),
    /// The answer is no.
    Refused(Failure),
}

pub(super) fn fate(error: &kube::Error) -> Fate {
    let status = match error {
        kube::Error::Api(status) => status,
        // The call could not even be made, or its answer makes no sense.
        kube::Error::BuildRequest(_) | kube::Error::HttpError(_) | kube::Error::SerdeError(_) => {
            return Fate::Refused(Failure::Refused { code: 0, message: error.to_string() });
        }
        _ => return Fate::Again,
    };
    let failure = Failure::Refused { code: status.code, message: words(status) };
    match status.code {
        // The same number says that the server is busy, and that a disruption budget is used up.
        429 if is_about_budget(status) => Fate::Refused(failure),
        429 | 502..=504 => Fate::Again,
        // Credentials that ran out are fetched anew by the client.
        401 | 500 => Fate::AgainAFewTimes(failure),
        _ => Fate::Refused(failure),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn api(code: u16, message: &str) -> kube::Error {
        kube::Error::Api(Status { code, message: message.to_owned(), ..Status::default() }.boxed())
    }

    #[test]
    fn trouble_is_tried_again_and_answers_are_taken() {
        for code in [429, 502, 503, 504] {
            assert_eq!(fate(&api(code, "busy")), Fate::Again, "{code}");
        }
        for code in [400, 403, 404, 409, 422] {
            let refused = Failure::Refused { code, message: "no".to_owned() };
            assert_eq!(fate(&api(code, "no")), Fate::Refused(refused), "{code}");
        }
        assert!(matches!(fate(&api(500, "webhook")), Fate::AgainAFewTimes(_)));
    }
}
