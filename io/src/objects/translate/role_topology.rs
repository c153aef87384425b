//! Which roles of a group want to share nodes, from three annotations of its PodGroup.

use muster_core::delta::RoleTopology;
use muster_core::ids::Name;

use crate::objects::Metadata;

/// Groups of roles that belong together: names with commas between, groups with semicolons.
const AFFINITY: &str = "volcano.sh/task-topology-affinity";
/// Groups of roles that keep apart, likewise.
const ANTI_AFFINITY: &str = "volcano.sh/task-topology-anti-affinity";
/// Roles in the order they are placed in, with commas between.
const ORDER: &str = "volcano.sh/task-topology-task-order";

/// What the group says of its roles; `None` if it says nothing, or something that cannot be read.
pub(in crate::objects) fn wish(metadata: &Metadata) -> Option<Box<RoleTopology>> {
    read(metadata).ok().filter(|wish| *wish != RoleTopology::default()).map(Box::new)
}

/// What is wrong with the annotations, if anything: then none of them is used.
pub(in crate::objects) fn complaint(metadata: &Metadata) -> Option<String> {
    let (key, problem) = read(metadata).err()?;
    Some(format!("has an annotation {key} that {problem}; none of its task-topology is used"))
}

/// The key that cannot be read, and why.
type Fault = (&'static str, String);

fn read(metadata: &Metadata) -> Result<RoleTopology, Fault> {
    let text = |key: &'static str| {
        let text = metadata.annotations.get(key).map(String::as_str);
        text.filter(|text| !text.trim().is_empty()).map(|text| (key, text))
    };
    let groups = |key| match text(key) {
        None => Ok(Vec::new()),
        Some((key, text)) => text.split(';').map(|group| names(key, group)).collect(),
    };
    Ok(RoleTopology {
        affinity: groups(AFFINITY)?,
        anti_affinity: groups(ANTI_AFFINITY)?,
        order: text(ORDER).map_or(Ok(Vec::new()), |(key, text)| names(key, text))?,
    })
}

fn names(key: &'static str, group: &str) -> Result<Vec<Name>, Fault> {
    let mut names: Vec<Name> = Vec::new();
    for name in group.split(',').map(str::trim) {
        if name.is_empty() {
            return Err((key, format!("lacks a role in {group:?}")));
        }
        if names.iter().any(|known| **known == *name) {
            return Err((key, format!("names role {name:?} twice in {group:?}")));
        }
        names.push(name.into());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_stand_between_semicolons_and_roles_between_commas() {
        let wish = wish(&Metadata::annotated(&[
            (AFFINITY, "ps, worker;chief"),
            (ANTI_AFFINITY, "ps"),
            (ORDER, "chief,ps"),
        ]));
        let names = |list: &[&str]| list.iter().map(|&name| name.into()).collect::<Vec<Name>>();
        let expected = RoleTopology {
            affinity: vec![names(&["ps", "worker"]), names(&["chief"])],
            anti_affinity: vec![names(&["ps"])],
            order: names(&["chief", "ps"]),
        };
        assert_eq!(wish.as_deref(), Some(&expected));
    }

    #[test]
    fn what_cannot_be_read_is_said_and_not_used() {
        for bad in ["ps,,worker", "ps,ps", "ps;", ","] {
            let bad = Metadata::annotated(&[(AFFINITY, bad), (ORDER, "ps")]);
            assert_eq!(wish(&bad), None);
            assert!(complaint(&bad).is_some_and(|text| text.contains(AFFINITY)));
        }
        for nothing in [Metadata::annotated(&[]), Metadata::annotated(&[(AFFINITY, " ")])] {
            assert_eq!((wish(&nothing), complaint(&nothing)), (None, None));
        }
    }
}
