//! Label keys and values as small numbers, so that rules compare integers.

use bevy_ecs::prelude::Resource;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::Name;

/// A text met in labels, taints or selectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(pub u32);

impl Symbol {
    /// Key of the taint that stands for `spec.unschedulable`; always the first symbol.
    pub const UNSCHEDULABLE: Self = Self(0);
    /// Key of the label that names a node's group; always the second symbol.
    pub const NODE_GROUP: Self = Self(1);
    /// Key of the label that names the zone of a lent node; always the third symbol.
    pub const LENT_ZONE: Self = Self(2);
}

/// Every text met so far. Which number a text gets depends on the order of arrival; symbols are only
/// ever compared for equality, so nothing else does.
#[derive(Debug, Resource)]
pub struct Symbols {
    by_text: HashMap<Name, Symbol, FxBuildHasher>,
    texts: Vec<Name>,
}

impl Default for Symbols {
    fn default() -> Self {
        let mut symbols = Self { by_text: HashMap::default(), texts: Vec::new() };
        symbols.intern(&Name::from("node.kubernetes.io/unschedulable"));
        symbols.intern(&Name::from("volcano.sh/nodegroup-name"));
        symbols.intern(&Name::from("volcano.sh/revocable-zone"));
        symbols
    }
}

impl Symbols {
    /// The symbol of a text, a new one if it was never met.
    pub fn intern(&mut self, text: &Name) -> Symbol {
        if let Some(&symbol) = self.by_text.get(text) {
            return symbol;
        }
        let symbol = Symbol(self.texts.len() as u32);
        self.texts.push(text.clone());
        self.by_text.insert(text.clone(), symbol);
        symbol
    }

    /// The symbol of a text; `None` if it was never met.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.by_text.get(text).copied()
    }

    /// The text of a symbol.
    pub fn text(&self, symbol: Symbol) -> &Name {
        &self.texts[symbol.0 as usize]
    }
}
