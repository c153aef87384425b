//! Zones of lent nodes: which of them may be used at this hour.
//!
//! A node belongs to the zone its label `volcano.sh/revocable-zone` names. Kept only where the plugin
//! `tdm` is configured.

use bevy_ecs::prelude::Resource;

use super::symbol::Symbol;
use crate::ids::TimeMs;

/// The zones a configuration names, by whether they are open.
#[derive(Debug, Default, PartialEq, Eq, Resource)]
pub struct Lending {
    /// Those whose nodes may be used now.
    pub open: Vec<Symbol>,
    /// Those whose nodes may not.
    pub closed: Vec<Symbol>,
    /// When the first of them opens or closes.
    pub until: Option<TimeMs>,
}
