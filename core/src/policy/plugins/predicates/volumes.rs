//! Part of `predicates`: volumes.
//!
//! Promise: a task goes only where every volume it has can be reached and lies in the node's zone,
//! where a volume exists or can be made for each claim that waits for one, and where its volumes can
//! still be attached. A volume one pod alone may use is used by one pod. A task with a claim that is
//! missing, lost or bound by others waits.

use crate::config::Values;
use crate::policy::Pairing;
use crate::world::{Attachments, Exclusion, Obstacle, Spot, UseCounts, VolumeRules, Volumes};

/// Which checks are switched on.
pub(super) struct VolumeChecks {
    binding: bool,
    zone: bool,
    limits: bool,
}

impl VolumeChecks {
    pub(super) fn new(arguments: Values<'_>) -> Self {
        Self {
            binding: arguments.bool("predicate.VolumeBindingEnable"),
            zone: arguments.bool("predicate.VolumeZoneEnable"),
            limits: arguments.bool("predicate.NodeVolumeLimitsEnable"),
        }
    }

    pub(super) fn filter(
        &self,
        rules: &VolumeRules,
        pairing: &Pairing<'_>,
        exclusions: &mut [Exclusion],
    ) {
        let in_use = in_use(rules, pairing.cluster_facts.volumes);
        let nodes = &pairing.nodes;
        for (at, exclusion) in
            exclusions.iter_mut().enumerate().filter(|(_, exclusion)| !exclusion.is_closed())
        {
            let node = &nodes.rules[at];
            let spot = Spot { row: nodes.places[at].row, node };
            // Either check meets a missing claim first, as upstream.
            if rules.blocked && (self.binding || self.zone) {
                exclusion.raise(Obstacle::VolumeBinding);
                continue;
            }
            if self.limits {
                raise(exclusion, limit_bar(rules, &nodes.attachments[at]));
            }
            if self.zone && !rules.zones_admit(node) {
                exclusion.raise(Obstacle::VolumeZone);
            }
            let reached = || {
                rules.pins_admit(node, pairing.symbols)
                    && pairing.cluster_facts.volumes.serve(rules, spot)
            };
            if self.binding && !reached() {
                exclusion.raise(Obstacle::VolumeBinding);
            }
            raise(exclusion, in_use);
        }
    }
}

fn raise(exclusion: &mut Exclusion, by: Exclusion) {
    exclusion.raise_now(by.now);
    exclusion.raise_later(by.later);
}

/// A bar on every node while another pod has a claim only one may use.
fn in_use(rules: &VolumeRules, volumes: &Volumes) -> Exclusion {
    let mut exclusion = Exclusion::OPEN;
    for &claim in &rules.exclusive {
        let UseCounts { used, leaving, held } = volumes.usage(claim);
        if used + held > 0 {
            exclusion.raise_now(Obstacle::VolumeInUse);
        }
        if used - leaving + held > 0 {
            exclusion.raise_later(Obstacle::VolumeInUse);
        }
    }
    exclusion
}

/// A bar on a node that cannot attach what the rules ask for.
fn limit_bar(rules: &VolumeRules, node: &Attachments) -> Exclusion {
    let mut exclusion = Exclusion::OPEN;
    for &(driver, count) in &rules.attach {
        let Some(there) = node.of(driver) else { continue };
        let Some(limit) = there.limit else { continue };
        let UseCounts { used, leaving, held } = there.counts;
        // What is held for others is not free, though nobody uses it yet.
        if used + held + count > limit {
            exclusion.raise_now(Obstacle::VolumeLimit);
        }
        if used - leaving + held + count > limit {
            exclusion.raise_later(Obstacle::VolumeLimit);
        }
    }
    exclusion
}
