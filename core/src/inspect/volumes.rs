//! Counts of attachments and holdings, recomputed from tasks alone.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::inspect::audit::check;
use crate::world::{Attachments, Cluster, Pick, SharedId, Symbol, TaskStatus, UseCounts};

/// Adds every count that differs from its recomputation, in words.
pub(super) fn compare(cluster: &Cluster<'_, '_>, faults: &mut Vec<String>) {
    let tally = VolumeTally::of(cluster);
    for node in &cluster.nodes {
        let mut want = Attachments::default();
        for entry in node.attachments().0.iter().filter(|entry| entry.limit.is_some()) {
            want.entry(entry.driver).limit = entry.limit;
        }
        let counts =
            tally.attached.range((node.entity, Symbol(0))..=(node.entity, Symbol(u32::MAX)));
        for (&(_, driver), &counts) in counts {
            want.entry(driver).counts = counts;
        }
        let sorted = |attachments: &Attachments| {
            let mut entries = attachments.0.clone();
            entries.sort_by_key(|entry| entry.driver);
            entries
        };
        let (have, want) = (sorted(node.attachments()), sorted(&want));
        check(faults, "attachments of", &node.identity.name, &have, &want);
    }
    let volumes = &cluster.volumes;
    for (number, claim) in volumes.shared.iter().enumerate() {
        let id = SharedId(number as u32);
        let want = tally.used.get(&id).copied().unwrap_or_default();
        check(faults, "users of claim", &claim.key, &claim.counts, &want);
        let want = tally.holders.get(&id).copied().unwrap_or_default();
        check(faults, "holders of claim", &claim.key, &claim.holders(), &want);
    }
    for (number, item) in volumes.stock.items.iter().enumerate() {
        let want = tally.takers.get(&(number as u32)).copied().unwrap_or_default();
        check(faults, "takers of volume", &item.name, &item.takers, &want);
    }
    for rack in &volumes.stock.racks {
        let items = &volumes.stock.items[rack.first as usize..rack.end as usize];
        let want = items.iter().filter(|item| item.takers == 0).count() as u32;
        check(faults, "free volumes like", &items[0].name, &rack.free, &want);
    }
}

/// What the tasks make.
#[derive(Default)]
struct VolumeTally {
    attached: BTreeMap<(Entity, Symbol), UseCounts>,
    used: BTreeMap<SharedId, UseCounts>,
    holders: BTreeMap<SharedId, u32>,
    takers: BTreeMap<u32, u32>,
}

impl VolumeTally {
    fn of(cluster: &Cluster<'_, '_>) -> Self {
        let mut tally = Self::default();
        for task in &cluster.tasks {
            let Some(rules) = &task.cold.volumes.rules else { continue };
            let heir = task.heir_home().map(|node| (node, TaskStatus::Pipelined));
            let (status, home) = task.status();
            let Some(home) = home else { continue };
            for (node, status) in heir.into_iter().chain([(home, status)]) {
                let leaves = status == TaskStatus::Releasing && !task.timing.stuck;
                for &(driver, count) in &rules.attach {
                    add(tally.attached.entry((node, driver)).or_default(), status, leaves, count);
                }
                for &claim in &rules.exclusive {
                    add(tally.used.entry(claim).or_default(), status, leaves, 1);
                }
            }
            for (pick, wish) in task.cold.volumes.picks.iter().zip(&rules.wishes) {
                if let Some(id) = wish.shared.filter(|_| *pick != Pick::Empty) {
                    *tally.holders.entry(id).or_default() += 1;
                }
                if let Pick::Found(item) = pick {
                    *tally.takers.entry(*item).or_default() += 1;
                }
            }
        }
        tally.attached.retain(|_, counts| *counts != UseCounts::default());
        tally
    }
}

fn add(counts: &mut UseCounts, status: TaskStatus, leaves: bool, amount: u32) {
    match status {
        TaskStatus::Succeeded | TaskStatus::Failed | TaskStatus::Pending => {}
        TaskStatus::Pipelined => counts.held += amount,
        _ => counts.used += amount,
    }
    if leaves {
        counts.leaving += amount;
    }
}
