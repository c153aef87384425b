//! Part of `predicates`: volumes.
//!
//! Promise: a task goes only where every volume it has can be reached and lies in the node's zone,
//! where a volume exists or can be made for each claim that waits for one, and where its volumes can
//! still be attached. A volume one pod alone may use is used by one pod. A task with a claim that is
//! missing, lost or bound by others waits.

use crate::config::Arguments;
use crate::policy::{Bar, Obstacle, Pairing};
use crate::world::{Attachments, Spot, UseCounts, VolumeRules, Volumes};

/// Which checks are switched on.
pub(super) struct VolumeChecks {
    binding: bool,
    zone: bool,
    limits: bool,
}

impl VolumeChecks {
    pub(super) fn new(arguments: &Arguments) -> Self {
        Self {
            binding: arguments.bool("predicate.VolumeBindingEnable", true),
            zone: arguments.bool("predicate.VolumeZoneEnable", true),
            limits: arguments.bool("predicate.NodeVolumeLimitsEnable", true),
        }
    }

    pub(super) fn filter(&self, rules: &VolumeRules, pairing: &Pairing<'_>, bars: &mut [Bar]) {
        let in_use = in_use(rules, pairing.around.volumes);
        let nodes = &pairing.nodes;
        for (at, bar) in bars.iter_mut().enumerate().filter(|(_, bar)| !bar.is_closed()) {
            let node = &nodes.rules[at];
            let spot = Spot { row: nodes.places[at].row, node };
            // Either check meets a missing claim first, as upstream.
            if rules.blocked && (self.binding || self.zone) {
                bar.raise(Obstacle::VolumeBinding);
                continue;
            }
            if self.limits {
                raise(bar, limit_bar(rules, &nodes.attachments[at]));
            }
            if self.zone && !rules.zones_admit(node) {
                bar.raise(Obstacle::VolumeZone);
            }
            let reached = || {
                rules.pins_admit(node, pairing.symbols) && pairing.around.volumes.serve(rules, spot)
            };
            if self.binding && !reached() {
                bar.raise(Obstacle::VolumeBinding);
            }
            raise(bar, in_use);
        }
    }
}

fn raise(bar: &mut Bar, by: Bar) {
    bar.raise_now(by.now);
    bar.raise_later(by.later);
}

/// A bar on every node while another pod has a claim only one may use.
fn in_use(rules: &VolumeRules, volumes: &Volumes) -> Bar {
    let mut bar = Bar::OPEN;
    for &claim in &rules.exclusive {
        let UseCounts { used, leaving, held } = volumes.usage(claim);
        if used + held > 0 {
            bar.raise_now(Obstacle::VolumeInUse);
        }
        if used - leaving + held > 0 {
            bar.raise_later(Obstacle::VolumeInUse);
        }
    }
    bar
}

/// A bar on a node that cannot attach what the rules ask for.
fn limit_bar(rules: &VolumeRules, node: &Attachments) -> Bar {
    let mut bar = Bar::OPEN;
    for &(driver, count) in &rules.attach {
        let Some(there) = node.of(driver) else { continue };
        let Some(limit) = there.limit else { continue };
        let UseCounts { used, leaving, held } = there.counts;
        // What is held for others is not free, though nobody uses it yet.
        if used + held + count > limit {
            bar.raise_now(Obstacle::VolumeLimit);
        }
        if used - leaving + held + count > limit {
            bar.raise_later(Obstacle::VolumeLimit);
        }
    }
    bar
}
