//! Needs compiled to symbols, for matching against node rows.

use super::needs::{SharedId, VolumeNeeds, Wish, ZONE_LABELS};
use crate::delta::{AccessModes, Constraints, NodeTerm, Operator, Requirement, VolumeMode};
use crate::ids::Name;
use crate::resource::Quantity;
use crate::world::Matcher;
use crate::world::node::NodeRules;
use crate::world::symbol::{Symbol, Symbols};

/// What the claims of a class of tasks ask of a node.
#[derive(Clone, Debug, Default)]
pub struct VolumeRules {
    /// No node will do.
    pub blocked: bool,
    /// Where volumes that are bound can be reached.
    pins: Vec<Matcher>,
    zones: Vec<Zone>,
    /// Labels by which a node says where it is.
    zone_keys: Vec<Symbol>,
    /// Volumes to be found or made, the smallest first.
    pub(crate) wishes: Vec<WishRule>,
    /// Claims only one pod may use at a time.
    pub exclusive: Vec<SharedId>,
    /// Every claim several pods have whose state the answer depends on.
    pub(crate) shared: Vec<SharedId>,
    /// Volumes to attach, by driver.
    pub attach: Vec<(Symbol, u32)>,
}

#[derive(Clone, Debug)]
struct Zone {
    key: Symbol,
    /// Asked where the node does not have the key.
    newer: Symbol,
    values: Vec<Symbol>,
}

/// A [`Wish`] in symbols.
#[derive(Clone, Debug)]
pub(crate) struct WishRule {
    pub(super) size: Quantity,
    pub(super) class: Symbol,
    pub(super) modes: AccessModes,
    pub(super) mode: VolumeMode,
    selector: Vec<LabelTest>,
    provision: Provision,
    /// Where there is storage left: all tests of any one list; `None` if nobody says.
    segments: Option<Vec<Vec<LabelTest>>>,
    pub(crate) shared: Option<SharedId>,
}

/// Nodes a volume can be made for.
#[derive(Clone, Debug)]
enum Provision {
    Nowhere,
    Anywhere,
    /// Where all tests of any one list hold.
    Where(Vec<Vec<LabelTest>>),
}

/// A test of one label. Selectors of volumes and topologies of classes never compare numbers, so
/// unlike a [`Matcher`] this needs no texts.
#[derive(Clone, Debug)]
struct LabelTest {
    key: Symbol,
    operator: Operator,
    values: Vec<Symbol>,
}

impl LabelTest {
    fn compile(requirements: &[Requirement], symbols: &mut Symbols) -> Vec<Self> {
        let test = |requirement: &Requirement| Self {
            key: symbols.intern(&requirement.key),
            operator: requirement.operator,
            values: requirement.values.iter().map(|value| symbols.intern(value)).collect(),
        };
        requirements.iter().map(test).collect()
    }

    fn holds(&self, labels: &NodeRules) -> bool {
        let value = labels.label(self.key);
        let named = value.is_some_and(|value| self.values.contains(&value));
        match self.operator {
            Operator::In => named,
            Operator::NotIn => !named,
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt | Operator::Lt => false,
        }
    }
}

impl VolumeRules {
    /// Compiles needs.
    pub fn compile(needs: &VolumeNeeds, symbols: &mut Symbols) -> Self {
        let affinities = needs.pins.iter().filter_map(|pin| pin.affinity.as_ref());
        let pins = affinities.map(|terms| reach(terms, symbols)).collect();
        let zones = needs.pins.iter().flat_map(|pin| &pin.zones);
        let zones = zones.map(|(key, values)| zone(key, values, symbols)).collect();
        let wishes: Vec<WishRule> =
            needs.wishes.iter().map(|wish| WishRule::compile(wish, symbols)).collect();
        let mut shared = needs.exclusive.clone();
        shared.extend(wishes.iter().filter_map(|wish| wish.shared));
        shared.sort_unstable();
        shared.dedup();
        let attach = needs.attach.iter();
        Self {
            blocked: needs.blocked,
            pins,
            zones,
            zone_keys: ZONE_LABELS.iter().map(|z| symbols.intern(&Name::from(z.0))).collect(),
            wishes,
            exclusive: needs.exclusive.clone(),
            shared,
            attach: attach.map(|(driver, count)| (symbols.intern(driver), *count)).collect(),
        }
    }

    /// Does the node lie in the zones and regions of the volumes? A node that says nothing of where
    /// it is belongs to a cluster of one zone.
    pub fn zones_admit(&self, node: &NodeRules) -> bool {
        self.zones.is_empty()
            || self.zone_keys.iter().all(|&key| node.label(key).is_none())
            || self.zones.iter().all(|zone| {
                let value = node.label(zone.key).or_else(|| node.label(zone.newer));
                value.is_some_and(|value| zone.values.contains(&value))
            })
    }

    /// Are the volumes that are bound reachable from the node?
    pub fn pins_admit(&self, node: &NodeRules, symbols: &Symbols) -> bool {
        self.pins.iter().all(|pin| pin.admits(node, symbols))
    }
}

impl WishRule {
    fn compile(wish: &Wish, symbols: &mut Symbols) -> Self {
        let selector = wish.selector.as_deref().unwrap_or_default();
        Self {
            size: wish.size,
            class: symbols.intern(&wish.class),
            modes: wish.modes,
            mode: wish.mode,
            selector: LabelTest::compile(selector, symbols),
            provision: match &wish.provision {
                None => Provision::Nowhere,
                Some(terms) if terms.is_empty() => Provision::Anywhere,
                Some(terms) => Provision::Where(
                    terms.iter().map(|term| LabelTest::compile(&term.labels, symbols)).collect(),
                ),
            },
            segments: wish.segments.as_ref().map(|segments| {
                segments.iter().map(|tests| LabelTest::compile(tests, symbols)).collect()
            }),
            shared: wish.shared,
        }
    }

    /// Can a volume be made for the node?
    pub(super) fn can_be_made(&self, node: &NodeRules) -> bool {
        let allowed = match &self.provision {
            Provision::Nowhere => false,
            Provision::Anywhere => true,
            // A list without tests matches nothing, as in Kubernetes.
            Provision::Where(terms) => terms
                .iter()
                .any(|tests| !tests.is_empty() && tests.iter().all(|test| test.holds(node))),
        };
        allowed && self.has_storage(node)
    }

    /// Is the node in a segment with storage left? A segment without tests is the whole cluster.
    fn has_storage(&self, node: &NodeRules) -> bool {
        let Some(segments) = &self.segments else { return true };
        segments.iter().any(|tests| tests.iter().all(|test| test.holds(node)))
    }

    /// Has a volume the labels the wish asks for?
    pub(super) fn selects(&self, labels: &NodeRules) -> bool {
        self.selector.iter().all(|test| test.holds(labels))
    }
}

/// Nodes any one of the terms matches.
pub(super) fn reach(terms: &[NodeTerm], symbols: &mut Symbols) -> Matcher {
    let affinity =
        Constraints { required_affinity: Some(terms.to_vec()), ..Constraints::default() };
    Matcher::compile(&affinity, symbols)
}

fn zone(key: &Name, values: &[Name], symbols: &mut Symbols) -> Zone {
    let newer = ZONE_LABELS.iter().find(|label| label.0 == &**key).map_or(&**key, |label| label.1);
    Zone {
        key: symbols.intern(key),
        newer: symbols.intern(&Name::from(newer)),
        values: values.iter().map(|value| symbols.intern(value)).collect(),
    }
}
