//! Values to typed structures, with the path of what does not fit.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::FieldError;

/// Reads a structure out of a value.
pub(crate) fn decode<T: DeserializeOwned>(value: Value) -> Result<T, FieldError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        // A path of the whole value prints as a dot.
        let field = if path == "." { String::new() } else { path };
        FieldError { field, problem: plain(&error.into_inner().to_string()) }
    })
}

/// The message with a suggestion where a name is misspelt.
fn plain(message: &str) -> String {
    // serde puts the unknown name and then the known ones between backquotes.
    let mut names = message.split('`').skip(1).step_by(2);
    if message.starts_with("unknown field `") {
        // The path ends with the unknown name already.
        let unknown = names.next().unwrap_or_default();
        let known: Vec<&str> = names.collect();
        format!("is not known here; {}", expected_one_of(unknown, &known))
    } else if message.starts_with("unknown variant `") {
        let unknown = names.next().unwrap_or_default();
        let known: Vec<&str> = names.collect();
        format!("{unknown:?} is not known here; {}", expected_one_of(unknown, &known))
    } else {
        in_words(message)
    }
}

/// serde names Rust types in what it expected; a file's author knows numbers, lists and mappings.
fn in_words(message: &str) -> String {
    let Some((given, expected)) = message.rsplit_once("expected ") else {
        return message.to_owned();
    };
    let expected = match expected {
        "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i32" | "i64" => "a whole number",
        "a sequence" => "a list",
        "a map" => "a mapping",
        "map with a single key" => "a mapping with a single key",
        "a boolean" => "true or false",
        other if other.starts_with("struct ") => "a mapping",
        other => other,
    };
    format!("{}expected {expected}", given.replace(": map, ", ": mapping, "))
}

/// `did you mean b?` where one of the names is close, and the names in any case.
pub(crate) fn expected_one_of(given: &str, known: &[&str]) -> String {
    let list = known.join(", ");
    match nearest(given, known) {
        Some(name) => format!("did you mean {name}? (expected one of {list})"),
        None if known.is_empty() => "expected no field".to_owned(),
        None => format!("expected one of {list}"),
    }
}

/// The known name a given one is probably meant to be.
fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = given.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&lower, &name.to_lowercase());
    let best = known.iter().copied().min_by_key(|name| distance(name))?;
    (distance(best) <= best.len().max(3) / 3).then_some(best)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Inner {
        #[expect(dead_code, reason = "only its reading is looked at")]
        min_member: u32,
    }

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[expect(dead_code, reason = "only its reading is looked at")]
        list: Vec<Inner>,
    }

    fn problem(value: Value) -> (String, String) {
        let error = decode::<Outer>(value).unwrap_err();
        (error.field, error.problem)
    }

    #[test]
    fn a_misspelt_field_is_named_with_the_one_it_should_be() {
        let (field, problem) = problem(json!({"list": [{"minMembr": 1}]}));
        assert_eq!(field, "list[0].minMembr");
        assert_eq!(
            problem,
            "is not known here; did you mean minMember? (expected one of minMember)"
        );
    }

    #[test]
    fn a_value_of_the_wrong_type_is_named_with_its_path() {
        let (field, problem) = problem(json!({"list": [{"minMember": "two"}]}));
        assert_eq!(field, "list[0].minMember");
        assert_eq!(problem, "invalid type: string \"two\", expected a whole number, 0 or more");
    }
}
