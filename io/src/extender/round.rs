//! What was asked in one cycle, and what the server answered.
//!
//! Within a cycle the same question has the same answer: what was answered is kept until the next one
//! begins, and so is the fact that nobody is there. A server that is down costs one time-out a cycle.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use muster_core::intent::Consultation;
use muster_core::policy::Entity;
use muster_core::resource::ResourceNames;
use muster_core::world::ClassId;
use rustc_hash::FxBuildHasher;

use super::answer::Answer;
use super::server::{Failure, Server};
use super::settings::{Settings, Verb};

/// Time until somebody the server keeps waiting is asked about again, though nothing happened.
const AGAIN_MS: i64 = 1_000;

/// A task for each class, as the server is told of it.
pub(super) type Examples = HashMap<ClassId, String, FxBuildHasher>;

/// Answers by two numbers of the question, each as it came or why there is none.
type Answers = HashMap<[u64; 2], Result<Vec<u8>, String>, FxBuildHasher>;

/// Scores by class, node and what the node looked like; none where there is none to be had.
pub(super) type Scores = HashMap<(ClassId, Entity, u64), Option<i64>, FxBuildHasher>;

/// One cycle's questions.
#[derive(Default)]
pub(super) struct Round {
    pub(super) names: ResourceNames,
    /// For each class with tasks that wait, one of them as the server is told of it.
    pub(super) examples: Examples,
    answers: Mutex<Answers>,
    pub(super) scores: Mutex<Scores>,
    /// What the server said of nodes it refused, by class: of several texts the first in order.
    refusals: Mutex<BTreeMap<ClassId, String>>,
    asked: AtomicU64,
    failed: AtomicU64,
    trouble: Mutex<Option<String>>,
    /// Was nobody there?
    silent: Arc<AtomicBool>,
    /// Does anybody wait because of an answer?
    holds_back: AtomicBool,
}

/// What a lock protects is whole after every statement.
pub(super) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number for a text; two texts with one number do not occur.
pub(super) fn fingerprint(text: &impl Hash, salt: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (salt, text).hash(&mut hasher);
    hasher.finish()
}

impl Round {
    /// Nothing asked yet.
    pub(super) fn new(names: ResourceNames, examples: Examples) -> Self {
        Self { names, examples, ..Self::default() }
    }

    /// The answers to some questions of a kind, in their order: those given before, and the server's to
    /// the rest. What is no answer to such a question is a failure.
    pub(super) fn ask<A: Answer>(
        &self,
        (server, settings): (&Server, &Settings),
        verb: Verb,
        bodies: Vec<String>,
    ) -> Vec<Result<A, String>> {
        let key = |body: &String| [0, 1].map(|salt| fingerprint(&(verb, body), salt));
        let keys: Vec<_> = bodies.iter().map(key).collect();
        let known: Vec<_> = {
            let answers = locked(&self.answers);
            keys.iter().map(|key| answers.get(key).cloned()).collect()
        };
        let open = bodies.into_iter().zip(&known).filter(|(_, known)| known.is_none());
        let open: Vec<String> = open.map(|(body, _)| body).collect();
        let mut fresh = self.send::<A>((server, settings), verb, open).into_iter();
        let mut answers = locked(&self.answers);
        let all = keys.into_iter().zip(known).map(|(key, known)| {
            let answer = known.unwrap_or_else(|| {
                let answer = fresh.next().unwrap_or_else(|| Err("it was not asked".to_owned()));
                answers.entry(key).or_insert(answer).clone()
            });
            answer.and_then(|answer| A::read(&answer))
        });
        all.collect()
    }

    /// The answer to one question.
    pub(super) fn ask_one<A: Answer>(
        &self,
        way: (&Server, &Settings),
        verb: Verb,
        body: String,
    ) -> Result<A, String> {
        let mut answers = self.ask(way, verb, vec![body]);
        answers.pop().unwrap_or_else(|| Err("it was not asked".to_owned()))
    }

    /// Tells the server something, which is done every time; the answer as it came.
    pub(super) fn tell<A: Answer>(
        &self,
        way: (&Server, &Settings),
        verb: Verb,
        body: String,
    ) -> Result<A, String> {
        let told = self.send::<A>(way, verb, vec![body]).pop();
        told.unwrap_or_else(|| Err("it was not told".to_owned()))
            .and_then(|answer| A::read(&answer))
    }

    /// Sends bodies and counts what comes of it.
    fn send<A: Answer>(
        &self,
        (server, settings): (&Server, &Settings),
        verb: Verb,
        bodies: Vec<String>,
    ) -> Vec<Result<Vec<u8>, String>> {
        let Some(path) = settings.path(verb).filter(|_| !bodies.is_empty()) else {
            return Vec::new();
        };
        let url = format!("POST {}/{path}", settings.prefix);
        let answers = server.ask(path, bodies, &self.silent).into_iter();
        let sensible = answers.map(|answer| {
            let answer = answer?;
            A::read(&answer).map(|_| answer).map_err(Failure::Unable)
        });
        // All are counted before the first is explained: who was not asked waits for the same reason.
        let counted: Vec<_> = sensible.map(|answer| self.count(&url, answer)).collect();
        let unasked = || locked(&self.trouble).clone().unwrap_or_else(|| url.clone());
        let settled = counted.into_iter();
        settled.map(|answer| answer.map_err(|why| why.unwrap_or_else(unasked))).collect()
    }

    /// Counts what came of a request; of a failure why, if anybody was asked.
    fn count(
        &self,
        url: &str,
        answer: Result<Vec<u8>, Failure>,
    ) -> Result<Vec<u8>, Option<String>> {
        if answer == Err(Failure::NotAsked) {
            return Err(None);
        }
        self.asked.fetch_add(1, Ordering::Relaxed);
        answer.map_err(|failure| {
            self.failed.fetch_add(1, Ordering::Relaxed);
            let (Failure::Silent(why) | Failure::Unable(why)) = failure else { return None };
            let why = format!("{url}: {why}");
            self.note_trouble(&why);
            Some(why)
        })
    }

    /// Notes something that went wrong, if it is the first thing.
    pub(super) fn note_trouble(&self, why: &str) {
        locked(&self.trouble).get_or_insert_with(|| why.to_owned());
    }

    /// Asks nobody any more in this cycle.
    pub(super) fn give_up(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }

    /// Was nobody there?
    pub(super) fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    /// Somebody waits because of an answer.
    pub(super) fn hold_back(&self) {
        self.holds_back.store(true, Ordering::Relaxed);
    }

    /// Keeps what is to be said of nodes that were refused to a class.
    pub(super) fn note_refusal(&self, class: ClassId, text: String) {
        let mut refusals = locked(&self.refusals);
        let kept = refusals.entry(class).or_insert_with(|| text.clone());
        if text < *kept {
            *kept = text;
        }
    }

    /// What is to be said of nodes that were refused to a class.
    pub(super) fn refusal(&self, class: ClassId) -> Option<String> {
        locked(&self.refusals).get(&class).cloned()
    }

    /// What the cycle comes to.
    pub(super) fn report(&self) -> Consultation {
        let [asked, failed] =
            [&self.asked, &self.failed].map(|count| count.load(Ordering::Relaxed));
        let waits = self.holds_back.load(Ordering::Relaxed);
        let trouble = locked(&self.trouble).clone();
        Consultation { asked, failed, trouble, again_ms: waits.then_some(AGAIN_MS) }
    }
}
