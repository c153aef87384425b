//! What we depend on, against the rules in deny.toml: licences, duplicate versions, sources.
//!
//! `cargo deny` checks the same and more, but takes minutes to build; this needs nothing but cargo.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use muster_tests::source::{read, root};
use toml_edit::{Array, DocumentMut, Table};

/// A crate as it is built here.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Dependency {
    name: String,
    version: String,
    licence: String,
}

/// Every crate the workspace is built from, tests and benchmarks included, but for its own.
fn dependencies() -> BTreeSet<Dependency> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = Command::new(cargo)
        .args(["tree", "--offline", "--workspace", "-e", "normal,build,dev"])
        .args(["--prefix", "none", "--format", "{p}|{l}|"])
        .current_dir(root())
        .output()
        .expect("cargo can be started: it started this test");
    let text = String::from_utf8_lossy(&tree.stdout);
    let found: BTreeSet<Dependency> = text.lines().filter_map(dependency).collect();
    assert!(found.len() > 100, "{}", String::from_utf8_lossy(&tree.stderr));
    found
}

/// A crate out of a line such as `bytes v1.2.0|MIT|`.
fn dependency(line: &str) -> Option<Dependency> {
    let mut parts = line.split('|');
    let (package, licence) = (parts.next()?, parts.next()?.to_owned());
    let (name, version) = package.split(' ').next().zip(package.split(' ').nth(1))?;
    let (name, version) = (name.to_owned(), version.strip_prefix('v')?.to_owned());
    Some(Dependency { name, version, licence }).filter(|one| !one.name.starts_with("muster"))
}

/// The rules.
struct Rules(DocumentMut);

impl Rules {
    fn read() -> Self {
        let text = read(Path::new("deny.toml"));
        Self(text.parse().expect("deny.toml is TOML"))
    }

    fn section(&self, name: &str) -> &Table {
        self.0[name].as_table().unwrap_or_else(|| panic!("deny.toml has a section {name}"))
    }

    fn list(&self, section: &str, key: &str) -> &Array {
        let list = self.section(section).get(key).and_then(|item| item.as_array());
        list.unwrap_or_else(|| panic!("deny.toml has a list {section}.{key}"))
    }

    /// The texts of a list.
    fn texts(&self, section: &str, key: &str) -> Vec<&str> {
        self.list(section, key).iter().filter_map(|entry| entry.as_str()).collect()
    }

    /// What the entries of a list say under a key.
    fn entries(&self, section: &str, list: &str, key: &str) -> Vec<&str> {
        let entries = self.list(section, list).iter().filter_map(|entry| entry.as_inline_table());
        entries.filter_map(|entry| entry.get(key)?.as_str()).collect()
    }

    /// Licences one crate may have besides those all may have.
    fn exceptions(&self, name: &str) -> Vec<&str> {
        let all = self.list("licenses", "exceptions").iter();
        let own = all
            .filter_map(|entry| entry.as_inline_table())
            .filter(|entry| entry.get("crate").and_then(|name| name.as_str()) == Some(name));
        own.filter_map(|entry| entry.get("allow")?.as_array())
            .flat_map(|allowed| allowed.iter().filter_map(|licence| licence.as_str()))
            .collect()
    }
}

/// Is a licence expression met by licences that are allowed? One of those joined by OR is enough, and
/// AND binds closer.
fn is_met(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let met = any_met(&mut words, allowed);
    met && words.next().is_none()
}

type Words<'a, 'b> = &'b mut std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_met(words: Words<'_, '_>, allowed: &[&str]) -> bool {
    let mut met = all_met(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        met |= all_met(words, allowed);
    }
    met
}

fn all_met(words: Words<'_, '_>, allowed: &[&str]) -> bool {
    let mut met = one_met(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= one_met(words, allowed);
    }
    met
}

fn one_met(words: Words<'_, '_>, allowed: &[&str]) -> bool {
    let Some(word) = words.next() else { return false };
    if word == "(" {
        return any_met(words, allowed) && words.next() == Some(")");
    }
    let exception = words.next_if_eq(&"WITH").and_then(|_| words.next());
    let licence = exception.map_or(word.to_owned(), |exception| format!("{word} WITH {exception}"));
    allowed.contains(&licence.as_str())
}

/// Does a version begin with the parts given?
fn is_of(version: &str, prefix: &str) -> bool {
    version.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[test]
fn licences_are_those_we_may_give_away() {
    let rules = Rules::read();
    let common = rules.texts("licenses", "allow");
    let refused = dependencies().into_iter().filter(|one| {
        let mut allowed = rules.exceptions(&one.name);
        allowed.extend(&common);
        !is_met(&one.licence, &allowed)
    });
    assert_eq!(refused.collect::<Vec<_>>(), []);
}

#[test]
fn licence_expressions_are_read_as_spdx_means_them() {
    let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"];
    for met in ["MIT", "GPL-3.0 OR MIT", "Unlicense/MIT", "MIT AND ISC", "(GPL-3.0 OR MIT) AND ISC"]
    {
        assert!(is_met(met, &allowed), "{met}");
    }
    assert!(is_met("Apache-2.0 WITH LLVM-exception OR GPL-3.0", &allowed));
    for not in ["", "GPL-3.0", "MIT AND GPL-3.0", "GPL-3.0 OR MIT AND BSD-3-Clause", "Apache-2.0"] {
        assert!(!is_met(not, &allowed), "{not}");
    }
    assert!(!is_met("MIT OR (ISC", &["GPL-3.0"]));
}

#[test]
fn no_crate_is_there_twice_without_a_reason() {
    let rules = Rules::read();
    let skipped: Vec<(&str, &str)> = rules
        .entries("bans", "skip", "crate")
        .into_iter()
        .map(|entry| entry.split_once('@').expect("a crate that is there twice has a version"))
        .collect();
    let all = dependencies();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in &all {
        let known = versions.entry(&one.name).or_default();
        let is_skipped =
            |(name, prefix): &(&str, &str)| *name == one.name && is_of(&one.version, prefix);
        if !skipped.iter().any(is_skipped) && !known.contains(&&*one.version) {
            known.push(&one.version);
        }
    }
    versions.retain(|_, versions| versions.len() > 1);
    assert_eq!(versions, BTreeMap::new());
    for (name, prefix) in skipped {
        let found = all.iter().any(|one| one.name == name && is_of(&one.version, prefix));
        assert!(found, "nobody needs {name} {prefix} any more: take it out of deny.toml");
    }
}

#[test]
fn nothing_that_is_banned_is_there() {
    let rules = Rules::read();
    let banned = rules.entries("bans", "deny", "crate");
    let all = dependencies();
    let found: Vec<_> = all.iter().filter(|one| banned.contains(&one.name.as_str())).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn every_crate_comes_from_a_registry_that_is_allowed() {
    let rules = Rules::read();
    let allowed = rules.texts("sources", "allow-registry");
    let lock: DocumentMut = read(Path::new("Cargo.lock")).parse().expect("Cargo.lock is TOML");
    let packages = lock["package"].as_array_of_tables().expect("Cargo.lock lists packages");
    assert!(packages.len() > 100, "Cargo.lock lists packages");
    for package in packages {
        let text = |key| package.get(key).and_then(|item| item.as_str());
        // Our own crates have none.
        let Some(source) = text("source") else { continue };
        let registry = source.strip_prefix("registry+");
        let known = registry.is_some_and(|registry| allowed.contains(&registry));
        assert!(known, "{:?} comes from {source}", text("name"));
    }
}
