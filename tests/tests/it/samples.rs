//! Samples in the documents are run, and what they show is what the program prints.
//!
//! The word after a fence says what a block is, and what follows it how to check it:
//!
//! | block | check |
//! | --- | --- |
//! | `yaml` | a whole Scenario, manifest or configuration: what it expects holds |
//! | `yaml NAME.yaml` | a file under that name, for the other blocks |
//! | `yaml objects`, `yaml spec` | objects, and fields of a `spec`: those of a page together are a Scenario that runs |
//! | `yaml section` | part of a configuration: valid at the end of the built-in one |
//! | `text`, `json` | what `simulate` prints of the last whole sample, or of the file named |
//! | `text reasons` | each line says why a job waits at the end of some acceptance Scenario |
//! | `console` | each command prints what follows it |
//!
//! `…` alone on a line, or anywhere in JSON, leaves something out. A block that cannot be checked is
//! marked `unchecked`; one that is none of these is a fault.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use muster_tests::page::{Block, Extent, blocks, shows, shows_json};
use muster_tests::source::{files, read};

use crate::{PROGRAM, scenarios};

/// Where the pages are whose samples are run; the first one has files others use.
const PAGES: [&str; 2] = ["README.md", "docs/semantics"];

/// What is checked on pages, in a folder of its own.
struct Samples {
    folder: PathBuf,
    /// The last whole sample of the page, which output below it is about.
    last: Option<String>,
    /// Objects of the page, as a list of YAML.
    objects: String,
    /// Fields of a `spec` on the page.
    spec: String,
    /// Files some block has run.
    used: BTreeSet<String>,
}

/// Everything one run of the program has printed.
struct Printed {
    succeeded: bool,
    out: String,
    err: String,
}

impl Printed {
    fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

impl Samples {
    fn new() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("samples");
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("what an earlier run left can be removed");
        }
        fs::create_dir_all(&folder).expect("the folder can be written");
        let (objects, spec) = (String::new(), String::new());
        Self { folder, last: None, objects, spec, used: BTreeSet::new() }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).expect("the folder can be written");
    }

    fn run(&mut self, arguments: &[&str]) -> Printed {
        self.used.extend(arguments.iter().map(|&argument| argument.to_owned()));
        let command = Command::new(PROGRAM).args(arguments).current_dir(&self.folder).output();
        let output = command.expect("the program can be started");
        let text = |bytes| String::from_utf8(bytes).expect("it prints text");
        Printed {
            succeeded: output.status.success(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Runs the program and expects it to be content.
    fn succeed(&mut self, arguments: &[&str]) -> Result<(), String> {
        let printed = self.run(arguments);
        if printed.succeeded { Ok(()) } else { Err(printed.all()) }
    }

    fn check(&mut self, block: &Block) -> Result<(), String> {
        match (&*block.language, &*block.mark) {
            (_, "unchecked") => Ok(()),
            ("yaml", "objects") => {
                self.objects += &block.text;
                Ok(())
            }
            ("yaml", "spec") => {
                self.spec += &block.text;
                Ok(())
            }
            ("yaml", "section") => {
                let text = muster::config::DEFAULT_TEXT.to_owned() + &block.text;
                self.write("section.yaml", &text);
                self.succeed(&["check-config", "section.yaml"])
            }
            ("yaml", "") => self.whole(block),
            ("yaml", name) if is_file(name) => {
                self.last = Some(name.to_owned());
                Ok(())
            }
            ("text", "reasons") => reasons(&block.text),
            ("text" | "json", mark) if mark.is_empty() || is_file(mark) => self.output(block),
            ("console", "") => self.console(&block.text),
            (language, mark) => Err(format!("`{language} {mark}` is none of the marks there are")),
        }
    }

    /// A sample that stands for itself.
    fn whole(&mut self, block: &Block) -> Result<(), String> {
        let name = format!("sample-{}.yaml", block.line);
        self.write(&name, &block.text);
        let begins = |key: &str| block.text.lines().any(|line| line.starts_with(key));
        let checked = if begins("kind:") {
            self.succeed(&["test", &name])
        } else if begins("actions:") {
            self.succeed(&["check-config", &name])
        } else {
            Err("is neither a Scenario nor a configuration; mark it".to_owned())
        };
        self.last = Some(name);
        checked
    }

    fn output(&mut self, block: &Block) -> Result<(), String> {
        let named = Some(&block.mark).filter(|mark| !mark.is_empty());
        let Some(name) = named.or(self.last.as_ref()).cloned() else {
            return Err("shows what comes of no sample; mark it".to_owned());
        };
        let name = &*name;
        let json = self.run(&["simulate", name, "-o", "json"]);
        let shown = if block.language == "json" {
            shows_json(&block.text, &json.out)
        } else {
            // Warnings are part of the tables, and lines of their own beside JSON.
            let printed = self.run(&["simulate", name]).out + &json.err;
            shows(&block.text, &printed, Extent::Part)
        };
        shown.map_err(|missing| format!("{name} does not print\n{missing}"))
    }

    fn console(&mut self, text: &str) -> Result<(), String> {
        let (before, commands) = text.split_once("$ ").unwrap_or((text, ""));
        if !before.is_empty() || commands.is_empty() {
            return Err("does not begin with a command".to_owned());
        }
        for command in commands.split("\n$ ") {
            let (line, output) = command.split_once('\n').unwrap_or((command, ""));
            let Some(arguments) = arguments_of(line) else {
                return Err(format!("{line:?} does not run muster; mark it"));
            };
            let printed = self.run(&arguments).all();
            shows(output, &printed, Extent::Whole)
                .map_err(|missing| format!("{line} does not print\n{missing}\nbut\n{printed}"))?;
        }
        Ok(())
    }

    /// Runs the objects and fields of a page, and forgets the page.
    fn end_of_page(&mut self) -> Result<(), String> {
        let (objects, spec) = (std::mem::take(&mut self.objects), std::mem::take(&mut self.spec));
        self.last = None;
        if objects.is_empty() && spec.is_empty() {
            return Ok(());
        }
        let indented = |text: &str| text.lines().flat_map(|line| ["  ", line, "\n"]).collect();
        let (objects, spec): (String, String) = (indented(&objects), indented(&spec));
        self.write("parts.yaml", &format!("kind: Scenario\nspec:\n  objects:\n{objects}{spec}"));
        self.succeed(&["simulate", "parts.yaml"])
    }
}

fn is_file(mark: &str) -> bool {
    Path::new(mark).extension().is_some_and(|extension| extension == "yaml")
}

/// The arguments a command line gives to `muster`; `None` for a command that runs something else.
fn arguments_of(line: &str) -> Option<Vec<&str>> {
    let starts = ["muster ", "cargo run -- ", "cargo run --release -- "];
    let arguments = starts.iter().find_map(|start| line.strip_prefix(start))?;
    Some(arguments.split_whitespace().collect())
}

/// Checks that every line is why some job waits.
fn reasons(shown: &str) -> Result<(), String> {
    let mut messages = BTreeSet::new();
    for scenario in scenarios::all() {
        let jobs = scenarios::play(&scenario, 1).jobs;
        messages.extend(jobs.into_iter().filter_map(|job| job.message));
    }
    match shown.lines().find(|line| !messages.contains(*line)) {
        None => Ok(()),
        Some(line) => Err(format!("no acceptance Scenario ends with\n{line}")),
    }
}

#[test]
fn every_sample_shows_what_the_program_does() {
    let pages: Vec<_> = PAGES
        .iter()
        .flat_map(|place| files(&["md"]).filter(move |path| path.starts_with(place)))
        .map(|path| (path.clone(), blocks(&read(&path))))
        .collect();
    assert!(pages.len() > 10, "the pages were not found");
    let mut samples = Samples::new();
    let mut faults = Vec::new();
    let all = pages.iter().flat_map(|(_, blocks)| blocks);
    let named: Vec<&Block> =
        all.filter(|block| block.language == "yaml" && is_file(&block.mark)).collect();
    for block in &named {
        assert!(!samples.folder.join(&block.mark).exists(), "{} is there twice", block.mark);
        samples.write(&block.mark, &block.text);
    }
    for (path, blocks) in &pages {
        for block in blocks {
            if let Err(fault) = samples.check(block) {
                faults.push(format!("{}:{}: {fault}", path.display(), block.line));
            }
        }
        if let Err(fault) = samples.end_of_page() {
            faults.push(format!("{}: its parts together: {fault}", path.display()));
        }
    }
    let idle = named.iter().filter(|block| !samples.used.contains(&block.mark));
    faults.extend(idle.map(|block| format!("{} is run by no block", block.mark)));
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n\n"));
}
