//! The chart as Helm renders it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::control_plane::{Tool, ToolError};
use crate::source::{read, root};

/// Where the chart is, from the root of the repository.
const FOLDER: &str = "deploy/chart";

/// Every object of the chart, definitions included, with values given as `name=value`.
pub fn render(release: &str, namespace: &str, values: &[&str]) -> Result<Vec<Value>, ToolError> {
    let output = Command::new(Tool::Helm.find()?)
        .args(["template", release, FOLDER, "--namespace", namespace, "--include-crds"])
        .args(values.iter().flat_map(|value| ["--set", value]))
        .current_dir(root())
        .output()
        .expect("the program was found");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("Helm writes text");
    Ok(serde_saphyr::from_multiple(&text).expect("Helm writes objects"))
}

/// The one object of that kind.
pub fn only<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    let mut found = objects.iter().filter(|object| object["kind"] == kind);
    let object = found.next().unwrap_or_else(|| panic!("the chart has no {kind}"));
    assert!(found.next().is_none(), "the chart has several {kind}");
    object
}

/// One thing somebody may do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// API group, empty for the core group.
    pub group: String,
    /// Resource, with its subresource after a slash.
    pub resource: String,
    /// Verb.
    pub verb: String,
    /// Names it is limited to, joined by commas; empty is all.
    pub names: String,
}

/// Everything rules allow, one entry for each verb on each resource.
pub fn permissions(rules: &Value) -> BTreeSet<Permission> {
    let texts = |rule: &Value, field: &str| -> Vec<String> {
        let list = rule[field].as_array().into_iter().flatten();
        list.map(|text| text.as_str().expect("rules are lists of text").to_owned()).collect()
    };
    let mut permissions = BTreeSet::new();
    for rule in rules.as_array().into_iter().flatten() {
        let names = texts(rule, "resourceNames").join(",");
        for group in texts(rule, "apiGroups") {
            for resource in texts(rule, "resources") {
                permissions.extend(texts(rule, "verbs").into_iter().map(|verb| Permission {
                    group: group.clone(),
                    resource: resource.clone(),
                    verb,
                    names: names.clone(),
                }));
            }
        }
    }
    permissions
}

/// What the page about permissions lists: group, resource and verb.
pub fn listed_permissions() -> BTreeSet<(String, String, String)> {
    let page = read(Path::new("docs/operating/rbac.md"));
    let mut listed = BTreeSet::new();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<String> = line.split('|').map(|cell| cell.replace('`', "")).collect();
        let group = cells[1].trim().replace("core", "");
        for resource in cells[2].split(',') {
            for verb in cells[3].split(',') {
                listed.insert((group.clone(), resource.trim().to_owned(), verb.trim().to_owned()));
            }
        }
    }
    listed
}
