//! What is used of our shard of nodes, written when it changes.

use crate::intent::Intent;
use crate::place::Session;
use crate::world::Shards;

pub(super) fn reflect(session: &mut Session<'_, '_>, shards: &mut Shards) {
    let report = shards.report();
    let intent = |(shard, report)| Intent::ShardStatus { shard, report: Box::new(report) };
    session.outcome.0.intents.extend(report.map(intent));
}
