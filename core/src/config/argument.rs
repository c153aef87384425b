//! Arguments of actions and plugins: what they take, what was given, and what holds without.
//!
//! A default stands in one place, the [`ArgumentSpec`]. Code reads its arguments through [`Values`],
//! which knows it.

use super::duration;
use super::wall_clock::WallClock;
use crate::resource::Quantity;

/// One argument.
#[derive(Debug, PartialEq, Eq)]
pub struct ArgumentSpec {
    /// Its key; a trailing `*` stands for any name (for example `binpack.resources.*`).
    pub key: &'static str,
    /// What it takes.
    pub kind: ArgumentKind,
    /// What holds without it, as it would be written; empty where nothing does.
    pub default: &'static str,
    /// What it does, in one sentence.
    pub help: &'static str,
    /// Why it changes nothing, for an argument that is only accepted because files have it.
    pub idle: Option<&'static str>,
}

/// What an argument takes.
///
/// A number outside the range of its kind does not make a file invalid, because Volcano takes such a
/// file: the default applies instead, with a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// A whole number.
    Int,
    /// A whole number, at least this one.
    IntFrom(i64),
    /// A whole number from 0 to 100.
    Percent,
    /// A number, whole or not.
    Float,
    /// A number, at least this one.
    FloatFrom(i64),
    /// A number from 0 to 1.
    Fraction,
    /// Yes or no.
    Bool,
    /// A text.
    Text,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A length of time such as `1m30s`.
    Duration,
    /// The same, or one below zero such as `-1s`.
    SignedDuration,
    /// A time zone: a name such as `Europe/Berlin`, an offset such as `+02:00`, or `UTC`.
    TimeZone,
    /// A whole number, or a text with a Kubernetes quantity such as `200Mi`.
    Amount,
    /// A list of one kind of value.
    List(&'static ArgumentKind),
    /// A map with these entries.
    Map(&'static [ArgumentSpec]),
}

impl ArgumentKind {
    /// Is the whole number in range?
    pub fn admits_int(self, number: i64) -> bool {
        match self {
            Self::IntFrom(least) => number >= least,
            Self::Percent => (0..=100).contains(&number),
            _ => true,
        }
    }

    /// Is the number in range?
    pub fn admits_float(self, number: f64) -> bool {
        match self {
            Self::FloatFrom(least) => number >= least as f64,
            Self::Fraction => (0.0..=1.0).contains(&number),
            _ => true,
        }
    }
}

/// What amounts of a resource are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmountScale {
    /// Thousandths of a core; a bare number is such.
    MilliCpu,
    /// Bytes; a bare number is mebibytes.
    Bytes,
}

impl AmountScale {
    fn of(self, quantity: Quantity) -> i64 {
        match self {
            Self::MilliCpu => quantity.milli_ceil(),
            Self::Bytes => quantity.units_ceil(),
        }
    }

    fn count(self, bare: i64) -> i64 {
        match self {
            Self::MilliCpu => bare,
            Self::Bytes => bare.saturating_mul(1 << 20),
        }
    }
}

/// One line of a table of arguments.
pub const fn arg(
    key: &'static str,
    kind: ArgumentKind,
    default: &'static str,
    help: &'static str,
) -> ArgumentSpec {
    ArgumentSpec { key, kind, default, help, idle: None }
}

impl ArgumentSpec {
    /// The same for an argument that is accepted and changes nothing, for this reason.
    #[must_use]
    pub const fn without_effect(self, why: &'static str) -> Self {
        Self { idle: Some(why), ..self }
    }
}

/// The argument a key names among `specs`: an exact key first, then a pattern.
pub fn argument(specs: &'static [ArgumentSpec], key: &str) -> Option<&'static ArgumentSpec> {
    specs.iter().find(|spec| spec.key == key).or_else(|| {
        specs.iter().find(|spec| {
            spec.key
                .strip_suffix('*')
                .is_some_and(|prefix| key.len() > prefix.len() && key.starts_with(prefix))
        })
    })
}

/// Arguments that were given, by name, sorted; already checked against their specs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(pub Vec<(String, ArgumentValue)>);

/// Value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentValue {
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(String),
    /// A time zone as it was written, and what its clocks show in time since 1970.
    TimeZone(String, WallClock),
    /// Several values.
    List(Vec<ArgumentValue>),
    /// Values by name, sorted.
    Map(Arguments),
}

impl Arguments {
    /// No arguments.
    pub const NONE: &'static Self = &Self(Vec::new());

    /// The value of an argument, if it was given.
    pub fn get(&self, key: &str) -> Option<&ArgumentValue> {
        self.0.iter().find(|entry| entry.0 == key).map(|entry| &entry.1)
    }
}

/// The arguments of an action or a plugin: those given, over the defaults of their specs.
///
/// Asking for a key no spec has, for a default where there is none, or for another type than the
/// spec's is a mistake in the program and panics: building with no arguments at all shows it, which
/// is a test for everything in a registry.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    owner: &'static str,
    specs: &'static [ArgumentSpec],
    given: &'a Arguments,
}

impl<'a> Values<'a> {
    /// What was given to the owner of these specs.
    pub fn new(owner: &'static str, specs: &'static [ArgumentSpec], given: &'a Arguments) -> Self {
        Self { owner, specs, given }
    }

    fn spec(&self, key: &str) -> &'static ArgumentSpec {
        argument(self.specs, key)
            .unwrap_or_else(|| panic!("{} has no argument {key:?}", self.owner))
    }

    fn no_default(&self, key: &str, kind: &str) -> ! {
        panic!("argument {key:?} of {} has no default that is {kind}", self.owner)
    }

    /// The value, if one was given.
    pub fn given(&self, key: &str) -> Option<&'a ArgumentValue> {
        self.spec(key);
        self.given.get(key)
    }

    /// Every value that was given, by name.
    pub fn all_given(&self) -> &'a [(String, ArgumentValue)] {
        &self.given.0
    }

    /// A whole number. One out of range is the default, of which the reader of the file has warned.
    pub fn int(&self, key: &str) -> i64 {
        let spec = self.spec(key);
        match self.given.get(key) {
            Some(ArgumentValue::Int(value)) if spec.kind.admits_int(*value) => *value,
            _ => spec.default.parse().unwrap_or_else(|_| self.no_default(key, "a whole number")),
        }
    }

    /// A number; like [`Self::int`] where it is out of range.
    pub fn float(&self, key: &str) -> f64 {
        let spec = self.spec(key);
        let given = match self.given.get(key) {
            Some(ArgumentValue::Float(value)) => Some(*value),
            Some(ArgumentValue::Int(value)) => Some(*value as f64),
            _ => None,
        };
        given.filter(|value| spec.kind.admits_float(*value)).unwrap_or_else(|| {
            spec.default.parse().unwrap_or_else(|_| self.no_default(key, "a number"))
        })
    }

    /// Yes or no.
    pub fn bool(&self, key: &str) -> bool {
        let spec = self.spec(key);
        match self.given.get(key) {
            Some(ArgumentValue::Bool(value)) => *value,
            _ => spec.default.parse().unwrap_or_else(|_| self.no_default(key, "true or false")),
        }
    }

    /// A text; empty where nothing is given and nothing holds by default.
    pub fn text(&self, key: &str) -> &'a str {
        let spec = self.spec(key);
        match self.given.get(key) {
            Some(ArgumentValue::Text(value)) => value,
            _ => spec.default,
        }
    }

    /// The texts of a list.
    pub fn texts(&self, key: &str) -> impl Iterator<Item = &'a str> {
        let items = match self.given(key) {
            Some(ArgumentValue::List(items)) => items.as_slice(),
            _ => &[],
        };
        items.iter().filter_map(|item| match item {
            ArgumentValue::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The maps of a list, their entries over their own defaults.
    pub fn maps(&self, key: &str) -> impl Iterator<Item = Self> {
        let ArgumentKind::List(ArgumentKind::Map(specs)) = self.spec(key).kind else {
            panic!("argument {key:?} of {} is no list of maps", self.owner)
        };
        let items = match self.given.get(key) {
            Some(ArgumentValue::List(items)) => items.as_slice(),
            _ => &[],
        };
        let owner = self.owner;
        items.iter().map(move |item| {
            let given = match item {
                ArgumentValue::Map(entries) => entries,
                _ => Arguments::NONE,
            };
            Self { owner, specs, given }
        })
    }

    /// An amount: a whole number as it stands, of a text the quantity in thousandths or units.
    pub fn amount(&self, key: &str, scale: AmountScale) -> i64 {
        let spec = self.spec(key);
        let quantity = |text: &str| text.parse::<Quantity>().ok().map(|one| scale.of(one));
        let given = match self.given.get(key) {
            Some(ArgumentValue::Int(count)) => Some(scale.count(*count)),
            Some(ArgumentValue::Text(text)) => quantity(text),
            _ => None,
        };
        let default = || match spec.default.parse() {
            Ok(count) => Some(scale.count(count)),
            Err(_) => quantity(spec.default),
        };
        given.or_else(default).unwrap_or_else(|| self.no_default(key, "an amount"))
    }

    /// A length of time in milliseconds; `None` where nothing is given and nothing holds by default.
    /// One below zero keeps its sign, however short.
    pub fn duration_ms(&self, key: &str) -> Option<i64> {
        let ns = duration::parse_ns(self.text(key)).ok()?;
        Some(ns.div_euclid(1_000_000))
    }

    /// The clock of a time zone, if one was given.
    pub fn time_zone(&self, key: &str) -> Option<&'a WallClock> {
        match self.given(key) {
            Some(ArgumentValue::TimeZone(_, clock)) => Some(clock),
            _ => None,
        }
    }

    /// The entries of a map, those given over their own defaults.
    #[must_use]
    pub fn map(&self, key: &str) -> Self {
        let ArgumentKind::Map(specs) = self.spec(key).kind else {
            panic!("argument {key:?} of {} is no map", self.owner)
        };
        let given = match self.given.get(key) {
            Some(ArgumentValue::Map(entries)) => entries,
            _ => Arguments::NONE,
        };
        Self { owner: self.owner, specs, given }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[ArgumentSpec] = &[
        arg("weight", ArgumentKind::IntFrom(0), "3", "factor"),
        arg("p.resources", ArgumentKind::Text, "", "names"),
        arg("p.resources.*", ArgumentKind::IntFrom(0), "1", "weight of that one"),
        arg("p.cpu", ArgumentKind::FloatFrom(1), "1.5", "factor of cpu"),
        arg("wait", ArgumentKind::Duration, "", "longest wait"),
        arg("pause", ArgumentKind::Duration, "1m", "pause"),
        arg(
            "inner",
            ArgumentKind::Map(&[arg("on", ArgumentKind::Bool, "false", "switch")]),
            "",
            "a map",
        ),
    ];

    #[test]
    fn an_exact_key_wins_over_a_pattern_and_a_pattern_needs_a_name() {
        let found = |key: &str| argument(SPECS, key).map(|spec| spec.key);
        assert_eq!(found("p.cpu"), Some("p.cpu"));
        assert_eq!(found("p.resources.nvidia.com/gpu"), Some("p.resources.*"));
        assert_eq!(found("p.resources."), None);
        assert_eq!(found("p.resources"), Some("p.resources"));
    }

    #[test]
    fn what_is_not_given_or_out_of_range_is_the_default_of_the_spec() {
        let none = Values::new("test", SPECS, Arguments::NONE);
        assert_eq!((none.int("weight"), none.int("p.resources.x")), (3, 1));
        assert_eq!(
            (none.float("p.cpu").to_bits(), none.text("p.resources")),
            (1.5_f64.to_bits(), "")
        );
        assert_eq!((none.duration_ms("wait"), none.duration_ms("pause")), (None, Some(60_000)));
        assert!(!none.map("inner").bool("on"));
        let inner = Arguments(vec![("on".into(), ArgumentValue::Bool(true))]);
        let given = Arguments(vec![
            ("inner".into(), ArgumentValue::Map(inner)),
            ("p.cpu".into(), ArgumentValue::Float(0.5)),
            ("p.resources.x".into(), ArgumentValue::Int(-1)),
            ("wait".into(), ArgumentValue::Text("2s".into())),
            ("weight".into(), ArgumentValue::Int(7)),
        ]);
        let given = Values::new("test", SPECS, &given);
        assert_eq!((given.int("weight"), given.int("p.resources.x")), (7, 1));
        assert_eq!(given.float("p.cpu").to_bits(), 1.5_f64.to_bits());
        assert_eq!(given.duration_ms("wait"), Some(2_000));
        assert!(given.map("inner").bool("on"));
    }

    #[test]
    #[should_panic(expected = "test has no argument \"wieght\"")]
    fn a_key_without_spec_is_a_mistake_in_the_program() {
        Values::new("test", SPECS, Arguments::NONE).int("wieght");
    }
}
