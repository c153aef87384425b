//! Starts calls from the queue, never more at a time than allowed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tracing::error;

use super::api::ApiCalls;
use super::call_queue::{CallQueue, Rank};
use super::{Call, Subject};

/// What the dispatcher is asked to do.
enum Command {
    /// Make these calls.
    Make(Vec<Call>),
    /// Forget calls that are not under way: another process decides now.
    Drop,
    /// Make all calls that wait, take no more, and say what is left at the end of that time.
    Finish(Duration, oneshot::Sender<Vec<String>>),
}

/// The handle of the dispatcher: takes calls and returns at once.
#[derive(Clone, Debug)]
pub(crate) struct Dispatcher(UnboundedSender<Command>);

impl Dispatcher {
    /// Starts a dispatcher that has at most `most` calls under way.
    pub(crate) fn open(api: Arc<ApiCalls>, most: usize) -> Self {
        let (sender, commands) = unbounded_channel();
        let (queue, under_way) = (CallQueue::default(), JoinSet::new());
        let dispatch = DispatchLoop { api, most, queue, under_way, reports: 0, long: 0 };
        tokio::spawn(dispatch.work(commands));
        Self(sender)
    }

    /// Adds calls to the queue.
    pub(crate) fn make(&self, calls: Vec<Call>) {
        // The dispatcher ends only after it was asked to finish.
        let _ended = self.0.send(Command::Make(calls));
    }

    /// Forgets calls that are not under way.
    pub(crate) fn drop_waiting(&self) {
        let _ended = self.0.send(Command::Drop);
    }

    /// Makes all calls that wait; returns a description of each that is left after that time.
    pub(crate) async fn finish(&self, within: Duration) -> Vec<String> {
        let (answer, left) = oneshot::channel();
        let _ended = self.0.send(Command::Finish(within, answer));
        left.await.unwrap_or_default()
    }
}

struct DispatchLoop {
    api: Arc<ApiCalls>,
    most: usize,
    queue: CallQueue,
    under_way: JoinSet<(Subject, Rank)>,
    /// Reports among those under way.
    reports: usize,
    /// Calls among those under way that mostly wait: they do not count against `most`.
    long: usize,
}

impl DispatchLoop {
    async fn work(mut self, mut commands: UnboundedReceiver<Command>) {
        let mut end: Option<(Instant, oneshot::Sender<Vec<String>>)> = None;
        loop {
            self.start_calls(Instant::now());
            let idle = self.under_way.is_empty() && self.queue.is_empty();
            if let Some((deadline, _)) = &end
                && (idle || Instant::now() >= *deadline)
            {
                break;
            }
            let wake = [self.queue.next_due(), end.as_ref().map(|end| end.0)];
            let wake = wake.into_iter().flatten().min();
            let pause = wake.map(|wake| wake.saturating_duration_since(Instant::now()));
            tokio::select! {
                command = commands.recv() => match command {
                    Some(Command::Make(calls)) if end.is_none() => self.take(calls),
                    Some(Command::Make(_)) => {}
                    Some(Command::Drop) => self.queue.clear(),
                    Some(Command::Finish(within, answer)) => {
                        self.queue.hurry();
                        end = Some((Instant::now() + within, answer));
                    }
                    None => break,
                },
                Some(done) = self.under_way.join_next() => self.ended(done),
                () = tokio::time::sleep(pause.unwrap_or_default()), if pause.is_some() => {}
            }
        }
        if let Some((_, answer)) = end {
            let _nobody = answer.send(self.queue.describe());
        }
    }

    fn take(&mut self, calls: Vec<Call>) {
        let now = Instant::now();
        for call in calls {
            self.queue.put(call, now);
        }
    }

    /// Starts what may be started. Reports leave most of the places to acts.
    fn start_calls(&mut self, now: Instant) {
        while self.under_way.len() - self.long < self.most {
            let lowest =
                if self.reports < self.most.div_ceil(4) { Rank::Report } else { Rank::Act };
            let Some(call) = self.queue.next(now, lowest) else { break };
            let (subject, rank) = (call.subject(), Rank::of(&call));
            self.reports += usize::from(rank == Rank::Report);
            self.long += usize::from(rank == Rank::LongAct);
            let api = Arc::clone(&self.api);
            self.under_way.spawn(async move {
                api.carry_out(call).await;
                (subject, rank)
            });
        }
        self.api.metrics.in_flight(self.under_way.len(), self.queue.len());
    }

    fn ended(&mut self, done: Result<(Subject, Rank), tokio::task::JoinError>) {
        match done {
            Ok((subject, rank)) => {
                self.reports -= usize::from(rank == Rank::Report);
                self.long -= usize::from(rank == Rank::LongAct);
                self.queue.done(&subject);
            }
            // A defect of ours. Its subject stays closed, everything else goes on.
            Err(error) => error!(%error, "a call ended in a panic"),
        }
    }
}
