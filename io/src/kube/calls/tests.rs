//! Intents of a cycle as calls.

use muster_core::intent::DecisionOp;

use super::*;

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

fn pod(name: &str, uid: &str) -> PodRef {
    PodRef { key: key(name), uid: uid.into() }
}

fn ruling(op: DecisionOp, job: &str) -> Arc<Ruling> {
    let job = key(job);
    Arc::new(Ruling { action: "allocate", op, job, beneficiary: None, reason: None })
}

#[test]
fn binds_and_evictions_carry_their_ruling_and_binds_their_claims() {
    let (evicted, bound) = (ruling(DecisionOp::Evict, "low"), ruling(DecisionOp::Bind, "high"));
    let claim = |name: &str, pod: &str| Intent::FixClaim {
        claim: key(name),
        volume: None,
        node: "n".into(),
        pod: key(pod),
    };
    let bind = |pod: &str, uid: &str| Intent::Bind {
        pod: key(pod),
        uid: uid.into(),
        node: "n".into(),
        ruling: bound.clone(),
    };
    let intents = vec![
        Intent::Evict { pod: key("victim"), uid: "v".into(), ruling: evicted.clone() },
        // Claims find their bind by its pod, not by their place in the list.
        claim("c", "p"),
        claim("d", "q"),
        bind("p", "u"),
        bind("q", "w"),
    ];
    let acted = |name: &str, uid: &str, kind| Call::Act(Act { pod: pod(name, uid), kind });
    let bound_with = |claim: &str| ActKind::Bind {
        node: "n".into(),
        ruling: bound.clone(),
        claims: vec![ClaimFix { claim: key(claim), volume: None }],
    };
    assert_eq!(
        calls(intents),
        [
            acted("victim", "v", ActKind::Evict { ruling: evicted }),
            acted("p", "u", bound_with("c")),
            acted("q", "w", bound_with("d")),
        ]
    );
}

#[test]
fn calls_about_one_pod_share_a_subject() {
    let nominate = act(key("p"), "u".into(), ActKind::Nominate(None));
    let evict =
        act(key("p"), "u".into(), ActKind::Evict { ruling: ruling(DecisionOp::Evict, "p") });
    assert_eq!(nominate.subject(), evict.subject());
    let of_a_group = Report::Group {
        group: key("p"),
        phase: GroupPhase::Pending,
        report: GroupReport::default(),
    };
    assert_ne!(Call::Report(of_a_group).subject(), nominate.subject());
}
