//! Amounts that queues and nodes have, against what was expected.

use muster_core::delta::UsedParts;
use muster_core::ids::Name;
use muster_core::resource::{Quantity, ResourceNames, ResourceVec};

use super::super::books::devices::GPU;
use super::super::expectation::Range;
use super::{Evidence, Finding};

/// How far fair shares and parts used of late may be from what was expected: they are rounded to thousandths.
const SHARE_SLACK_MILLI: i64 = 1;

/// Does the queue use so much, is so much due to it, and did it use so much of late?
pub(super) fn queue_has(
    evidence: Evidence<'_>,
    name: &Name,
    allocated: &[(Name, Range<Quantity>)],
    fair_share: &[(Name, Quantity)],
    usage: &[(Name, Range<Quantity>)],
) -> Finding {
    let Some(queue) = evidence.queues.iter().find(|queue| queue.name == *name) else {
        return (false, format!("there is no queue {name}"));
    };
    if !fair_share.is_empty() && !evidence.books.is_kai_queue(name) {
        return (false, format!("{name} is no queue of KAI's and has no fair share"));
    }
    let shares = fair_share.iter().map(|(name, share)| (name, Range::exactly(*share)));
    let shares: Vec<_> = shares.map(about).collect();
    let usage: Vec<_> = usage.iter().map(|(name, range)| about((name, *range))).collect();
    let past = |resource: &Name| part_used(queue.past, resource);
    let found = [
        (allocated, within("allocated", allocated, |resource| of(&queue.allocated, resource))),
        (&shares, within("fairShare", &shares, |resource| of(&queue.deserved, resource))),
        (&usage, within("usage", &usage, past)),
    ];
    let asked = found.into_iter().filter(|(bounds, _)| !bounds.is_empty()).map(|found| found.1);
    let (passed, told): (Vec<bool>, Vec<String>) = asked.unzip();
    (passed.into_iter().all(|pass| pass), told.join("; "))
}

/// The same bounds, with some slack.
fn about((resource, range): (&Name, Range<Quantity>)) -> (Name, Range<Quantity>) {
    let slack = Quantity::from_milli(SHARE_SLACK_MILLI);
    let (min, max) = (range.min.map(|min| min.sub(slack)), range.max.map(|max| max.add(slack)));
    (resource.clone(), Range { min, max })
}

/// The part of the cluster's resource that was used, of those whose use is known.
fn part_used(past: UsedParts, resource: &Name) -> Quantity {
    let at = ["cpu", "memory", GPU].iter().position(|name| **name == **resource);
    let millionths = at.map_or(0, |at| past[at]);
    Quantity::from_milli(i64::try_from(millionths / 1000).unwrap_or(i64::MAX))
}

fn of(list: &[(Name, Quantity)], resource: &Name) -> Quantity {
    let entry = list.iter().find(|entry| entry.0 == *resource);
    entry.map_or_else(Quantity::default, |entry| entry.1)
}

/// Has the node so much left?
pub(super) fn node_has(
    evidence: Evidence<'_>,
    name: &Name,
    idle: &[(Name, Range<Quantity>)],
    releasing: &[(Name, Range<Quantity>)],
) -> Finding {
    let books = evidence.books;
    let Some(node) = books.nodes.get(name).filter(|node| node.facts.is_some()) else {
        return (false, format!("there is no node {name}"));
    };
    let amount = |vector: &ResourceVec, resource: &Name| {
        let dim = books.names.find(resource);
        dim.map_or_else(Quantity::default, |dim| ResourceNames::quantity(dim, vector.get(dim)))
    };
    let mut room = node.allocatable.clone();
    room.sub(&node.used);
    let mut leaving = node.leaving.clone();
    if let Some(gpu) = books.gpu() {
        let [free, left] = books.whole_gpus(name);
        room.set(gpu, free);
        leaving.set(gpu, left);
    }
    let (is_idle, first) = within("idle", idle, |resource| amount(&room, resource));
    let (leaves, second) = within("releasing", releasing, |resource| amount(&leaving, resource));
    let told: Vec<_> = [(idle, first), (releasing, second)]
        .into_iter()
        .filter_map(|(bounds, got)| (!bounds.is_empty()).then_some(got))
        .collect();
    (is_idle && leaves, told.join("; "))
}

/// Are the amounts within the bounds, and what are they?
fn within(
    word: &str,
    bounds: &[(Name, Range<Quantity>)],
    amount: impl Fn(&Name) -> Quantity,
) -> Finding {
    let pass = bounds.iter().all(|(resource, range)| range.contains(amount(resource)));
    let parts: Vec<_> =
        bounds.iter().map(|(resource, _)| format!("{resource}: {}", amount(resource))).collect();
    (pass, format!("{word} {}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use muster_core::delta::{
        ClusterDelta, DevicePart, DeviceRequest, DeviceShare, Facts, OverQuotaTerms, PodFacts,
        QueueFacts,
    };
    use muster_core::report::QueueView;
    use muster_core::status::QueueState;

    use super::super::super::books::Books;
    use super::super::super::domains::DomainIndex;
    use super::super::super::fixtures::{books, node, queue, running, set, set_queue};
    use super::super::{DeviceEvidence, Tally};
    use super::*;

    fn view(name: &str) -> QueueView {
        QueueView {
            name: name.into(),
            allocated: vec![("cpu".into(), Quantity::from_units(2))],
            deserved: vec![("cpu".into(), Quantity::from_milli(1500))],
            state: QueueState::Open,
            share_ppm: 0,
            capability: Vec::new(),
            guarantee: Vec::new(),
            borrowed: Vec::new(),
            warnings: Vec::new(),
            past: [0, 0, 333_333],
        }
    }

    /// A node of 4 with a pod that stays and one that leaves, one of 4 and three GPUs with two that share
    /// one each; a queue of either dialect.
    fn small_books() -> Books {
        let leaving = PodFacts { deleting: true, ..running("b", "g", 2, "n0") };
        let sharing = |name: &str, device: &str| {
            let part = DevicePart::Milli(500);
            let mut pod = running(name, "g", 1, "n1");
            pod.devices = Some(DeviceRequest::Share(DeviceShare { devices: 1, part }));
            pod.shared_devices = vec![device.into()];
            pod
        };
        let goes = PodFacts { deleting: true, ..sharing("d", "1") };
        let ClusterDelta::Set(Facts::Node(mut gpus)) = node("n1", 4) else { panic!("a node") };
        gpus.allocatable.push(("nvidia.com/gpu".into(), Quantity::from_units(3)));
        let kai = QueueFacts { over_quota: Some(Box::<OverQuotaTerms>::default()), ..queue("kai") };
        books(&[
            node("n0", 4),
            ClusterDelta::Set(Facts::Node(gpus)),
            set_queue(queue("default")),
            set_queue(kai),
            set(running("a", "g", 1, "n0")),
            set(leaving),
            set(sharing("c", "0")),
            set(goes),
        ])
    }

    fn finding(judge: impl Fn(Evidence<'_>) -> Finding) -> Finding {
        let (books, domains, tally) = (small_books(), DomainIndex::default(), Tally::default());
        let queues = [view("default"), view("kai")];
        judge(Evidence {
            books: &books,
            domains: &domains,
            tally: &tally,
            jobs: &[],
            queues: &queues,
            devices: DeviceEvidence::default(),
        })
    }

    fn exactly(name: &str, units: i64) -> Vec<(Name, Range<Quantity>)> {
        vec![(name.into(), Range::exactly(Quantity::from_units(units)))]
    }

    #[test]
    fn a_queue_is_judged_by_the_resources_named() {
        let uses = |resource: &str, max| {
            let range = Range { min: None, max: Some(Quantity::from_units(max)) };
            let allocated = [(resource.into(), range)];
            finding(|evidence| queue_has(evidence, &"default".into(), &allocated, &[], &[]))
        };
        assert!(uses("cpu", 2).0 && uses("nvidia.com/gpu", 0).0);
        assert_eq!(uses("cpu", 1), (false, "allocated cpu: 2".to_owned()));
    }

    #[test]
    fn a_fair_share_may_be_a_thousandth_off_and_only_queues_of_kai_have_one() {
        let due = |queue: &str, milli| {
            let share = [("cpu".into(), Quantity::from_milli(milli))];
            finding(|evidence| queue_has(evidence, &queue.into(), &[], &share, &[]))
        };
        assert!(due("kai", 1500).0 && due("kai", 1501).0 && due("kai", 1499).0);
        assert_eq!(due("kai", 1502), (false, "fairShare cpu: 1500m".to_owned()));
        let other = "default is no queue of KAI's and has no fair share".to_owned();
        assert_eq!(due("default", 1500), (false, other));
        assert_eq!(due("none", 0), (false, "there is no queue none".to_owned()));
        let both = finding(|evidence| {
            let share = [("cpu".into(), Quantity::from_milli(1500))];
            queue_has(evidence, &"kai".into(), &exactly("cpu", 2), &share, &[])
        });
        assert_eq!(both, (true, "allocated cpu: 2; fairShare cpu: 1500m".to_owned()));
    }

    #[test]
    fn what_was_used_of_late_is_judged_to_a_thousandth() {
        let used = |resource: &str, milli| {
            let usage = [(resource.into(), Range::exactly(Quantity::from_milli(milli)))];
            finding(|evidence| queue_has(evidence, &"default".into(), &[], &[], &usage))
        };
        assert!(used(GPU, 333).0 && used(GPU, 334).0 && used("cpu", 0).0);
        assert_eq!(used(GPU, 335), (false, "usage nvidia.com/gpu: 333m".to_owned()));
    }

    #[test]
    fn a_node_is_judged_by_what_is_taken_and_what_leaves() {
        let has = |name: &str, resource: &str, idle, releasing| {
            let (idle, releasing) = (exactly(resource, idle), exactly(resource, releasing));
            finding(|evidence| node_has(evidence, &name.into(), &idle, &releasing))
        };
        assert_eq!(has("n0", "cpu", 1, 2), (true, "idle cpu: 1; releasing cpu: 2".to_owned()));
        assert!(!has("n0", "cpu", 2, 2).0 && !has("n0", "cpu", 1, 1).0);
        assert!(has("n0", "nvidia.com/gpu", 0, 0).0 && has("n1", "cpu", 2, 1).0);
        // One GPU is whole, one is shared by a pod that stays, and one by a pod that leaves.
        assert!(has("n1", "nvidia.com/gpu", 1, 1).0, "{:?}", has("n1", "nvidia.com/gpu", 1, 1));
        assert_eq!(has("n2", "cpu", 0, 0), (false, "there is no node n2".to_owned()));
    }
}
