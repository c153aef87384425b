//! Which GPUs pods share, against what was expected.
//!
//! A name that a pod of the node carries at the start means that GPU. Any other is a variable: pods of one
//! node with the same name share a GPU, and with different names they do not.

use std::collections::{BTreeMap, BTreeSet};

use muster_core::ids::{Name, ObjectKey};

use super::super::books::PodEntry;
use super::super::expectation::{Assertion, Expectation, PodCount};
use super::{Evidence, pods_of};

/// What is known of shared GPUs beside the books.
#[derive(Clone, Copy, Default)]
pub struct DeviceEvidence<'a> {
    /// All expectations of the Scenario: variables are the same in each.
    pub expect: &'a [Expectation],
    /// GPUs that pods carried at the start, each with its node.
    pub at_start: Option<&'a BTreeSet<(Name, Name)>>,
    /// GPUs held for pods that wait.
    pub held: Option<&'a BTreeMap<ObjectKey, Vec<Name>>>,
}

/// The node of a pod and the GPUs it shares there, or will share.
fn place<'a>(
    evidence: Evidence<'a>,
    key: &ObjectKey,
    pod: &'a PodEntry,
) -> Option<(&'a Name, &'a [Name])> {
    if let Some(node) = pod.seat() {
        return Some((node, &pod.devices));
    }
    let held = evidence.devices.held.and_then(|held| held.get(key)).map_or(&[][..], Vec::as_slice);
    Some((pod.hold()?, held))
}

/// The GPUs of a pod, for reports.
pub(super) fn describe(evidence: Evidence<'_>, key: &ObjectKey, pod: &PodEntry) -> String {
    let devices = place(evidence, key, pod).map_or(&[][..], |place| place.1);
    let names: Vec<&str> = devices.iter().map(|name| &**name).collect();
    if names.is_empty() { "no shared GPU".to_owned() } else { format!("GPU {}", names.join(", ")) }
}

/// Does the pod share the GPUs of these names?
pub(super) fn are(
    evidence: Evidence<'_>,
    names: &[Name],
    (key, pod): (&ObjectKey, &PodEntry),
) -> bool {
    let Some((node, devices)) = place(evidence, key, pod) else { return false };
    if devices.len() != names.len() {
        return false;
    }
    let fixed = |name: &&Name| {
        let there = |at: &BTreeSet<(Name, Name)>| at.contains(&(node.clone(), (*name).clone()));
        evidence.devices.at_start.is_some_and(there)
    };
    if !names.iter().filter(fixed).all(|name| devices.contains(name)) {
        return false;
    }
    let common =
        |one: &[Name], other: &[Name]| one.iter().filter(|name| other.contains(name)).count();
    let agrees = |(others, count): (&[Name], &PodCount)| {
        pods_of(evidence.books, &count.of).iter().all(|(other_key, other)| {
            let place = place(evidence, other_key, other).filter(|place| place.0 == node);
            place.is_none_or(|(_, theirs)| {
                theirs.is_empty() || common(devices, theirs) == common(names, others)
            })
        })
    };
    evidence.devices.expect.iter().filter_map(counted).all(agrees)
}

/// The pods an expectation is about, if it says which GPUs they share.
fn counted(expectation: &Expectation) -> Option<(&[Name], &PodCount)> {
    match &expectation.assertion {
        Assertion::Bound(count) | Assertion::Pipelined(count) => {
            Some((count.devices.as_deref()?, count))
        }
        _ => None,
    }
}
