//! What is going on about a task, as long as anything is: nothing for most of those that run.

use super::budget::Guards;
use super::cold::Empty;
use super::reservation::{Mirror, Nomination, Said};
use super::task::{LastTransaction, ReportedWait};
use super::volume::TaskVolumes;
use crate::delta::PodOwner;
use crate::world::Say;

/// Matters that concern few tasks at a time.
#[derive(Clone, Debug, Default)]
pub struct TaskCold {
    /// Room held for it.
    pub nomination: Nomination,
    /// What its pod says of that.
    pub said: Said,
    /// What its pod was asked to say of that and does not say yet.
    pub mirror: Mirror,
    /// What was reported of its waiting.
    pub told: ReportedWait,
    /// What the last attempt had in mind for it.
    pub last: LastTransaction,
    /// Its claims.
    pub volumes: TaskVolumes,
    /// Budgets that guard it.
    pub guards: Guards,
    /// The controller that made its pod, while it waits.
    pub owner: Option<PodOwner>,
}

impl Empty for TaskCold {
    const NOTHING: &'static Self = &Self {
        nomination: Nomination(None),
        said: Said { nominated: None, annotated: None },
        mirror: Mirror { nominated: Say::Anything, annotated: Say::Anything },
        told: ReportedWait(None),
        last: LastTransaction(None),
        volumes: TaskVolumes {
            claims: Vec::new(),
            inline_drivers: Vec::new(),
            trouble: None,
            open: Vec::new(),
            kept: Vec::new(),
            rules: None,
            picks: Vec::new(),
        },
        guards: Guards(Vec::new()),
        owner: None,
    };

    fn is_nothing(&self) -> bool {
        let Self { nomination, said, mirror, told, last, volumes, guards, owner } = self;
        *nomination == Nomination::default()
            && *said == Said::default()
            && *mirror == Mirror::default()
            && *told == ReportedWait::default()
            && *last == LastTransaction::default()
            && volumes.is_nothing()
            && guards.0.is_empty()
            && owner.is_none()
    }
}
