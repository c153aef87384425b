//! The tray: order of calls about one thing, reports replaced, pauses kept.

use std::sync::Arc;

use muster_core::ids::ObjectKey;
use muster_core::status::WaitReport;
use muster_core::verdict::Reason;
use proptest::prelude::*;

use super::*;

fn pod(name: &str) -> Subject {
    Subject::Pod(ObjectKey::new("default", name))
}

fn bind(node: &str) -> Call {
    let job = ObjectKey::new("default", "j");
    Call::Act(Act::Bind { uid: "u".into(), node: node.into(), job, claims: Vec::new() })
}

fn nominate(node: &str) -> Call {
    Call::Act(Act::Nominate { uid: "u".into(), node: Some(node.into()) })
}

fn wait(message: &str) -> Call {
    Call::Report(Report::Wait {
        uid: "u".into(),
        job: ObjectKey::new("default", "j"),
        wait: Arc::new(WaitReport {
            reason: "Unschedulable",
            code: Reason::NeverFits,
            message: message.into(),
        }),
    })
}

#[test]
fn calls_about_one_pod_are_made_one_after_the_other() {
    let (mut tray, now) = (Tray::default(), Instant::now());
    tray.put(pod("a"), nominate("n0"), now);
    tray.put(pod("a"), nominate("n1"), now);
    tray.put(pod("b"), bind("n2"), now);
    assert_eq!(tray.next(now, Rank::Report), Some((pod("a"), nominate("n0"))));
    assert_eq!(tray.next(now, Rank::Report), Some((pod("b"), bind("n2"))));
    assert_eq!(tray.next(now, Rank::Report), None);
    tray.done(&pod("a"));
    assert_eq!(tray.next(now, Rank::Report), Some((pod("a"), nominate("n1"))));
    tray.done(&pod("a"));
    tray.done(&pod("b"));
    assert!(tray.is_empty() && tray.lanes.is_empty());
}

#[test]
fn a_report_is_held_back_and_the_newest_counts() {
    let (mut tray, now) = (Tray::default(), Instant::now());
    tray.put(pod("a"), wait("first"), now);
    tray.put(pod("a"), wait("second"), now);
    assert_eq!(tray.next(now, Rank::Report), None);
    let due = tray.next_due().unwrap();
    assert_eq!(tray.next(due, Rank::Act), None);
    assert_eq!(tray.next(due, Rank::Report), Some((pod("a"), wait("second"))));
    tray.done(&pod("a"));
    assert_eq!(tray.next_due(), None);
}

#[test]
fn a_bind_makes_what_the_pod_waits_for_pointless() {
    let (mut tray, now) = (Tray::default(), Instant::now());
    tray.put(pod("a"), wait("no room"), now);
    tray.put(pod("a"), nominate("n0"), now);
    tray.put(pod("a"), bind("n1"), now);
    let later = now + Duration::from_mins(1);
    assert_eq!(tray.next(later, Rank::Report), Some((pod("a"), bind("n1"))));
    assert_eq!(tray.next(later, Rank::Report), None);
    tray.done(&pod("a"));
    assert!(tray.is_empty() && tray.lanes.is_empty());
}

proptest! {
    /// Whatever comes in whatever order: acts of a subject leave in order, one at a time, none twice
    /// and none lost, and the count of what waits is right.
    #[test]
    fn acts_leave_in_order_and_none_is_lost(
        steps in prop::collection::vec((0_u8..4, 0_u8..3), 1..80),
    ) {
        let (mut tray, now) = (Tray::default(), Instant::now());
        let later = now + Duration::from_mins(1);
        let mut busy: Vec<Subject> = Vec::new();
        let mut out: Vec<(Subject, Call)> = Vec::new();
        let mut put: Vec<(Subject, Call)> = Vec::new();
        for (at, (what, who)) in steps.into_iter().enumerate() {
            let subject = pod(&who.to_string());
            match what {
                0 => {
                    let call = nominate(&at.to_string());
                    put.push((subject.clone(), call.clone()));
                    tray.put(subject, call, now);
                }
                1 => tray.put(subject, wait(&at.to_string()), now),
                2 => {
                    if let Some((subject, call)) = tray.next(later, Rank::Report) {
                        prop_assert!(!busy.contains(&subject));
                        busy.push(subject.clone());
                        out.push((subject, call));
                    }
                }
                _ => {
                    if let Some(subject) = busy.pop() {
                        tray.done(&subject);
                    }
                }
            }
        }
        while let Some(subject) = busy.pop() {
            tray.done(&subject);
        }
        while let Some((subject, call)) = tray.next(later, Rank::Report) {
            tray.done(&subject);
            out.push((subject, call));
        }
        prop_assert_eq!(tray.len(), 0);
        prop_assert!(tray.lanes.is_empty());
        for who in 0..3_u8 {
            let acts = |list: &[(Subject, Call)]| -> Vec<Call> {
                let of = list.iter().filter(|(subject, _)| *subject == pod(&who.to_string()));
                of.map(|(_, call)| call.clone()).filter(|call| Rank::of(call) == Rank::Act).collect()
            };
            prop_assert_eq!(acts(&out), acts(&put));
        }
    }
}
