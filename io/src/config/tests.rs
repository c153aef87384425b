//! The format from the outside: what is taken, what is refused and in which words.

use muster_core::config::{
    ArgumentValue, EvictionMode, FitErrors, Gate, Persistence, PipelineConfig, Tuning, Upkeep,
};
use muster_core::policy::{PluginConfig, Support};
use proptest::prelude::*;

use super::*;

const HEAD: &str = "actions: \"enqueue, allocate, backfill\"\ntiers:\n";

/// Parses what this version has.
pub(super) fn parse(source_name: &str, text: &str) -> Result<Parsed, ConfigErrors> {
    super::parse(&registry(), source_name, text)
}

/// Parses and gives all errors, one a line.
fn errors(text: &str) -> String {
    parse("conf.yaml", text).expect_err("should be refused").to_string()
}

fn accepted(text: &str) -> Parsed {
    parse("conf.yaml", text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn plugin<'p>(parsed: &'p Parsed, name: &str) -> &'p PluginConfig {
    parsed.config.tiers.iter().flatten().find(|plugin| plugin.spec.name == name).unwrap()
}

/// The only plugin of a one-line tier.
fn one_plugin(line: &str) -> String {
    format!("{HEAD}- plugins: [{line}]\n")
}

#[test]
fn volcanos_own_configurations_are_taken() {
    let names = |parsed: &Parsed| -> Vec<Vec<&str>> {
        let tier = |tier: &Vec<PluginConfig>| tier.iter().map(|plugin| plugin.spec.name).collect();
        parsed.config.tiers.iter().map(tier).collect()
    };
    let built_in = default_config();
    let actions: Vec<_> = built_in.config.actions.iter().map(|action| action.spec.name).collect();
    assert_eq!(actions, ["enqueue", "allocate", "backfill"]);
    assert_eq!(
        names(&built_in),
        [
            vec!["priority", "gang", "conformance"],
            vec!["overcommit", "drf", "predicates", "proportion", "nodeorder"]
        ]
    );
    let helm = accepted(include_str!("fixtures/helm.yaml"));
    assert!(!plugin(&helm, "gang").gates.is_open(Gate::Preemptable));
    assert!(plugin(&helm, "gang").gates.is_open(Gate::Reclaimable));
    let ci = accepted(include_str!("fixtures/ci.yaml"));
    assert_eq!(ci.config.actions.len(), 5);
}

#[test]
fn the_object_around_a_configuration_is_named_as_such() {
    let map =
        "kind: ConfigMap\napiVersion: v1\ndata:\n  muster.conf: |\n    actions: \"allocate\"\n";
    assert_eq!(
        errors(map),
        "conf.yaml:1:1: a Kubernetes object (kind ConfigMap), not a configuration; give the \
         configuration alone, as a ConfigMap has it in one key of its `data`"
    );
    assert!(errors("kind: ConfigMap\n").contains("unknown key `kind`"));
}

#[test]
fn the_policies_of_all_scenarios_are_taken() {
    let documents: Vec<_> = include_str!("fixtures/scenarios.yaml").split("---\n").collect();
    assert_eq!(documents.len(), 14);
    for document in documents {
        accepted(document);
    }
}

#[test]
fn every_kind_of_argument_and_every_section_is_taken() {
    let parsed = accepted(include_str!("fixtures/every-argument.yaml"));
    let arguments = |name| plugin(&parsed, name).values();
    let factor = arguments("overcommit").given("overcommit-factor");
    assert_eq!(factor, Some(&ArgumentValue::Float(2.0)));
    assert!(!arguments("predicates").bool("predicate.NodePortsEnable"));
    assert_eq!(arguments("resource-strategy-fit").map("resources").all_given()[0].0, "cpu");
    assert_eq!(
        parsed.config.tuning,
        Tuning {
            threads: Some(4),
            rows_per_block: 128,
            parallel_threshold: 0,
            action_budget_ms: Some(500),
            jobs_per_queue: Some(100),
            period_ms: 90_000,
            eviction: EvictionMode::Evict,
            fit_errors: FitErrors::Counted,
            upkeep: Upkeep::Mend,
        }
    );
    let warned = |text: &str| parsed.warnings.iter().any(|warning| warning.contains(text));
    assert!(!warned("metrics"), "{:?}", parsed.warnings);
}

#[test]
fn without_a_schedule_section_the_defaults_hold() {
    assert_eq!(default_config().config.tuning, Tuning::default());
    assert_eq!(accepted(&format!("{HEAD}schedule:\n")).config.tuning, Tuning::default());
}

#[test]
fn gang_awareness_may_be_switched_on_in_three_places() {
    let gang_aware = |tail: &str| {
        let parsed = accepted(&format!("actions: \"allocate, preempt\"\n{tail}"));
        parsed.config.actions[1].is_gang_aware()
    };
    assert!(!gang_aware("tiers: [{plugins: [{name: gang}]}]"));
    assert!(gang_aware("configurations: [{name: preempt, arguments: {gangAwareEnable: true}}]"));
    assert!(gang_aware("tiers: [{plugins: [], arguments: {preempt.gangAwareEnable: true}}]"));
    let by_plugin =
        "tiers: [{plugins: [{name: gang, arguments: {preempt.gangAwareEnable: true}}]}]";
    assert!(gang_aware(by_plugin));
}

#[test]
fn one_switch_with_two_values_is_refused() {
    let text = "actions: preempt\n\
        tiers: [{plugins: [], arguments: {preempt.gangAwareEnable: true}}]\n\
        configurations:\n- {name: preempt, arguments: {gangAwareEnable: false}}\n";
    assert_eq!(
        errors(text),
        "conf.yaml:2:35: tiers[0].arguments[\"preempt.gangAwareEnable\"]: \
         `preempt.gangAwareEnable` has another value in line 4; keep one of them"
    );
}

#[test]
fn both_spellings_of_a_flag_switch_the_same_gate() {
    for key in ["enableOverused", "enabledOverused"] {
        let parsed = accepted(&one_plugin(&format!("{{name: proportion, {key}: false}}")));
        assert!(!plugin(&parsed, "proportion").gates.is_open(Gate::Overused), "{key}");
    }
    assert_eq!(
        errors(&one_plugin("{name: gang, enableJobReady: true, enabledJobReady: false}")),
        "conf.yaml:3:48: tiers[0].plugins[0].enabledJobReady: `enabledJobReady` is the same flag as \
         the one in line 3; keep one of them"
    );
}

#[test]
fn unknown_names_are_refused_with_the_nearest_known_one() {
    assert_eq!(
        errors("action: allocate\n"),
        "conf.yaml: actions: is missing; write for example actions: \"enqueue, allocate, backfill\"\n\
         conf.yaml:1:1: action: unknown key `action`; did you mean `actions`?"
    );
    assert_eq!(
        errors("actions: \"enqueue, alocate\"\n"),
        "conf.yaml:1:10: actions: there is no action `alocate`; did you mean `allocate`?"
    );
    assert_eq!(
        errors("actions: gangPreempt\n"),
        "conf.yaml:1:10: actions: there is no action `gangPreempt`; did you mean `gangpreempt`?"
    );
    assert_eq!(
        errors("actions: elect\n"),
        "conf.yaml:1:10: actions: the action `elect` is gone from Volcano as well; take it out of the \
         line"
    );
    assert_eq!(
        errors("actions: defragment\n"),
        "conf.yaml:1:10: actions: there is no action `defragment`; known are enqueue, allocate, \
         backfill, preempt, reclaim, gangpreempt, gangreclaim, shuffle"
    );
    assert_eq!(
        errors(&one_plugin("{name: gnag}")),
        "conf.yaml:3:20: tiers[0].plugins[0].name: there is no plugin `gnag`; did you mean `gang`?"
    );
    assert_eq!(
        errors(&one_plugin("{name: gang, enableJobOrdr: true}")),
        "conf.yaml:3:26: tiers[0].plugins[0].enableJobOrdr: there is no flag `enableJobOrdr`; did you \
         mean `enableJobOrder`?"
    );
    assert_eq!(
        errors(&one_plugin("{name: gang, argument: {}}")),
        "conf.yaml:3:26: tiers[0].plugins[0].argument: unknown key `argument`; did you mean \
         `arguments`?"
    );
    assert_eq!(
        errors(&format!("{HEAD}- plugin: []\n")),
        "conf.yaml:3:3: tiers[0].plugin: unknown key `plugin`; did you mean `plugins`?"
    );
    assert_eq!(
        errors(&format!("{HEAD}metrics: {{adress: x}}\n")),
        "conf.yaml:3:11: metrics.adress: unknown key `adress`; did you mean `address`?"
    );
    assert_eq!(
        errors(&format!("{HEAD}schedule: {{thread: 4}}\n")),
        "conf.yaml:3:12: schedule.thread: unknown key `thread`; did you mean `threads`?"
    );
}

#[test]
fn unknown_arguments_are_refused_with_what_may_have_been_meant() {
    assert_eq!(
        errors(&one_plugin("{name: binpack, arguments: {binpack.wieght: 2}}")),
        "conf.yaml:3:41: tiers[0].plugins[0].arguments[\"binpack.wieght\"]: binpack has no argument \
         `binpack.wieght`; did you mean `binpack.weight`?"
    );
    assert_eq!(
        errors(&one_plugin("{name: nodeorder, arguments: {binpack.cpu: 2}}")),
        "conf.yaml:3:43: tiers[0].plugins[0].arguments[\"binpack.cpu\"]: nodeorder has no argument \
         `binpack.cpu`; it is an argument of binpack"
    );
    assert_eq!(
        errors(&one_plugin("{name: priority, arguments: {aging: 2}}")),
        "conf.yaml:3:42: tiers[0].plugins[0].arguments.aging: priority has no argument `aging`; it \
         takes none"
    );
    assert_eq!(
        errors(&one_plugin("{name: usage, arguments: {thresholds: {CPUUsageAvg.5m: 80}}}")),
        "conf.yaml:3:52: tiers[0].plugins[0].arguments.thresholds[\"CPUUsageAvg.5m\"]: unknown key \
         `CPUUsageAvg.5m`; known are cpu, mem"
    );
    assert_eq!(
        errors("actions: allocate\nconfigurations: [{name: allocate, arguments: {maxDomains: 1}}]"),
        "conf.yaml:2:47: configurations[0].arguments.maxDomains: allocate has no argument \
         `maxDomains`; it is an argument of preempt"
    );
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    let argument = |plugin: &str, entry: &str| {
        let text = errors(&one_plugin(&format!("{{name: {plugin}, arguments: {{{entry}}}}}")));
        text.split_once("]: ").or(text.split_once("time: ")).unwrap().1.to_owned()
    };
    assert_eq!(
        argument("binpack", "binpack.cpu: \"ten\""),
        "expected a whole number of at least 0, found the text \"ten\""
    );
    assert_eq!(
        argument("binpack", "binpack.cpu: \"1.5\""),
        "expected a whole number of at least 0, found 1.5"
    );
    assert_eq!(argument("binpack", "binpack.weight: 10.0"), "expected a whole number, found 10.0");
    assert_eq!(
        argument("binpack", "binpack.resources.pods: "),
        "expected a whole number of at least 0, found nothing"
    );
    assert_eq!(
        argument("predicates", "predicate.CacheEnable: maybe"),
        "expected true or false, found the text \"maybe\""
    );
    assert_eq!(
        argument("deviceshare", "deviceshare.SchedulePolicy: 5"),
        "expected a text, found 5; put it in quotes"
    );
    assert_eq!(
        argument("sla", "sla-waiting-time: 5"),
        "expected a length of time such as \"500ms\" or \"1m30s\", found 5"
    );
    assert_eq!(
        errors(
            "actions: preempt\nconfigurations: [{name: preempt, arguments: {domainSearch: last}}]"
        ),
        "conf.yaml:2:60: configurations[0].arguments.domainSearch: expected first or best, found \
         the text \"last\""
    );
    assert_eq!(
        errors(&one_plugin("{name: gang, enableJobOrder: \"false\"}")),
        "conf.yaml:3:42: tiers[0].plugins[0].enableJobOrder: expected true or false, found the text \
         \"false\"; remove the quotes"
    );
    assert_eq!(
        errors("actions: [enqueue, allocate]\n"),
        "conf.yaml:1:10: actions: expected one text with commas, such as \"enqueue, allocate, \
         backfill\", found a list"
    );
    assert_eq!(
        errors("just words"),
        "conf.yaml:1:1: expected a map, found the text \"just words\""
    );
    assert_eq!(
        errors("actions: allocate\ntiers: {plugins: []}\n"),
        "conf.yaml:2:8: tiers: expected a list, found a map"
    );
}

#[test]
fn bools_that_volcano_parses_from_texts_are_taken() {
    for (text, value) in [("\"true\"", true), ("\"T\"", true), ("\"0\"", false), ("no", false)] {
        let line = format!("{{name: predicates, arguments: {{predicate.CacheEnable: {text}}}}}");
        let parsed = accepted(&one_plugin(&line));
        let got = plugin(&parsed, "predicates").values().given("predicate.CacheEnable");
        assert_eq!(got, Some(&ArgumentValue::Bool(value)), "{text}");
    }
}

#[test]
fn a_number_in_quotes_counts_and_says_what_volcano_does() {
    let parsed = accepted(&one_plugin("{name: binpack, arguments: {binpack.weight: \"10\"}}"));
    assert_eq!(plugin(&parsed, "binpack").values().int("binpack.weight"), 10);
    assert_eq!(
        parsed.warnings[0],
        "conf.yaml:3: tiers[0].plugins[0].arguments[\"binpack.weight\"]: counts as 10; Volcano skips \
         a number in quotes and goes on with its default (1), so remove the quotes"
    );
    let parsed =
        accepted(&one_plugin("{name: overcommit, arguments: {overcommit-factor: \"1.5\"}}"));
    let factor = plugin(&parsed, "overcommit").values().float("overcommit-factor");
    assert!((factor - 1.5).abs() < f64::EPSILON);
}

#[test]
fn switches_of_older_versions_are_taken_with_a_warning() {
    let parsed = accepted(&one_plugin("{name: gang, enableNamespaceOrder: true}"));
    assert!(parsed.warnings[0].contains("enableNamespaceOrder: has no effect"), "{parsed:?}");
}

#[test]
fn a_number_out_of_range_falls_back_to_the_default_with_a_warning() {
    let parsed = accepted(&one_plugin("{name: binpack, arguments: {binpack.cpu: -3}}"));
    assert_eq!(plugin(&parsed, "binpack").arguments.get("binpack.cpu"), None);
    assert_eq!(
        parsed.warnings[0],
        "conf.yaml:3: tiers[0].plugins[0].arguments[\"binpack.cpu\"]: -3 is not a whole number of at \
         least 0: the default 1 applies"
    );
}

#[test]
fn a_plugin_may_be_listed_once_only() {
    assert_eq!(
        errors(&format!("{HEAD}- plugins: [{{name: gang}}]\n- plugins: [{{name: gang}}]\n")),
        "conf.yaml:4:20: tiers[1].plugins[0].name: plugin `gang` is listed already in line 3; list \
         each plugin once"
    );
    assert_eq!(
        errors(
            "actions: preempt\nconfigurations:\n- name: preempt\n- name: preempt\n- arguments: {}\n"
        ),
        "conf.yaml:4:9: configurations[1].name: `preempt` is configured already in line 3; put all \
         its arguments there\n\
         conf.yaml:5:3: configurations[2].name: is missing; write `name:` and the action's name"
    );
    assert_eq!(
        errors(&one_plugin("{enableJobOrder: true}")),
        "conf.yaml:3:13: tiers[0].plugins[0].name: is missing; write `name:` and the plugin's name"
    );
}

#[test]
fn an_actions_line_without_names_is_refused() {
    let none = "actions: names no action; write for example \"enqueue, allocate, backfill\"";
    assert_eq!(errors("actions: \"\"\n"), format!("conf.yaml:1:10: {none}"));
    assert_eq!(errors("actions: \" \"\n"), format!("conf.yaml:1:10: {none}"));
    assert_eq!(
        errors("actions: \"allocate, \"\n"),
        "conf.yaml:1:10: actions: has an empty name; remove the extra comma"
    );
    assert_eq!(
        errors(""),
        "conf.yaml: actions: is missing; write for example actions: \"enqueue, allocate, backfill\""
    );
}

#[test]
fn drf_hierarchy_and_proportion_in_one_tier_are_refused() {
    assert_eq!(
        errors(&one_plugin("{name: drf, enableHierarchy: true}, {name: proportion}")),
        "conf.yaml:3:3: tiers[0]: drf with enableHierarchy and proportion are in one tier; both would \
         order the queues, so remove one or move it to another tier"
    );
    accepted(&format!(
        "{HEAD}- plugins: [{{name: drf, enableHierarchy: true}}]\n- plugins: [{{name: proportion}}]\n"
    ));
}

#[test]
fn the_schedule_section_is_checked_for_sense() {
    let schedule = |entry: &str| {
        let text = errors(&format!("{HEAD}schedule: {{{entry}}}\n"));
        text.split_once("schedule.").unwrap().1.to_owned()
    };
    assert_eq!(schedule("threads: 0"), "threads: expected a whole number from 1 to 1024, found 0");
    assert_eq!(schedule("rowsPerBlock: 100"), "rowsPerBlock: expected a multiple of 64, found 100");
    assert_eq!(
        schedule("actionBudget: 500"),
        "actionBudget: expected a length of time of at least 1ms, such as \"500ms\" or \"1m30s\", \
         found 500"
    );
    assert_eq!(
        schedule("eviction: {mode: kill}"),
        "eviction.mode: expected delete or evict, found the text \"kill\""
    );
    assert_eq!(
        schedule("period: 0s"),
        "period: expected a length of time of at least 1ms, such as \"500ms\" or \"1m30s\", found \
         the text \"0s\""
    );
}

#[test]
fn all_errors_of_a_file_come_together_in_file_order() {
    let text = "actions: \"alocate\"\ntiers:\n- plugins:\n  - name: gnag\n  - name: binpack\n    \
        arguments: {binpack.weight: heavy}\nschedule: {threads: -1}\n";
    let lines: Vec<_> =
        errors(text).lines().map(|line| line.split(": ").next().unwrap().to_owned()).collect();
    assert_eq!(lines, ["conf.yaml:1:10", "conf.yaml:4:11", "conf.yaml:6:33", "conf.yaml:7:21"]);
}

#[test]
fn what_is_not_yaml_is_refused_with_its_place() {
    assert_eq!(
        errors("actions: allocate\ntiers: [\n"),
        "conf.yaml:2:8: not valid YAML: unclosed bracket '['"
    );
    assert_eq!(
        errors("actions: allocate\n---\nactions: allocate\n"),
        "conf.yaml:3:1: not valid YAML: only single YAML document expected but multiple found"
    );
    assert_eq!(
        errors("actions: allocate\nactions: backfill\n"),
        "conf.yaml:2:1: the key `actions` is there twice; keep one of them"
    );
    let missing = load(&registry(), Path::new("no/such/file.yaml")).unwrap_err().to_string();
    assert!(missing.starts_with("no/such/file.yaml: cannot be read: "), "{missing}");
}

#[test]
fn what_has_no_effect_is_a_warning() {
    let warnings = |text: &str| accepted(text).warnings;
    let registry = registry();
    for spec in registry.plugins().filter(|spec| spec.support == Support::Planned) {
        let said =
            format!("{} is not available in this version: its rules do not apply", spec.name);
        let line = format!("{{name: {}}}", spec.name);
        assert!(warnings(&one_plugin(&line)).contains(&said), "{said}");
    }
    assert_eq!(
        warnings("actions: \"enqueue, backfill, backfill\"\n"),
        [
            "allocate is not among the actions: pods that request resources are never placed",
            "backfill is listed again and runs again in each cycle",
            "gang is not among the plugins: pods of a job are bound one by one, not as a gang",
            "predicates is not among the plugins: only room is checked; node selectors, affinity and \
             taints are not"
        ]
    );
    let basics = "{name: gang}, {name: predicates}";
    assert_eq!(
        warnings(&one_plugin(&format!("{basics}, {{name: nodeorder, enableHierarchy: true}}"))),
        ["enableHierarchy: true on nodeorder has no effect: it takes no part in that \
             (hierarchy of queues)"]
    );
    assert_eq!(
        warnings(&one_plugin("{name: gang, enabledSubJobReady: false}, {name: predicates}")),
        ["enabledSubJobReady: false on gang has no effect: it takes no part in that (when a \
             subgroup may start)"]
    );
    assert_eq!(
        warnings(&one_plugin("{name: gang, enableJobReady: false}, {name: predicates}")),
        ["gang has enableJobReady off: pods of a job are bound one by one, not as a gang"]
    );
    let unused = format!(
        "{}configurations: [{{name: preempt, arguments: {{gangAwareEnable: true}}}}]\n",
        one_plugin(basics)
    );
    assert_eq!(
        warnings(&unused),
        ["conf.yaml:4: configurations[0]: has no effect: preempt is not among the actions"]
    );
}

#[test]
fn notes_say_what_deserves_a_second_look() {
    let notes = |text: &str| advice::notes(&accepted(text).config);
    let helm = notes(include_str!("fixtures/helm.yaml"));
    assert!(helm.iter().any(|note| note.contains("pull in opposite directions")), "{helm:?}");
    let ci = notes(include_str!("fixtures/ci.yaml"));
    let has = |start: &str| ci.iter().any(|note| note.starts_with(start));
    for name in ["preempt", "reclaim"] {
        let said = format!(
            "{name} chooses victims pod by pod, whatever their gangs lose by it; recommended: \
             `gangAwareEnable: true` under its configurations, which takes what gangs can spare \
             first, then as few whole gangs as possible"
        );
        assert!(ci.contains(&said), "{ci:?}");
    }
    assert!(has("reclaim: tier 1 (gang, conformance) decides which pods"), "{ci:?}");
    let scenario = include_str!("fixtures/scenarios.yaml").split("---\n").next().unwrap();
    let quiet = notes(scenario);
    assert!(!quiet.iter().any(|note| note.contains("pod by pod")), "{quiet:?}");
}

#[test]
fn names_from_the_file_stay_on_one_line_of_the_message() {
    let text = errors("actions: allocate\n\"a\\nb\\e[31m\": 1\n");
    assert_eq!(text.lines().count(), 1, "{text:?}");
    assert!(text.contains("unknown key `a\\nb\\u{1b}[31m`"), "{text:?}");
    let long = errors(&format!("actions: {}\n", "x".repeat(5000)));
    assert!(long.len() < 300, "{long}");
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse("conf.yaml", &String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_damaged_configuration_never_panics(
        start in 0_usize..2400,
        removed in 0_usize..40,
        inserted in "[ -~\n]{0,12}",
    ) {
        let text = include_str!("fixtures/every-argument.yaml");
        let start = start.min(text.len());
        let end = (start + removed).min(text.len());
        let damaged = format!("{}{inserted}{}", &text[..start], &text[end..]);
        if let Err(errors) = parse("conf.yaml", &damaged) {
            prop_assert!(!errors.to_string().is_empty());
        }
    }
}

#[test]
fn the_pipeline_section_is_checked_for_sense() {
    let pipeline = |entry: &str| {
        let text = errors(&format!("{HEAD}pipeline: {{{entry}}}\n"));
        text.split_once("pipeline.").unwrap().1.to_owned()
    };
    assert_eq!(
        pipeline("persistence: annotation"),
        "persistence: expected one of nominatedNode, annotations, both, none, found the text \"annotation\""
    );
    assert_eq!(pipeline("deadlin: 1m"), "deadlin: unknown key `deadlin`; did you mean `deadline`?");
    let expected = "expected a length of time of at least 1ms, such as \"500ms\" or \"1m30s\"";
    assert_eq!(pipeline("deadline: 0s"), format!("deadline: {expected}, found the text \"0s\""));
    assert_eq!(pipeline("deadline: 90"), format!("deadline: {expected}, found 90"));
}

#[test]
fn the_pipeline_section_says_how_long_and_where() {
    let default = PipelineConfig::default();
    assert_eq!((default.persistence, default.deadline_ms), (Persistence::NominatedNode, 600_000));
    assert_eq!(accepted(HEAD).config.pipeline, default);
    let text = format!("{HEAD}pipeline: {{persistence: both, deadline: 1m30s}}\n");
    let given = PipelineConfig { persistence: Persistence::Both, deadline_ms: 90_000, ..default };
    assert_eq!(accepted(&text).config.pipeline, given);
    let forgetful = accepted(&format!("{HEAD}pipeline: {{persistence: none}}\n"));
    assert_eq!(forgetful.config.pipeline.persistence, Persistence::None);
    let warned = |text: &String| text.contains("forgotten at the end of each cycle");
    assert!(forgetful.warnings.iter().any(warned), "{:?}", forgetful.warnings);
}
