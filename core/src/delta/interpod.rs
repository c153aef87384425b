//! What a pod asks of the pods around it: host ports, affinity, anti-affinity, spread.

use super::Requirement;
use crate::ids::Name;

/// All rules of one pod about other pods. Namespaces and label keys that stand for the pod's own
/// values are already filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct InterPodFacts {
    /// Ports it takes on its node, sorted, each once.
    pub ports: Vec<HostPort>,
    /// Pods that must be near: all terms must hold.
    pub affinity: Vec<InterPodTerm>,
    /// Pods that must not be near: none of the terms may hold.
    pub anti_affinity: Vec<InterPodTerm>,
    /// Pods it likes (weight above zero) or dislikes (below) to have near.
    pub preferred: Vec<(i32, InterPodTerm)>,
    /// How evenly it and its like must, or should, be spread.
    pub spread: Vec<Spread>,
}

impl InterPodFacts {
    /// No rule at all?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Every selector the rules use, in order. The terms of a required affinity count as one: only a
    /// pod that matches all of them fulfils it.
    pub fn selectors(&self) -> impl Iterator<Item = PodSelector> + '_ {
        let terms = self.anti_affinity.iter().chain(self.preferred.iter().map(|wish| &wish.1));
        let spread = self.spread.iter().map(|spread| spread.pods.clone());
        self.companions().into_iter().chain(terms.map(|term| term.pods.clone())).chain(spread)
    }

    /// The pods a required affinity looks for; `None` where nothing is required.
    pub fn companions(&self) -> Option<PodSelector> {
        let parts = self.affinity.iter().flat_map(|term| term.pods.0.iter().cloned());
        let mut parts: Vec<_> = parts.collect();
        parts.dedup();
        (!parts.is_empty()).then_some(PodSelector(parts))
    }
}

/// `pods` within the same value of `topology_key`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InterPodTerm {
    /// Which pods.
    pub pods: PodSelector,
    /// Label of nodes: pods on nodes with the same value are near each other.
    pub topology_key: Name,
}

/// Pods that match every part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodSelector(pub Vec<SelectorPart>);

/// Pods in certain namespaces with certain labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SelectorPart {
    /// Namespaces by name, sorted.
    pub namespaces: Vec<Name>,
    /// Further namespaces, by their labels; an empty list of requirements is all of them.
    pub namespace_labels: Option<Vec<Requirement>>,
    /// Labels of the pods; none matches no pod, an empty list every pod.
    pub labels: Option<Vec<Requirement>>,
}

/// A constraint on the spread of pods over the values of a node label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spread {
    /// Which pods are counted.
    pub pods: PodSelector,
    /// Label of nodes whose values are to be even.
    pub topology_key: Name,
    /// How many more pods a value may have than the value with the fewest, at least 1.
    pub max_skew: u32,
    /// With fewer values than this the fewest counts as zero.
    pub min_domains: Option<u32>,
    /// Must or should.
    pub unmet: Unmet,
    /// Are nodes the pod's node selector and affinity exclude left out of the count?
    pub node_affinity: Heed,
    /// Are nodes with taints the pod does not tolerate left out of the count?
    pub node_taints: Heed,
}

/// What to do where a constraint cannot be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unmet {
    /// `DoNotSchedule`.
    Wait,
    /// `ScheduleAnyway`.
    GoAnyway,
}

/// Does a spread constraint heed other rules on nodes?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Heed {
    /// `Honor`.
    Honor,
    /// `Ignore`.
    Ignore,
}

/// A port of the node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    /// Its number.
    pub port: u16,
    /// Its protocol.
    pub protocol: Protocol,
    /// The address it is taken on; none is every address.
    pub address: Option<Name>,
}

/// Protocol of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the protocols of Kubernetes by name")]
pub enum Protocol {
    Tcp,
    Udp,
    Sctp,
}

/// A namespace as selectors see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceFacts {
    /// Its name.
    pub name: Name,
    /// Its labels, sorted by key.
    pub labels: Vec<(Name, Name)>,
}
