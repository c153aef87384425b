//! What a plugin says about itself, in one place: its name, its promise, its arguments, the words
//! `check-config` uses for it, and how it is made.

use std::sync::Arc;

use super::config::Clock;
use super::plugin::{Build, Plugin, build};
use super::point::{Point, Points};
use crate::config::{ArgumentSpec, Arguments, EvictPurpose, Gate, Gates, Values};
use crate::resource::ResourceNames;

/// A plugin as the configuration and its documents know it.
#[derive(Clone, Copy, Debug)]
pub struct PluginSpec {
    /// Its name in a tier.
    pub name: &'static str,
    /// What it promises, in one sentence.
    pub summary: &'static str,
    /// Does this version apply its rules?
    pub support: Support,
    /// Where it has a say.
    pub points: Points,
    /// Flags that mean something to it beside those of its points.
    pub extra_gates: &'static [Gate],
    /// Those of its flags that only count with `enableHierarchy: true`.
    pub with_hierarchy: &'static [Gate],
    /// Those of its flags that only count where a text is given to an argument: to any of those listed
    /// with the flag.
    pub with_argument: &'static [(Gate, &'static str)],
    /// The arguments it takes.
    pub arguments: &'static [ArgumentSpec],
    /// What is wrong with its arguments beyond what their specs say of each.
    pub check: fn(Values<'_>) -> Result<(), BadArgument>,
    /// How a policy that names it is put into sentences.
    pub words: Words,
    /// Makes the plugin; `None` where there is nothing to ask it.
    pub build: Option<BuildFn>,
}

/// Makes a plugin from its arguments.
pub type BuildFn = fn(&mut Setup<'_>) -> Arc<dyn Plugin>;

/// How much of a plugin this version has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// All of it.
    Full,
    /// All of it, with and without the plugin: there is nothing to ask it.
    Always,
    /// Part of it; the text says what is missing.
    Partial(&'static str),
    /// Known by name only: accepted, checked, and reported as having no effect.
    Planned,
}

/// An argument a plugin cannot use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadArgument {
    /// Its key.
    pub key: String,
    /// What is wrong and what to write instead, as the end of a sentence about it.
    pub problem: String,
}

/// What a plugin is made from.
pub struct Setup<'a> {
    /// Its switches.
    pub gates: Gates,
    /// Its arguments, given or by default.
    pub arguments: Values<'a>,
    /// What clocks show.
    pub clock: &'a Clock,
    /// Numbers of resources. Names a configuration mentions get theirs here, before any object is seen,
    /// so that they have hot lanes.
    pub names: &'a mut ResourceNames,
}

/// How `check-config` puts what a plugin does into a sentence about the whole policy. What it has no
/// words for is left out of the sentences; its arguments and switches are listed in any case.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Which job it serves first: "higher priority".
    pub job_order: Option<&'static str>,
    /// Which queue it serves first: "smallest part of its due used".
    pub queue_order: Option<&'static str>,
    /// When it admits a job: "its queue stays within its capability".
    pub admits: Option<&'static str>,
    /// Which nodes it leaves, after "nodes that": "have the devices".
    pub filter: Option<&'static str>,
    /// In which domains it places gangs, after "the best by": "one network domain".
    pub domains: Option<&'static str>,
    /// What draws pods to nodes, with its weight.
    pub scores: &'static [(&'static str, Weight)],
    /// Which victims it lets go, after "where": "their priority is lower".
    pub victims: Option<&'static str>,
    /// Whether it limits who is evicted for a whole gang: for which purposes. One that has a say there
    /// and none of these lets everybody go.
    pub gang_victims: &'static [EvictPurpose],
}

impl Words {
    /// Nothing to say.
    pub const NONE: Self = Self {
        job_order: None,
        queue_order: None,
        admits: None,
        filter: None,
        domains: None,
        scores: &[],
        victims: None,
        gang_victims: &[],
    };
}

/// The factor of a score.
#[derive(Clone, Copy, Debug)]
pub enum Weight {
    /// The value of an argument.
    Argument(&'static str),
    /// Always this.
    Fixed(i64),
}

impl Weight {
    /// Its value among the arguments of its plugin.
    pub fn of(self, arguments: Values<'_>) -> i64 {
        match self {
            Self::Argument(key) => arguments.int(key),
            Self::Fixed(weight) => weight,
        }
    }
}

impl PluginSpec {
    /// The spec of a type of plugin: its points are those of its traits. Everything else is as for a
    /// plugin without arguments; write what differs around it with `..`.
    pub const fn of<P: Build>(name: &'static str, summary: &'static str) -> Self {
        Self {
            support: Support::Full,
            points: P::POINTS,
            build: Some(build::<P>),
            ..Self::named(name, summary)
        }
    }

    /// The spec of a plugin that is known by its name only.
    pub const fn named(name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            support: Support::Planned,
            points: Points::NONE,
            extra_gates: &[],
            with_hierarchy: &[],
            with_argument: &[],
            arguments: &[],
            check: |_| Ok(()),
            words: Words::NONE,
            build: None,
        }
    }

    /// The flags that mean something to it: those of its points, then its own.
    pub fn gates(&self) -> Vec<Gate> {
        let mut gates = Vec::new();
        let of_points = self.points.iter().filter_map(Point::gate);
        for gate in of_points.chain(self.extra_gates.iter().copied()) {
            if !gates.contains(&gate) {
                gates.push(gate);
            }
        }
        gates
    }

    /// Does the flag mean anything to it?
    pub fn has_gate(&self, gate: Gate) -> bool {
        self.gates().contains(&gate)
    }

    /// Its arguments, given or by default.
    pub fn values<'a>(&self, given: &'a Arguments) -> Values<'a> {
        Values::new(self.name, self.arguments, given)
    }
}

impl PartialEq for PluginSpec {
    /// In a registry a name stands for one plugin.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
