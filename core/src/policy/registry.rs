//! What a configuration may name: every action, the plugins of this version, and those of others.

use super::plugins::{KAI, STANDARD};
use super::spec::PluginSpec;
use crate::config::{ACTIONS, ActionSpec, Dialect, KAI_ACTIONS};

/// Everything a configuration may name. It is what a file is read against, so that a plugin of others
/// has its arguments checked, its words in `check-config` and its name among those that may have been
/// meant, like any other.
#[derive(Clone, Debug)]
pub struct Registry {
    dialect: Dialect,
    /// Plugins of other makers.
    others: Vec<&'static PluginSpec>,
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
    /// What this version has. A name means what it means to Volcano until another dialect is
    /// [spoken](Self::speaking).
    pub fn standard() -> Self {
        Self { dialect: Dialect::Volcano, others: Vec::new() }
    }

    /// The same for files of that scheduler: several names stand for another plugin there.
    #[must_use]
    pub fn speaking(&self, dialect: Dialect) -> Self {
        Self { dialect, others: self.others.clone() }
    }

    /// Whose files it is for.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Is the name that of a plugin or an action of KAI's and of none of Volcano's?
    pub fn is_of_kai_alone(name: &str) -> bool {
        let volcano = STANDARD.iter().map(|spec| spec.name);
        let kai = KAI.iter().map(|spec| spec.name);
        let actions = |list: &'static [ActionSpec]| list.iter().map(|spec| spec.name);
        let is = |known: &str| known == name;
        kai.chain(actions(KAI_ACTIONS)).any(is) && !volcano.chain(actions(ACTIONS)).any(is)
    }

    /// The same with another plugin.
    pub fn with(mut self, plugin: &'static PluginSpec) -> Result<Self, RegistryError> {
        let is_plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-.".contains(&c);
        if plugin.name.is_empty() || !plugin.name.bytes().all(is_plain) {
            return Err(RegistryError::Name(plugin.name));
        }
        let mut known = STANDARD.iter().chain(KAI).chain(&self.others);
        if known.any(|spec| spec.name == plugin.name) {
            return Err(RegistryError::Duplicate(plugin.name));
        }
        self.others.push(plugin);
        Ok(self)
    }

    /// Every plugin.
    pub fn plugins(&self) -> impl Iterator<Item = &'static PluginSpec> {
        let own = match self.dialect {
            Dialect::Volcano => STANDARD,
            Dialect::Kai => KAI,
        };
        own.iter().chain(&self.others).copied()
    }

    /// The plugin of that name.
    pub fn plugin(&self, name: &str) -> Option<&'static PluginSpec> {
        self.plugins().find(|spec| spec.name == name)
    }

    /// Every action.
    pub fn actions(&self) -> impl Iterator<Item = &'static ActionSpec> {
        match self.dialect {
            Dialect::Volcano => ACTIONS.iter(),
            Dialect::Kai => KAI_ACTIONS.iter(),
        }
    }

    /// The action of that name.
    pub fn action(&self, name: &str) -> Option<&'static ActionSpec> {
        self.actions().find(|spec| spec.name == name)
    }
}

#[cfg(test)]
mod tests;
