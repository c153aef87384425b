//! What a file may say of the server, and what is said of that.

use super::super::SPEC;
use super::*;
use crate::cli::check_config;
use muster_core::config::Values;
use muster_core::scheduler::Scheduler;

fn parse(arguments: &str) -> Result<config::Parsed, String> {
    let conf = format!(
        "actions: \"enqueue, allocate\"\ntiers:\n- plugins: [{{name: gang}}, {{name: predicates}}, {{name: extender, arguments: {{{arguments}}}}}]\n"
    );
    config::parse(&config::registry(), "c.yaml", &conf).map_err(|errors| errors.to_string())
}

#[test]
fn an_address_is_asked_for_and_must_be_one() {
    let error = |arguments: &str| parse(arguments).expect_err("refused");
    let verb = "extender.predicateVerb: predicate";
    assert!(error(verb).contains("extender.urlPrefix"), "{}", error(verb));
    for address in ["localhost:80", "ftp://host", "http://", "http://host/?a=b", "http://a b"] {
        let text = error(&format!("extender.urlPrefix: \"{address}\", {verb}"));
        assert!(text.contains("is no address of a server"), "{address}: {text}");
    }
    let text = error("extender.urlPrefix: \"http://h\", extender.predicateVerb: \"a b\"");
    assert!(text.contains("extender.predicateVerb") && text.contains("is no path"), "{text}");
    let text = error("extender.urlPrefix: \"http://h\", extender.httpTimeout: 0s");
    assert!(text.contains("leaves the server no time"), "{text}");
    let text = error("extender.managedResources: [{name: a}]");
    assert!(text.contains("expected a text"), "{text}");
    assert!(parse("").is_ok());
    assert!(parse(&format!("extender.urlPrefix: \"https://h:1/x/\", {verb}")).is_ok());
}

#[test]
fn settings_of_tls_must_make_sense_together() {
    let error = |scheme: &str, arguments: &str| {
        let verb = "extender.predicateVerb: predicate";
        parse(&format!("extender.urlPrefix: \"{scheme}://h\", {verb}, {arguments}"))
            .expect_err("refused")
    };
    for arguments in [
        "extender.caFile: /ca",
        "extender.certFile: /c, extender.keyFile: /k",
        "extender.serverName: h",
        "extender.insecure: true",
    ] {
        let text = error("http", arguments);
        assert!(text.contains("begins with https://"), "{arguments}: {text}");
        let https = "extender.urlPrefix: \"https://h\", extender.predicateVerb: p";
        assert!(parse(&format!("{https}, {arguments}")).is_ok(), "{arguments}");
    }
    assert!(error("https", "extender.certFile: /c").contains("give extender.keyFile"));
    assert!(error("https", "extender.keyFile: /k").contains("give extender.certFile"));
    let both = error("https", "extender.insecure: true, extender.caFile: /ca");
    assert!(both.contains("leave extender.caFile out"), "{both}");
}

#[test]
fn check_config_says_in_words_what_the_server_decides() {
    let parsed = parse(
        "extender.urlPrefix: \"http://h\", extender.predicateVerb: p, extender.prioritizeVerb: s, \
         extender.jobEnqueueableVerb: e",
    )
    .expect("valid");
    assert!(parsed.warnings.iter().all(|text| !text.contains("extender")), "{:?}", parsed.warnings);
    let mut out = Vec::new();
    check_config::report("c.yaml", &parsed, &mut out).expect("written");
    let report = String::from_utf8(out).expect("text");
    let flat = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("your server agrees (extender)"), "{report}");
    assert!(flat.contains("your server allows (extender)"), "{report}");
}

#[test]
fn a_running_scheduler_says_that_new_verbs_need_a_new_start() {
    let config = |verb: &str| {
        let parsed = parse(&format!("extender.urlPrefix: \"http://h\", extender.{verb}Verb: v"));
        parsed.expect("valid").config
    };
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(1).build().expect("a thread"));
    let mut scheduler = Scheduler::lasting(&config("jobReady"), pool);
    assert_eq!(scheduler.reconfigure(&config("jobEnqueueable")), Ok(()));
    let refused = scheduler.reconfigure(&config("predicate")).expect_err("it reads more");
    let said = refused.to_string();
    assert!(said.contains("plugin extender") && said.contains("start it again"), "{said}");
}

#[test]
fn every_argument_has_a_default_the_plugin_can_be_built_with() {
    let none = muster_core::config::Arguments::default();
    let values = Values::new(SPEC.name, SPEC.arguments, &none);
    assert_eq!((SPEC.check)(values), Ok(()));
    let settings = super::super::settings::Settings::of(values);
    assert_eq!(settings.timeout, Duration::from_secs(1));
    assert!(!settings.has_any());
}
