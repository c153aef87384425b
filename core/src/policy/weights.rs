//! Weights of resources, as several plugins take them: `<prefix>.cpu`, `<prefix>.memory`, a comma
//! separated list of further names in `<prefix>.resources`, and `<prefix>.resources.<name>` for each.

use crate::config::Arguments;
use crate::resource::{Dim, ResourceNames};

/// The weights given, 1 where none is or where one is negative.
pub(super) fn weights(
    arguments: &Arguments,
    prefix: &str,
    names: &mut ResourceNames,
) -> Vec<(Dim, i64)> {
    let weight = |key: &str| match arguments.int(&format!("{prefix}.{key}"), 1) {
        weight if weight < 0 => 1,
        weight => weight,
    };
    let mut weights = vec![(Dim::CPU, weight("cpu")), (Dim::MEMORY, weight("memory"))];
    let list = format!("{prefix}.resources");
    let listed = arguments.text(&list, "").split(',').map(str::trim);
    for name in listed.filter(|name| !name.is_empty()) {
        weights.push((names.dim(&name.into()), weight(&format!("resources.{name}"))));
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ArgumentValue::{Int, Text};

    #[test]
    fn listed_names_weigh_what_they_are_given_and_one_otherwise() {
        let given = [
            ("p.cpu", Int(3)),
            ("p.memory", Int(-2)),
            ("p.resources", Text("a/x, a/y".into())),
            ("p.resources.a/x", Int(7)),
            ("other.cpu", Int(9)),
        ];
        let given = given.map(|(key, value)| (key.to_owned(), value)).to_vec();
        let mut names = ResourceNames::default();
        let weights = weights(&Arguments(given), "p", &mut names);
        let pairs: Vec<_> =
            weights.iter().map(|&(dim, weight)| (&**names.name(dim), weight)).collect();
        assert_eq!(pairs, [("cpu", 3), ("memory", 1), ("a/x", 7), ("a/y", 1)]);
    }
}
