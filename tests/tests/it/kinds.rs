//! The table of kinds against what is written elsewhere: what the chart lets Muster watch, and the
//! page that says which objects a Scenario may have.

use std::collections::BTreeSet;
use std::path::Path;

use muster::objects::ObjectKind;
use muster_tests::chart::listed_permissions;
use muster_tests::source::read;

/// Group and resource of the lease by which one replica leads. It is read by its name, and nobody
/// watches it.
const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");

/// The page is held against the rendered chart where the chart is tested.
#[test]
fn the_kinds_that_may_be_watched_are_those_of_the_table() {
    let kinds = ObjectKind::watched().map(|kind| (kind.group(), kind.plural()));
    let kinds: BTreeSet<_> =
        kinds.map(|(group, plural)| (group.to_owned(), plural.to_owned())).collect();
    for verb in ["get", "list", "watch"] {
        let may = listed_permissions().into_iter().filter(|(group, resource, allowed)| {
            allowed == verb && (group.as_str(), resource.as_str()) != LEASES
        });
        let may: BTreeSet<_> = may.map(|(group, resource, _)| (group, resource)).collect();
        assert_eq!(may, kinds, "{verb}");
    }
}

#[test]
fn the_page_about_scenarios_lists_the_kinds_of_the_table() {
    let page = read(Path::new("docs/semantics/scenarios.md"));
    let rows = page.split_once("\n## Objects\n").expect("the page has the list").1.lines();
    let rows = rows.skip_while(|line| !line.starts_with("| --- ")).skip(1);
    let rows = rows
        .take_while(|line| line.starts_with("| "))
        .filter(|line| !line.starts_with("| any other "));
    let mut listed = BTreeSet::new();
    for row in rows {
        let names = row.split('|').nth(1).expect("a row has cells").split(',');
        // The group stands behind the name.
        let names = names.filter_map(|name| name.split_whitespace().next());
        listed.extend(names.map(str::to_owned));
    }
    let kinds: BTreeSet<_> = ObjectKind::ALL.iter().map(|kind| kind.name().to_owned()).collect();
    assert_eq!(listed, kinds);
}
