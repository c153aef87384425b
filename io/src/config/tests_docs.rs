//! The documentation against the program: its examples are run, its tables compared.

use muster_core::config::{ArgumentKind, ArgumentSpec, Dialect};
use muster_core::policy::Registry;

use super::params::{PARAMS, Role};
use super::tests::parse;
use super::{DEFAULT_TEXT, arguments, flags, registry};
use crate::cli::check_config;

const PAGE: &str = include_str!("../../../docs/configuration.md");
const KAI_PAGE: &str = include_str!("../../../docs/kai-configuration.md");

/// The code blocks of one language below a heading, up to the next heading of that level.
fn blocks(heading: &str, language: &str) -> Vec<&'static str> {
    let start = PAGE.find(&format!("\n## {heading}\n")).expect("the page has that heading") + 1;
    let section = &PAGE[start..];
    let section = section.find("\n## ").map_or(section, |end| &section[..end]);
    let fence = format!("```{language}\n");
    section
        .split(&fence)
        .skip(1)
        .map(|rest| &rest[..rest.find("```").expect("the block ends")])
        .collect()
}

#[test]
fn the_errors_shown_are_the_ones_given() {
    let (files, outputs) = (blocks("Errors", "yaml"), blocks("Errors", "text"));
    assert_eq!((files.len(), outputs.len()), (2, 2));
    for (file, output) in files.into_iter().zip(outputs) {
        let errors = parse("conf.yaml", file).unwrap_err().to_string();
        assert_eq!(errors, output.trim_end());
    }
}

#[test]
fn the_report_shown_is_the_one_printed() {
    let file = blocks("What check-config says", "yaml")[0];
    let mut out = Vec::new();
    check_config::report("conf.yaml", &parse("conf.yaml", file).unwrap(), &mut out).unwrap();
    let shown = blocks("What check-config says", "text")[0];
    assert_eq!(String::from_utf8(out).unwrap(), shown);
}

#[test]
fn the_files_shown_are_valid_and_the_default_is_the_built_in_one() {
    let files = blocks("The file", "yaml");
    parse("example", files[0]).unwrap();
    assert_eq!(files[1], DEFAULT_TEXT);
}

#[test]
fn every_argument_and_every_switch_has_its_row() {
    every_row_stands(&registry(), PAGE);
    for flag in &flags::FLAGS {
        let row = format!("| `{}` | {} |", flag.key, flag.words);
        assert!(PAGE.contains(&row), "the page lacks the row\n{row}");
    }
}

#[test]
fn every_argument_of_kai_s_file_has_its_row() {
    every_row_stands(&Registry::standard().speaking(Dialect::Kai), KAI_PAGE);
}

#[test]
fn every_parameter_of_kai_s_scheduler_has_its_row() {
    for param in PARAMS {
        let default =
            if param.default.is_empty() { "empty".into() } else { format!("`{}`", param.default) };
        let row = match param.role {
            Role::Sets(help) => format!("| `{}` | {default} | {help} |", param.name),
            Role::Idle(why) => format!("| `{}` | {why} |", param.name),
            Role::Process(_) => format!("`{}`", param.name),
        };
        assert!(KAI_PAGE.contains(&row), "the page lacks the row\n{row}");
    }
}

#[test]
fn the_files_of_kai_s_that_are_shown_are_valid() {
    let blocks: Vec<_> = KAI_PAGE.split("```yaml\n").skip(1).collect();
    assert_eq!(blocks.len(), 4);
    for block in blocks {
        let text = &block[..block.find("```").expect("the block ends")];
        let parsed = parse("example", text).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(parsed.config.dialect, Dialect::Kai);
    }
}

/// Compares a page with what its files may name.
fn every_row_stands(registry: &Registry, page: &str) {
    let actions = registry.actions().map(|spec| (spec.name, spec.summary, spec.arguments));
    let plugins = registry.plugins().map(|spec| (spec.name, spec.summary, spec.arguments));
    for (name, summary, arguments) in actions.chain(plugins) {
        let start = page.find(&format!("\n### {name}\n")).unwrap_or_else(|| panic!("no {name}"));
        let section = page[start + 1..].split("\n##").next().unwrap().to_lowercase();
        let section = section.replace('\n', " ") + &section;
        assert!(section.contains(&summary.to_lowercase()), "{name}: {summary}");
        for row in rows(arguments, "") {
            assert!(section.contains(&row.to_lowercase()), "{name} lacks the row\n{row}");
        }
    }
}

/// The rows of a table of arguments, entries of maps included.
fn rows(specs: &[ArgumentSpec], prefix: &str) -> Vec<String> {
    let mut rows = Vec::new();
    for spec in specs {
        let key = format!("{prefix}{}", spec.key);
        let default = if spec.default.is_empty() { "–" } else { spec.default };
        let kind = arguments::expected(spec.kind);
        rows.push(format!("| `{key}` | {kind} | {default} | {} |", spec.help));
        match spec.kind {
            ArgumentKind::Map(inner) => rows.extend(self::rows(inner, &format!("{key} → "))),
            ArgumentKind::List(ArgumentKind::Map(inner)) => {
                rows.extend(self::rows(inner, &format!("{key}[] → ")));
            }
            _ => {}
        }
    }
    rows
}
