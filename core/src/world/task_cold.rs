//! The cold column of tasks: what only some have, such as a reservation, claims or budgets. Most tasks
//! that run have nothing here.

use super::budget::Guards;
use super::cold::Empty;
use super::option_time::OptionTime;
use super::reservation::{Mirror, Nomination, Said};
use super::task::{LastTransaction, ReportedWait};
use super::volume::TaskVolumes;
use crate::delta::PodOwner;
use crate::ids::Name;
use crate::world::Say;

/// What few tasks have at a time.
#[derive(Clone, Debug, Default)]
pub struct TaskCold {
    /// Room held for it.
    pub nomination: Nomination,
    /// The reservation its pod says it has.
    pub said: Said,
    /// What was written into its pod about its reservation and has not come back through the watch.
    pub mirror: Mirror,
    /// The reason why it waits that was reported last.
    pub told: ReportedWait,
    /// Where the last attempt would have placed it.
    pub last: LastTransaction,
    /// Its claims.
    pub volumes: TaskVolumes,
    /// Devices it shares, or holds a part of: what they are called on its node.
    pub devices: Vec<Name>,
    /// Budgets that guard it.
    pub guards: Guards,
    /// The controller that made its pod, while it waits.
    pub owner: Option<PodOwner>,
    /// When its pod came in the place of one that was moved.
    pub moved: OptionTime,
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
        devices: Vec::new(),
        guards: Guards(Vec::new()),
        owner: None,
        moved: OptionTime::NONE,
    };

    fn is_nothing(&self) -> bool {
        let Self { nomination, said, mirror, told, last, volumes, devices, guards, owner, moved } =
            self;
        *nomination == Nomination::default()
            && *said == Said::default()
            && *mirror == Mirror::default()
            && *told == ReportedWait::default()
            && *last == LastTransaction::default()
            && volumes.is_nothing()
            && devices.is_empty()
            && guards.0.is_empty()
            && owner.is_none()
            && moved.get().is_none()
    }
}
