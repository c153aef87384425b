//! The rooms of `core`: one order without a circle, and one meaning for each type's name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use muster_tests::source::{before_tests, code, files, imports, read};

/// The rooms in order: a file imports only from rooms above its own.
const ROOMS: [&str; 21] = [
    "kernel",
    "ids",
    "resource",
    "verdict",
    "status",
    "delta",
    "config",
    "reservation",
    "intent",
    "report",
    "world",
    "interpod",
    "class",
    "policy",
    "ranking",
    "statement",
    "place",
    "evict",
    "inspect",
    "cycle",
    "scheduler",
];

/// Files of `core` that are not tests, with the code before any tests in them.
fn sources() -> Vec<(PathBuf, String)> {
    let is_test = |path: &Path| {
        path.iter().any(|part| {
            let name = part.to_string_lossy();
            ["tests", "tests.rs", "testing.rs"].contains(&name.as_ref())
        })
    };
    let found: Vec<_> = files(&["rs"])
        .filter(|path| path.starts_with("core/src") && !is_test(path))
        .map(|path| (path.clone(), before_tests(&code(&read(&path))).to_owned()))
        .collect();
    assert!(found.len() > 100, "the core's sources were not found");
    found
}

/// The room of a path below `core/src`, or of an import below `crate`.
fn position(room: &str) -> Option<usize> {
    ROOMS.iter().position(|name| *name == room)
}

fn room_of(path: &Path) -> String {
    let first = path.iter().nth(2).expect("a file of core/src").to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// Every room of `core` the code names: imported, or written out where it is used.
fn rooms_named(path: &Path, code: &str) -> Vec<String> {
    let imported = imports(path, code);
    let imported =
        imported.iter().filter_map(|import| import.strip_prefix("crate::")).map(str::to_owned);
    let written = code.split("crate::").skip(1).map(str::to_owned);
    let first = |rest: String| {
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned()
    };
    // A macro has no room: it is expanded where it is used.
    let is_macro = |rest: &String| {
        rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').starts_with('!')
    };
    let written = written.filter(|rest| !is_macro(rest));
    imported.chain(written).map(first).filter(|room| !room.is_empty()).collect()
}

#[test]
fn a_room_imports_only_from_rooms_above_it() {
    let mut faults = Vec::new();
    for (path, code) in sources() {
        let room = room_of(&path);
        if room == "lib" {
            continue;
        }
        let own = position(&room).unwrap_or_else(|| panic!("{room} is not in the list of rooms"));
        for named in rooms_named(&path, &code) {
            match position(&named) {
                Some(other) if other > own => {
                    faults.push(format!("{}: {room} must not know {named}", path.display()));
                }
                Some(_) => {}
                None => faults.push(format!("{}: no room is called {named}", path.display())),
            }
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn the_list_is_the_same_in_the_code_and_on_the_page() {
    let lib = code(&read(Path::new("core/src/lib.rs")));
    let declared: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.split_once("mod ")?.1.strip_suffix(';'))
        .filter(|name| *name != "testing")
        .collect();
    assert_eq!(declared, ROOMS, "core/src/lib.rs against the list");
    let page = read(Path::new("docs/ARCHITECTURE.md"));
    let block = page.split_once("```text rooms\n").expect("the page lists the rooms").1;
    let block = block.split_once("```").expect("the list ends").0;
    let listed: Vec<&str> = block.split_whitespace().filter(|word| *word != "→").collect();
    assert_eq!(listed, ROOMS, "docs/ARCHITECTURE.md against the list");
}

#[test]
fn a_type_s_name_means_one_thing() {
    let mut defined: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, code) in sources() {
        for line in code.lines() {
            let visible = line.split_once(") ").filter(|_| line.starts_with("pub("));
            let item = visible.map_or(line, |(_, rest)| rest);
            let item = item.strip_prefix("pub ").unwrap_or(item);
            let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
            let Some(rest) = kinds.iter().find_map(|kind| item.strip_prefix(kind)) else {
                continue;
            };
            let name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            defined.entry(name.to_owned()).or_default().push(path.display().to_string());
        }
    }
    assert!(defined.len() > 300, "the core's types were not found");
    let twice: Vec<String> = defined
        .iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(name, places)| format!("{name} is defined in {}", places.join(" and in ")))
        .collect();
    assert!(twice.is_empty(), "\n{}\n", twice.join("\n"));
}

#[test]
fn totals_are_written_in_the_world_alone() {
    // The fields of queries and of the room of nodes are private to the room; columns whose types
    // others must name, to read them or to see that they changed, could still be asked for.
    let totals =
        ["JobCounts", "JobAllocated", "JobCharge", "QueueUse", "DomainTotals", "NodeTails"];
    let mut faults = Vec::new();
    for (path, code) in sources().iter().filter(|(path, _)| room_of(path) != "world") {
        for total in totals {
            let written = [format!("mut {total}"), format!("get_mut::<{total}>")];
            let found = written.iter().any(|pattern| code.contains(pattern.as_str()));
            // A sum somebody makes for itself is a parameter of a plain function.
            if found && !path.ends_with("inspect/audit.rs") {
                faults.push(format!("{} writes {total}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}
