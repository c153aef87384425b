//! Which job: whether it is admitted, whether it may start, and whether its queue has had enough.

use muster_core::policy::{
    AdmissionContext, Admittance, JobEnqueueablePlugin, JobEnqueuedPlugin, JobReadyPlugin,
    OverusedPlugin,
};
use muster_core::verdict::{Reason, Verdict};
use muster_core::world::{Cluster, JobReadOnlyItem, QueueReadOnlyItem};
use serde_json::json;

use super::Extender;
use super::answer::{Heard, JobEnqueueable, JobReady, QueueOverused};
use super::payload;
use super::round::Round;
use super::settings::Verb;

impl JobEnqueueablePlugin for Extender {
    fn job_enqueueable(
        &self,
        cluster: &Cluster<'_, '_>,
        _: &AdmissionContext<'_>,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Admittance {
        let round = self.round();
        let body = about_job(&round, cluster, job);
        let answer = round.ask_one::<JobEnqueueable>(self.way(), Verb::JobEnqueueable, body);
        let message = match answer.map(|answer| answer.status) {
            Ok(1..) => return Admittance::Permit,
            Ok(0) => return Admittance::Abstain,
            Ok(..0) => format!("{} does not admit the job", self.who()),
            Err(_) if !self.refuses() => return Admittance::Abstain,
            Err(why) => self.unanswered("whether the job is admitted", &why),
        };
        round.hold_back();
        Admittance::Reject(Verdict::new(Reason::NotAdmitted, message))
    }
}

impl JobEnqueuedPlugin for Extender {
    fn job_enqueued(&self, cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) {
        let round = self.round();
        let body = about_job(&round, cluster, job);
        // A failure is counted and told; nobody waits for it.
        let _told = round.tell::<Heard>(self.way(), Verb::JobEnqueued, body);
    }
}

impl JobReadyPlugin for Extender {
    fn job_ready(&self, cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> bool {
        self.unready(cluster, job).is_none()
    }

    fn unready(&self, cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> Option<Verdict> {
        let round = self.round();
        let body = about_job(&round, cluster, job);
        let answer = round.ask_one::<JobReady>(self.way(), Verb::JobReady, body);
        let message = match answer.map(|answer| answer.status) {
            Ok(true) => return None,
            Ok(false) => format!("{} does not call the job ready", self.who()),
            Err(_) if !self.refuses() => return None,
            Err(why) => self.unanswered("whether the job is ready", &why),
        };
        round.hold_back();
        Some(Verdict::new(Reason::Refused, message))
    }
}

impl OverusedPlugin for Extender {
    fn overused(&self, cluster: &Cluster<'_, '_>, queue: &QueueReadOnlyItem<'_, '_>) -> bool {
        let round = self.round();
        let body = json!({"queue": payload::queue(cluster, &round.names, queue)}).to_string();
        let answer = round.ask_one::<QueueOverused>(self.way(), Verb::QueueOverused, body);
        let overused = answer.map_or_else(|_| self.refuses(), |answer| answer.overused);
        if overused {
            round.hold_back();
        }
        overused
    }
}

impl Extender {
    /// Why nothing is done without an answer.
    pub(super) fn unanswered(&self, question: &str, why: &str) -> String {
        format!("{} did not say {question}: {why}", self.who())
    }
}

fn about_job(round: &Round, cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> String {
    json!({"job": payload::job(cluster, &round.names, job)}).to_string()
}
