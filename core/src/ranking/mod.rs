//! How the nodes look to one class of tasks, kept from task to task and mended row by row.

mod scan;
mod tournament;
mod cells;
mod by_domain;
mod topology_counts;
mod topology_view;
mod rank;
mod node_ranking;
mod rankings;

pub use node_ranking::{Ranking, Rules};
pub use rankings::Rankings;
pub(crate) use topology_view::{TopologyChange, TopologyView};

#[cfg(test)]
mod tests;
