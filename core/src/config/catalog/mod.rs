//! Every action and plugin that may be named in a configuration, with its arguments.
//!
//! One table a file, by topic: what runs (`actions`), who comes first (`order`), who may have how
//! much (`queues`), where a pod may go (`nodes`, `devices`), and who may be evicted (`victims`).
//! When a later version learns an action or a plugin, its `support` line there is all that changes
//! here.

mod actions;
mod devices;
mod nodes;
mod order;
mod queues;
mod victims;

use crate::config::Gate;

/// An action.
#[derive(Debug, PartialEq)]
pub struct ActionSpec {
    /// Its name in the `actions` line.
    pub name: &'static str,
    /// What it does, in one sentence for people.
    pub summary: &'static str,
    /// Can this version run it?
    pub support: Support,
    /// The arguments it takes under `configurations`.
    pub arguments: &'static [ArgumentSpec],
}

/// A plugin.
#[derive(Debug, PartialEq)]
pub struct PluginSpec {
    /// Its name in a tier.
    pub name: &'static str,
    /// What it promises, in one sentence for people.
    pub summary: &'static str,
    /// Does this version apply its rules?
    pub support: Support,
    /// The extension points it takes part in; a switch for any other has no effect on it.
    pub gates: &'static [Gate],
    /// The arguments it takes.
    pub arguments: &'static [ArgumentSpec],
}

/// How much of an action or plugin this version has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// All of it.
    Full,
    /// Part of it; the text says what is missing.
    Partial(&'static str),
    /// Known by name only: accepted, checked, and reported as having no effect.
    Planned,
}

/// One argument.
#[derive(Debug, PartialEq, Eq)]
pub struct ArgumentSpec {
    /// Its key; a trailing `*` stands for any name (for example `binpack.resources.*`).
    pub key: &'static str,
    /// What it takes.
    pub kind: ArgumentKind,
    /// What holds without it, as it would be written; empty where nothing does.
    pub default: &'static str,
    /// What it does, for people.
    pub help: &'static str,
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
    /// A whole number, or a text with a Kubernetes quantity such as `200Mi`.
    Amount,
    /// A list of one kind of value.
    List(&'static ArgumentKind),
    /// A map with these entries.
    Map(&'static [ArgumentSpec]),
}

/// The action of that name.
pub fn action(name: &str) -> Option<&'static ActionSpec> {
    actions().find(|spec| spec.name == name)
}

/// The plugin of that name.
pub fn plugin(name: &str) -> Option<&'static PluginSpec> {
    plugins().find(|spec| spec.name == name)
}

/// Every action.
pub fn actions() -> impl Iterator<Item = &'static ActionSpec> {
    actions::TABLE.iter()
}

/// Every plugin, topic by topic.
pub fn plugins() -> impl Iterator<Item = &'static PluginSpec> {
    [order::TABLE, queues::TABLE, nodes::TABLE, devices::TABLE, victims::TABLE]
        .into_iter()
        .flatten()
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

impl ActionSpec {
    /// The argument a key names.
    pub fn argument(&self, key: &str) -> Option<&'static ArgumentSpec> {
        argument(self.arguments, key)
    }
}

impl PluginSpec {
    /// The argument a key names.
    pub fn argument(&self, key: &str) -> Option<&'static ArgumentSpec> {
        argument(self.arguments, key)
    }
}

/// One line of a table.
const fn arg(
    key: &'static str,
    kind: ArgumentKind,
    default: &'static str,
    help: &'static str,
) -> ArgumentSpec {
    ArgumentSpec { key, kind, default, help }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_of_volcano_is_listed_once() {
        let actions: Vec<_> = actions().map(|spec| spec.name).collect();
        assert_eq!(
            actions,
            [
                "enqueue",
                "allocate",
                "backfill",
                "preempt",
                "reclaim",
                "gangpreempt",
                "gangreclaim",
                "shuffle"
            ]
        );
        let listed: Vec<_> = plugins().map(|spec| spec.name).collect();
        let names: BTreeSet<_> = listed.iter().copied().collect();
        assert_eq!(listed.len(), names.len(), "a plugin is listed twice: {listed:?}");
        let volcano = "binpack capacity cdp conformance deviceshare drf extender gang \
            network-topology-aware nodegroup nodeorder numa-aware overcommit pdb predicates \
            priority proportion rescheduling resource-strategy-fit resourcequota sla \
            task-topology tdm usage";
        assert_eq!(names, volcano.split_whitespace().collect());
    }

    #[test]
    fn keys_of_one_owner_are_unique_and_texts_are_sentences() {
        let owners = actions()
            .map(|spec| (spec.name, spec.summary, spec.arguments))
            .chain(plugins().map(|spec| (spec.name, spec.summary, spec.arguments)));
        for (name, summary, arguments) in owners {
            assert!(!summary.is_empty() && !summary.ends_with('.'), "{name}: {summary}");
            let keys: BTreeSet<_> = arguments.iter().map(|spec| spec.key).collect();
            assert_eq!(keys.len(), arguments.len(), "{name} lists a key twice");
            for argument in arguments {
                assert!(!argument.help.is_empty(), "{name} {}", argument.key);
            }
        }
    }

    #[test]
    fn an_exact_key_wins_over_a_pattern_and_a_pattern_needs_a_name() {
        let binpack = plugin("binpack").unwrap();
        assert_eq!(binpack.argument("binpack.cpu").unwrap().key, "binpack.cpu");
        let device = binpack.argument("binpack.resources.nvidia.com/gpu").unwrap();
        assert_eq!(device.key, "binpack.resources.*");
        assert_eq!(binpack.argument("binpack.resources.").map(|spec| spec.key), None);
        assert_eq!(binpack.argument("binpack.resources").unwrap().kind, ArgumentKind::Text);
    }
}
