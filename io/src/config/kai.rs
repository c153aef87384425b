//! KAI's configuration file: how it is told from Volcano's, and what of it is read in another way.
//!
//! Both have an `actions` line and tiers of plugins. KAI's tiers are one list, its switches are read by
//! nobody, its arguments are texts, and a section that is missing is as KAI's own.

use std::collections::BTreeMap;

use muster_core::config::{
    ActionSpec, ArgumentValue, Arguments, Dialect, Gates, KAI_ACTIONS, QUEUE_DEPTH_KEY,
};
use muster_core::policy::{PluginConfig, Registry};

use super::actions::Configured;
use super::error::Problem;
use super::reader::{Field, Reader};
use super::tree::{Entry, Node, Value};
use super::{arguments, nearest};

/// Sections KAI's file has beside those of Volcano's.
pub(super) const SECTIONS: [&str; 3] = ["queueDepthPerAction", "usageDBConfig", "args"];

/// How long after a pod was to be gone its room is still counted as room to come.
pub(super) const STUCK_AFTER_MS: i64 = 120_000;

/// The plugin that is always in force and that no file names.
const ALWAYS: &str = "podgroup";

/// The plugins of a file that lists none, in KAI's order.
const DEFAULT_PLUGINS: &[&str] = &[
    "predicates",
    "proportion",
    "priority",
    "elastic",
    "kubeflow",
    "ray",
    "nodeavailability",
    "gpusharingorder",
    "gpupack",
    "resourcetype",
    "subgrouporder",
    "taskorder",
    "nominatednode",
    "dynamicresources",
    "nodeplacement",
    "minruntime",
    "topology",
    "snapshot",
    "sg-nodelocalgreedy",
    "sg-multinodegang",
];

/// Whose file it is: KAI's if it names an action or a plugin that Volcano does not have.
pub(super) fn dialect(root: &Node) -> Dialect {
    let named = actions_named(root).into_iter().chain(plugins_named(root));
    let of_kai = named.into_iter().any(Registry::is_of_kai_alone);
    if of_kai || SECTIONS.iter().any(|section| find(root, section).is_some()) {
        Dialect::Kai
    } else {
        Dialect::Volcano
    }
}

/// The value of a key of a map.
pub(super) fn find<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    let Value::Map(entries) = &node.value else { return None };
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
}

fn items(node: Option<&Node>) -> &[Node] {
    match node.map(|node| &node.value) {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}

fn actions_named(root: &Node) -> Vec<&str> {
    match find(root, "actions").map(|node| &node.value) {
        Some(Value::Text(text)) => text.split(',').map(str::trim).collect(),
        _ => Vec::new(),
    }
}

fn plugins_named(root: &Node) -> Vec<&str> {
    let tiers = items(find(root, "tiers")).iter();
    let plugins = tiers.flat_map(|tier| items(find(tier, "plugins")));
    let names = plugins.filter_map(|plugin| match find(plugin, "name").map(|name| &name.value) {
        Some(Value::Text(name)) => Some(name.as_str()),
        _ => None,
    });
    names.collect()
}

/// KAI's actions in the order they run in without an `actions` line.
pub(super) fn default_actions() -> Vec<&'static ActionSpec> {
    KAI_ACTIONS.iter().collect()
}

/// The one tier of a file: what it lists, or KAI's own plugins, and what is always in force.
pub(super) fn one_tier(
    registry: &Registry,
    listed: Option<Vec<PluginConfig>>,
) -> Vec<Vec<PluginConfig>> {
    let plugin = |name: &str| {
        let (gates, arguments) = (Gates::default(), Arguments::default());
        registry.plugin(name).map(|spec| PluginConfig { spec, gates, arguments })
    };
    let own = || DEFAULT_PLUGINS.iter().filter_map(|name| plugin(name)).collect();
    let mut tier = listed.unwrap_or_else(own);
    if tier.iter().all(|one| one.spec.name != ALWAYS) {
        tier.extend(plugin(ALWAYS));
    }
    vec![tier]
}

/// Reads `queueDepthPerAction` into the arguments of the actions.
pub(super) fn read_depths(
    reader: &mut Reader<'_>,
    node: &Node,
    field: Field<'_>,
    configured: &mut BTreeMap<&'static str, Configured>,
) {
    for entry in reader.map(node, field) {
        let here = Field::Key(&field, &entry.key);
        let Some(spec) = reader.registry.action(&entry.key) else {
            let hint = nearest::hint(&entry.key, reader.registry.actions().map(|spec| spec.name));
            let problem = Problem::UnknownAction { name: entry.key.clone(), hint };
            reader.error(entry.key_at, here, problem);
            continue;
        };
        if let Some(depth) = read_depth(reader, spec, entry, here) {
            let place = configured.entry(spec.name).or_insert_with(|| Configured {
                arguments: Arguments::default(),
                at: entry.key_at,
                field: here.to_string(),
            });
            place.arguments.0.push((QUEUE_DEPTH_KEY.to_owned(), depth));
            place.arguments.0.sort_by(|left, right| left.0.cmp(&right.0));
        }
    }
}

fn read_depth(
    reader: &mut Reader<'_>,
    spec: &'static ActionSpec,
    entry: &Entry,
    field: Field<'_>,
) -> Option<ArgumentValue> {
    let argument = spec.arguments.iter().find(|argument| argument.key == QUEUE_DEPTH_KEY)?;
    arguments::value(reader, &entry.node, field, argument.kind, argument.default)
}

/// Is it one of the switches that KAI's file may have and nobody reads, KAI included?
pub(super) fn is_idle_switch(key: &str) -> bool {
    key.starts_with("disable")
}

#[cfg(test)]
mod tests {
    use muster_core::config::{ActionConfig, Dialect};

    use super::*;
    use crate::config::tests::parse;
    use crate::config::{Parsed, words};

    /// A file as KAI's operator writes it.
    const FILE: &str = r#"
actions: "allocate, consolidation, reclaim, preempt, stalegangeviction"
tiers:
- plugins:
  - name: predicates
  - {name: proportion, arguments: {kValue: "0"}}
  - {name: priority, disableJobOrder: false}
  - name: nodeplacement
    arguments: {gpu: spread, cpu: binpack}
  - name: sg-nodelocalgreedy
queueDepthPerAction: {allocate: 3, reclaim: -1}
usageDBConfig: {clientType: prometheus, connectionString: "http://prometheus:9090"}
"#;

    fn read(text: &str) -> Parsed {
        parse("kai.yaml", text).unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn plugins(parsed: &Parsed) -> Vec<&'static str> {
        parsed.config.tiers.iter().flatten().map(|plugin| plugin.spec.name).collect()
    }

    #[test]
    fn a_file_of_kai_is_known_by_what_it_names() {
        for (text, dialect) in [
            (FILE, Dialect::Kai),
            ("actions: \"allocate, stalegangeviction\"", Dialect::Kai),
            ("actions: allocate\ntiers: [{plugins: [{name: nodeplacement}]}]", Dialect::Kai),
            ("actions: \"allocate\"\nqueueDepthPerAction: {allocate: 1}", Dialect::Kai),
            (
                "actions: \"allocate, reclaim, preempt\"\n\
                 tiers: [{plugins: [{name: priority}, {name: predicates}, {name: proportion}]}]",
                Dialect::Volcano,
            ),
        ] {
            assert_eq!(read(text).config.dialect, dialect, "{text}");
        }
    }

    #[test]
    fn tiers_are_one_list_and_what_is_built_in_is_at_its_end() {
        let parsed = read(FILE);
        let listed =
            ["predicates", "proportion", "priority", "nodeplacement", "sg-nodelocalgreedy"];
        assert_eq!(plugins(&parsed), listed.into_iter().chain([ALWAYS]).collect::<Vec<_>>());
        let depths: Vec<_> = parsed.config.actions.iter().map(ActionConfig::queue_depth).collect();
        assert_eq!(depths, [Some(3), None, None, None, None]);
        let has = |text: &str| parsed.warnings.iter().any(|warning| warning.contains(text));
        assert!(has("disableJobOrder: has no effect"), "{:?}", parsed.warnings);
        assert!(has("kValue of proportion is 0"), "{:?}", parsed.warnings);
        assert!(!has("in quotes"), "{:?}", parsed.warnings);
    }

    #[test]
    fn what_a_file_leaves_out_is_as_in_kai() {
        let parsed = read("queueDepthPerAction: {}");
        let actions: Vec<_> = parsed.config.actions.iter().map(|action| action.spec.name).collect();
        let order = ["allocate", "consolidation", "reclaim", "preempt", "stalegangeviction"];
        assert_eq!(actions, order);
        let named = DEFAULT_PLUGINS.iter().copied().chain([ALWAYS]).collect::<Vec<_>>();
        assert_eq!(plugins(&parsed), named);
    }

    #[test]
    fn the_policy_is_put_into_words() {
        let said = words::sentences(&read(FILE).config);
        assert_eq!(said[1], "Admitted: every job at once");
        assert!(said.iter().any(|text| text.starts_with("Evicted by preempt: gangs")), "{said:?}");
        assert!(said.iter().any(|text| text.contains("run without its minimum")), "{said:?}");
    }

    #[test]
    fn a_slip_of_the_pen_is_an_error_with_the_name_that_was_meant() {
        let text = "actions: \"allocate, consolidations, stalegangeviction\"";
        let error = parse("kai.yaml", text).unwrap_err().to_string();
        assert!(error.contains("consolidation"), "{error}");
        let text = "actions: stalegangeviction\nqueueDepthPerAction: {allocat: 1}";
        let error = parse("kai.yaml", text).unwrap_err().to_string();
        assert!(error.contains("queueDepthPerAction.allocat"), "{error}");
    }
}
