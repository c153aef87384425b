//! Truth as Go's `strconv.ParseBool` reads it, which Volcano applies to texts.

/// The value a text stands for.
pub fn parse(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_go_are_taken_and_no_others() {
        for text in ["1", "t", "T", "true", "TRUE", "True"] {
            assert_eq!(parse(text), Some(true), "{text}");
        }
        for text in ["0", "f", "F", "false", "FALSE", "False"] {
            assert_eq!(parse(text), Some(false), "{text}");
        }
        for text in ["", "tRUE", "yes", "on", "2", " true"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
