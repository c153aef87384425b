//! Nodes on which a queue may have a task that asks for memory of devices.
//!
//! How much of a device that is depends on the node: what stays within the limits of a queue on large
//! devices may exceed them on small ones.

use bevy_ecs::entity::Entity;

use super::Session;
use super::domain_order::is_inside;
use super::reach::Rows;
use crate::verdict::Verdict;
use crate::world::ClassId;

/// Of some rows those on which the job's queue may have one more task of a class; `None` if that does not
/// depend on the row.
pub(super) fn affordable_rows(
    session: &Session<'_, '_>,
    job: Entity,
    class: ClassId,
    rows: Rows<'_>,
) -> Result<Option<Vec<u32>>, Verdict> {
    let cluster = &session.cluster;
    let Some(share) = session.classes.get(class).share() else { return Ok(None) };
    let (job, names) = (cluster.job(job), &session.names.0);
    let mut refused = None;
    for memory in cluster.fleet.memories() {
        let Some(asked) = share.on_node(memory) else { return Ok(None) };
        match session.policies.allocatable(cluster, names, &job, &asked) {
            Err(objection) => refused = Some(objection),
            Ok(()) if refused.is_none() => return Ok(None),
            Ok(()) => return Ok(Some(rows_of_at_least(session, memory, rows))),
        }
    }
    refused.map_or(Ok(None), Err)
}

/// Rows whose devices have at least so many MiB.
fn rows_of_at_least(session: &Session<'_, '_>, memory: u32, rows: Rows<'_>) -> Vec<u32> {
    let devices = session.cluster.columns().devices.iter();
    let large = |facts: u32| facts >= memory;
    let found = (0..).zip(devices).filter(|(_, one)| one.facts().memory.is_some_and(large));
    found.map(|(row, _)| row).filter(|&row| is_inside(rows, row)).collect()
}
