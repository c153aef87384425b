//! Judges what a Scenario expects against the books and the scheduler's views.

mod amounts;
mod devices;

use std::collections::BTreeMap;

use muster_core::ids::{Name, ObjectKey};
use muster_core::report::{JobView, QueueView};

use crate::objects::phase_text;

use super::books::{Books, PodEntry, PodStatus};
use super::domains::DomainIndex;
use super::expectation::{Assertion, Expectation, PodCount, Range, Subject};
use super::subgroups::subgroups_of;
use amounts::{node_has, queue_has};
pub use devices::DeviceEvidence;

/// How one expectation came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The expectation on one line.
    pub assertion: String,
    /// Does it hold?
    pub pass: bool,
    /// What was found, as a sentence.
    pub got: String,
}

/// Evictions and decisions so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Evictions in all.
    pub evictions: u64,
    /// Evictions by pod name.
    pub by_pod: BTreeMap<ObjectKey, u64>,
    /// Evictions by the victim's job.
    pub by_job: BTreeMap<ObjectKey, u64>,
    /// The last cycle that decided anything; 0 is none.
    pub last_decision: u32,
}

/// What an assertion is judged against.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The objects.
    pub books: &'a Books,
    /// Domains of these books.
    pub domains: &'a DomainIndex,
    /// Evictions so far.
    pub tally: &'a Tally,
    /// The scheduler's jobs.
    pub jobs: &'a [JobView],
    /// The scheduler's queues.
    pub queues: &'a [QueueView],
    /// What is known of shared GPUs.
    pub devices: DeviceEvidence<'a>,
}

type Finding = (bool, String);

/// Judges one expectation.
pub fn judge(expectation: &Expectation, evidence: Evidence<'_>) -> Judgement {
    let (pass, got) = match &expectation.assertion {
        Assertion::Bound(count) => {
            let pods = pods_of(evidence.books, &count.of);
            pods_in(evidence, &pods, count, "bound", PodStatus::is_bound)
        }
        Assertion::Pipelined(count) => {
            let pods = rooms_of(evidence.books, &count.of);
            pods_in(evidence, &pods, count, "pipelined", |status| status == PodStatus::Pipelined)
        }
        Assertion::Pending(count) => {
            let pods = pods_of(evidence.books, &count.of);
            pods_in(evidence, &pods, count, "pending", |status| status == PodStatus::Pending)
        }
        Assertion::Evicted { of, times } => evicted(evidence, of, *times),
        Assertion::SameDomain { gang, subgroup, tier } => {
            same_domain(evidence, gang, subgroup.as_deref(), *tier)
        }
        Assertion::Phase { pod_group, is } => job_says(evidence, pod_group, |job| {
            (job.phase == *is, format!("phase {}", phase_text(job.phase)))
        }),
        Assertion::Reason { gang, is } => job_says(evidence, gang, |job| {
            let message = job.message.as_ref().map_or(String::new(), |text| format!(": {text}"));
            let reason = job.reason.map_or("no reason", muster_core::verdict::Reason::as_str);
            (job.reason == Some(*is), format!("{reason}{message}"))
        }),
        Assertion::QuietAfter(cycle) => {
            let last = evidence.tally.last_decision;
            let got = match last {
                0 => "no decision at all".to_owned(),
                last => format!("last decision in cycle {last}"),
            };
            (last <= *cycle, got)
        }
        Assertion::Queue { name, allocated, fair_share, usage } => {
            queue_has(evidence, name, allocated, fair_share, usage)
        }
        Assertion::Node { name, idle, releasing } => node_has(evidence, name, idle, releasing),
        Assertion::Beyond(beyond) => (false, beyond.sentence().to_owned()),
    };
    Judgement { assertion: expectation.text.clone(), pass, got }
}

/// The gang or pod an expectation is about, if it is about one.
pub fn subject(expectation: &Expectation) -> Option<&ObjectKey> {
    match &expectation.assertion {
        Assertion::Bound(count) | Assertion::Pipelined(count) | Assertion::Pending(count) => {
            subject_key(&count.of)
        }
        Assertion::Evicted { of, .. } => subject_key(of),
        Assertion::SameDomain { gang, .. } | Assertion::Reason { gang, .. } => Some(gang),
        Assertion::Phase { pod_group, .. } => Some(pod_group),
        Assertion::QuietAfter(_)
        | Assertion::Queue { .. }
        | Assertion::Node { .. }
        | Assertion::Beyond(_) => None,
    }
}

fn subject_key(of: &Subject) -> Option<&ObjectKey> {
    match of {
        Subject::All => None,
        Subject::Gang(key) | Subject::Pod(key) => Some(key),
    }
}

fn pods_of<'a>(books: &'a Books, of: &Subject) -> Vec<(&'a ObjectKey, &'a PodEntry)> {
    match of {
        Subject::All => books.pods.iter().collect(),
        Subject::Gang(key) => books.pods_of(key).collect(),
        Subject::Pod(key) => books.pods.get_key_value(key).into_iter().collect(),
    }
}

/// The same, but of a pod that is moved the room that is held for the next one.
fn rooms_of<'a>(books: &'a Books, of: &Subject) -> Vec<(&'a ObjectKey, &'a PodEntry)> {
    let mut rooms: BTreeMap<_, _> = pods_of(books, of).into_iter().collect();
    rooms.extend(books.moves.iter().filter(|(key, room)| match of {
        Subject::All => true,
        Subject::Gang(gang) => room.job == *gang,
        Subject::Pod(pod) => *key == pod,
    }));
    rooms.into_iter().collect()
}

fn pods_in(
    evidence: Evidence<'_>,
    pods: &[(&ObjectKey, &PodEntry)],
    count: &PodCount,
    word: &str,
    is_in: fn(PodStatus) -> bool,
) -> Finding {
    if let Some(beyond) = count.beyond {
        return (false, beyond.sentence().to_owned());
    }
    let found: Vec<_> = pods.iter().filter(|(_, pod)| is_in(pod.status)).collect();
    // Without a count all of them must be in that state, and there must be some.
    let wanted = count.pods.unwrap_or(Range { min: Some(1), max: None });
    let all = count.pods.is_some() || found.len() == pods.len();
    let stray = found.iter().find(|(_, pod)| {
        let node = pod.node.as_ref().or(pod.nominated.as_ref());
        count.nodes.as_ref().is_some_and(|nodes| node.is_none_or(|node| !nodes.contains(node)))
    });
    let elsewhere = count.devices.as_ref().and_then(|names| {
        found.iter().find(|(key, pod)| !devices::are(evidence, names, (key, pod)))
    });
    if let (Some((key, pod)), None) = (elsewhere, stray) {
        let devices = devices::describe(evidence, key, pod);
        return (false, format!("{key} is {}, {devices}", describe(pod)));
    }
    let pass = all && stray.is_none() && wanted.contains(found.len() as u64);
    let got = match (&count.of, pods, stray) {
        (Subject::Pod(_), [(key, pod)], _) => format!("{key} is {}", describe(pod)),
        (Subject::Pod(key), _, _) => format!("{key} is gone"),
        (_, _, Some((key, pod))) => format!("{key} is {}", describe(pod)),
        _ => format!("{} {word}{}", found.len(), others(pods, is_in)),
    };
    (pass, got)
}

/// A pod's status and where, as words.
fn describe(pod: &PodEntry) -> String {
    match (&pod.node, &pod.nominated) {
        (Some(node), _) => format!("{} on {node}", pod.status.as_str()),
        (None, Some(node)) => format!("{}, held on {node}", pod.status.as_str()),
        (None, None) => pod.status.as_str().to_owned(),
    }
}

/// How many of the rest are in which state.
fn others(pods: &[(&ObjectKey, &PodEntry)], is_in: fn(PodStatus) -> bool) -> String {
    let mut rest: BTreeMap<PodStatus, u64> = BTreeMap::new();
    for (_, pod) in pods.iter().filter(|(_, pod)| !is_in(pod.status)) {
        *rest.entry(pod.status).or_default() += 1;
    }
    let parts: Vec<_> =
        rest.iter().map(|(status, count)| format!("{count} {}", status.as_str())).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

fn evicted(evidence: Evidence<'_>, of: &Subject, times: Range<u64>) -> Finding {
    let found = match of {
        Subject::All => evidence.tally.evictions,
        Subject::Gang(key) => evidence.tally.by_job.get(key).copied().unwrap_or_default(),
        Subject::Pod(key) => evidence.tally.by_pod.get(key).copied().unwrap_or_default(),
    };
    let noun = if found == 1 { "eviction" } else { "evictions" };
    (times.contains(found), format!("{found} {noun}"))
}

fn same_domain(
    evidence: Evidence<'_>,
    gang: &ObjectKey,
    subgroup: Option<&str>,
    tier: u32,
) -> Finding {
    let pods: Vec<&PodEntry> = match subgroup {
        None => evidence.books.pods_of(gang).map(|(_, pod)| pod).collect(),
        Some(name) => match subgroups_of(evidence.books, gang).remove(name) {
            Some(entry) => entry.pods,
            None => return (false, format!("no pod of it is of sub-group {name}")),
        },
    };
    let nodes: std::collections::BTreeSet<&Name> =
        pods.iter().filter_map(|pod| pod.seat().or(pod.hold())).collect();
    if nodes.is_empty() {
        return (false, "no pod of it is on a node".to_owned());
    }
    let pass = evidence.domains.share(nodes.iter().copied(), tier);
    (pass, format!("on {}", list(nodes.iter().copied())))
}

/// The first few names, and how many more there are.
fn list<'a>(names: impl ExactSizeIterator<Item = &'a Name>) -> String {
    const SHOWN: usize = 8;
    let more = names.len().saturating_sub(SHOWN);
    let shown: Vec<&str> = names.take(SHOWN).map(|name| &**name).collect();
    if more == 0 {
        return shown.join(", ");
    }
    format!("{} and {more} more", shown.join(", "))
}

fn job_says(
    evidence: Evidence<'_>,
    key: &ObjectKey,
    says: impl Fn(&JobView) -> Finding,
) -> Finding {
    match evidence.jobs.binary_search_by(|job| job.key.cmp(key)) {
        Ok(at) => says(&evidence.jobs[at]),
        Err(_) => (false, format!("{key} is gone")),
    }
}

#[cfg(test)]
mod tests {
    use muster_core::delta::{GroupPhase, PodFacts, PodGroupFacts, PodPhase};
    use muster_core::resource::Quantity;
    use muster_core::verdict::Reason;

    use super::super::fixtures::{
        books, domain, gang, halves, key, node, pod, queue, running, set, set_gang, set_queue,
    };
    use super::*;

    /// Judges against a small gang: two running on n0 and n1, one held on n2, one pending.
    fn judge_gang(assertion: Assertion) -> (bool, String) {
        let half = |mut pod: PodFacts, half: &str| {
            pod.labels = vec![("half".into(), half.into())];
            pod
        };
        let mut held = half(pod("g-2", "g", 1), "b");
        held.nominated = Some("n2".into());
        let mut done = running("other-0", "other", 1, "n0");
        done.phase = PodPhase::Succeeded;
        let books = books(&[
            node("n0", 4),
            node("n1", 4),
            node("n2", 4),
            domain("rack", 1, &["n0", "n1"]),
            domain("hall", 2, &["n0", "n1", "n2"]),
            set_queue(queue("default")),
            set_gang(PodGroupFacts { subgroups: vec![halves(None)], ..gang("g", 2) }),
            set(half(running("g-0", "g", 1, "n0"), "a")),
            set(half(running("g-1", "g", 1, "n1"), "a")),
            set(held),
            set(pod("g-3", "g", 1)),
            set(done),
        ]);
        let mut domains = DomainIndex::default();
        domains.refresh(&books);
        let mut tally = Tally { evictions: 3, last_decision: 7, ..Tally::default() };
        tally.by_job.insert(key("low"), 2);
        tally.by_pod.insert(key("low-0"), 1);
        let jobs = [JobView {
            key: key("g"),
            queue: "default".into(),
            phase: GroupPhase::Running,
            min_available: 2,
            ready: 2,
            pipelined: 1,
            pending: 1,
            reason: Some(Reason::NotEnoughResources),
            message: Some("short of 1 cpu".into()),
            conditions: Vec::new(),
        }];
        let queues = [QueueView {
            name: "default".into(),
            allocated: vec![("cpu".into(), Quantity::from_units(2))],
            deserved: Vec::new(),
            state: muster_core::status::QueueState::Open,
            share_ppm: 0,
            capability: Vec::new(),
            guarantee: Vec::new(),
            borrowed: Vec::new(),
            warnings: Vec::new(),
            past: [0; 3],
        }];
        let evidence = Evidence {
            books: &books,
            domains: &domains,
            tally: &tally,
            jobs: &jobs,
            queues: &queues,
            devices: DeviceEvidence::default(),
        };
        let verdict =
            judge(&Expectation { text: "as written".into(), cycle: None, assertion }, evidence);
        assert_eq!(verdict.assertion, "as written");
        (verdict.pass, verdict.got)
    }

    fn of_gang(pods: u64) -> PodCount {
        PodCount {
            of: Subject::Gang(key("g")),
            pods: Some(Range::exactly(pods)),
            nodes: None,
            devices: None,
            beyond: None,
        }
    }

    fn of_pod(name: &str, nodes: Option<&[&str]>) -> PodCount {
        let nodes = nodes.map(|nodes| nodes.iter().map(|node| Name::from(*node)).collect());
        PodCount { of: Subject::Pod(key(name)), pods: None, nodes, devices: None, beyond: None }
    }

    #[test]
    fn pods_are_counted_by_state() {
        let got = (true, "2 bound (1 Pending, 1 Pipelined)".to_owned());
        assert_eq!(judge_gang(Assertion::Bound(of_gang(2))), got);
        assert!(!judge_gang(Assertion::Bound(of_gang(3))).0);
        assert!(judge_gang(Assertion::Pipelined(of_gang(1))).0);
        assert!(judge_gang(Assertion::Pending(of_gang(1))).0);
        assert!(!judge_gang(Assertion::Pending(of_gang(2))).0);
    }

    #[test]
    fn a_count_may_be_a_range() {
        let within = |min, max| {
            let pods = Some(Range { min, max });
            judge_gang(Assertion::Bound(PodCount {
                of: Subject::Gang(key("g")),
                pods,
                nodes: None,
                devices: None,
                beyond: None,
            }))
            .0
        };
        assert!(within(Some(1), Some(4)) && within(None, Some(2)) && within(Some(2), None));
        assert!(!within(Some(3), None) && !within(None, Some(1)));
    }

    #[test]
    fn without_a_count_all_pods_are_meant() {
        let all = |name: &str| PodCount {
            of: Subject::Gang(key(name)),
            pods: None,
            nodes: None,
            devices: None,
            beyond: None,
        };
        assert!(!judge_gang(Assertion::Bound(all("g"))).0);
        assert!(!judge_gang(Assertion::Bound(all("nobody"))).0, "all of nothing is not enough");
    }

    #[test]
    fn a_pod_may_be_wanted_on_certain_nodes() {
        assert!(judge_gang(Assertion::Bound(of_pod("g-0", Some(&["n0"])))).0);
        assert!(judge_gang(Assertion::Bound(of_pod("g-0", Some(&["n1", "n0"])))).0);
        let elsewhere = judge_gang(Assertion::Bound(of_pod("g-0", Some(&["n1"]))));
        assert_eq!(elsewhere, (false, "default/g-0 is Running on n0".to_owned()));
        let held = judge_gang(Assertion::Bound(of_pod("g-2", None)));
        assert_eq!(held, (false, "default/g-2 is Pipelined, held on n2".to_owned()));
        let gone = judge_gang(Assertion::Bound(of_pod("nobody", None)));
        assert_eq!(gone, (false, "default/nobody is gone".to_owned()));
    }

    #[test]
    fn a_finished_pod_is_not_bound() {
        assert!(!judge_gang(Assertion::Bound(of_pod("other-0", None))).0);
    }

    #[test]
    fn evictions_are_counted_in_all_by_gang_and_by_pod() {
        let evicted =
            |of, times| judge_gang(Assertion::Evicted { of, times: Range::exactly(times) });
        assert_eq!(evicted(Subject::All, 3), (true, "3 evictions".to_owned()));
        assert!(evicted(Subject::Gang(key("low")), 2).0);
        assert_eq!(evicted(Subject::Pod(key("low-0")), 2), (false, "1 eviction".to_owned()));
        assert!(evicted(Subject::Gang(key("g")), 0).0);
    }

    #[test]
    fn placed_pods_share_a_domain_of_the_tier_or_do_not() {
        let judge = |gang: &str, subgroup: Option<&str>, tier| {
            let subgroup = subgroup.map(str::to_owned);
            judge_gang(Assertion::SameDomain { gang: key(gang), subgroup, tier })
        };
        assert_eq!(judge("g", None, 1), (false, "on n0, n1, n2".to_owned()));
        assert!(judge("g", None, 2).0);
        assert!(!judge("nobody", None, 2).0);
        assert_eq!(judge("g", Some("half-a"), 1), (true, "on n0, n1".to_owned()));
        // The node is in no domain of tier 1.
        assert_eq!(judge("g", Some("half-b"), 1), (false, "on n2".to_owned()));
        assert!(judge("g", Some("half-b"), 2).0);
        let none = (false, "no pod of it is of sub-group half-c".to_owned());
        assert_eq!(judge("g", Some("half-c"), 1), none);
    }

    #[test]
    fn phase_and_reason_come_from_the_job() {
        let phase = |is| judge_gang(Assertion::Phase { pod_group: key("g"), is });
        assert!(phase(GroupPhase::Running).0);
        assert_eq!(phase(GroupPhase::Pending), (false, "phase Running".to_owned()));
        let reason = |is| judge_gang(Assertion::Reason { gang: key("g"), is });
        assert!(reason(Reason::NotEnoughResources).0);
        let got = (false, "NotEnoughResources: short of 1 cpu".to_owned());
        assert_eq!(reason(Reason::Gated), got);
    }

    #[test]
    fn quiet_means_no_decision_after_that_cycle() {
        assert!(judge_gang(Assertion::QuietAfter(7)).0);
        let got = (false, "last decision in cycle 7".to_owned());
        assert_eq!(judge_gang(Assertion::QuietAfter(6)), got);
    }
}
