//! Objects that cannot be understood.

use std::collections::BTreeMap;

use bevy_ecs::prelude::Resource;

use crate::delta::ObjectRef;

/// Objects that could not be understood, with the reason.
#[derive(Debug, Default, Resource)]
pub(crate) struct SetAside(pub(crate) BTreeMap<ObjectRef, String>);
