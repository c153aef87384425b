//! What a configuration may name: every action, the plugins of this version, and those of others.

use super::plugins::STANDARD;
use super::spec::PluginSpec;
use crate::config::{ACTIONS, ActionSpec};

/// Everything a configuration may name. It is what a file is read against, so that a plugin of others
/// has its arguments checked, its words in `check-config` and its name among those that may have been
/// meant, like any other.
#[derive(Clone, Debug)]
pub struct Registry {
    actions: &'static [ActionSpec],
    plugins: Vec<&'static PluginSpec>,
}

/// A plugin cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// There is one of that name.
    #[error("there is a plugin `{0}` already; give yours another name")]
    Duplicate(&'static str),
    /// A configuration could not name it.
    #[error("`{0}` is no name for a plugin; write one or more of a-z, 0-9, - and .")]
    Name(&'static str),
}

impl Registry {
    /// What this version has.
    pub fn standard() -> Self {
        Self { actions: ACTIONS, plugins: STANDARD.to_vec() }
    }

    /// The same with another plugin.
    pub fn with(mut self, plugin: &'static PluginSpec) -> Result<Self, RegistryError> {
        let is_plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-.".contains(&c);
        if plugin.name.is_empty() || !plugin.name.bytes().all(is_plain) {
            return Err(RegistryError::Name(plugin.name));
        }
        if self.plugin(plugin.name).is_some() {
            return Err(RegistryError::Duplicate(plugin.name));
        }
        self.plugins.push(plugin);
        Ok(self)
    }

    /// Every plugin.
    pub fn plugins(&self) -> impl Iterator<Item = &'static PluginSpec> {
        self.plugins.iter().copied()
    }

    /// The plugin of that name.
    pub fn plugin(&self, name: &str) -> Option<&'static PluginSpec> {
        self.plugins().find(|spec| spec.name == name)
    }

    /// Every action.
    pub fn actions(&self) -> impl Iterator<Item = &'static ActionSpec> {
        self.actions.iter()
    }

    /// The action of that name.
    pub fn action(&self, name: &str) -> Option<&'static ActionSpec> {
        self.actions().find(|spec| spec.name == name)
    }
}

#[cfg(test)]
mod tests;
