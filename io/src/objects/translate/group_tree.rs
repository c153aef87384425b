//! The tree of sub-groups of a PodGroup of KAI's.
//!
//! KAI itself schedules a PodGroup whose tree it cannot build as if it had no sub-groups, and looks
//! parents up by their names in lower case. Both would start a part of a gang alone, so here names are
//! compared as they are, and a PodGroup with a broken tree is set aside.

use std::collections::BTreeMap;

use muster_core::delta::{
    GroupTree, Operator, Requirement, SUBGROUP_LABEL, SubGroupNode, SubGroupPolicy, WholeWhen,
};
use muster_core::ids::Name;

use super::{About, TranslateError, label};
use crate::objects::kai_podgroup::{KaiPodGroupSpec, KaiSubGroup, level_wish};

/// The sub-groups, parents before their children and else in the order they are written in.
pub(in crate::objects) fn nodes(
    about: &About<'_>,
    written: &[KaiSubGroup],
) -> Result<Vec<SubGroupNode>, TranslateError> {
    if u16::try_from(written.len()).is_err() {
        let problem = format!("has {} sub-groups; expected at most {}", written.len(), u16::MAX);
        return Err(about.malformed("spec.subGroups", problem));
    }
    let children = children(about, written)?;
    let mut nodes = Vec::with_capacity(written.len());
    // What is to be written next: a sub-group and where its parent came to stand.
    let mut next: Vec<(usize, Option<u16>)> = children.top.iter().map(|&at| (at, None)).collect();
    let mut taken = 0;
    while taken < next.len() {
        let (at, parent) = next[taken];
        let below = &children.of[at];
        nodes.push(node(about, written, at, below.len(), parent)?);
        let own = u16::try_from(taken).ok();
        next.extend(below.iter().map(|&child| (child, own)));
        taken += 1;
    }
    if taken < written.len() {
        // Whoever was not reached stands in a circle, or below one.
        let mut lost = vec![true; written.len()];
        for &(reached, _) in &next {
            lost[reached] = false;
        }
        let at = lost.iter().position(|&lost| lost).unwrap_or_default();
        let problem = "leads round in a circle; expected parents up to a sub-group without one";
        return Err(about.malformed(format!("spec.subGroups[{at}].parent"), problem));
    }
    Ok(nodes)
}

/// Who is below whom, by position.
struct Children {
    top: Vec<usize>,
    of: Vec<Vec<usize>>,
}

fn children(about: &About<'_>, written: &[KaiSubGroup]) -> Result<Children, TranslateError> {
    let mut by_name = BTreeMap::new();
    for (at, entry) in written.iter().enumerate() {
        let field = format!("spec.subGroups[{at}].name");
        let name = entry.name.as_str();
        if name.is_empty() || !label::is_value(name) {
            let problem = format!("{name:?} is no name that a label of a pod can have");
            return Err(about.malformed(field, problem));
        }
        if by_name.insert(name, at).is_some() {
            return Err(about.malformed(field, format!("{name:?} is a sub-group already")));
        }
    }
    let mut children = Children { top: Vec::new(), of: vec![Vec::new(); written.len()] };
    for (at, entry) in written.iter().enumerate() {
        let Some(parent) = entry.parent.as_deref().filter(|parent| !parent.is_empty()) else {
            children.top.push(at);
            continue;
        };
        let Some(&above) = by_name.get(parent) else {
            let problem = format!("{parent:?} is no sub-group of this PodGroup");
            return Err(about.malformed(format!("spec.subGroups[{at}].parent"), problem));
        };
        children.of[above].push(at);
    }
    Ok(children)
}

fn node(
    about: &About<'_>,
    written: &[KaiSubGroup],
    at: usize,
    below: usize,
    parent: Option<u16>,
) -> Result<SubGroupNode, TranslateError> {
    let entry = &written[at];
    let owner = format!("spec.subGroups[{at}]");
    let (member_field, set_field) = (format!("{owner}.minMember"), format!("{owner}.minSubGroup"));
    let member = count(about, &member_field, entry.min_member)?;
    let set = count(about, &set_field, entry.min_sub_group)?;
    let whole = match (member, set) {
        (Some(_), Some(_)) => return Err(about.malformed(set_field, EXCLUDE)),
        (Some(_), None) if below > 0 => {
            let problem = "counts pods of a sub-group that has sub-groups; expected minSubGroup";
            return Err(about.malformed(member_field, problem));
        }
        (None, Some(_)) if below == 0 => {
            let problem = "counts sub-groups of one that has none; expected minMember";
            return Err(about.malformed(set_field, problem));
        }
        (member, None) if below == 0 => WholeWhen::Pods(member.unwrap_or(0)),
        (_, set) => WholeWhen::SubGroups(at_most(about, set_field, set, below)?),
    };
    let levels = level_wish(about, entry.topology_constraint.as_ref(), &owner)?;
    Ok(SubGroupNode { name: entry.name.as_str().into(), parent, whole, levels })
}

const EXCLUDE: &str = "excludes minMember; give one of the two";

/// How many of the top sub-groups must be whole; none is all of them.
pub(in crate::objects) fn min_at_top(
    about: &About<'_>,
    spec: &KaiPodGroupSpec,
    nodes: &[SubGroupNode],
) -> Result<Option<u32>, TranslateError> {
    let field = "spec.minSubGroup";
    let set = count(about, field, spec.min_sub_group)?;
    if set.is_some() && spec.min_member.is_some() {
        return Err(about.malformed(field, EXCLUDE));
    }
    let top = nodes.iter().filter(|node| node.parent.is_none()).count();
    at_most(about, field.to_owned(), set, top)
}

fn at_most(
    about: &About<'_>,
    field: String,
    set: Option<u32>,
    most: usize,
) -> Result<Option<u32>, TranslateError> {
    match set.filter(|&set| set as usize > most) {
        None => Ok(set),
        Some(set) => {
            Err(about
                .malformed(field, format!("{set} is more than the {most} sub-groups there are")))
        }
    }
}

/// A count of pods or sub-groups, if it is given.
pub(in crate::objects) fn count(
    about: &About<'_>,
    field: &str,
    value: Option<i64>,
) -> Result<Option<u32>, TranslateError> {
    let Some(value) = value else { return Ok(None) };
    i32::try_from(value).ok().and_then(|value| u32::try_from(value).ok()).map(Some).ok_or_else(
        || about.malformed(field, format!("{value} is not a count; expected 0 or more")),
    )
}

/// The tree as plain policies, one for each sub-group, if they say the same: none has sub-groups, and all
/// are needed.
pub(in crate::objects) fn flat(tree: &GroupTree) -> Option<Vec<SubGroupPolicy>> {
    let all = tree.min_subgroups.is_none_or(|min| min as usize == tree.subgroups.len());
    let policies = tree.subgroups.iter().map(|node| match node.whole {
        WholeWhen::Pods(pods) => Some(policy(&node.name, pods)),
        WholeWhen::SubGroups(_) => None,
    });
    if all { policies.collect() } else { None }
}

fn policy(name: &Name, pods: u32) -> SubGroupPolicy {
    SubGroupPolicy {
        name: name.clone(),
        size: pods.max(1),
        // One that needs no pod need not be there.
        min_subgroups: pods.min(1),
        match_label_keys: vec![SUBGROUP_LABEL.into()],
        selector: Some(vec![Requirement {
            key: SUBGROUP_LABEL.into(),
            operator: Operator::In,
            values: vec![name.clone()],
        }]),
        topology: None,
    }
}
