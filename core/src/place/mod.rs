//! Finding places for jobs: what the actions share.
//!
//! An action works on a [`Session`], gives jobs their turns with [`drive`], and fills a Statement with
//! [`place_job`].

mod session;
mod queue_order;
mod turns;
mod returned;
mod pending;
mod part_order;
mod reach;
mod job;
mod tree;
mod domain_order;
mod device_limits;
mod tasks;
mod fill_order;
mod bulk;
mod left_by_victims;
pub(crate) mod explain;

pub(crate) use job::{inside, place_again, place_job, place_minimum};
pub(crate) use part_order::PartOrder;
pub(crate) use pending::{PendingPart, PendingTasks, TaskSet, first_tasks};
pub(crate) use reach::{Bounds, Reach, Rows, Shortfall, is_served};
pub(crate) use returned::{AFTER_OTHERS, ReturnedJobs};
pub(crate) use session::{Admission, Alarm, Now, Outcome, Refused, Session, Settings, Stopwatch};
pub(crate) use tasks::place_one_task;
pub(crate) use turns::{Entitled, OUT_OF_TIME, Turn, drive};
