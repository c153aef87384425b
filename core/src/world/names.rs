//! Names shared by all entities: resources and priority classes.

use bevy_ecs::prelude::Resource;

use super::catalog::Catalog;
use crate::delta::{PreemptionPolicy, PriorityClassFacts};
use crate::ids::Name;
use crate::resource::ResourceNames;

/// Resource names met so far.
#[derive(Debug, Default, Resource)]
pub struct Names(pub ResourceNames);

impl Catalog<PriorityClassFacts> {
    /// The value of the class, or of the global default where none is named or the name is unknown.
    pub fn value(&self, class: Option<&Name>) -> Option<i32> {
        self.find(class).map(|class| class.value)
    }

    /// May others be evicted for pods of the class?
    pub fn preempts(&self, class: Option<&Name>) -> PreemptionPolicy {
        self.find(class).map(|class| class.preempts).unwrap_or_default()
    }

    fn find(&self, class: Option<&Name>) -> Option<&PriorityClassFacts> {
        let named = class.and_then(|class| self.get(class));
        // Several global defaults are an error of the cluster; the highest wins, as in Kubernetes.
        let default = || self.iter().filter(|class| class.global_default).max_by_key(|c| c.value);
        named.or_else(default)
    }
}
