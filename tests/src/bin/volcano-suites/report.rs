//! The result, for people and for machines.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use comfy_table::{Cell, CellAlignment, Table};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::SuitesError;
use crate::args::{Args, Output};
use crate::programs::VERSION;
use crate::suites::Suite;

/// How a case came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    Passed,
    Failed,
    /// Volcano's case says itself that it does not run.
    Skipped,
    /// Not selected by the command line, or cannot run here.
    LeftOut,
}

const STATES: [(State, &str); 4] = [
    (State::Passed, "passed"),
    (State::Failed, "failed"),
    (State::Skipped, "skipped"),
    (State::LeftOut, "leftOut"),
];

/// A case.
#[derive(Debug)]
pub(crate) struct Case {
    name: String,
    state: State,
    seconds: f64,
    /// Why it failed or was skipped.
    message: String,
}

/// What came of a suite.
#[derive(Debug)]
pub(crate) struct Outcome {
    suite: &'static Suite,
    cases: Vec<Case>,
    /// What went wrong beside cases.
    pub(crate) problems: Vec<String>,
    /// How long it ran.
    pub(crate) time: Duration,
}

/// The report Volcano's test framework writes, as far as it is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Written {
    #[serde(default, deserialize_with = "or_nothing")]
    special_suite_failure_reasons: Vec<String>,
    #[serde(default, deserialize_with = "or_nothing")]
    spec_reports: Vec<WrittenCase>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct WrittenCase {
    #[serde(default, deserialize_with = "or_nothing")]
    container_hierarchy_texts: Vec<String>,
    #[serde(default)]
    leaf_node_type: String,
    #[serde(default)]
    leaf_node_text: String,
    state: String,
    /// In nanoseconds.
    #[serde(default)]
    run_time: u64,
    #[serde(default)]
    failure: WrittenFailure,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct WrittenFailure {
    message: String,
}

/// Go writes `null` for a list without elements.
fn or_nothing<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Outcome {
    /// Reads the report of a suite.
    pub(crate) fn read(
        suite: &'static Suite,
        report: &Path,
        log: &Path,
    ) -> Result<Self, SuitesError> {
        let no_report = |problem: String| {
            let log = log.display().to_string();
            SuitesError::NoReport { suite: suite.name, problem, log }
        };
        let text = fs::read_to_string(report).map_err(|error| no_report(error.to_string()))?;
        Self::parse(suite, &text).map_err(|error| no_report(error.to_string()))
    }

    fn parse(suite: &'static Suite, text: &str) -> serde_json::Result<Self> {
        let written: Vec<Written> = serde_json::from_str(text)?;
        let problems = written.iter().flat_map(|it| it.special_suite_failure_reasons.clone());
        // That cases failed is no further problem.
        let problems = problems.filter(|reason| !reason.contains("Detected")).collect();
        let cases = written.into_iter().flat_map(|it| it.spec_reports).filter_map(Case::of);
        Ok(Self { suite, cases: cases.collect(), problems, time: Duration::ZERO })
    }

    /// Did all cases pass that ran?
    pub(crate) fn passed(&self) -> bool {
        self.count(State::Failed) == 0 && self.problems.is_empty()
    }

    fn count(&self, state: State) -> usize {
        self.of(state).count()
    }

    fn of(&self, state: State) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(move |case| case.state == state)
    }
}

impl Case {
    /// `None` for what is no case of Volcano's.
    fn of(written: WrittenCase) -> Option<Self> {
        let mut parts = written.container_hierarchy_texts;
        parts.push(written.leaf_node_text);
        let name = parts.join(" ");
        let message = written.failure.message;
        let state = match written.state.as_str() {
            "passed" => State::Passed,
            "skipped" if message.is_empty() => State::LeftOut,
            "skipped" | "pending" => State::Skipped,
            _ => State::Failed,
        };
        let is_case = written.leaf_node_type == "It" && !name.contains("[sig-");
        // What is done before and after the cases counts if it went wrong.
        let counts = is_case || (written.leaf_node_type != "It" && state == State::Failed);
        let seconds = (written.run_time / 1_000_000) as f64 / 1_000.0;
        counts.then_some(Self { name, state, seconds, message })
    }

    /// The first line of why.
    fn reason(&self) -> &str {
        self.message.lines().next().unwrap_or_default().trim()
    }
}

/// The result, with the end of its last line.
pub(crate) fn text(args: &Args, outcomes: &[Outcome]) -> String {
    match args.output {
        Output::Json => format!("{:#}\n", machine_text(args, outcomes)),
        Output::Table => table(args, outcomes),
    }
}

fn machine_text(args: &Args, outcomes: &[Outcome]) -> Value {
    let case = |case: &Case| {
        let state = STATES.iter().find(|(state, _)| *state == case.state);
        let state = state.map_or("", |(_, name)| name);
        json!({
            "name": case.name, "state": state, "seconds": case.seconds, "message": case.message,
        })
    };
    let suite = |outcome: &Outcome| {
        let mut entry = json!({"name": outcome.suite.name});
        for (state, name) in STATES {
            entry[name] = outcome.count(state).into();
        }
        entry["seconds"] = outcome.time.as_secs().into();
        entry["problems"] = json!(outcome.problems);
        entry["cases"] = outcome.cases.iter().map(case).collect();
        entry
    };
    json!({
        "volcano": VERSION,
        "scheduler": args.scheduler.name(),
        "suites": outcomes.iter().map(suite).collect::<Vec<_>>(),
    })
}

fn table(args: &Args, outcomes: &[Outcome]) -> String {
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let mut table = Table::new();
    table.set_header(["suite", "passed", "failed", "skipped", "left out", "time"]);
    for outcome in outcomes {
        let counts = STATES.iter().map(|(state, _)| right(outcome.count(*state).to_string()));
        let seconds = outcome.time.as_secs();
        let time = right(format!("{}:{:02}", seconds / 60, seconds % 60));
        let name = Cell::new(outcome.suite.name);
        table.add_row(std::iter::once(name).chain(counts).chain([time]));
    }
    let mut text = format!("Volcano {VERSION}, scheduler: {}\n{table}\n", args.scheduler.name());
    for outcome in outcomes {
        let suite = outcome.suite.name;
        for problem in &outcome.problems {
            // A string takes whatever is written.
            let _ = writeln!(text, "{suite}: {problem}");
        }
        for (state, word) in [(State::Failed, "failed"), (State::Skipped, "skipped")] {
            for case in outcome.of(state) {
                let _ = writeln!(text, "{word}: {suite}: {}: {}", case.name, case.reason());
            }
        }
        if let Some((cases, why)) = outcome.suite.left_out {
            let _ = writeln!(text, "left out: {suite}: {cases}: {why}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::suites::SUITES;

    fn outcome() -> Outcome {
        let case = |name: &str, state: &str, message: &str| {
            json!({
                "ContainerHierarchyTexts": ["Reclaim"], "LeafNodeType": "It",
                "LeafNodeText": name, "State": state, "RunTime": 1_500_000_000_u64,
                "Failure": {"Message": message},
            })
        };
        let before = json!({
            "ContainerHierarchyTexts": null, "LeafNodeType": "BeforeSuite", "LeafNodeText": "",
            "State": "passed",
        });
        let report = json!([{
            "SpecialSuiteFailureReasons": null,
            "SpecReports": [
                before,
                case("Case 1", "passed", ""),
                case("Case 2", "failed", "timed out\nat reclaim.go"),
                case("Case 3", "skipped", "has some problem"),
                case("Case 4", "skipped", ""),
                case("[sig-apps] another's", "skipped", ""),
            ],
        }]);
        Outcome::parse(&SUITES[1], &report.to_string()).expect("it is a report")
    }

    #[test]
    fn people_get_counts_and_the_names_of_what_failed() {
        let args = Args::parse_from(["volcano-suites"]);
        let text = table(&args, &[outcome()]);
        assert!(text.contains("failed: schedulingaction: Reclaim Case 2: timed out\n"), "{text}");
        assert!(text.contains("skipped: schedulingaction: Reclaim Case 3: has some problem\n"));
        assert!(!text.contains("sig-apps") && !text.contains("Case 4"), "{text}");
    }

    #[test]
    fn machines_get_every_case() {
        let args = Args::parse_from(["volcano-suites", "-o", "json"]);
        let json = machine_text(&args, &[outcome()]);
        let suite = &json["suites"][0];
        for (_, name) in STATES {
            assert_eq!(suite[name], 1, "{name}");
        }
        assert_eq!(suite["cases"][0]["seconds"], 1.5);
        assert_eq!(suite["cases"][3]["state"], "leftOut");
    }

    #[test]
    fn a_failure_anywhere_is_a_failure() {
        assert!(!outcome().passed());
        let mut good = outcome();
        good.cases.retain(|case| case.state != State::Failed);
        assert!(good.passed());
        good.problems.push("scheduler has ended".to_owned());
        assert!(!good.passed());
    }
}
