//! An error together with everything that led to it, on one line.

use std::error::Error;

/// The error with its causes: of a failed connection the first sentence alone says little.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot connect")]
    struct Outer(#[source] Middle);

    /// A cause of its own.
    #[derive(Debug, thiserror::Error)]
    #[error("refused: no such port")]
    struct Middle(#[source] std::fmt::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read: {0}")]
    struct Repeats(#[source] Middle);

    #[test]
    fn causes_follow_each_other_and_none_is_said_twice() {
        let error = Outer(Middle(std::fmt::Error));
        let last = std::fmt::Error.to_string();
        assert_eq!(with_causes(&error), format!("cannot connect: refused: no such port: {last}"));
        let error = Repeats(Middle(std::fmt::Error));
        assert_eq!(with_causes(&error), format!("cannot read: refused: no such port: {last}"));
    }
}
