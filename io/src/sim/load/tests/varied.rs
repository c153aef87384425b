//! Variants: one file read as several runs, and what is wrong with the description of one.

use super::*;
use crate::config::{self, Parsed};

const SPEC: &str = "  config: |\n    actions: \"enqueue, allocate, preempt\"\n    tiers:\n    \
                    - plugins: [{name: priority}, {name: gang, enablePreemptable: true}]\n    \
                    - plugins: [{name: predicates}, {name: binpack, arguments: {binpack.weight: 5, \
                    binpack.cpu: 2}}]\n    configurations:\n    - {name: preempt, arguments: \
                    {gangAwareEnable: true}}\n  objects: [{kind: Gang, name: g}]\n";

/// A Scenario with these variants, the first of which is described on line 13.
fn varied(variants: &str) -> String {
    format!("kind: Scenario\nmetadata: {{name: s}}\nspec:\n{SPEC}  variants:\n{variants}")
}

fn runs(variants: &str) -> Vec<Scenario> {
    let loaded = with_files(&[("f.yaml", &varied(variants))], load_all);
    loaded.unwrap_or_else(|errors| panic!("{errors}"))
}

fn config_of(run: &Scenario) -> Parsed {
    let text = run.config.as_deref().expect("the Scenario brings its configuration");
    config::parse(&crate::config::registry(), "f.yaml", text)
        .unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn each_variant_is_a_run_of_its_own() {
    let runs = runs("  - {name: plain}\n  - {name: more, expect: [{bound: {gang: g, pods: 0}}]}\n");
    let names: Vec<&str> = runs.iter().map(|run| &*run.name).collect();
    assert_eq!(names, ["s (plain)", "s (more)"]);
    let places: Vec<&str> =
        runs.iter().map(|run| &*run.variant.as_ref().expect("it is a variant").place).collect();
    assert_eq!(places, ["document 1: spec.variants[0]", "document 1: spec.variants[1]"]);
    assert_eq!(runs[0].config, runs[1].config);
    assert_eq!([runs[0].expect.len(), runs[1].expect.len()], [0, 1]);
    assert_eq!(runs[0].objects.len(), runs[1].objects.len());
}

#[test]
fn expectations_of_a_variant_stand_beside_those_of_all() {
    let text = varied("  - {name: a, expect: [{quietAfter: 2}]}\n  - {name: b}\n")
        .replace("  variants:", "  expect: [{quietAfter: 1}]\n  variants:");
    let runs = with_files(&[("f.yaml", &text)], load_all).unwrap();
    assert_eq!([runs[0].expect.len(), runs[1].expect.len()], [2, 1]);
}

#[test]
fn a_variant_changes_the_keys_it_names_and_no_other() {
    let runs = runs(
        "  - name: changed\n    actions: \"allocate, preempt\"\n    plugins:\n    \
         - {name: gang, enablePreemptable: false}\n    \
         - {name: binpack, arguments: {binpack.cpu: 7}}\n    configurations:\n    \
         - {name: preempt, arguments: {maxDomains: 3}}\n    \
         - {name: allocate, arguments: {}}\n",
    );
    let by_hand = "actions: \"allocate, preempt\"\ntiers:\n\
                   - plugins: [{name: priority}, {name: gang, enablePreemptable: false}]\n\
                   - plugins: [{name: predicates}, {name: binpack, arguments: {binpack.weight: 5, \
                   binpack.cpu: 7}}]\nconfigurations:\n\
                   - {name: preempt, arguments: {gangAwareEnable: true, maxDomains: 3}}\n";
    assert_eq!(
        config_of(&runs[0]),
        config::parse(&crate::config::registry(), "f.yaml", by_hand).unwrap()
    );
}

#[test]
fn without_a_configuration_the_built_in_one_is_changed() {
    let text = "kind: Scenario\nspec:\n  variants:\n  - {name: a, actions: allocate}\n";
    let runs = with_files(&[("f.yaml", text)], load_all).unwrap();
    let built_in = config::DEFAULT_TEXT.replace("enqueue, allocate, backfill", "allocate");
    assert_eq!(
        config_of(&runs[0]),
        config::parse(&crate::config::registry(), "f.yaml", &built_in).unwrap()
    );
}

#[test]
fn simulate_gets_the_first_variant_or_the_one_it_names() {
    let files = [("f.yaml", &*varied("  - {name: a}\n  - {name: task}\n"))];
    assert_eq!(with_files(&files, load_one).unwrap().name, "s (a)");
    let named = |files: &[(&str, &str)], name: &str| {
        with_files(files, |paths| load_variant(paths, name)).map_err(|LoadErrors(errors)| {
            let LoadError { field, problem, .. } = &errors[0];
            format!("{field}: {problem}")
        })
    };
    assert_eq!(named(&files, "task").unwrap().name, "s (task)");
    assert_eq!(
        named(&files, "tasks").unwrap_err(),
        "spec.variants: \"tasks\" is not a variant; did you mean task? (expected one of a, task)"
    );
    assert_eq!(
        named(&[("g.yaml", "kind: Node\nmetadata: {name: n}\n")], "task").unwrap_err(),
        "spec.variants: has no variants, so none is called \"task\""
    );
}

#[test]
fn variants_that_make_no_sense_are_refused() {
    assert_eq!(
        complaints(&varied(
            "  - {name: a, plugins: [{name: binpak, enableNodeOrder: false}]}\n  \
             - {name: a}\n  - {name: Two Words}\n  - {name: \"\"}\n  \
             - {name: b, expect: [{bound: {gang: h}}]}\n"
        )),
        [
            "f.yaml:14: document 1: spec.variants[1].name: \"a\" is the name of an earlier variant \
             too",
            "f.yaml:15: document 1: spec.variants[2].name: \"Two Words\" is not a variant's name; \
             expected lower-case letters, digits and '-'",
            "f.yaml:16: document 1: spec.variants[3].name: \"\" is not a variant's name; expected \
             lower-case letters, digits and '-'",
            "f.yaml:13: document 1: spec.variants[0].plugins[0].name: \"binpak\" is in no tier of \
             spec.config; did you mean binpack? (expected one of priority, gang, predicates, \
             binpack)",
            "f.yaml:17: document 1: spec.variants[4].expect[0].bound.gang: gang default/h never \
             exists; expected one that objects or the timeline bring in"
        ]
    );
    assert_eq!(
        complaints(&varied("  - {name: a, conf: {}}\n")),
        ["f.yaml:13: document 1: spec.variants[0].conf: is not known here; expected one of name, \
             actions, plugins, configurations, expect"]
    );
    assert_eq!(
        complaints(&varied("  - {plugins: []}\n")),
        ["f.yaml:13: document 1: spec.variants[0]: missing field `name`"]
    );
}

#[test]
fn a_configuration_that_cannot_be_read_is_said_once() {
    let text = "kind: Scenario\nspec:\n  config: \"actions: [\"\n  variants:\n  \
                - {name: a, actions: allocate}\n  - {name: b, actions: preempt}\n  - {name: c}\n";
    let complaints = complaints(text);
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    let about = "f.yaml:3: document 1: spec.config: cannot be changed by variants: ";
    assert!(complaints[0].starts_with(about), "{complaints:?}");
}
