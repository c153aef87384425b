//! Does a share fit on a node, and how many would?

use super::{DeviceUse, NodeDevices, ShareAsk, SharedDevice};
use crate::delta::DevicePart;
use crate::kernel::fit::Fit;

/// Whole devices of a node that could be shared, now and once what is ending has ended: none that is
/// promised to somebody, and no more than pods have slots for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreeDevices {
    /// Those that are free.
    pub now: i64,
    /// Those that are free or will be.
    pub later: i64,
    /// Those that are free, promised ones included: a promise is kept with one of them.
    pub idle: i64,
}

impl FreeDevices {
    /// Those that serve a task that gets a place now, or has to wait.
    pub(super) fn at(self, fit: Fit) -> i64 {
        if fit == Fit::Idle { self.now } else { self.later }
    }
}

/// Shares of one size that fit on a node, now and later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceSlots {
    /// At once.
    pub now: i64,
    /// Once what is ending has ended.
    pub later: i64,
}

impl NodeDevices {
    /// How a share fits the devices of the node.
    pub(crate) fn fit(&self, ask: &ShareAsk, free: FreeDevices) -> Fit {
        if !self.can_hold(ask) {
            return Fit::None;
        }
        let serves = |fit: Fit| {
            let (mut in_use, mut awaited) = (0, 0);
            for one in self.shared.iter().filter(|one| self.has_room(one, ask, fit)) {
                *(if one.is_in_use() { &mut in_use } else { &mut awaited }) += 1;
            }
            let whole = free.at(fit).max(0) + awaited;
            let opened = if fit == Fit::Idle { whole.min(free.idle) } else { whole };
            in_use + opened >= i64::from(ask.share.devices)
        };
        match (serves(Fit::Future), serves(Fit::Idle)) {
            (_, true) => Fit::Idle,
            (true, false) => Fit::Future,
            (false, false) => Fit::None,
        }
    }

    /// Would a device in shared use take in a task that asks for such a part, or for none?
    pub(crate) fn takes_in(&self, ask: Option<&ShareAsk>) -> bool {
        let mut shared = self.shared.iter();
        match ask {
            Some(ask) => {
                self.can_hold(ask) && shared.any(|one| self.has_room(one, ask, Fit::Future))
            }
            None => shared.any(|one| !one.future().is_nothing()),
        }
    }

    /// Could an unused device hold the part? One of unknown memory holds no amount of it.
    fn can_hold(&self, ask: &ShareAsk) -> bool {
        let known = match ask.share.part {
            DevicePart::Milli(_) => true,
            DevicePart::Memory(_) => self.facts.memory.is_some(),
        };
        known && DeviceUse::of(ask.share.part).on(self.memory()) <= self.memory() * 1000
    }

    /// Is there room for the part on a device in shared use? One that all are leaving takes nobody in: it
    /// will be whole again. One that is only awaited has room as soon as a whole one is free for it.
    pub(super) fn has_room(&self, one: &SharedDevice, ask: &ShareAsk, fit: Fit) -> bool {
        let (memory, part) = (self.memory(), DeviceUse::of(ask.share.part));
        let fits = |taken: DeviceUse| taken.and(part).on(memory) <= memory * 1000;
        let future = one.future();
        let later = !future.is_nothing() && fits(future);
        match fit {
            Fit::Idle => later && (one.stays() || !one.is_in_use()) && fits(one.used),
            Fit::Future => later,
            Fit::None => false,
        }
    }

    /// Shares that would fit on so many devices if nobody were there.
    pub(crate) fn slots_when_empty(&self, ask: &ShareAsk, devices: i64) -> i64 {
        let free = FreeDevices { now: devices, later: devices, idle: devices };
        Self { facts: self.facts, ..Self::default() }.slots(ask, free).later
    }

    /// Shares that fit if nothing but devices counted, at most.
    pub(crate) fn slots(&self, ask: &ShareAsk, free: FreeDevices) -> DeviceSlots {
        if !self.can_hold(ask) {
            return DeviceSlots::default();
        }
        let memory = self.memory();
        let part = DeviceUse::of(ask.share.part).on(memory).max(1);
        let parts = |taken: i64| ((memory * 1000 - taken) / part).max(0);
        let sum = |free: i64, taken: &dyn Fn(&SharedDevice) -> DeviceUse| {
            let open = self.shared.iter().map(|one| parts(taken(one).on(memory)));
            (free.max(0) * parts(0) + open.sum::<i64>()) / i64::from(ask.share.devices)
        };
        let later = sum(free.later, &SharedDevice::future);
        DeviceSlots { now: sum(free.now, &|one| one.used).min(later), later }
    }
}
