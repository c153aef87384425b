//! Keeps calls in order and the number of those under way bounded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tracing::error;

use super::office::Office;
use super::tray::{Rank, Tray};
use super::{Call, Subject};

/// What the desk is asked to do.
enum Order {
    /// Make these calls.
    Make(Vec<(Subject, Call)>),
    /// Forget calls that are not under way: another process decides now.
    Drop,
    /// Make all calls that wait, take no more, and say what is left at the end of that time.
    Finish(Duration, oneshot::Sender<Vec<String>>),
}

/// Hands calls to the desk.
#[derive(Clone, Debug)]
pub(crate) struct Desk(UnboundedSender<Order>);

impl Desk {
    /// Opens a desk with so many calls under way at most.
    pub(crate) fn open(office: Arc<Office>, most: usize) -> Self {
        let (sender, orders) = unbounded_channel();
        let (tray, under_way) = (Tray::default(), JoinSet::new());
        let clerk = Clerk { office, most, tray, under_way, reports: 0, long: 0 };
        tokio::spawn(clerk.work(orders));
        Self(sender)
    }

    /// Has calls made.
    pub(crate) fn make(&self, calls: Vec<(Subject, Call)>) {
        // The desk ends only after it was asked to finish.
        let _ended = self.0.send(Order::Make(calls));
    }

    /// Forgets calls that are not under way.
    pub(crate) fn drop_waiting(&self) {
        let _ended = self.0.send(Order::Drop);
    }

    /// Makes all calls that wait; what is left after that time, in words.
    pub(crate) async fn finish(&self, within: Duration) -> Vec<String> {
        let (answer, left) = oneshot::channel();
        let _ended = self.0.send(Order::Finish(within, answer));
        left.await.unwrap_or_default()
    }
}

struct Clerk {
    office: Arc<Office>,
    most: usize,
    tray: Tray,
    under_way: JoinSet<(Subject, Rank)>,
    /// Reports among those under way.
    reports: usize,
    /// Calls among those under way that mostly wait, and take nobody's place.
    long: usize,
}

impl Clerk {
    async fn work(mut self, mut orders: UnboundedReceiver<Order>) {
        let mut end: Option<(Instant, oneshot::Sender<Vec<String>>)> = None;
        loop {
            self.start_calls(Instant::now());
            let idle = self.under_way.is_empty() && self.tray.is_empty();
            if let Some((deadline, _)) = &end
                && (idle || Instant::now() >= *deadline)
            {
                break;
            }
            let wake = [self.tray.next_due(), end.as_ref().map(|end| end.0)];
            let wake = wake.into_iter().flatten().min();
            let pause = wake.map(|wake| wake.saturating_duration_since(Instant::now()));
            tokio::select! {
                order = orders.recv() => match order {
                    Some(Order::Make(calls)) if end.is_none() => self.take(calls),
                    Some(Order::Make(_)) => {}
                    Some(Order::Drop) => self.tray.clear(),
                    Some(Order::Finish(within, answer)) => {
                        self.tray.hurry();
                        end = Some((Instant::now() + within, answer));
                    }
                    None => break,
                },
                Some(done) = self.under_way.join_next() => self.ended(done),
                () = tokio::time::sleep(pause.unwrap_or_default()), if pause.is_some() => {}
            }
        }
        if let Some((_, answer)) = end {
            let _nobody = answer.send(self.tray.describe());
        }
    }

    fn take(&mut self, calls: Vec<(Subject, Call)>) {
        let now = Instant::now();
        for (subject, call) in calls {
            self.tray.put(subject, call, now);
        }
    }

    /// Starts what may be started. Reports leave most of the places to acts.
    fn start_calls(&mut self, now: Instant) {
        while self.under_way.len() - self.long < self.most {
            let lowest =
                if self.reports < self.most.div_ceil(4) { Rank::Report } else { Rank::Act };
            let Some((subject, call)) = self.tray.next(now, lowest) else { break };
            let rank = Rank::of(&call);
            self.reports += usize::from(rank == Rank::Report);
            self.long += usize::from(rank == Rank::LongAct);
            let office = Arc::clone(&self.office);
            self.under_way.spawn(async move {
                office.carry_out(&subject, call).await;
                (subject, rank)
            });
        }
        self.office.metrics.in_flight(self.under_way.len(), self.tray.len());
    }

    fn ended(&mut self, done: Result<(Subject, Rank), tokio::task::JoinError>) {
        match done {
            Ok((subject, rank)) => {
                self.reports -= usize::from(rank == Rank::Report);
                self.long -= usize::from(rank == Rank::LongAct);
                self.tray.done(&subject);
            }
            // A defect of ours. Its subject stays closed, everything else goes on.
            Err(error) => error!(%error, "a call ended in a panic"),
        }
    }
}
