//! Weights of resources, as several plugins take them: `<prefix>.cpu`, `<prefix>.memory`, a comma
//! separated list of further names in `<prefix>.resources`, and `<prefix>.resources.<name>` for each.

use super::Setup;
use crate::resource::Dim;

/// The weights of the arguments with that prefix.
pub(super) fn weights(setup: &mut Setup<'_>, prefix: &str) -> Vec<(Dim, i64)> {
    let arguments = setup.arguments;
    let weight = |key: &str| arguments.int(&format!("{prefix}.{key}"));
    let mut weights = vec![(Dim::CPU, weight("cpu")), (Dim::MEMORY, weight("memory"))];
    let listed = arguments.text(&format!("{prefix}.resources")).split(',').map(str::trim);
    for name in listed.filter(|name| !name.is_empty()) {
        weights.push((setup.names.dim(&name.into()), weight(&format!("resources.{name}"))));
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ArgumentValue::{Int, Text};
    use crate::config::{ArgumentKind, ArgumentSpec, Arguments, Gates, Values, arg};
    use crate::policy::Clock;
    use crate::resource::ResourceNames;

    const SPECS: &[ArgumentSpec] = &[
        arg("p.cpu", ArgumentKind::IntFrom(0), "1", "weight of cpu"),
        arg("p.memory", ArgumentKind::IntFrom(0), "1", "weight of memory"),
        arg("p.resources", ArgumentKind::Text, "", "further names"),
        arg("p.resources.*", ArgumentKind::IntFrom(0), "1", "weight of that one"),
    ];

    #[test]
    fn listed_names_weigh_what_they_are_given_and_one_otherwise() {
        let given = [
            ("p.cpu", Int(3)),
            ("p.memory", Int(-2)),
            ("p.resources", Text("a/x, a/y".into())),
            ("p.resources.a/x", Int(7)),
            ("other.cpu", Int(9)),
        ];
        let given = Arguments(given.map(|(key, value)| (key.to_owned(), value)).to_vec());
        let mut names = ResourceNames::default();
        let arguments = Values::new("test", SPECS, &given);
        let clock = Clock::default();
        let mut setup =
            Setup { gates: Gates::default(), arguments, clock: &clock, names: &mut names };
        let weights = weights(&mut setup, "p");
        let pairs: Vec<_> =
            weights.iter().map(|&(dim, weight)| (&**names.name(dim), weight)).collect();
        assert_eq!(pairs, [("cpu", 3), ("memory", 1), ("a/x", 7), ("a/y", 1)]);
    }
}
