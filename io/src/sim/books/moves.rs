//! Room held for pods that are to come in the place of others, from the decisions that hold it: no object
//! says anything of it before the next pod exists.

use std::collections::BTreeSet;

use muster_core::ids::ObjectKey;
use muster_core::intent::{Decision, DecisionOp};
use muster_core::resource::ResourceVec;

use super::{Books, PodEntry, PodStatus, Standing};

/// Pods that are evicted with room held for those that come in their places.
pub(in super::super) fn moved_by(decisions: &[Decision]) -> BTreeSet<&ObjectKey> {
    let of = |op| decisions.iter().filter(move |decision| decision.op == op);
    let evicted: BTreeSet<&ObjectKey> = of(DecisionOp::Evict).map(|one| &one.pod).collect();
    of(DecisionOp::Pipeline).map(|one| &one.pod).filter(|pod| evicted.contains(pod)).collect()
}

impl Books {
    /// Enters the moves of a cycle, and takes out what it gave up.
    pub fn note_moves(&mut self, decisions: &[Decision]) {
        let moved = moved_by(decisions);
        for decision in decisions {
            match decision.op {
                DecisionOp::Unpipeline => self.drop_move(&decision.pod),
                DecisionOp::Pipeline if moved.contains(&decision.pod) => {
                    let Some(pod) = self.pods.get(&decision.pod) else { continue };
                    let (status, node) = (PodStatus::Pipelined, None);
                    let nominated = Some(decision.node.clone());
                    let room = PodEntry { status, node, nominated, ..pod.clone() };
                    self.drop_move(&decision.pod);
                    self.post(&room, ResourceVec::add, |count| *count += 1);
                    self.moves.insert(decision.pod.clone(), room);
                }
                _ => {}
            }
        }
    }

    /// Takes out all moves: whoever held the room has forgotten them.
    pub fn forget_moves(&mut self) {
        for key in self.moves.keys().cloned().collect::<Vec<_>>() {
            self.drop_move(&key);
        }
    }

    pub(super) fn drop_move(&mut self, key: &ObjectKey) {
        let Some(room) = self.moves.remove(key) else { return };
        self.post(&room, ResourceVec::sub, |count| *count -= 1);
        self.forget_empty_job(&room.job);
        if let Some(name) = &room.nominated {
            self.forget_empty_node(name);
        }
    }

    /// A pod was entered, in the place of what was known of one of its name. It ends a move if it comes
    /// after the pod that was moved: by its name, or because it has the room now.
    pub(super) fn end_move(&mut self, key: &ObjectKey, before: Option<&PodEntry>) {
        let Some(pod) = self.pods.get(key) else { return };
        let own = self.moves.get(key);
        if own.is_some_and(|room| room.uid != pod.uid || pod.status.is_over()) {
            self.drop_move(key);
            return;
        }
        if pod.hold().is_none() || before.is_some_and(|before| before.hold() == pod.hold()) {
            return;
        }
        let is_its = |room: &PodEntry| {
            room.job == pod.job && room.hold() == pod.hold() && room.request == pod.request
        };
        let taken = self.moves.iter().find(|(_, room)| is_its(room));
        if let Some(taken) = taken.map(|(key, _)| key.clone()) {
            self.drop_move(&taken);
        }
    }

    /// How the job stands, with the pods that are to come counted as if they were there.
    pub fn standing_to_come(&self, job: &ObjectKey) -> Standing {
        let staying = self.pods_of(job).filter(|(key, _)| !self.moves.contains_key(*key));
        let coming = self.moves.values().filter(|room| room.job == *job);
        let pods = staying.map(|(_, pod)| (pod, pod.status.is_bound()));
        self.standing_with(job, pods.chain(coming.map(|room| (room, true))).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_core::delta::{ClusterDelta, ObjectRef, PodFacts};
    use muster_core::intent::Ruling;
    use muster_core::resource::Dim;

    use super::super::super::fixtures::{books, gang, key, node, pod, running, set, set_gang};
    use super::*;

    fn decision(op: DecisionOp, pod: &str, node: &str) -> Decision {
        let (job, action) = (key("g"), "consolidation");
        let ruling = Arc::new(Ruling { action, op, job, beneficiary: None, reason: None });
        Decision { pod: key(pod), node: node.into(), ruling }
    }

    fn moved() -> Books {
        let mut books = books(&[
            node("n0", 4),
            node("n1", 4),
            set_gang(gang("g", 1)),
            set(running("g-0", "g", 1, "n0")),
        ]);
        books.note_moves(&[
            decision(DecisionOp::Evict, "g-0", "n0"),
            decision(DecisionOp::Pipeline, "g-0", "n1"),
        ]);
        books
    }

    fn held(books: &Books) -> i64 {
        books.nodes["n1"].held.get(Dim::CPU)
    }

    #[test]
    fn a_move_is_held_until_the_next_pod_exists() {
        let mut books = moved();
        assert_eq!(held(&books), 1000);
        books.apply(&set(PodFacts { deleting: true, ..running("g-0", "g", 1, "n0") }));
        assert_eq!(held(&books), 1000, "the pod that was moved is no other one");
        assert!(books.standing_to_come(&key("g")).is_met && !books.standing(&key("g")).is_met);
        books.apply(&ClusterDelta::Gone(ObjectRef::Pod(key("g-0"))));
        assert_eq!((held(&books), books.audit()), (1000, Vec::<String>::new()));
        books.apply(&set(PodFacts { uid: "next".into(), ..pod("g-0", "g", 1) }));
        assert_eq!((held(&books), books.audit()), (0, Vec::<String>::new()));
    }

    #[test]
    fn a_pod_of_another_name_has_the_room_when_it_says_so() {
        let mut books = moved();
        books.apply(&set(pod("g-1", "g", 1)));
        assert_eq!(held(&books), 1000);
        books.apply(&set(PodFacts { nominated: Some("n1".into()), ..pod("g-1", "g", 1) }));
        assert_eq!((held(&books), books.moves.len()), (1000, 0));
        assert_eq!(books.audit(), Vec::<String>::new());
    }

    #[test]
    fn what_is_given_up_or_forgotten_is_not_held() {
        let mut books = moved();
        books.note_moves(&[decision(DecisionOp::Unpipeline, "g-0", "n1")]);
        assert_eq!((held(&books), books.audit()), (0, Vec::<String>::new()));
        let mut books = moved();
        books.forget_moves();
        assert_eq!((held(&books), books.audit()), (0, Vec::<String>::new()));
    }
}
