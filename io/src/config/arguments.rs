//! Checking arguments against their specs.
//!
//! Kinds follow Volcano: a whole number must be written as one, a bool may be a text Go would parse,
//! a fraction may be a whole number. Where Volcano logs a mismatch and goes on with the default, a
//! mismatch here is an error; only a number outside its range keeps Volcano's fallback, with a
//! warning.

use muster_core::config::{
    ArgumentKind, ArgumentSpec, ArgumentValue, Arguments, Dialect, argument,
};
use muster_core::resource::Quantity;

use super::error::{Hint, Problem};
use super::reader::{Field, Reader};
use super::tree::{Entry, Node, Value};
use super::{boolean, duration, nearest, time_zone};

/// Checks the entries of one action's or plugin's `arguments`. Entries for which `skip` is true are
/// somebody else's.
pub(super) fn read(
    reader: &mut Reader<'_>,
    entries: &[Entry],
    field: Field<'_>,
    owner: &'static str,
    specs: &'static [ArgumentSpec],
    skip: impl Fn(&str) -> bool,
) -> Arguments {
    let mut arguments = Vec::new();
    for entry in entries.iter().filter(|entry| !skip(&entry.key)) {
        let here = Field::Key(&field, &entry.key);
        let Some(spec) = argument(specs, &entry.key) else {
            let problem = Problem::UnknownArgument {
                owner: owner.to_owned(),
                key: entry.key.clone(),
                hint: hint(reader, owner, &entry.key, specs),
            };
            reader.error(entry.key_at, here, problem);
            continue;
        };
        if let Some(value) = value(reader, &entry.node, here, spec.kind, spec.default) {
            arguments.push((entry.key.clone(), value));
        }
    }
    arguments.sort_by(|left, right| left.0.cmp(&right.0));
    Arguments(arguments)
}

/// The argument probably meant: one of its own, or the owner of that very key.
fn hint(reader: &Reader<'_>, owner: &str, key: &str, specs: &'static [ArgumentSpec]) -> Hint {
    let near = nearest::hint(key, specs.iter().map(|spec| spec.key));
    if matches!(near, Hint::Nearest(_)) {
        return near;
    }
    let actions = reader.registry.actions().map(|spec| (spec.name, spec.arguments));
    let plugins = reader.registry.plugins().map(|spec| (spec.name, spec.arguments));
    plugins
        .chain(actions)
        .find(|(name, specs)| *name != owner && argument(specs, key).is_some())
        .map_or(near, |(name, _)| Hint::BelongsTo(name))
}

/// The value as its kind wants it; none after an error, or where the default is to apply.
pub(super) fn value(
    reader: &mut Reader<'_>,
    node: &Node,
    field: Field<'_>,
    kind: ArgumentKind,
    default: &str,
) -> Option<ArgumentValue> {
    use ArgumentKind as Kind;
    match (kind, &node.value) {
        (Kind::Int | Kind::IntFrom(_) | Kind::Percent, Value::Int(number)) => {
            in_range(reader, node, field, (kind, default), kind.admits_int(*number))
                .then_some(ArgumentValue::Int(*number))
        }
        (Kind::Float | Kind::FloatFrom(_) | Kind::Fraction, Value::Int(_) | Value::Float(_)) => {
            let number = match node.value {
                Value::Int(number) => number as f64,
                Value::Float(number) => number,
                _ => return None,
            };
            in_range(reader, node, field, (kind, default), kind.admits_float(number))
                .then_some(ArgumentValue::Float(number))
        }
        (Kind::Bool, Value::Bool(value)) => Some(ArgumentValue::Bool(*value)),
        (Kind::Bool, Value::Text(text)) if boolean::parse(text).is_some() => {
            boolean::parse(text).map(ArgumentValue::Bool)
        }
        (_, Value::Text(text)) if is_number(kind) && number(text).is_some() => {
            let given = Node { value: number(text)?, at: node.at };
            if reader.registry.dialect() == Dialect::Kai {
                // All arguments are texts there.
                return value(reader, &given, field, kind, default);
            }
            let instead = if default.is_empty() { "none" } else { default };
            let why = format!(
                "counts as {}; Volcano skips a number in quotes and goes on with its default \
                 ({instead}), so remove the quotes",
                given.value.described()
            );
            reader.warn(node.at, field, why);
            value(reader, &given, field, kind, default)
        }
        (Kind::Text, Value::Text(text)) => Some(ArgumentValue::Text(text.clone())),
        (Kind::OneOf(choices), Value::Text(text)) if choices.contains(&text.as_str()) => {
            Some(ArgumentValue::Text(text.clone()))
        }
        (Kind::Duration, Value::Text(text)) if duration::parse_ms(text).is_some() => {
            Some(ArgumentValue::Text(text.clone()))
        }
        (Kind::SignedDuration, Value::Text(text)) if duration::parse_ns(text).is_ok() => {
            Some(ArgumentValue::Text(text.clone()))
        }
        (Kind::TimeZone, Value::Text(text)) if time_zone::read(text).is_some() => {
            time_zone::read(text).map(|clock| ArgumentValue::TimeZone(text.clone(), clock))
        }
        (Kind::Amount, Value::Int(number)) => Some(ArgumentValue::Int(*number)),
        (Kind::Amount, Value::Text(text)) if text.parse::<Quantity>().is_ok() => {
            Some(ArgumentValue::Text(text.clone()))
        }
        (Kind::List(item), Value::List(_) | Value::Null) => {
            Some(ArgumentValue::List(list(reader, node, field, *item)))
        }
        (Kind::Map(specs), Value::Map(_) | Value::Null) => {
            Some(ArgumentValue::Map(map(reader, node, field, specs)))
        }
        _ => {
            reader.wrong_type_with(node, field, expected(kind), advice(kind, &node.value));
            None
        }
    }
}

fn list(
    reader: &mut Reader<'_>,
    node: &Node,
    field: Field<'_>,
    kind: ArgumentKind,
) -> Vec<ArgumentValue> {
    let items = reader.list(node, field);
    items
        .iter()
        .enumerate()
        .filter_map(|(index, item)| value(reader, item, Field::Item(&field, index), kind, ""))
        .collect()
}

fn map(
    reader: &mut Reader<'_>,
    node: &Node,
    field: Field<'_>,
    specs: &'static [ArgumentSpec],
) -> Arguments {
    let mut values = Vec::new();
    for entry in reader.map(node, field) {
        let here = Field::Key(&field, &entry.key);
        if let Some(spec) = argument(specs, &entry.key) {
            if let Some(value) = value(reader, &entry.node, here, spec.kind, spec.default) {
                values.push((entry.key.clone(), value));
            }
        } else {
            let hint = nearest::hint(&entry.key, specs.iter().map(|spec| spec.key));
            reader.error(entry.key_at, here, Problem::UnknownKey { key: entry.key.clone(), hint });
        }
    }
    values.sort_by(|left, right| left.0.cmp(&right.0));
    Arguments(values)
}

/// Warns about a number that cannot be used; the default then applies, as in Volcano.
fn in_range(
    reader: &mut Reader<'_>,
    node: &Node,
    field: Field<'_>,
    (kind, default): (ArgumentKind, &str),
    fits: bool,
) -> bool {
    if !fits {
        let (found, wanted) = (node.value.described(), expected(kind));
        let instead = if default.is_empty() {
            "it is left out".to_owned()
        } else {
            format!("the default {default} applies")
        };
        reader.warn(node.at, field, format!("{found} is not {wanted}: {instead}"));
    }
    fits
}

/// What a kind takes, in words.
pub(super) fn expected(kind: ArgumentKind) -> String {
    use ArgumentKind as Kind;
    match kind {
        Kind::Int => "a whole number".to_owned(),
        Kind::IntFrom(least) => format!("a whole number of at least {least}"),
        Kind::Percent => "a whole number from 0 to 100".to_owned(),
        Kind::Float => "a number".to_owned(),
        Kind::FloatFrom(least) => format!("a number of at least {least}"),
        Kind::Fraction => "a number from 0 to 1".to_owned(),
        Kind::Bool => "true or false".to_owned(),
        Kind::Text => "a text".to_owned(),
        Kind::OneOf(choices) => choices.join(" or "),
        Kind::Duration => "a length of time such as \"500ms\" or \"1m30s\"".to_owned(),
        Kind::SignedDuration => "a length of time such as \"30s\", \"0s\" or \"-1s\"".to_owned(),
        Kind::TimeZone => "a time zone such as \"Europe/Berlin\", \"+02:00\" or \"UTC\"".to_owned(),
        Kind::Amount => "a whole number or a quantity such as \"200Mi\"".to_owned(),
        Kind::List(_) => "a list".to_owned(),
        Kind::Map(_) => "a map".to_owned(),
    }
}

/// How to turn what is there into what is wanted, where that is a matter of quotes.
fn advice(kind: ArgumentKind, value: &Value) -> &'static str {
    match value {
        Value::Int(_) | Value::Float(_) | Value::Bool(_) if matches!(kind, ArgumentKind::Text) => {
            "; put it in quotes"
        }
        _ => "",
    }
}

fn is_number(kind: ArgumentKind) -> bool {
    use ArgumentKind as Kind;
    matches!(
        kind,
        Kind::Int
            | Kind::IntFrom(_)
            | Kind::Percent
            | Kind::Float
            | Kind::FloatFrom(_)
            | Kind::Fraction
    )
}

/// The number in a text, as it would be read without the quotes.
fn number(text: &str) -> Option<Value> {
    let whole = text.parse::<i64>().ok().map(Value::Int);
    whole.or_else(|| text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Float))
}
