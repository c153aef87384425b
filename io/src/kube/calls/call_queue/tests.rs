//! The call queue: calls about one object in order, reports replaced, pauses kept.

use std::sync::Arc;

use muster_core::ids::ObjectKey;
use muster_core::intent::{DecisionOp, Ruling};
use muster_core::status::{SaidIn, WaitReport};
use muster_core::verdict::Reason;
use proptest::prelude::*;

use super::super::PodRef;
use super::*;

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

fn pod(name: &str) -> Subject {
    Subject::Pod(key(name))
}

fn act(name: &str, kind: ActKind) -> Call {
    Call::Act(Act { pod: PodRef { key: key(name), uid: "u".into() }, kind })
}

fn bind(name: &str, node: &str) -> Call {
    let (op, job) = (DecisionOp::Bind, key("j"));
    let ruling = Arc::new(Ruling { action: "test", op, job, beneficiary: None, reason: None });
    act(name, ActKind::Bind { node: node.into(), ruling, claims: Vec::new() })
}

fn nominate(name: &str, node: &str) -> Call {
    act(name, ActKind::Nominate(Some(node.into())))
}

fn wait(name: &str, message: &str) -> Call {
    Call::Report(Report::Wait {
        pod: PodRef { key: key(name), uid: "u".into() },
        job: key("j"),
        wait: Arc::new(WaitReport {
            reason: "Unschedulable",
            code: Reason::NeverFits,
            message: message.into(),
            said: SaidIn::Status,
        }),
    })
}

#[test]
fn calls_about_one_pod_are_made_one_after_the_other() {
    let (mut queue, now) = (CallQueue::default(), Instant::now());
    queue.put(nominate("a", "n0"), now);
    queue.put(nominate("a", "n1"), now);
    queue.put(bind("b", "n2"), now);
    assert_eq!(queue.next(now, Rank::Report), Some(nominate("a", "n0")));
    assert_eq!(queue.next(now, Rank::Report), Some(bind("b", "n2")));
    assert_eq!(queue.next(now, Rank::Report), None);
    queue.done(&pod("a"));
    assert_eq!(queue.next(now, Rank::Report), Some(nominate("a", "n1")));
    queue.done(&pod("a"));
    queue.done(&pod("b"));
    assert!(queue.is_empty() && queue.objects.is_empty());
}

#[test]
fn a_report_is_held_back_and_the_newest_counts() {
    let (mut queue, now) = (CallQueue::default(), Instant::now());
    queue.put(wait("a", "first"), now);
    queue.put(wait("a", "second"), now);
    assert_eq!(queue.next(now, Rank::Report), None);
    let due = queue.next_due().unwrap();
    assert_eq!(queue.next(due, Rank::Act), None);
    assert_eq!(queue.next(due, Rank::Report), Some(wait("a", "second")));
    queue.done(&pod("a"));
    assert_eq!(queue.next_due(), None);
}

#[test]
fn a_bind_makes_what_the_pod_waits_for_pointless() {
    let (mut queue, now) = (CallQueue::default(), Instant::now());
    queue.put(wait("a", "no room"), now);
    queue.put(nominate("a", "n0"), now);
    queue.put(bind("a", "n1"), now);
    let later = now + Duration::from_mins(1);
    assert_eq!(queue.next(later, Rank::Report), Some(bind("a", "n1")));
    assert_eq!(queue.next(later, Rank::Report), None);
    queue.done(&pod("a"));
    assert!(queue.is_empty() && queue.objects.is_empty());
}

proptest! {
    /// Whatever comes in whatever order: acts of a subject leave in order, one at a time, none twice
    /// and none lost, and the count of what waits is right.
    #[test]
    fn acts_leave_in_order_and_none_is_lost(
        steps in prop::collection::vec((0_u8..4, 0_u8..3), 1..80),
    ) {
        let (mut queue, now) = (CallQueue::default(), Instant::now());
        let later = now + Duration::from_mins(1);
        let mut busy: Vec<Subject> = Vec::new();
        let mut out: Vec<Call> = Vec::new();
        let mut put: Vec<Call> = Vec::new();
        for (at, (what, who)) in steps.into_iter().enumerate() {
            let (name, at) = (who.to_string(), at.to_string());
            match what {
                0 => {
                    let call = nominate(&name, &at);
                    put.push(call.clone());
                    queue.put(call, now);
                }
                1 => queue.put(wait(&name, &at), now),
                2 => {
                    if let Some(call) = queue.next(later, Rank::Report) {
                        prop_assert!(!busy.contains(&call.subject()));
                        busy.push(call.subject());
                        out.push(call);
                    }
                }
                _ => {
                    if let Some(subject) = busy.pop() {
                        queue.done(&subject);
                    }
                }
            }
        }
        while let Some(subject) = busy.pop() {
            queue.done(&subject);
        }
        while let Some(call) = queue.next(later, Rank::Report) {
            queue.done(&call.subject());
            out.push(call);
        }
        prop_assert_eq!(queue.len(), 0);
        prop_assert!(queue.objects.is_empty());
        for who in 0..3_u8 {
            let subject = pod(&who.to_string());
            let acts = |list: &[Call]| -> Vec<Call> {
                let of = list.iter().filter(|call| call.subject() == subject);
                of.filter(|call| Rank::of(call) == Rank::Act).cloned().collect()
            };
            prop_assert_eq!(acts(&out), acts(&put));
        }
    }
}
