//! Finding the name that was probably meant.

use super::error::Hint;

/// The known name closest to `name`, or all of them when none is close. Case does not count, so
/// that `gangPreempt` finds `gangpreempt`.
pub(super) fn hint(name: &str, known: impl IntoIterator<Item = &'static str>) -> Hint {
    let known: Vec<&'static str> = known.into_iter().collect();
    if known.is_empty() {
        return Hint::NoneTaken;
    }
    match nearest(name, &known) {
        Some(found) => Hint::Nearest(found.to_owned()),
        None => Hint::Known(known),
    }
}

fn nearest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    // A name is a few words at most; comparing a whole paragraph would only cost time.
    const LONGEST: usize = 200;
    if name.len() > LONGEST {
        return None;
    }
    let wanted = name.to_lowercase();
    let allowed = wanted.chars().count().div_ceil(3).min(4);
    known
        .iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase()), *candidate)
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_keyboard_finds_the_name_and_another_word_lists_all() {
        let known = ["gang", "gangpreempt", "priority"];
        assert_eq!(hint("gnag", known), Hint::Nearest("gang".to_owned()));
        assert_eq!(hint("GangPreempt", known), Hint::Nearest("gangpreempt".to_owned()));
        assert_eq!(hint("volumes", known), Hint::Known(known.to_vec()));
        assert_eq!(hint("volumes", []), Hint::NoneTaken);
    }
}
