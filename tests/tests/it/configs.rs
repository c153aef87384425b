//! Configuration files as people have them: each is taken unchanged, or refused where Volcano refuses
//! it too, and `check-config` says what it means and what it leaves out.

use std::path::{Path, PathBuf};

use muster::cli::check_config;
use muster::config::{self, Parsed, advice, words};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("configs")
}

fn load(name: &str) -> Parsed {
    let path = folder().join(name).with_extension("yaml");
    config::load(&muster::config::registry(), &path).unwrap_or_else(|errors| panic!("{errors}"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn says(lines: &[String], wanted: &str) {
    assert!(lines.iter().any(|line| line == wanted), "{wanted:?} is missing in {lines:#?}");
}

#[test]
fn every_file_loads_and_is_explained_in_words() {
    let files = files(&folder());
    assert!(files.len() >= 14, "{files:?}");
    for file in files {
        let mut out = Vec::new();
        check_config::run(&muster::config::registry(), &file, &mut out)
            .unwrap_or_else(|error| panic!("{error}"));
        let text = String::from_utf8(out).expect("a report is text");
        for word in ["- Served first: ", "- Admitted: ", "- Evicted", "- Placed: on nodes"] {
            assert!(text.contains(word), "{} lacks {word:?}:\n{text}", file.display());
        }
    }
}

#[test]
fn what_volcano_refuses_is_refused_with_a_next_step() {
    let refused: Vec<String> = files(&folder().join("refused"))
        .iter()
        .map(|file| {
            let text = config::load(&muster::config::registry(), file)
                .expect_err("Volcano refuses it")
                .to_string();
            text.replace(&format!("{}:", file.display()), "")
        })
        .collect();
    assert_eq!(
        refused,
        [
            "2:10: actions: the action `elect` is gone from Volcano as well; take it out of the line\n\
             2:10: actions: the action `reserve` is gone from Volcano as well; take it out of the line",
            "4:3: tiers[0]: drf with enableHierarchy and proportion are in one tier; both would order \
             the queues, so remove one or move it to another tier"
        ]
    );
}

#[test]
fn the_built_in_file_is_the_built_in_policy() {
    assert_eq!(load("built-in").config, config::default_config().config);
}

#[test]
fn the_chart_is_explained() {
    let chart = load("chart");
    let said = words::sentences(&chart.config);
    says(
        &said,
        "Served first: among queues higher priority, then smallest part of its due used \
         (proportion), then the older; among the jobs of a queue higher priority (priority), then \
         not started yet (gang), then smallest share of its most used resource (drf), then the older",
    );
    says(
        &said,
        "Admitted: a job whose queue is open, if all admitted jobs together fit the cluster times \
         its factor (overcommit) and its queue stays within its capability (proportion)",
    );
    says(&said, "Evicted: nobody, since no evicting action is among the actions");
    says(
        &said,
        "Placed: on nodes with room that selectors, affinity, taints and volumes allow \
         (predicates), there the best by free room ×1, the pod's preferences ×2, nearness to other \
         pods ×2, balance of cpu and memory ×1, few unwelcoming taints ×3, images at hand ×1, even \
         spread ×2 (nodeorder), fullness ×1 (binpack)",
    );
    says(
        &advice::notes(&chart.config),
        "nodeorder prefers empty nodes (leastrequested.weight 1) and binpack full ones \
         (binpack.weight 1): they pull in opposite directions, so set one of the two to 0",
    );
}

fn evictions(parsed: &Parsed) -> Vec<String> {
    let said = words::sentences(&parsed.config).into_iter();
    said.filter(|line| line.starts_with("Evicted")).collect()
}

#[test]
fn who_is_evicted_follows_from_tiers_and_switches() {
    assert_eq!(
        evictions(&load("continuous-integration")),
        [
            "Evicted by preempt: pods of the same queue for a job that cannot start, where their \
             priority is lower (priority), they are not the system's (conformance)",
            "Evicted by reclaim: pods of other queues that may be reclaimed for a job that cannot \
             start, where gangs keep their minimum (gang), they are not the system's (conformance)"
        ]
    );
    assert_eq!(
        evictions(&load("capacity-first-tier"))[0],
        "Evicted by reclaim: pods of other queues that may be reclaimed for a job that cannot start, \
         where their queue uses more than it deserves and keeps its guarantee (capacity)"
    );
    assert_eq!(
        evictions(&load("whole-gangs"))[0],
        "Evicted by gangpreempt: gangs, whole or their surplus, of the same queue for a job that \
         cannot start, where their priority is lower (priority), they are not the system's \
         (conformance)"
    );
}

#[test]
fn switches_that_take_away_what_was_asked_for_are_warned_about() {
    let off = load("preempt-switched-off");
    says(
        &off.warnings,
        "preempt evicts nobody: enablePreemptable is off on priority, gang, conformance, drf",
    );
    assert_eq!(evictions(&off), ["Evicted by preempt: nobody, since no plugin names victims"]);
    says(
        &load("whole-gangs-without-victims").warnings,
        "gangpreempt evicts nobody: no plugin in the tiers names its victims",
    );
    says(
        &load("capacity-hierarchical").warnings,
        "enableHierarchy: true on gang has no effect: it takes no part in that (hierarchy of \
         queues)",
    );
    says(
        &load("waiting-time-too-late").warnings,
        "proportion and capacity both say what a queue is due, each in its own way, and a pod must \
         satisfy both: keep one of them",
    );
    says(
        &load("continuous-integration").warnings,
        "predicate.DynamicResourceAllocationEnable of predicates has no effect: Volcano does not \
         read it either; its feature gate decides there",
    );
}

#[test]
fn a_shuffle_that_nobody_proposes_anything_to_is_warned_about() {
    let moved = load("moved-by-nobody");
    says(&moved.warnings, "shuffle evicts nobody: no plugin in the tiers proposes victims");
    assert_eq!(moved.warnings.len(), 1, "the switch of pdb has an effect: {:?}", moved.warnings);
    assert_eq!(evictions(&moved), ["Evicted by shuffle: nobody, since no plugin proposes victims"]);
    let moved = load("moved-off-busy-nodes");
    assert_eq!(moved.warnings, [""; 0]);
    assert_eq!(
        evictions(&moved),
        ["Evicted by shuffle: running pods proposed by rescheduling, where they are not the \
          system's (conformance)"]
    );
}

#[test]
fn who_would_move_pods_without_shuffle_or_strategies_is_warned_about() {
    let text = "actions: \"allocate, backfill\"\n\
        tiers: [{plugins: [{name: gang}, {name: predicates}, {name: rescheduling}]}]\n";
    let registry = muster::config::registry();
    let lone = config::parse(&registry, "conf.yaml", text).expect("it is valid");
    let said = [
        "rescheduling moves nobody: shuffle is not among the actions",
        "rescheduling moves nobody: it has no strategies",
    ];
    assert_eq!(lone.warnings, said);
    let text = text.replace(
        "{name: rescheduling}",
        "{name: rescheduling, arguments: {strategies: \
        [{name: lowNodeUtilization, params: {nodeFit: true}}]}}",
    );
    let fit = config::parse(&registry, "conf.yaml", &text).expect("it is valid");
    let why = "nodeFit of rescheduling has no effect: a pod goes wherever it fits once it is placed \
               again";
    says(&fit.warnings, why);
}

#[test]
fn a_source_of_loads_is_read_and_checked() {
    let measured = load("measured-load");
    assert_eq!(measured.warnings, [""; 0]);
    assert_eq!(measured.missing_load_source(), None);
    let source = measured.load_source.expect("the file names one");
    assert_eq!(
        source.describe(),
        "Prometheus at http://prometheus.monitoring:9090/, every 30000 ms"
    );
    let read = |section: &str| {
        let text = format!(
            "actions: \"allocate, backfill\"\n\
             tiers: [{{plugins: [{{name: gang}}, {{name: predicates}}, {{name: usage}}]}}]\n{section}"
        );
        config::parse(&muster::config::registry(), "conf.yaml", &text)
    };
    let none = read("").expect("it is valid");
    assert_eq!(none.load_source, None);
    let missing = "usage knows the load of no node: metrics names no source of it";
    assert_eq!(none.missing_load_source().as_deref(), Some(missing));
    let elastic = "metrics: {type: elasticsearch, address: \"https://es:9200\", \
        tls.insecureSkipVerify: true, elasticsearch.username: u, elasticsearch.password: p}";
    let described = read(elastic).expect("it is valid").load_source.expect("named").describe();
    let want = "Elasticsearch at https://es:9200/, indices metricbeat-*, every 30000 ms, whatever its \
        certificate";
    assert_eq!(described, want);
    for (section, problem) in [
        (
            "metrics: {type: promtheus}",
            "metrics.type: expected one of prometheus, prometheus_adaptor, elasticsearch",
        ),
        ("metrics: {type: prometheus}", "metrics.address: "),
        ("metrics: {type: prometheus, address: nowhere}", "metrics.address: expected an address"),
        (
            "metrics: {type: prometheus_adaptor, interval: 5}",
            "metrics.interval: expected a length of time",
        ),
        (
            "metrics: {type: prometheus_adaptor, tls.insecureSkipVerify: maybe}",
            "expected true or false",
        ),
    ] {
        let errors = read(section).expect_err(section).to_string();
        assert!(errors.contains(problem), "{section}: {errors}");
    }
}

#[test]
fn what_surprises_people_is_noted() {
    let notes = |name| advice::notes(&load(name).config);
    says(
        &notes("capacity-flat"),
        "reclaim: tier 1 (gang, conformance) decides which pods may be evicted; capacity is asked \
         only when that tier allows none, so queues may fall below what they deserve; move capacity \
         to tier 1 to be asked as well",
    );
    says(
        &notes("capacity-flat"),
        "reclaim chooses victims pod by pod, whatever their gangs lose by it; recommended: \
         `gangAwareEnable: true` under its configurations, which takes what gangs can spare first, \
         then as few whole gangs as possible",
    );
    assert!(!notes("whole-gangs").iter().any(|note| note.contains("pod by pod")));
    assert!(!notes("capacity-first-tier").iter().any(|note| note.starts_with("reclaim: tier")));
    says(
        &notes("waiting-time-too-late"),
        "sla cannot get a job admitted that is refused by overcommit, proportion, capacity, in its \
         own tier or an earlier one; move sla to a tier of its own before them",
    );
    says(
        &notes("continuous-integration"),
        "enqueue with overcommit, proportion keeps a job with minResources out while the cluster or \
         its queue is full, and preempt acts only for jobs that are admitted: without enqueue such \
         a job evicts at once",
    );
    let admission = |note: &String| note.starts_with("enqueue with");
    assert!(!notes("capacity-flat").iter().any(admission), "reclaim counts when jobs are admitted");
}
