//! What a pod's claims ask of a node, with everything resolved that does not matter for it.
//!
//! Needs are part of a pod's class, so they hold a claim's name only where it matters which claim it
//! is: a thousand pods that each wait for a volume of the same kind have equal needs.

use std::cmp::Ordering;

use super::known::Known;
use crate::delta::{
    AccessModes, BindingMode, ClaimFacts, ClaimOrigin, ClaimState, NodeTerm, Operator, PodClaim,
    Requirement, StorageClassFacts, VolumeFacts, VolumeMode, VolumeState,
};
use crate::ids::{Name, ObjectKey};
use crate::resource::Quantity;

/// What the claims of a pod ask of a node. Equal needs are served by equal nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct VolumeNeeds {
    /// A claim keeps the pod from every node.
    pub blocked: bool,
    /// Where volumes that are bound, or as good as bound, can be reached; sorted, each once.
    pub pins: Vec<Pin>,
    /// Volumes still to be found or made, the smallest first.
    pub wishes: Vec<Wish>,
    /// Claims of which at most one pod may be on a node, where several pods have them.
    pub exclusive: Vec<SharedId>,
    /// Volumes to attach, by driver, sorted.
    pub attach: Vec<(Name, u32)>,
}

impl VolumeNeeds {
    /// Nothing at all?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Number of a claim that several pods have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharedId(pub u32);

/// Where a volume can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pin {
    /// Any one term must match the node; none is no demand.
    pub affinity: Option<Vec<NodeTerm>>,
    /// Labels of zones and regions with the values allowed.
    pub zones: Vec<(Name, Vec<Name>)>,
}

/// A volume to be found or made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wish {
    /// Least capacity.
    pub size: Quantity,
    /// Storage class.
    pub class: Name,
    /// Access modes it must have.
    pub modes: AccessModes,
    /// Files or a device.
    pub mode: VolumeMode,
    /// Labels it must have.
    pub selector: Option<Vec<Requirement>>,
    /// Nodes one can be made for, any one term and an empty list for all; `None` if nobody makes any.
    pub provision: Option<Vec<NodeTerm>>,
    /// Labels of the nodes where its driver has storage left, all tests of any one list; `None` if the
    /// driver does not say.
    pub segments: Option<Vec<Vec<Requirement>>>,
    /// The claim, where several pods have it: they must get the same volume.
    pub shared: Option<SharedId>,
}

/// Labels that say where a volume is, and the label that replaces each on newer nodes.
pub(crate) const ZONE_LABELS: [(&str, &str); 4] = [
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("topology.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
];

/// Drivers whose volumes are not attached, as in Volcano.
const UNCOUNTED_DRIVERS: [&str; 2] = ["rancher.io/local-path", "hostpath.csi.k8s.io"];

/// More volumes than that to find for one pod are not looked for.
pub(crate) const WISHES_MAX: usize = 64;

/// The needs of one pod, and what is particular to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) needs: VolumeNeeds,
    /// Why the pod can go nowhere, as a sentence.
    pub(crate) trouble: Option<String>,
    /// Claims behind the wishes, in the same order.
    pub(crate) open: Vec<Name>,
    /// Claims for which a volume is kept already.
    pub(crate) kept: Vec<(Name, Name)>,
}

/// A pod whose claims are looked at.
#[derive(Clone, Copy)]
pub(crate) struct Claimant<'a> {
    pub(crate) pod: &'a ObjectKey,
    pub(crate) uid: &'a Name,
    pub(crate) claims: &'a [PodClaim],
    /// Drivers of the volumes that stand in the pod itself.
    pub(crate) inline_drivers: &'a [Name],
}

/// Looks at all claims of a pod. `shared` gives the number of a claim that several pods have.
pub(crate) fn resolve(
    known: &Known,
    claimant: Claimant<'_>,
    shared: impl Fn(&ObjectKey) -> Option<SharedId>,
) -> Resolved {
    let mut resolved = Resolved::default();
    let mut wishes: Vec<(Wish, Name)> = Vec::new();
    for driver in claimant.inline_drivers {
        resolved.attach(Some(driver));
    }
    for claim in claimant.claims {
        let key = ObjectKey::new(claimant.pod.namespace.clone(), claim.name.clone());
        let facts = known.claim(&key);
        if facts.is_some_and(|facts| facts.modes.covers(AccessModes::ONCE_POD)) {
            resolved.needs.exclusive.extend(shared(&key));
        }
        match usable(facts, claimant, claim, &key).and_then(|facts| settle(known, facts)) {
            Err(trouble) => {
                // A pod that runs has its volume attached, whatever became of the claim.
                let volume = facts.and_then(|facts| known.volume(facts.volume.as_ref()?));
                resolved.attach(volume.and_then(|volume| volume.driver.as_ref()));
                resolved.trouble.get_or_insert(trouble);
            }
            Ok(VolumeOutlook::Bound(volume)) => resolved.pin(volume, zones(volume)),
            Ok(VolumeOutlook::Kept(volume)) => {
                resolved.kept.push((claim.name.clone(), volume.name.clone()));
                resolved.pin(volume, Vec::new());
            }
            Ok(VolumeOutlook::Chosen(node, class)) => {
                resolved.needs.pins.push(on_node(node));
                resolved.attach(class.provisioner.as_ref());
            }
            Ok(VolumeOutlook::Open(facts, class)) => {
                wishes.push((wish(known, facts, class, shared(&key)), claim.name.clone()));
                resolved.attach(class.provisioner.as_ref());
            }
        }
    }
    if wishes.len() > WISHES_MAX {
        let trouble = format!("more than {WISHES_MAX} of its claims wait for a volume");
        resolved.trouble.get_or_insert(trouble);
    }
    resolved.needs.exclusive.sort_unstable();
    if resolved.trouble.is_some() {
        return resolved.blocked();
    }
    wishes.sort_by(|a, b| order(&a.0, &b.0).then_with(|| a.1.cmp(&b.1)));
    (resolved.needs.wishes, resolved.open) = wishes.into_iter().unzip();
    resolved.needs.pins.sort();
    resolved.needs.pins.dedup();
    resolved
}

impl Resolved {
    fn pin(&mut self, volume: &VolumeFacts, zones: Vec<(Name, Vec<Name>)>) {
        let pin = Pin { affinity: volume.affinity.clone(), zones };
        if pin != Pin::default() {
            self.needs.pins.push(pin);
        }
        self.attach(volume.driver.as_ref());
    }

    /// Nothing but what the pod has on a node if it is on one: where it could go does not matter.
    fn blocked(self) -> Self {
        let VolumeNeeds { exclusive, attach, .. } = self.needs;
        let needs = VolumeNeeds { blocked: true, exclusive, attach, ..VolumeNeeds::default() };
        Self { needs, trouble: self.trouble, ..Self::default() }
    }

    fn attach(&mut self, driver: Option<&Name>) {
        let Some(driver) = driver.filter(|driver| !UNCOUNTED_DRIVERS.contains(&&***driver)) else {
            return;
        };
        let attach = &mut self.needs.attach;
        match attach.binary_search_by(|entry| entry.0.cmp(driver)) {
            Ok(at) => attach[at].1 += 1,
            Err(at) => attach.insert(at, (driver.clone(), 1)),
        }
    }
}

/// The claim, if the pod may use it at all.
fn usable<'a>(
    facts: Option<&'a ClaimFacts>,
    claimant: Claimant<'_>,
    claim: &PodClaim,
    key: &ObjectKey,
) -> Result<&'a ClaimFacts, String> {
    let facts = facts.ok_or_else(|| format!("claim {key} does not exist"))?;
    let foreign = facts.owner.as_ref().is_some_and(|owner| owner != claimant.uid);
    if claim.origin == ClaimOrigin::Ephemeral && foreign {
        return Err(format!("claim {key} was not made for pod {}", claimant.pod));
    }
    Ok(facts)
}

/// What is to become of a claim.
enum VolumeOutlook<'a> {
    /// It has its volume.
    Bound(&'a VolumeFacts),
    /// A volume is kept for it.
    Kept(&'a VolumeFacts),
    /// A volume is being made for a node.
    Chosen(&'a Name, &'a StorageClassFacts),
    /// A volume is to be found or made.
    Open(&'a ClaimFacts, &'a StorageClassFacts),
}

fn settle<'a>(known: &'a Known, claim: &'a ClaimFacts) -> Result<VolumeOutlook<'a>, String> {
    let key = &claim.key;
    match (claim.state, &claim.volume) {
        (ClaimState::Leaving, _) => return Err(format!("claim {key} is being deleted")),
        (ClaimState::Lost, _) => return Err(format!("claim {key} has lost its volume")),
        (ClaimState::Bound, Some(name)) => {
            let gone = || format!("volume {name} of claim {key} does not exist");
            return known.volume(name).map(VolumeOutlook::Bound).ok_or_else(gone);
        }
        (ClaimState::Pending, Some(name)) => {
            return Err(format!("claim {key} waits for its volume {name} to be bound"));
        }
        (ClaimState::Bound | ClaimState::Pending, None) => {}
    }
    let Some(name) = known.class_of(claim) else {
        return Err(format!("claim {key} is not bound and has no storage class"));
    };
    let Some(class) = known.class(name) else {
        return Err(format!("storage class {name} of claim {key} does not exist"));
    };
    if class.binding == BindingMode::Immediate {
        return Err(format!(
            "claim {key} is not bound yet; storage class {name} binds it without waiting for a pod"
        ));
    }
    let kept = known.kept_for(key).filter(|volume| keeps(volume, claim)).min_by_key(|v| &v.name);
    Ok(match (kept, &claim.selected_node) {
        (Some(volume), _) => VolumeOutlook::Kept(volume),
        (None, Some(node)) => VolumeOutlook::Chosen(node, class),
        (None, None) => VolumeOutlook::Open(claim, class),
    })
}

/// Is the volume, which names the claim, really for it?
fn keeps(volume: &VolumeFacts, claim: &ClaimFacts) -> bool {
    let same = |uid: &Name| uid.is_empty() || *uid == claim.uid;
    volume.claim.as_ref().is_some_and(|named| same(&named.uid))
        && volume.state == VolumeState::Usable
        && volume.capacity >= claim.size
        && volume.mode == claim.mode
}

fn wish(
    known: &Known,
    claim: &ClaimFacts,
    class: &StorageClassFacts,
    shared: Option<SharedId>,
) -> Wish {
    let driver = class.provisioner.as_ref();
    Wish {
        size: claim.size,
        class: class.name.clone(),
        modes: claim.modes,
        mode: claim.mode,
        selector: claim.selector.clone().filter(|selector| !selector.is_empty()),
        provision: driver.map(|_| class.topologies.clone()),
        segments: driver
            .and_then(|driver| known.capacities.segments(driver, &class.name, claim.size)),
        shared,
    }
}

/// The smallest first, as Kubernetes looks for them; the rest only makes the order complete.
fn order(a: &Wish, b: &Wish) -> Ordering {
    let key = |wish: &Wish| (wish.size, wish.class.clone(), wish.modes, wish.mode, wish.shared);
    key(a)
        .cmp(&key(b))
        .then_with(|| a.selector.cmp(&b.selector))
        .then_with(|| a.provision.cmp(&b.provision))
        .then_with(|| a.segments.cmp(&b.segments))
}

fn on_node(node: &Name) -> Pin {
    let field = Requirement {
        key: "metadata.name".into(),
        operator: Operator::In,
        values: vec![node.clone()],
    };
    let term = NodeTerm { labels: Vec::new(), fields: vec![field] };
    Pin { affinity: Some(vec![term]), zones: Vec::new() }
}

/// Zones and regions the labels of a volume name. Several stand in one value with `__` between them;
/// a value that leaves one out says nothing, as in Kubernetes.
fn zones(volume: &VolumeFacts) -> Vec<(Name, Vec<Name>)> {
    let named = volume.labels.iter().filter(|label| ZONE_LABELS.iter().any(|z| z.0 == &*label.0));
    named
        .filter_map(|(key, value)| {
            let values: Vec<Name> = value.split("__").map(|one| one.trim().into()).collect();
            values.iter().all(|one| !one.is_empty()).then(|| (key.clone(), values))
        })
        .collect()
}
