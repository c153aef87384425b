//! The section as KAI's operator writes it, ours beside it, and what is wrong with others.

use muster_core::config::CronTimes;

use super::super::Parsed;
use super::super::tests::parse;
use super::*;

fn file(section: &str) -> String {
    format!("actions: \"allocate, reclaim\"\nusageDBConfig:\n{section}")
}

fn read(section: &str) -> Parsed {
    parse("kai.yaml", &file(section)).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The warnings about past use.
fn warned(parsed: &Parsed) -> Vec<&str> {
    let all = parsed.warnings.iter().map(String::as_str);
    all.filter(|warning| warning.contains("usageDB") || warning.contains("kValue")).collect()
}

fn source(section: &str) -> UsageSource {
    read(section).usage_source.expect("it names a Prometheus")
}

const AT: &str = "  clientType: prometheus\n  connectionString: http://prometheus:9090\n";

#[test]
fn what_is_left_out_is_as_in_kai() {
    let parsed = read(AT);
    assert_eq!(warned(&parsed), [""; 0]);
    assert_eq!(parsed.config.usage_record, None);
    let source = parsed.usage_source.expect("it is named");
    assert_eq!(source.address, UsageAddress::Given("http://prometheus:9090".parse().unwrap()));
    let week = 7 * 24 * 3_600_000;
    assert_eq!(source.window, UsageWindow { half_life_ms: None, span: UsageSpan::Sliding(week) });
    let minutes = [source.every, source.stale_after, source.wait_at_most, source.resolution];
    assert_eq!(minutes, [1, 5, 1, 1].map(Duration::from_mins));
    assert_eq!(source.answer_within, Duration::from_secs(10));
    let held = source.series.map(|series| series.held);
    let named = ["cpu_cores", "memory_bytes", "gpus"];
    assert_eq!(held, named.map(|name| format!("kai_queue_allocated_{name}")));
}

#[test]
fn everything_can_be_given() {
    let source = source(
        "  clientType: prometheus\n  connectionStringEnvVar: USAGE_DB\n  usageParams:\n    \
         halfLifePeriod: 24h0m0s\n    windowSize: 2w\n    windowType: tumbling\n    \
         tumblingWindowStartTime: \"2026-01-01T06:00:00Z\"\n    fetchInterval: 30s\n    \
         stalenessPeriod: 2m\n    waitTimeout: 0s\n    extraParams:\n      usageQueryTimeout: 5s\n      \
         queryResolution: 2m\n      gpuAllocationMetric: held\n      gpuCapacityMetric: sum(there)\n",
    );
    assert_eq!(source.address, UsageAddress::Variable("USAGE_DB".to_owned()));
    let size_ms = 14 * 24 * 3_600_000;
    let span = UsageSpan::Tumbling { size_ms, from_ms: 1_767_247_200_000 };
    assert_eq!(source.window, UsageWindow { half_life_ms: Some(86_400_000), span });
    assert_eq!(
        (source.every, source.stale_after),
        (Duration::from_secs(30), Duration::from_mins(2))
    );
    assert_eq!((source.wait_at_most, source.resolution), (Duration::ZERO, Duration::from_mins(2)));
    let [.., gpu] = &source.series;
    assert_eq!((gpu.held.as_str(), gpu.there.as_str()), ("held", "sum(there)"));
    assert_eq!(
        source.describe(),
        "Prometheus at the address in USAGE_DB, every 30000 ms: what was used since the last window of \
         1209600000 ms began, which counts half after 86400000 ms"
    );
}

#[test]
fn extra_parameters_may_stand_beside_the_others() {
    let source = source(&format!("{AT}  extraParams: {{cpuAllocationMetric: cores}}\n"));
    assert_eq!(source.series[0].held, "cores");
}

#[test]
fn use_can_be_kept_here() {
    let parsed = read(
        "  clientType: record\n  usageParams: {windowType: cron, cronString: \"@daily\", \
         halfLifePeriod: \"0\", fetchInterval: 10s}\n",
    );
    let span = UsageSpan::Cron(CronTimes::parse("@daily").unwrap());
    let window = UsageWindow { half_life_ms: None, span };
    let recording = UsageRecording { window, every_ms: 10_000 };
    assert_eq!(parsed.config.usage_record, Some(recording));
    assert_eq!(warned(&parsed), [""; 0]);
    assert_eq!(parsed.usage_source, None);
}

#[test]
fn what_has_no_effect_is_said() {
    for (section, want) in [
        ("  clientType: record\n  connectionString: x\n", "connectionString: has no effect"),
        ("  clientType: record\n  usageParams: {waitTimeout: 1s}\n", "waitTimeout: has no effect"),
        (
            "  clientType: record\n  usageParams: {extraParams: {queryResolution: 1m}}\n",
            "extraParams: has no effect",
        ),
        (
            "  clientType: record\n  usageParams: {cronString: \"@daily\"}\n",
            "cronString: has no effect: windowType is sliding",
        ),
        (
            &format!("{AT}  usageParams: {{stalenessPeriod: 1s}}\n"),
            "stalenessPeriod: is shorter than fetchInterval; 60000 ms counts",
        ),
        (
            &format!("{AT}tiers: [{{plugins: [{{name: elastic}}]}}]\n"),
            "usageDBConfig has no effect: proportion",
        ),
    ] {
        let warnings = read(section).warnings;
        assert!(warnings.iter().any(|warning| warning.contains(want)), "{section}: {warnings:?}");
    }
    let text = "actions: stalegangeviction\n\
                tiers: [{plugins: [{name: proportion, arguments: {kValue: \"2\"}}]}]\n";
    let warnings = parse("kai.yaml", text).expect("it is valid").warnings;
    let want = "kValue of proportion has no effect: nothing is known of past use";
    assert!(warnings.iter().any(|warning| warning.contains(want)), "{warnings:?}");
}

#[test]
fn what_cannot_be_used_is_an_error_with_what_was_expected() {
    for (section, want) in [
        ("  usageParams: {}\n", "usageDBConfig.clientType: is missing"),
        ("  clientType: fake\n", "expected prometheus or record: this one is a stand-in of KAI's"),
        ("  clientType: fake-with-history\n", "a stand-in of KAI's own tests"),
        ("  clientType: influx\n", "expected prometheus, or record to keep use here, found"),
        ("  clientType: prometheus\n", "usageDBConfig.connectionString: is missing"),
        (
            &format!("{AT}  connectionStringEnvVar: X\n"),
            "expected only one of connectionString and connectionStringEnvVar, found both",
        ),
        (
            "  clientType: prometheus\n  connectionString: nowhere\n",
            "usageDBConfig.connectionString: expected an address such as",
        ),
        (&format!("{AT}  usageParam: {{}}\n"), "did you mean `usageParams`"),
        (&format!("{AT}  usageParams: {{windowSise: 1h}}\n"), "did you mean `windowSize`"),
        (
            &format!("{AT}  usageParams: {{windowType: hopping}}\n"),
            "usageParams.windowType: expected one of sliding, tumbling, cron, found",
        ),
        (
            &format!("{AT}  usageParams: {{windowType: cron}}\n"),
            "usageParams.cronString: is missing; windowType cron needs it",
        ),
        (
            &format!("{AT}  usageParams: {{windowType: cron, cronString: \"0 0 * * 8\"}}\n"),
            "usageParams.cronString: day of the week \"8\": expected",
        ),
        (
            &format!("{AT}  usageParams: {{fetchInterval: 5}}\n"),
            "usageParams.fetchInterval: expected a length of time of at least 1000 ms",
        ),
        (
            &format!(
                "{AT}  usageParams: {{windowType: tumbling, tumblingWindowStartTime: soon}}\n"
            ),
            "tumblingWindowStartTime: expected a time such as",
        ),
        (
            &format!("{AT}  usageParams: {{extraParams: {{queryResolutoin: 1m}}}}\n"),
            "did you mean `queryResolution`",
        ),
    ] {
        let error = parse("kai.yaml", &file(section)).expect_err(section).to_string();
        assert!(error.contains(want), "{section}: {error}");
    }
}

#[test]
fn a_password_is_not_shown() {
    let source = source(
        "  clientType: prometheus\n  connectionString: \"http://me:secret@prometheus:9090/x\"\n",
    );
    let said = source.describe();
    assert!(said.starts_with("Prometheus at http://prometheus:9090/x, every"), "{said}");
}
