//! Parts of GPUs and instances of divided ones, as pods ask for them and nodes have them: KAI's annotations
//! and labels, and those of NVIDIA's operator.

use muster_core::delta::{DevicePart, DeviceRequest, DeviceShare, Division, NodeDeviceFacts};
use muster_core::ids::Name;
use muster_core::resource::{Quantity, ResourceList};

use super::DeviceSharing;
use crate::objects::{Metadata, Pod};

/// The part of each GPU a pod asks for.
const FRACTION: &str = "gpu-fraction";

/// The memory of each GPU a pod asks for, in MiB.
const MEMORY: &str = "gpu-memory";

/// Of how many GPUs it asks for that.
const DEVICES: &str = "gpu-fraction-num-devices";

/// A whole GPU as a resource.
const WHOLE: &str = "nvidia.com/gpu";

/// What the names of instances that a GPU is divided into begin with, as resources and as annotations.
const INSTANCE: &str = "nvidia.com/mig-";

/// Label of a pod that names the GPU it shares; one for each of several continues with a slash.
pub(crate) const GROUP: &str = "runai-gpu-group";

/// Label of a node: MiB of memory each of its GPUs has.
const NODE_MEMORY: &str = "nvidia.com/gpu.memory";

/// Label of a node: how its GPUs are divided.
const STRATEGY: &str = "nvidia.com/mig.strategy";

/// Label of a node whose GPUs are divided.
const DIVIDED: &str = "node-role.kubernetes.io/mig-enabled";

/// Is the resource a GPU of whatever maker, or an instance one is divided into?
pub(super) fn is_gpu(resource: &str) -> bool {
    resource == WHOLE || resource == "amd.com/gpu" || resource.starts_with(INSTANCE)
}

/// Does the pod ask for a part of a GPU?
pub(super) fn asks_for_share(metadata: &Metadata) -> bool {
    [FRACTION, MEMORY].iter().any(|key| metadata.annotations.contains_key(*key))
}

/// The field that is wrong, and what is wrong with it.
pub(in crate::objects) type Complaint = (String, String);

/// What a pod asks of GPUs beside whole ones.
pub(super) fn asked(pod: &Pod, request: &ResourceList) -> Result<Option<DeviceRequest>, Complaint> {
    let share = share(&pod.metadata)?;
    let instances: u32 = request.iter().map(|(name, amount)| instances_of(name, *amount)).sum();
    let has_instances = request.iter().any(|(name, _)| name.starts_with(INSTANCE));
    if let Some(share) = share {
        let whole =
            request.iter().find(|(name, amount)| name.as_str() == WHOLE && !amount.is_zero());
        if whole.is_some() || has_instances {
            let problem = "asks for a part of a GPU, and the containers for whole ones";
            return Err((annotation(share_key(&pod.metadata)), problem.to_owned()));
        }
        return Ok(Some(DeviceRequest::Share(share)));
    }
    if has_instances {
        return Ok(Some(DeviceRequest::Instances { devices: instances }));
    }
    let loose = pod.metadata.annotations.keys().any(|key| key.starts_with(INSTANCE));
    Ok(loose.then_some(DeviceRequest::LooseInstances))
}

/// What a pod asks for that it cannot be given, even if it makes sense.
pub(super) fn beyond(
    pod: &Pod,
    asked: Option<DeviceRequest>,
    sharing: DeviceSharing,
) -> Option<Complaint> {
    let problem = match (asked, sharing) {
        (Some(DeviceRequest::LooseInstances), _) => {
            let loose = pod.metadata.annotations.keys().find(|key| key.starts_with(INSTANCE));
            let problem = "names instances of a GPU in an annotation; ask for them as a resource";
            Some((annotation(loose.map_or(INSTANCE, String::as_str)), problem.to_owned()))
        }
        (Some(DeviceRequest::Share(_)), DeviceSharing::NotGiven) => {
            let problem = "asks for a part of a GPU, which this version gives in simulations only";
            Some((annotation(share_key(&pod.metadata)), problem.to_owned()))
        }
        _ => None,
    };
    problem.or_else(|| claims(pod))
}

/// Devices by claims.
pub(super) fn claims(pod: &Pod) -> Option<Complaint> {
    let problem = "asks for devices by claims, which this version does not allocate";
    (!pod.spec.resource_claims.is_empty())
        .then(|| ("spec.resourceClaims".to_owned(), problem.to_owned()))
}

/// What the pod calls the GPUs it shares, sorted.
pub(super) fn shared(metadata: &Metadata) -> Vec<Name> {
    let is_group = |key: &str| {
        key.strip_prefix(GROUP).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let labels = metadata.labels.iter().filter(|(key, value)| is_group(key) && !value.is_empty());
    let mut names: Vec<Name> = labels.map(|(_, value)| value.as_str().into()).collect();
    names.sort();
    names.dedup();
    names
}

/// Labels that name these GPUs, with their values.
pub(crate) fn group_labels(devices: &[Name]) -> Vec<(String, String)> {
    match devices {
        [one] => vec![(GROUP.to_owned(), one.to_string())],
        more => more.iter().map(|one| (format!("{GROUP}/{one}"), one.to_string())).collect(),
    }
}

fn share(metadata: &Metadata) -> Result<Option<DeviceShare>, Complaint> {
    let text = |key: &str| metadata.annotations.get(key).map(String::as_str);
    let wrong = |key: &str, problem: String| (annotation(key), problem);
    let part = match (text(FRACTION), text(MEMORY)) {
        (Some(_), Some(_)) => {
            return Err(wrong(FRACTION, format!("stands beside {MEMORY}; expected one of them")));
        }
        (Some(fraction), None) => {
            thousandths(fraction).map(DevicePart::Milli).ok_or_else(|| {
                let expected = "expected a number between 0 and 1, such as 0.5";
                wrong(FRACTION, format!("{fraction:?} is no part of a GPU; {expected}"))
            })?
        }
        (None, Some(memory)) => mebibytes_asked(memory).ok_or_else(|| {
            let expected = "expected MiB as a whole number";
            wrong(MEMORY, format!("{memory:?} is no amount of memory; {expected}"))
        })?,
        (None, None) if text(DEVICES).is_none() => return Ok(None),
        (None, None) => {
            let problem = "says of how many GPUs, not how much";
            let expected = format!("expected {FRACTION} or {MEMORY} beside it");
            return Err(wrong(DEVICES, format!("{problem}; {expected}")));
        }
    };
    let devices = text(DEVICES).map_or(Some(1), |text| text.parse().ok());
    let devices = devices.filter(|devices| (1..=DEVICES_MAX).contains(devices));
    let problem = || format!("is no number of GPUs; expected 1 to {DEVICES_MAX}");
    let devices = devices.ok_or_else(|| wrong(DEVICES, problem()))?;
    Ok(Some(DeviceShare { devices, part }))
}

fn mebibytes_asked(text: &str) -> Option<DevicePart> {
    text.parse().ok().filter(|&mib: &u32| mib > 0).map(DevicePart::Memory)
}

/// More than any node has.
const DEVICES_MAX: u32 = 1024;

/// A part of one as thousandths, rounded down.
fn thousandths(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("0.").or_else(|| text.strip_prefix('.'))?;
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let thousandths = digits.bytes().chain([b'0'; 3]).take(3);
    let milli = thousandths.fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    (milli > 0).then_some(milli)
}

fn share_key(metadata: &Metadata) -> &'static str {
    if metadata.annotations.contains_key(FRACTION) { FRACTION } else { MEMORY }
}

fn annotation(key: &str) -> String {
    format!("metadata.annotations[{key:?}]")
}

/// Devices that an amount of instances counts as: the slices of a GPU each has, which its name begins with.
fn instances_of(name: &str, amount: Quantity) -> u32 {
    let slices = name.strip_prefix(INSTANCE).and_then(|profile| profile.split_once("g."));
    let slices = slices.and_then(|(slices, _)| slices.parse::<u32>().ok()).unwrap_or(0);
    slices.saturating_mul(u32::try_from(amount.units_ceil()).unwrap_or(0))
}

/// What a node says of its GPUs beside their number.
pub(in crate::objects) fn of_node(metadata: &Metadata, offers: &ResourceList) -> NodeDeviceFacts {
    let label = |key: &str| metadata.labels.get(key).map(String::as_str);
    let instances = offers.iter().map(|(name, amount)| instances_of(name, *amount)).sum();
    let divided =
        label(DIVIDED).is_some() || offers.iter().any(|(name, _)| name.starts_with(INSTANCE));
    let division = match (divided, label(STRATEGY)) {
        (false, _) => Division::None,
        (true, Some("single")) => Division::Single,
        (true, Some("mixed")) => Division::Mixed,
        (true, _) => Division::Some,
    };
    let memory = label(NODE_MEMORY).and_then(|text| text.parse().ok()).and_then(mebibytes);
    NodeDeviceFacts { memory, division, instances }
}

/// Memory in MiB, in whole hundreds. Some report bytes, which no number of MiB is as large as.
fn mebibytes(written: u64) -> Option<u32> {
    let mib = if written >= 1 << 20 { written >> 20 } else { written };
    let hundreds = u32::try_from(mib / 100 * 100).ok()?;
    (hundreds > 0).then_some(hundreds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_to_the_thousandth_and_never_rounded_up() {
        let read = ["0.5", ".25", "0.3339", "0.050", "0.9999", "0.001"].map(thousandths);
        assert_eq!(read, [500, 250, 333, 50, 999, 1].map(Some));
        for wrong in ["", "0", "1", "1.0", "0.", "0.0", "0.0004", "-0.5", "0,5", "5e-1", "0.5x"] {
            assert_eq!(thousandths(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn instances_count_as_the_slices_they_have() {
        let count = |name: &str, amount| instances_of(name, Quantity::from_units(amount));
        assert_eq!(count("nvidia.com/mig-1g.10gb", 2), 2);
        assert_eq!(count("nvidia.com/mig-3g.40gb", 2), 6);
        assert_eq!(count("nvidia.com/mig-1g.10gb.me", 1), 1);
        assert_eq!(count("nvidia.com/gpu", 8) + count("nvidia.com/mig-all", 3), 0);
    }

    #[test]
    fn memory_is_known_in_hundreds_of_mib_whatever_it_is_written_in() {
        assert_eq!(mebibytes(16_384), Some(16_300));
        assert_eq!(mebibytes(100), Some(100));
        assert_eq!(mebibytes(16_384 << 20), Some(16_300));
        assert_eq!([mebibytes(99), mebibytes(0)], [None, None]);
    }
}
