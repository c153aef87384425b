//! A `SchedulingShard` as KAI's operator would resolve it.

use muster_core::config::{ActionConfig, Dialect, EvictionMode, Pool, STALE_GRACE_KEY};

use super::*;
use crate::config::Parsed;
use crate::config::tests::parse;

fn shard(spec: &str) -> String {
    format!("apiVersion: kai.scheduler/v1\nkind: SchedulingShard\nmetadata: {{name: a}}\n{spec}")
}

fn resolved(spec: &str) -> Parsed {
    parse("shard.yaml", &shard(spec)).unwrap_or_else(|errors| panic!("{errors}"))
}

fn plugins(parsed: &Parsed) -> Vec<&'static str> {
    parsed.config.tiers.iter().flatten().map(|plugin| plugin.spec.name).collect()
}

fn actions(parsed: &Parsed) -> Vec<&'static str> {
    parsed.config.actions.iter().map(|action| action.spec.name).collect()
}

fn argument(parsed: &Parsed, plugin: &str, key: &str) -> Option<ArgumentValue> {
    parsed.config.plugin(plugin).and_then(|plugin| plugin.arguments.get(key).cloned())
}

fn text(text: &str) -> ArgumentValue {
    ArgumentValue::Text(text.to_owned())
}

#[test]
fn without_a_word_everything_is_as_the_operator_has_it() {
    let parsed = resolved("");
    assert_eq!(parsed.config.dialect, Dialect::Kai);
    let order = ["allocate", "consolidation", "reclaim", "preempt", "stalegangeviction"];
    assert_eq!(actions(&parsed), order);
    let expected = [
        "predicates",
        "proportion",
        "priority",
        "nodeavailability",
        "resourcetype",
        "podaffinity",
        "elastic",
        "kubeflow",
        "ray",
        "subgrouporder",
        "taskorder",
        "nominatednode",
        "dynamicresources",
        "minruntime",
        "topology",
        "snapshot",
        "gpupack",
        "nodeplacement",
        "gpusharingorder",
        "podgroup",
    ];
    assert_eq!(plugins(&parsed), expected);
    assert_eq!(argument(&parsed, "nodeplacement", "gpu"), Some(text("binpack")));
    let pool = Pool { key: "kai.scheduler/node-pool".into(), value: "".into() };
    assert_eq!(parsed.config.view.pool, Some(pool));
    assert_eq!(parsed.config.tuning.eviction, EvictionMode::BareDelete);
    assert_eq!(parsed.config.pipeline.stuck_after_ms, Some(kai::STUCK_AFTER_MS));
}

#[test]
fn what_is_spread_is_not_packed_again() {
    let parsed = resolved("spec: {placementStrategy: {gpu: spread}}");
    assert_eq!(actions(&parsed), ["allocate", "reclaim", "preempt", "stalegangeviction"]);
    let named = plugins(&parsed);
    assert!(named.contains(&"gpuspread") && !named.contains(&"gpupack"), "{named:?}");
    assert!(!named.contains(&"gpusharingorder"), "{named:?}");
    assert_eq!(argument(&parsed, "nodeplacement", "gpu"), Some(text("spread")));
    assert_eq!(argument(&parsed, "nodeplacement", "cpu"), Some(text("binpack")));
    // A word of its own counts before what follows from others.
    let kept = resolved(
        "spec: {placementStrategy: {cpu: spread}, actions: {consolidation: {enabled: true}}}",
    );
    assert_eq!(actions(&kept)[1], "consolidation");
}

#[test]
fn plugins_and_actions_are_moved_switched_off_and_added() {
    let parsed = resolved(
        r"
spec:
  kValue: 0.5
  minRuntime: {preemptMinRuntime: 5m}
  queueDepthPerAction: {allocate: 10}
  plugins:
    ray: {enabled: false}
    taskorder: {priority: 2000}
    numa: {}
    minruntime: {arguments: {reclaimResolveMethod: queue}}
    nodeplacement: {arguments: {gpu: spread}}
  actions:
    preempt: {priority: 600}
    reclaim: {enabled: false}
",
    );
    let named = plugins(&parsed);
    assert_eq!((named[0], named[named.len() - 2]), ("taskorder", "numa"));
    assert!(!named.contains(&"ray"), "{named:?}");
    assert_eq!(actions(&parsed), ["preempt", "allocate", "consolidation", "stalegangeviction"]);
    assert_eq!(argument(&parsed, "proportion", "kValue"), Some(ArgumentValue::Float(0.5)));
    // Arguments that are given replace all there were.
    assert_eq!(argument(&parsed, "minruntime", "defaultPreemptMinRuntime"), None);
    assert_eq!(argument(&parsed, "nodeplacement", "cpu"), None);
    let depths: Vec<_> = parsed.config.actions.iter().map(ActionConfig::queue_depth).collect();
    assert_eq!(depths, [None, Some(10), None, None]);
}

#[test]
fn flags_are_parameters_and_go_before_the_field_of_the_pool() {
    let parsed = resolved(
        r#"
spec:
  partitionLabelValue: a
  args:
    default-staleness-grace-period: "-1s"
    update-pod-eviction-condition: "true"
    use-scheduling-signatures: "false"
    qps: "50"
"#,
    );
    assert_eq!(parsed.config.view.pool.map(|pool| pool.value.to_string()), Some("a".into()));
    assert_eq!(parsed.config.tuning.eviction, EvictionMode::Delete);
    let stale = parsed.config.actions.iter().find(|one| one.spec.name == "stalegangeviction");
    assert_eq!(stale.and_then(|one| one.values().duration_ms(STALE_GRACE_KEY)), Some(-1000));
    let has = |text: &str| parsed.warnings.iter().any(|warning| warning.contains(text));
    assert!(has("spec.args.use-scheduling-signatures: has no effect"), "{:?}", parsed.warnings);
    assert!(has("spec.args.qps: has no effect in a file"), "{:?}", parsed.warnings);
    let other = resolved("spec: {partitionLabelValue: a, args: {partition-label-value: b}}");
    assert_eq!(other.config.view.pool.map(|pool| pool.value.to_string()), Some("b".into()));
}

#[test]
fn what_is_wrong_is_said_by_its_field() {
    for (spec, expected) in [
        (
            "spec: {placementStrategy: {gpu: pack}}",
            "spec.placementStrategy.gpu: expected binpack or spread",
        ),
        (
            "spec: {placementStrategie: {}}",
            "unknown key `placementStrategie`; did you mean `placementStrategy`?",
        ),
        ("spec: {kValue: much}", "spec.kValue: expected a number"),
        (
            "spec: {minRuntime: {reclaimMinRuntime: long}}",
            "spec.minRuntime.reclaimMinRuntime: expected a length",
        ),
        (
            "spec: {plugins: {proportions: {}}}",
            "there is no plugin `proportions`; did you mean `proportion`?",
        ),
        (
            "spec: {plugins: {ray: {enabled: maybe}}}",
            "spec.plugins.ray.enabled: expected true or false",
        ),
        (
            "spec: {plugins: {nodeplacement: {arguments: {gpu: pack}}}}",
            "spec.plugins.nodeplacement.arguments.gpu: expected",
        ),
        (
            "spec: {actions: {reclaims: {}}}",
            "there is no action `reclaims`; did you mean `reclaim`?",
        ),
        (
            "spec: {actions: {reclaim: {priority: high}}}",
            "spec.actions.reclaim.priority: expected a whole number",
        ),
        ("spec: {args: {partition-label: a}}", "unknown key `partition-label`"),
        (
            "spec: {args: {detailed-fit-errors: maybe}}",
            "spec.args.detailed-fit-errors: expected true or false",
        ),
        (
            "spec: {partitionLabelValue: 'a b'}",
            "spec.partitionLabelValue: expected the value of a label",
        ),
        ("spec: {queueDepthPerAction: {allocat: 1}}", "spec.queueDepthPerAction.allocat"),
        (
            "spec: {actions: {allocate: {enabled: false}, consolidation: {enabled: false}, reclaim: {enabled: false}, preempt: {enabled: false}, stalegangeviction: {enabled: false}}}",
            "spec.actions: expected an action, found none that is enabled",
        ),
    ] {
        let error = parse("shard.yaml", &shard(spec)).unwrap_err().to_string();
        assert!(error.contains(expected), "{spec}: {error}");
        assert!(error.starts_with("shard.yaml:4:"), "{error}");
    }
}
