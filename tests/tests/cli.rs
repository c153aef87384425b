//! The binary as scripts use it: exit codes, and one JSON document whatever the number of threads.

use muster_tests::binary::muster;
use serde_json::Value;

fn code(arguments: &[&str]) -> Option<i32> {
    muster(arguments).status.code()
}

#[test]
fn exit_codes_tell_done_from_failed_from_bad_input() {
    let failing = "tests/fixtures/cannot-pass.yaml";
    assert_eq!(code(&["test", "tests/scenarios/gang"]), Some(0));
    assert_eq!(code(&["test", "tests/scenarios/gang", failing]), Some(1));
    assert_eq!(code(&["test", "tests/scenarios/no-such-folder"]), Some(2));
    assert_eq!(code(&["no-such-command"]), Some(2));
}

/// The text with the digits after each `durationUs` taken out.
fn without_durations(text: &str) -> String {
    let mut parts = text.split("\"durationUs\":");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + "\"durationUs\":" + part.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit())
    })
}

#[test]
fn json_is_one_document_and_the_same_on_any_number_of_threads() {
    for file in ["gang/two-gangs-one-cluster", "pipeline/mixed-statement-held"] {
        let file = format!("tests/scenarios/{file}.yaml");
        let [one, four] = ["1", "4"].map(|threads| {
            let output = muster(["simulate", &file, "-o", "json", "--threads", threads]);
            assert_eq!(output.status.code(), Some(0), "{file}");
            String::from_utf8(output.stdout).expect("JSON is UTF-8")
        });
        let document: Value = serde_json::from_str(&one).expect("nothing but one document");
        let cycles = document["cycles"].as_array().expect("a list of cycles");
        assert!(cycles.iter().all(|cycle| cycle["durationUs"].is_u64()), "{file}");
        assert_eq!(without_durations(&one), without_durations(&four), "{file}");
    }
}
