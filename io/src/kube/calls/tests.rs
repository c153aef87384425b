//! Intents of a cycle as calls.

use muster_core::intent::{Decision, DecisionOp, Intent, Ruling};

use super::*;

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

#[test]
fn binds_and_evictions_know_their_job_and_take_their_claims_along() {
    let decision = |op, pod: &str, job: &str| {
        let job = key(job);
        let ruling = Ruling { action: "allocate", op, job, beneficiary: None, reason: None };
        Decision { pod: key(pod), node: "n".into(), ruling: ruling.into() }
    };
    let decisions = [
        decision(DecisionOp::Pipeline, "p", "held"),
        decision(DecisionOp::Evict, "victim", "low"),
        decision(DecisionOp::Bind, "p", "high"),
    ];
    let intents = vec![
        Intent::Evict { pod: key("victim"), uid: "v".into(), reason: "room".into() },
        Intent::FixClaim { claim: key("c"), volume: None, node: "n".into(), pod: key("p") },
        Intent::Bind { pod: key("p"), uid: "u".into(), node: "n".into() },
    ];
    let (evict, bind) = (
        Act::Evict { uid: "v".into(), job: key("low"), reason: "room".into() },
        Act::Bind {
            uid: "u".into(),
            node: "n".into(),
            job: key("high"),
            claims: vec![(key("c"), None)],
        },
    );
    assert_eq!(
        calls(intents, &decisions),
        [
            (Subject::Pod(key("victim")), Call::Act(evict)),
            (Subject::Pod(key("p")), Call::Act(bind)),
        ]
    );
}
