//! Classes of tasks that no rule can tell apart, so that a thousand-pod gang costs one scan.

use std::sync::Arc;

use bevy_ecs::prelude::Resource;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::delta::{Constraints, PodFacts, PodOwner, StrategyWish};
use crate::ids::{Name, ObjectKey};
use crate::interpod::{InterPodRules, SelectorId, SelectorRegistry};
use crate::resource::{Dim, ResourceVec};
use crate::world::{
    Asked, ClassId, DeviceAsk, GroupRuleId, Matcher, Reads, Request, ShareAsk, Symbol, Symbols,
    ToleranceSet, Unmeasured, VolumeNeeds, VolumeRules,
};

/// What all tasks of a class have in common, compiled for matching.
#[derive(Clone, Debug)]
pub struct Class {
    /// Its number.
    pub id: ClassId,
    /// What each of them asks for, as queues count it.
    pub request: ResourceVec,
    /// The same with what each of them counts for on a node, as its tasks have it.
    pub(crate) asked: Request,
    /// Where each of them may go and would like to go.
    pub nodes: Matcher,
    /// Which taints each of them bears.
    pub tolerances: ToleranceSet,
    /// What their queue says of groups of nodes; `None` where no plugin reads groups.
    pub group_rule: Option<GroupRuleId>,
    /// Images of their containers, one for each.
    pub images: Vec<Symbol>,
    /// Milli-cpu and bytes of memory that scores count above the request.
    pub unasked: [i64; 2],
    /// How each of them wants its resources scored.
    pub strategy: Option<StrategyWish>,
    /// May they use lent nodes?
    pub borrows: bool,
    /// Rules about other pods, their own and others' about them.
    pub interpod: InterPodRules,
    /// What the claims of each of them ask of a node; `None` if nothing.
    pub volumes: Option<Arc<VolumeRules>>,
    origin: Arc<ClassOrigin>,
}

/// Classes without tasks that are kept in case such tasks come again, beyond as many as are in use.
const UNUSED_MAX: usize = 4_096;

/// What a class is made from: equal origins are one class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ClassOrigin {
    asks: Asks,
    /// Selectors of the tasks' own rules, sorted.
    own: Vec<SelectorId>,
}

/// What tells the tasks of one class from those of another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Asks {
    /// What each of them asks for.
    pub(crate) request: ResourceVec,
    /// What rules read of their pods.
    pub(crate) constraints: Constraints,
    /// What their queue says of groups of nodes.
    pub(crate) group_rule: Option<GroupRuleId>,
    /// Selectors of anybody's rules the tasks match, sorted. Labels no selector looks at do not
    /// tell classes apart.
    pub(crate) matched: Vec<SelectorId>,
    /// What their claims ask of a node.
    pub(crate) volumes: VolumeNeeds,
    /// The pods they belong together with and are spread from, as they say nothing of it themselves.
    pub(crate) default_spread: Option<SelectorId>,
    /// What they ask of devices that is no whole one.
    pub(crate) devices: Option<Box<DeviceAsk>>,
    /// Whose they are; none where nobody reads it.
    pub(crate) kin: Option<Kin>,
}

/// Pods that were made alike and for the same end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kin {
    /// Those of a PodGroup in one role.
    Role(ObjectKey, Name),
    /// Those without PodGroup of one controller, in its namespace.
    Owned(Name, PodOwner),
    /// One alone.
    Alone(ObjectKey),
}

impl Kin {
    /// Whose a pod is.
    pub(crate) fn of(pod: &PodFacts) -> Self {
        let namespace = &pod.key.namespace;
        match (&pod.group, &pod.owner) {
            (Some(group), _) => {
                Self::Role(ObjectKey::new(namespace.clone(), group.clone()), pod.role.clone())
            }
            (None, Some(owner)) => Self::Owned(namespace.clone(), owner.clone()),
            (None, None) => Self::Alone(pod.key.clone()),
        }
    }
}

/// Every class met so far. Classes are made and dropped while deltas are taken in; a cycle only reads
/// them.
#[derive(Debug, Default, Resource)]
pub struct Classes {
    reads: Reads,
    by_origin: HashMap<Arc<ClassOrigin>, ClassId, FxBuildHasher>,
    /// By number; `None` where a class was dropped and its number is free.
    list: Vec<Option<Box<Class>>>,
    free: Vec<ClassId>,
    /// Classes that were in use when that was last looked at.
    used: usize,
    /// State of the rules of others all classes know of.
    interpod_version: u32,
}

impl Classes {
    /// No class yet, for rules that read this of pods.
    pub fn new(reads: Reads) -> Self {
        Self { reads, ..Self::default() }
    }

    /// The class of tasks that ask for this, a new one if it was never met.
    pub(crate) fn intern(
        &mut self,
        mut asks: Asks,
        interpod: &mut SelectorRegistry,
        symbols: &mut Symbols,
    ) -> ClassId {
        self.reads.strip(&mut asks.constraints);
        let learned = interpod.learn(&asks.constraints.interpod);
        let mut own = learned.own.clone();
        if let Some(default_spread) = asks.default_spread
            && let Err(at) = own.binary_search(&default_spread)
        {
            own.insert(at, default_spread);
        }
        let origin = ClassOrigin { asks, own };
        if let Some(&id) = self.by_origin.get(&origin) {
            return id;
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.list.push(None);
            ClassId(self.list.len() as u32 - 1)
        });
        let origin = Arc::new(origin);
        let Asks { request, constraints, group_rule, matched, volumes, default_spread, .. } =
            &origin.asks;
        let counted_by = interpod.counted_by(&learned, matched);
        let asked = Asked {
            amounts: request.clone(),
            unasked: constraints.unasked,
            unmeasured: self.unmeasured(request, constraints.limits),
            counted_by,
            devices: origin.asks.devices.clone(),
        };
        self.list[id.0 as usize] = Some(Box::new(Class {
            id,
            request: request.clone(),
            asked: asked.into(),
            nodes: Matcher::compile(constraints, symbols),
            tolerances: ToleranceSet::compile(&constraints.tolerations, symbols),
            group_rule: *group_rule,
            images: constraints.images.iter().map(|image| symbols.intern(image)).collect(),
            unasked: constraints.unasked,
            strategy: constraints.strategy.clone(),
            borrows: constraints.borrows,
            interpod: InterPodRules::compile(
                interpod,
                &constraints.interpod,
                *default_spread,
                matched,
                symbols,
            ),
            volumes: (!volumes.is_empty())
                .then(|| Arc::new(VolumeRules::compile(volumes, symbols))),
            origin: Arc::clone(&origin),
        }));
        self.by_origin.insert(origin, id);
        id
    }

    /// What a pod counts for until it is in a measurement, where a rule reads loads.
    fn unmeasured(&self, request: &ResourceVec, limits: [i64; 2]) -> Unmeasured {
        if !self.reads.load {
            return Unmeasured::NONE;
        }
        Unmeasured::of([Dim::CPU, Dim::MEMORY].map(|dim| request.get(dim)), limits)
    }

    /// The class of the same tasks, once they match other selectors.
    pub(crate) fn rematch(
        &mut self,
        class: ClassId,
        matched: Vec<SelectorId>,
        interpod: &mut SelectorRegistry,
        symbols: &mut Symbols,
    ) -> ClassId {
        let asks = Asks { matched, ..self.get(class).origin.asks.clone() };
        self.intern(asks, interpod, symbols)
    }

    /// The class that differs from one only in what the queue says of groups of nodes.
    pub(crate) fn with_group_rule(
        &mut self,
        class: ClassId,
        group_rule: Option<GroupRuleId>,
        interpod: &mut SelectorRegistry,
        symbols: &mut Symbols,
    ) -> ClassId {
        if self.get(class).group_rule == group_rule {
            return class;
        }
        let asks = Asks { group_rule, ..self.get(class).origin.asks.clone() };
        self.intern(asks, interpod, symbols)
    }

    /// The class that differs from one only in what its claims need.
    pub(crate) fn with_volumes(
        &mut self,
        class: ClassId,
        volumes: VolumeNeeds,
        interpod: &mut SelectorRegistry,
        symbols: &mut Symbols,
    ) -> ClassId {
        if self.get(class).origin.asks.volumes == volumes {
            return class;
        }
        let asks = Asks { volumes, ..self.get(class).origin.asks.clone() };
        self.intern(asks, interpod, symbols)
    }

    /// The class that differs from one only in how what it asks of devices is counted.
    pub(crate) fn with_devices(
        &mut self,
        class: ClassId,
        (request, devices): (ResourceVec, Option<Box<DeviceAsk>>),
        interpod: &mut SelectorRegistry,
        symbols: &mut Symbols,
    ) -> ClassId {
        let asks = Asks { request, devices, ..self.get(class).origin.asks.clone() };
        self.intern(asks, interpod, symbols)
    }

    /// The class of the same tasks, once they belong together with others and match these selectors.
    pub(crate) fn with_default_spread(
        &mut self,
        class: ClassId,
        default_spread: Option<SelectorId>,
        matched: Vec<SelectorId>,
        interpod: &mut SelectorRegistry,
        symbols: &mut Symbols,
    ) -> ClassId {
        let asks = Asks { matched, default_spread, ..self.get(class).origin.asks.clone() };
        self.intern(asks, interpod, symbols)
    }

    /// Tells every class the rules others have made since.
    pub(crate) fn settle(&mut self, interpod: &mut SelectorRegistry, symbols: &mut Symbols) {
        if self.interpod_version == interpod.version() {
            return;
        }
        for class in self.list.iter_mut().flatten() {
            let ClassOrigin { asks: Asks { constraints, matched, default_spread, .. }, own } =
                &*class.origin;
            // A class with a selector out of use has no tasks any more.
            if matched.is_empty() || !own.iter().all(|&selector| interpod.is_live(selector)) {
                continue;
            }
            let rules = InterPodRules::compile(
                interpod,
                &constraints.interpod,
                *default_spread,
                matched,
                symbols,
            );
            if rules.rules != class.interpod.rules {
                class.interpod = rules;
            }
        }
        self.interpod_version = interpod.version();
    }

    /// What is kept of pods.
    pub(crate) fn reads(&self) -> Reads {
        self.reads
    }

    /// The class of a number.
    pub fn get(&self, id: ClassId) -> &Class {
        self.list[id.0 as usize].as_ref().expect("a class is dropped only when no task has it")
    }

    /// Number of classes.
    pub fn len(&self) -> usize {
        self.by_origin.len()
    }

    /// No class yet?
    pub fn is_empty(&self) -> bool {
        self.by_origin.is_empty()
    }

    /// Every class there is.
    pub fn ids(&self) -> impl Iterator<Item = ClassId> + '_ {
        let all = self.list.iter().enumerate();
        all.filter(|(_, class)| class.is_some()).map(|(at, _)| ClassId(at as u32))
    }

    /// Have enough classes come since the last look that it is worth finding those without tasks?
    pub(crate) fn is_crowded(&self) -> bool {
        self.len() > 2 * self.used + UNUSED_MAX
    }

    /// Drops every class that none of these tasks has, and says which.
    pub(crate) fn keep_only(&mut self, in_use: impl Iterator<Item = ClassId>) -> Vec<ClassId> {
        let mut used = vec![false; self.list.len()];
        in_use.for_each(|class| used[class.0 as usize] = true);
        let gone: Vec<ClassId> = self.ids().filter(|class| !used[class.0 as usize]).collect();
        for class in &gone {
            if let Some(class) = self.list[class.0 as usize].take() {
                self.by_origin.remove(&class.origin);
            }
        }
        self.free.extend(&gone);
        self.used = self.len();
        gone
    }
}

impl Class {
    /// What each of them takes of the lanes of a node.
    pub(crate) fn room(&self) -> &ResourceVec {
        self.asked.room()
    }

    /// The part of devices each of them asks for.
    pub(crate) fn share(&self) -> Option<&ShareAsk> {
        self.asked.share()
    }

    /// What each of them asks for, as limits of queues count it before it is known where it goes.
    pub(crate) fn least(&self) -> &ResourceVec {
        self.share().map_or(&self.request, |share| &share.least)
    }

    /// Selectors of the tasks' own rules, sorted.
    pub(crate) fn own_selectors(&self) -> &[SelectorId] {
        &self.origin.own
    }

    /// The pods the tasks are spread from because they belong together.
    pub(crate) fn default_spread(&self) -> Option<SelectorId> {
        self.origin.asks.default_spread
    }

    /// Do the tasks say themselves how they are to be spread?
    pub(crate) fn has_own_spread(&self) -> bool {
        !self.origin.asks.constraints.interpod.spread.is_empty()
    }

    /// Selectors of anybody's rules the tasks match, sorted.
    pub(crate) fn matched_selectors(&self) -> &[SelectorId] {
        &self.origin.asks.matched
    }
}
