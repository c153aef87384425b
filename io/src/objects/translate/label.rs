//! What Kubernetes takes for a label key and for a label value.

/// Longest value, and longest name in a key.
const PART_MAX: usize = 63;

/// Longest prefix of a key.
const PREFIX_MAX: usize = 253;

/// Is it a label key: a name, perhaps behind a domain and a slash?
pub(crate) fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        None => is_part(key),
        Some((prefix, name)) => is_domain(prefix) && is_part(name),
    }
}

/// Is it a label value? The empty one is.
pub(crate) fn is_value(value: &str) -> bool {
    value.is_empty() || is_part(value)
}

fn is_part(text: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    text.len() <= PART_MAX && text.bytes().all(|byte| inner(&byte)) && ends_well(text)
}

fn is_domain(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let word = |word: &str| word.bytes().all(inner) && ends_well(word);
    text.len() <= PREFIX_MAX && text.split('.').all(word)
}

/// Are both ends letters or digits? Nothing at all has no ends.
fn ends_well(text: &str) -> bool {
    let bytes = text.as_bytes();
    [bytes.first(), bytes.last()].iter().all(|end| end.is_some_and(u8::is_ascii_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_name_perhaps_behind_a_domain() {
        let long = "a".repeat(63);
        for key in ["app", "A.b_c-1", "kubernetes.io/hostname", "x/1", &long] {
            assert!(is_key(key), "{key:?}");
        }
        let longer = "a".repeat(64);
        for key in ["", "/", "x/", "/x", "a b", "-a", "a.", "A.b/x", "a..b/x", "a/b/c", &longer] {
            assert!(!is_key(key), "{key:?}");
        }
    }

    #[test]
    fn a_value_may_be_empty_but_has_no_blanks() {
        assert!(is_value("") && is_value("v1.2_x"));
        assert!(!is_value("a b") && !is_value("-a") && !is_value(&"a".repeat(64)));
    }
}
