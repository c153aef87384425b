//! Finding places for jobs: what the actions share.
//!
//! An action works on a [`Session`], gives jobs their turns with [`drive`], and fills a Statement with
//! [`place_job`].

mod session;
mod turns;
mod pending;
mod reach;
mod job;
mod domain_order;
mod tasks;
mod fill_order;
mod bulk;
pub(crate) mod explain;

pub(crate) use job::{place_job, place_minimum};
pub(crate) use pending::{PendingTasks, TaskSet};
pub(crate) use reach::{Bounds, Reach, Rows, Shortfall};
pub(crate) use session::{Admission, Alarm, Now, Outcome, Refused, Session, Settings, Stopwatch};
pub(crate) use tasks::place_one_task;
pub(crate) use turns::{Entitled, OUT_OF_TIME, Turn, drive};
