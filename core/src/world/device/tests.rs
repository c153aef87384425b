//! Shares on the devices of one node.

use proptest::prelude::*;

use super::*;
use crate::delta::DeviceShare;
use crate::kernel::fit::Fit;
use crate::resource::{Dim, ResourceVec};

const GPU: Dim = Dim(4);

fn ask(devices: u32, part: DevicePart) -> ShareAsk {
    let (room, least) = (ResourceVec::default(), ResourceVec::default());
    ShareAsk { dim: GPU, share: DeviceShare { devices, part }, room, least }
}

fn milli(milli: u16) -> ShareAsk {
    ask(1, DevicePart::Milli(milli))
}

fn free(now: i64, later: i64) -> FreeDevices {
    FreeDevices { now, later, idle: now }
}

/// A node with devices of 1000 MiB, of which these are shared: used, leaving and held thousandths.
fn node(shared: &[(&str, [i64; 3])]) -> NodeDevices {
    let mut node = NodeDevices::default();
    node.describe(NodeDeviceFacts { memory: Some(1000), ..NodeDeviceFacts::default() });
    for (name, parts) in shared {
        let [used, leaving, held] = parts.map(|milli| DeviceUse { milli, memory: 0 });
        node.change(&Name::from(*name), |one| {
            (one.used, one.leaving, one.held) = (used, leaving, held);
        });
    }
    node
}

fn chosen(
    node: &NodeDevices,
    ask: &ShareAsk,
    order: DeviceOrder,
    free: FreeDevices,
) -> Vec<String> {
    let opens = WhoOpens { uid: "uid", node: "n0" };
    let names = node.choose(ask, order, (free, node.fit(ask, free)), opens);
    let known = |name: &Name| node.shared().iter().any(|one| one.name == *name);
    let text = |name: &Name| if known(name) { name.to_string() } else { "new".to_owned() };
    names.iter().map(text).collect()
}

#[test]
fn a_device_is_taken_while_anybody_uses_it_and_comes_back_with_the_last() {
    let mut node = node(&[]);
    let (name, part) = (Name::from("x"), DeviceUse::of(DevicePart::Milli(500)));
    let take = |one: &mut SharedDevice| one.used = one.used.and(part);
    assert_eq!(node.change(&name, take), [1000, 0, 0]);
    assert_eq!(node.change(&name, take), [0, 0, 0]);
    let leave = |one: &mut SharedDevice| one.leaving = one.leaving.and(part);
    assert_eq!(node.change(&name, leave), [0, 0, 0]);
    assert_eq!(node.change(&name, leave), [0, 1000, 0], "all who share it are leaving");
    let hold = |one: &mut SharedDevice| one.held = part;
    assert_eq!(node.change(&name, hold), [0, 0, 1000], "and somebody waits for it");
    let gone = |one: &mut SharedDevice| *one = SharedDevice::new(one.name.clone());
    assert_eq!(node.change(&name, gone), [-1000, -1000, -1000]);
    assert!(node.shared().is_empty());
}

#[test]
fn a_part_fits_where_one_device_has_room_for_it_and_not_where_two_have_together() {
    let split = node(&[("a", [600, 0, 0]), ("b", [600, 0, 0])]);
    assert_eq!(split.fit(&milli(400), free(0, 0)), Fit::Idle);
    assert_eq!(split.fit(&milli(500), free(0, 0)), Fit::None);
    assert_eq!(split.fit(&milli(500), free(0, 1)), Fit::Future);
    assert_eq!(split.fit(&ask(2, DevicePart::Milli(400)), free(0, 0)), Fit::Idle);
    assert_eq!(split.fit(&ask(3, DevicePart::Milli(400)), free(0, 0)), Fit::None);
    assert_eq!(split.fit(&ask(3, DevicePart::Milli(400)), free(1, 1)), Fit::Idle);
}

#[test]
fn what_leaves_makes_room_later_and_what_is_held_takes_it() {
    let leaving = node(&[("a", [900, 500, 0])]);
    assert_eq!(leaving.fit(&milli(600), free(0, 0)), Fit::Future);
    let held = node(&[("a", [900, 500, 300])]);
    assert_eq!(held.fit(&milli(600), free(0, 0)), Fit::None);
    assert_eq!(held.fit(&milli(300), free(0, 0)), Fit::Future);
    let idle = node(&[("a", [500, 0, 400])]);
    assert_eq!(idle.fit(&milli(200), free(0, 0)), Fit::None, "promised room is not given away");
}

#[test]
fn a_device_that_all_are_leaving_takes_nobody_in() {
    let goes = node(&[("a", [500, 500, 0])]);
    assert_eq!(goes.fit(&milli(100), free(0, 0)), Fit::None);
    assert!(!goes.takes_in(Some(&milli(100))) && !goes.takes_in(None));
    let awaited = node(&[("a", [500, 500, 200])]);
    assert_eq!(awaited.fit(&milli(100), free(0, 0)), Fit::Future, "somebody else waits for it");
}

#[test]
fn a_device_that_is_awaited_has_room_once_a_whole_one_is_free_for_it() {
    let awaited = node(&[("a", [0, 0, 500])]);
    let idle = |idle| FreeDevices { now: 0, later: 0, idle };
    assert_eq!(awaited.fit(&milli(500), idle(0)), Fit::Future);
    assert_eq!(awaited.fit(&milli(500), idle(1)), Fit::Idle);
    assert_eq!(chosen(&awaited, &milli(500), DeviceOrder::Fullest, idle(1)), ["a"]);
    assert_eq!(awaited.fit(&milli(501), idle(1)), Fit::None);
    let both = node(&[("a", [0, 0, 500]), ("b", [0, 0, 500])]);
    let two = ask(2, DevicePart::Milli(500));
    assert_eq!(both.fit(&two, idle(1)), Fit::Future, "one is free for two that are awaited");
    assert_eq!(both.fit(&two, idle(2)), Fit::Idle);
}

#[test]
fn parts_and_memory_add_up_on_one_device() {
    let half = node(&[("a", [500, 0, 0])]);
    let memory = |mib| ask(1, DevicePart::Memory(mib));
    assert_eq!(half.fit(&memory(500), free(0, 0)), Fit::Idle);
    assert_eq!(half.fit(&memory(501), free(0, 0)), Fit::None);
    assert_eq!(half.fit(&memory(1001), free(9, 9)), Fit::None, "no device is that large");
    let unknown = NodeDevices::default();
    assert_eq!(unknown.fit(&memory(1), free(1, 1)), Fit::None, "nobody knows how much there is");
    assert_eq!(unknown.fit(&milli(999), free(1, 1)), Fit::Idle);
}

#[test]
fn fuller_or_emptier_devices_first() {
    let two = node(&[("a", [300, 0, 0]), ("b", [600, 0, 0])]);
    let choose = |ask, order, whole| chosen(&two, &ask, order, free(whole, whole));
    assert_eq!(choose(milli(200), DeviceOrder::Fullest, 2), ["b"]);
    assert_eq!(choose(milli(500), DeviceOrder::Fullest, 2), ["a"]);
    assert_eq!(choose(milli(800), DeviceOrder::Fullest, 2), ["new"]);
    assert_eq!(choose(milli(200), DeviceOrder::Emptiest, 2), ["new"]);
    assert_eq!(choose(milli(200), DeviceOrder::Emptiest, 0), ["a"]);
    assert_eq!(choose(milli(200), DeviceOrder::Shared, 2), ["a"]);
    let three = ask(3, DevicePart::Milli(200));
    assert_eq!(choose(three.clone(), DeviceOrder::Fullest, 1), ["b", "a", "new"]);
    assert_eq!(choose(three, DeviceOrder::Emptiest, 2), ["new", "new", "a"]);
}

#[test]
fn a_name_is_new_and_the_same_whenever_the_same_is_decided() {
    let opens = WhoOpens { uid: "uid", node: "n0" };
    let mut node = node(&[]);
    let first = node.unused_name(opens, &[]);
    assert_eq!(first, node.unused_name(opens, &[]));
    assert_eq!(first.len(), 36);
    let part = DeviceUse::of(DevicePart::Milli(1));
    node.change(&first, |one| one.used = part);
    let second = node.unused_name(opens, &[]);
    assert_ne!(second, first);
    assert_ne!(node.unused_name(opens, std::slice::from_ref(&second)), second);
    assert_ne!(node.unused_name(WhoOpens { uid: "uid", node: "n1" }, &[]), first);
}

#[test]
fn more_held_than_will_be_free_is_seen() {
    assert!(!node(&[("a", [900, 400, 500])]).is_overbooked());
    assert!(node(&[("a", [900, 300, 500])]).is_overbooked());
    assert!(!node(&[("a", [1200, 0, 0])]).is_overbooked(), "nothing is promised of it");
}

#[test]
fn slots_are_counted_device_by_device() {
    let two = node(&[("a", [300, 0, 0]), ("b", [600, 200, 0])]);
    let slots = |ask: &ShareAsk, now, later| {
        let DeviceSlots { now, later } = two.slots(ask, free(now, later));
        [now, later]
    };
    assert_eq!(slots(&milli(400), 1, 2), [4, 6]);
    assert_eq!(slots(&milli(700), 0, 0), [1, 1]);
    assert_eq!(slots(&ask(2, DevicePart::Milli(400)), 1, 2), [2, 3]);
}

proptest! {
    /// What is chosen where it fits is there, and no device is given more than it holds.
    #[test]
    fn a_choice_keeps_to_what_fits(
        taken in prop::collection::vec((1_i64..1000, 0_i64..1000, 0_i64..400), 0..5),
        (devices, part) in (1_u32..4, 1_u16..1000),
        (now, more) in (0_i64..3, 0_i64..3),
        order in prop_oneof![
            Just(DeviceOrder::Shared), Just(DeviceOrder::Fullest), Just(DeviceOrder::Emptiest),
        ],
    ) {
        let names = ["a", "b", "c", "d", "e"];
        let shared: Vec<_> = names.iter().zip(&taken)
            .map(|(name, &(used, leaving, held))| (*name, [used, leaving.min(used), held]))
            .filter(|(_, [used, leaving, held])| used - leaving + held <= 1000)
            .collect();
        let (node, ask) = (node(&shared), ask(devices, DevicePart::Milli(part)));
        let free = free(now, now + more);
        let fit = node.fit(&ask, free);
        prop_assert!(fit == Fit::None || node.slots(&ask, free).later > 0 || devices > 1);
        if fit != Fit::None {
            let chosen = chosen(&node, &ask, order, free);
            prop_assert_eq!(chosen.len(), devices as usize);
            let new = chosen.iter().filter(|name| *name == "new").count() as i64;
            prop_assert!(new <= free.at(fit));
            for (name, [used, leaving, held]) in &shared {
                if chosen.iter().any(|one| one == name) {
                    prop_assert!(used - leaving + held + i64::from(part) <= 1000);
                    prop_assert!(fit != Fit::Idle || used + i64::from(part) <= 1000);
                }
            }
        }
    }
}
