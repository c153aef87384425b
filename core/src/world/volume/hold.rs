//! Volumes taken for tasks as they get places, and given back when they lose them.

use bevy_ecs::entity::Entity;

use super::rules::VolumeRules;
use super::stock::{Pick, Spot};
use super::{TaskVolumes, Volumes};
use crate::ids::Name;
use crate::world::cluster::Cluster;
use crate::world::node::ChangeLog;
use crate::world::task::TaskStatus;

/// Does a task in that state hold volumes for its wishes? One that is on its node does until its
/// claims are seen bound, which may come later than the pod itself.
pub(crate) fn holds(status: TaskStatus) -> bool {
    status.is_allocated() || status == TaskStatus::Pipelined
}

/// What a task takes when it gets a node.
#[derive(Clone, Copy)]
pub(crate) enum Choice<'a> {
    /// The best there is.
    Best,
    /// What it had before.
    Former(&'a [Pick]),
}

impl Cluster<'_, '_> {
    /// Gives back what a task holds and takes what it needs where it is now.
    pub(crate) fn repick(&mut self, task: Entity, choice: Choice<'_>) {
        let Ok(mut item) = self.tasks.get_mut(task) else { return };
        let (status, home) = item.status();
        let Some(rules) = item.cold.volumes.rules.clone() else { return };
        let volumes = &mut item.cold.volumes;
        let mut ground = Ground { volumes: &mut self.volumes, log: &mut self.log, rows: 0 };
        ground.rows = self.nodes.iter().len() as u32;
        ground.give_back(&rules, &mut volumes.picks);
        let Some(node) = home.filter(|_| holds(status)) else { return };
        let Ok(node) = self.nodes.get(node) else { return };
        match choice {
            Choice::Former(picks) => volumes.picks.extend_from_slice(picks),
            Choice::Best => {
                let spot = Spot { row: node.place.row, node: node.rules };
                let Volumes { stock, shared, .. } = &*ground.volumes;
                stock.picks(&rules, shared, spot, &mut volumes.picks);
            }
        }
        ground.take(&rules, &volumes.picks, node.place.row);
    }

    /// Claims of a task that is bound, each with the volume it gets; `None` where one is to be made.
    pub(crate) fn claims_to_fix(&self, volumes: &TaskVolumes) -> Vec<(Name, Option<Name>)> {
        let found = |pick: &Pick| match pick {
            Pick::Found(item) => Some(Some(self.volumes.stock.items[*item as usize].name.clone())),
            Pick::Made => Some(None),
            Pick::Empty => None,
        };
        let open = volumes.open.iter().zip(&volumes.picks);
        let open = open.filter_map(|(claim, pick)| Some((claim.clone(), found(pick)?)));
        let kept = volumes.kept.iter().map(|(claim, name)| (claim.clone(), Some(name.clone())));
        open.chain(kept).collect()
    }
}

/// What a change of holdings writes to.
struct Ground<'a> {
    volumes: &'a mut Volumes,
    log: &'a mut ChangeLog,
    rows: u32,
}

impl Ground<'_> {
    fn give_back(&mut self, rules: &VolumeRules, picks: &mut Vec<Pick>) {
        for (pick, wish) in picks.drain(..).zip(&rules.wishes) {
            if let Some(id) = wish.shared.filter(|_| pick != Pick::Empty) {
                let claim = self.volumes.shared.change(id);
                claim.holders = claim.holders.saturating_sub(1);
                if claim.holders == 0 {
                    claim.choice = None;
                }
            }
            if let Pick::Found(item) = pick {
                let rack = self.volumes.stock.put_back(item);
                self.note(rack);
            }
        }
    }

    fn take(&mut self, rules: &VolumeRules, picks: &[Pick], row: u32) {
        for (&pick, wish) in picks.iter().zip(&rules.wishes) {
            if let Some(id) = wish.shared.filter(|_| pick != Pick::Empty) {
                let claim = self.volumes.shared.change(id);
                claim.holders += 1;
                claim.choice.get_or_insert((pick, row));
            }
            if let Pick::Found(item) = pick {
                let rack = self.volumes.stock.take(item);
                self.note(rack);
            }
        }
    }

    /// Rows that reach a rack look different only while little is left on it.
    fn note(&mut self, rack: Option<u32>) {
        let Some(rack) = rack.map(|rack| &self.volumes.stock.racks[rack as usize]) else {
            return;
        };
        if rack.free > self.volumes.widest {
            return;
        }
        match &rack.rows {
            Some(rows) => rows.iter().for_each(|&row| self.log.touch(row)),
            None => (0..self.rows).for_each(|row| self.log.touch(row)),
        }
    }
}
