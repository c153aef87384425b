//! Rules between pods: would a victim that stayed keep a pod from its node?
//!
//! Ports and anti-affinity are judged as they are. Spread and volumes are judged in the victim's favour
//! to have been needed: it is enough that it is counted by a spread the pod must keep, or that both have
//! volumes on the node or name the same claim.

use muster_core::delta::{HostPort, InterPodTerm, PodSelector, Unmet};
use muster_core::ids::{Name, ObjectKey};

use super::super::books::{Books, PodEntry};

/// Would `victim`, on its node, be in the way of the pod that goes to `node`?
pub(super) fn is_in_the_way(
    books: &Books,
    victim: &ObjectKey,
    pod: &ObjectKey,
    node: &Name,
) -> bool {
    let (Some(stays), Some(comes)) = (books.pods.get(victim), books.pods.get(pod)) else {
        return false;
    };
    let Some(seat) = stays.seat() else { return false };
    let within_reach = |term: &InterPodTerm| {
        let value = |node: &Name| {
            label(books.nodes.get(node)?.facts.as_ref()?.labels.as_slice(), &term.topology_key)
        };
        value(seat).is_some() && value(seat) == value(node)
    };
    let rejects = |rules: &PodEntry, key: &ObjectKey, other: &PodEntry| {
        let mut terms = rules.interpod.anti_affinity.iter();
        terms.any(|term| within_reach(term) && selects(&term.pods, key, other))
    };
    let must_spread = || {
        let mut spread = comes.interpod.spread.iter().filter(|spread| spread.unmet == Unmet::Wait);
        spread.any(|spread| selects(&spread.pods, victim, stays))
    };
    let shares_claim = || {
        let named = |name: &Name| comes.claims.iter().any(|claim| claim.name == *name);
        victim.namespace == pod.namespace && stays.claims.iter().any(|claim| named(&claim.name))
    };
    let on_one_node = seat == node
        && (ports_clash(stays, comes) || !(stays.claims.is_empty() || comes.claims.is_empty()));
    on_one_node
        || rejects(comes, victim, stays)
        || rejects(stays, pod, comes)
        || must_spread()
        || shares_claim()
}

fn ports_clash(one: &PodEntry, other: &PodEntry) -> bool {
    let clash = |a: &HostPort, b: &HostPort| {
        let anywhere = a.address.is_none() || b.address.is_none() || a.address == b.address;
        a.port == b.port && a.protocol == b.protocol && anywhere
    };
    one.interpod
        .ports
        .iter()
        .any(|port| other.interpod.ports.iter().any(|taken| clash(port, taken)))
}

/// Does the selector mean the pod? Namespaces chosen by their labels count as chosen.
fn selects(selector: &PodSelector, key: &ObjectKey, pod: &PodEntry) -> bool {
    selector.0.iter().all(|part| {
        let namespace = part.namespace_labels.is_some() || part.namespaces.contains(&key.namespace);
        let labels = part.labels.as_ref().is_some_and(|requirements| {
            let mut requirements = requirements.iter();
            requirements.all(|one| one.holds(label(&pod.labels, &one.key)))
        });
        namespace && labels
    })
}

fn label<'a>(labels: &'a [(Name, Name)], key: &Name) -> Option<&'a Name> {
    labels.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}
