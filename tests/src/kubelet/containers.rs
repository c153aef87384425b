//! The containers of a pod: who runs, who ended how, who is to be started again and when.
//!
//! Time is an argument: what a pod looks like follows from what its commands say and from the time
//! since it was started, so there is nothing to race with.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::command::{Life, life};

/// Exit code of a container that was killed.
const KILLED: i32 = 137;
/// First pause before a container is started a third time; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// When a container is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    Always,
    OnFailure,
    Never,
}

impl Policy {
    fn wants(self, code: i32) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => code != 0,
            Self::Never => false,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum State {
    Running { since: Instant, begun: Timestamp },
    Ended { at: Instant, code: i32, begun: Timestamp, finished: Timestamp },
}

#[derive(Clone, Debug)]
struct Run {
    name: String,
    image: String,
    life: Life,
    restarts: u32,
    state: State,
}

/// The containers of a pod.
#[derive(Clone, Debug)]
pub(super) struct Containers {
    runs: Vec<Run>,
    policy: Policy,
}

impl Containers {
    /// Starts the containers of a pod; `for_ever` lets none end by itself.
    pub(super) fn start(pod: &Pod, for_ever: bool) -> Self {
        let spec = pod.spec.as_ref();
        let policy = match spec.and_then(|spec| spec.restart_policy.as_deref()) {
            Some("Never") => Policy::Never,
            Some("OnFailure") => Policy::OnFailure,
            _ => Policy::Always,
        };
        let containers = spec.map_or(&[][..], |spec| &spec.containers);
        let runs = containers.iter().map(|container| Run::start(container, for_ever)).collect();
        Self { runs, policy }
    }

    /// When one of them ends or starts next; `None` if that is never.
    pub(super) fn next_change(&self) -> Option<Instant> {
        self.runs.iter().filter_map(|run| run.next_change(self.policy)).min()
    }

    /// Lets everything happen that was due by now.
    pub(super) fn advance(&mut self, now: Instant) {
        for run in &mut self.runs {
            if run.next_change(self.policy).is_some_and(|at| at <= now) {
                run.change(now);
            }
        }
    }

    /// Have all ended for good?
    pub(super) fn are_done(&self) -> bool {
        self.runs.iter().all(|run| match run.state {
            State::Running { .. } => false,
            State::Ended { code, .. } => !self.policy.wants(code),
        })
    }

    /// Do all that run end when they are asked to?
    pub(super) fn heed_signals(&self) -> bool {
        let running = |run: &&Run| matches!(run.state, State::Running { .. });
        self.runs.iter().filter(running).all(|run| run.life.heeds_signals)
    }

    /// Ends those that run; none is started again.
    pub(super) fn stop(&mut self) {
        self.policy = Policy::Never;
        for run in &mut self.runs {
            if matches!(run.state, State::Running { .. }) {
                run.end(if run.life.heeds_signals { 0 } else { KILLED });
            }
        }
    }

    /// The phase they come to.
    pub(super) fn phase(&self) -> &'static str {
        let failed = |run: &Run| matches!(run.state, State::Ended { code, .. } if code != 0);
        match self.are_done() {
            false => "Running",
            true if self.runs.iter().any(failed) => "Failed",
            true => "Succeeded",
        }
    }

    /// Do all run?
    pub(super) fn are_ready(&self) -> bool {
        self.runs.iter().all(|run| matches!(run.state, State::Running { .. }))
    }

    /// Their statuses, as a pod has them.
    pub(super) fn statuses(&self) -> Vec<Value> {
        self.runs.iter().map(|run| run.status(self.policy)).collect()
    }
}

impl Run {
    fn start(container: &Container, for_ever: bool) -> Self {
        let image = container.image.clone().unwrap_or_default();
        let words = [&container.command, &container.args];
        let words: Vec<&str> = words.into_iter().flatten().flatten().map(String::as_str).collect();
        let mut life = life(&image, &words);
        if for_ever {
            life = Life { ends: None, heeds_signals: true };
        }
        let state = State::Running { since: Instant::now(), begun: Timestamp::now() };
        Self { name: container.name.clone(), image, life, restarts: 0, state }
    }

    fn next_change(&self, policy: Policy) -> Option<Instant> {
        match self.state {
            State::Running { since, .. } => self.life.ends.map(|(after, _)| since + after),
            State::Ended { at, code, .. } => policy.wants(code).then(|| at + self.pause()),
        }
    }

    /// The first restart is at once, further ones wait longer and longer.
    fn pause(&self) -> Duration {
        match self.restarts {
            0 => Duration::from_secs(1),
            count => (FIRST_PAUSE * 2_u32.pow((count - 1).min(6))).min(LONGEST_PAUSE),
        }
    }

    fn change(&mut self, now: Instant) {
        match (self.state, self.life.ends) {
            (State::Running { .. }, Some((_, code))) => self.end(code),
            (State::Running { .. }, None) => {}
            (State::Ended { .. }, _) => {
                self.restarts += 1;
                self.state = State::Running { since: now, begun: Timestamp::now() };
            }
        }
    }

    fn end(&mut self, code: i32) {
        if let State::Running { begun, .. } = self.state {
            let (at, finished) = (Instant::now(), Timestamp::now());
            self.state = State::Ended { at, code, begun, finished };
        }
    }

    fn status(&self, policy: Policy) -> Value {
        let running = matches!(self.state, State::Running { .. });
        let mut status = json!({
            "name": self.name, "image": self.image, "imageID": self.image,
            "ready": running, "started": running, "restartCount": self.restarts,
        });
        match self.state {
            State::Running { begun, .. } => {
                status["state"] = json!({"running": {"startedAt": seconds(begun)}});
            }
            State::Ended { code, begun, finished, .. } => {
                let terminated = json!({"terminated": {
                    "exitCode": code,
                    "reason": if code == 0 { "Completed" } else { "Error" },
                    "startedAt": seconds(begun), "finishedAt": seconds(finished),
                }});
                if policy.wants(code) {
                    status["state"] = json!({"waiting": {"reason": "CrashLoopBackOff"}});
                    status["lastState"] = terminated;
                } else {
                    status["state"] = terminated;
                }
            }
        }
        status
    }
}

/// A time as Kubernetes writes it.
pub(super) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn containers(policy: &str, script: &str) -> Containers {
        let pod = json!({
            "metadata": {"name": "p"},
            "spec": {
                "restartPolicy": policy,
                "containers": [
                    {"name": "main", "image": "busybox", "command": ["sh", "-c", script]},
                ],
            },
        });
        Containers::start(&serde_json::from_value(pod).expect("it is a pod"), false)
    }

    /// Lets the next change happen.
    fn step(containers: &mut Containers) {
        let at = containers.next_change().expect("something changes");
        containers.advance(at);
    }

    #[test]
    fn a_pod_fails_with_its_container_unless_that_is_started_again() {
        let mut once = containers("Never", "sleep 3; exit 3");
        assert_eq!((once.phase(), once.are_ready()), ("Running", true));
        step(&mut once);
        assert_eq!((once.phase(), once.next_change()), ("Failed", None));
        assert_eq!(once.statuses()[0]["state"]["terminated"]["exitCode"], 3);

        let mut again = containers("OnFailure", "sleep 3; exit 3");
        step(&mut again);
        assert_eq!((again.phase(), again.are_ready()), ("Running", false));
        assert_eq!(again.statuses()[0]["state"]["waiting"]["reason"], "CrashLoopBackOff");
        step(&mut again);
        assert!(again.are_ready());
        assert_eq!(again.statuses()[0]["restartCount"], 1);
    }

    #[test]
    fn a_pod_succeeds_when_all_is_done_and_a_service_is_never_done() {
        let mut job = containers("OnFailure", "sleep 3");
        step(&mut job);
        assert_eq!(job.phase(), "Succeeded");
        let mut service = containers("Always", "sleep 3");
        step(&mut service);
        assert_eq!(service.phase(), "Running");
    }

    #[test]
    fn what_is_stopped_stays_stopped() {
        let mut shell = containers("Always", "sleep 1000");
        assert!(!shell.heed_signals());
        shell.stop();
        assert_eq!((shell.phase(), shell.next_change()), ("Failed", None));
        assert_eq!(shell.statuses()[0]["state"]["terminated"]["exitCode"], KILLED);
    }
}
