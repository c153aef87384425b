//! Which devices of a node a task gets its parts of.

use std::cmp::Reverse;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::{DeviceOrder, FreeDevices, NodeDevices, ShareAsk, SharedDevice};
use crate::ids::Name;
use crate::kernel::fit::Fit;

/// Who opens a device for shared use, and where: what its name is made from.
#[derive(Clone, Copy)]
pub(crate) struct WhoOpens<'a> {
    pub(crate) uid: &'a str,
    pub(crate) node: &'a str,
}

impl WhoOpens<'_> {
    /// A name no other device has: it looks like the random ones that others give, and is the same
    /// whenever the same is decided.
    fn name(self, number: usize) -> Name {
        let half = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            (seed, self.uid, self.node, number).hash(&mut hasher);
            hasher.finish()
        };
        let (high, low) = (half(0), half(1));
        let text = format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff,
        );
        text.into()
    }
}

impl NodeDevices {
    /// The devices a task gets its parts of, as many as it asks for: those in shared use that have room
    /// by then, and whole ones, in the order given. Where there is not enough whole ones make up for it,
    /// and the node is overbooked.
    pub(crate) fn choose(
        &self,
        ask: &ShareAsk,
        order: DeviceOrder,
        (free, fit): (FreeDevices, Fit),
        opens: WhoOpens<'_>,
    ) -> Vec<Name> {
        let wanted = ask.share.devices as usize;
        let mut chosen: Vec<Name> = Vec::with_capacity(wanted);
        let mut whole = free.at(fit);
        let mut idle = if fit == Fit::Idle { free.idle } else { i64::MAX };
        while chosen.len() < wanted {
            let open = self.shared.iter().filter(|one| self.has_room(one, ask, fit));
            let open = open.filter(|one| !chosen.contains(&one.name));
            let open = open.filter(|one| one.is_in_use() || idle > 0);
            let best = open.max_by_key(|one| (self.rank(one, order), Reverse(&*one.name)));
            let shared = best.filter(|_| order != DeviceOrder::Emptiest || whole <= 0);
            idle -= i64::from(!shared.is_some_and(SharedDevice::is_in_use));
            whole -= i64::from(shared.is_none());
            let known = shared.map(|one| one.name.clone());
            let name = known.unwrap_or_else(|| self.unused_name(opens, &chosen));
            chosen.push(name);
        }
        chosen
    }

    fn rank(&self, one: &SharedDevice, order: DeviceOrder) -> i64 {
        let taken = one.used.and(one.held).on(self.memory());
        match order {
            DeviceOrder::Shared => 0,
            DeviceOrder::Fullest => taken,
            DeviceOrder::Emptiest => -taken,
        }
    }

    /// The name of a device that is opened for shared use.
    pub(crate) fn unused_name(&self, opens: WhoOpens<'_>, chosen: &[Name]) -> Name {
        let names = (0..).map(|number| opens.name(number));
        let mut unused = names.filter(|name| self.find(name).is_err() && !chosen.contains(name));
        unused.next().expect("there are more numbers than devices")
    }
}
