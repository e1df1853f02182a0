//! The loop of the worker: receives when there is room, and ends in steps.

mod pace;
mod probe;

pub(crate) use probe::Probe;

use super::decide::Kind;
use super::queue::{Message, Queue, QueueError};
use super::report::Tally;
use super::stopping::{Order, Orders, Stopping};
use crate::protect::keeper::InFlight;
use crate::sys::clock::{Instant, reached};
use crate::sys::env::seed;
use nix::sys::signal::Signal;
use pace::Pace;
use probe::Shown;
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};

/// Longest poll that SQS knows
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-short-and-long-polling.html>).
const POLL: Duration = Duration::from_secs(20);
/// Most messages of one receive.
const BATCH: usize = 10;
/// How long the protection of the task outlasts the last message, so that it is not set and cleared
/// between any two of them.
const IDLE_AFTER: Duration = Duration::from_secs(1);

/// Whoever works on messages.
pub(crate) trait Work: Send + Sync + 'static {
    /// Works on `message` to its end, until `orders` say otherwise. Lets `probe` show as soon as it
    /// can whether another message would come through.
    fn handle(
        self: Arc<Self>,
        message: Message,
        orders: Orders,
        probe: Probe,
    ) -> impl Future<Output = Done> + Send + 'static;

    /// Makes `message` visible to others at once.
    fn give_back(self: Arc<Self>, message: Message) -> impl Future<Output = Done> + Send + 'static;
}

/// A message that is done with.
#[derive(Debug)]
pub(crate) struct Done {
    /// How it counts.
    pub(crate) kind: Kind,
    /// What counted it as in flight.
    pub(crate) in_flight: Option<InFlight>,
}

type Receiving = Pin<Box<dyn Future<Output = Result<Vec<Message>, QueueError>> + Send>>;

/// The loop.
pub(crate) struct Poll<Q, W> {
    queue: Arc<Q>,
    work: Arc<W>,
    concurrency: usize,
    hide: Duration,
    orders: watch::Sender<Order>,
    running: JoinSet<Done>,
    receiving: Option<Receiving>,
    tally: Tally,
    pace: Pace,
    /// What messages show.
    shown: (mpsc::UnboundedSender<Shown>, mpsc::UnboundedReceiver<Shown>),
    /// Whether the queue has ever answered.
    answered: bool,
    /// Keeps the task protected until then.
    spare: Option<(InFlight, Instant)>,
    stopping: Option<Stopping>,
}

impl<Q: Queue, W: Work> Poll<Q, W> {
    /// A loop over `queue` for at most `concurrency` messages at once, which are hidden from others
    /// for `hide`.
    pub(crate) fn new(queue: Arc<Q>, work: Arc<W>, concurrency: u8, hide: Duration) -> Self {
        Self {
            queue,
            work,
            concurrency: concurrency.into(),
            hide,
            orders: watch::Sender::default(),
            running: JoinSet::new(),
            receiving: None,
            tally: Tally::default(),
            pace: Pace::new(seed()),
            shown: mpsc::unbounded_channel(),
            answered: false,
            spare: None,
            stopping: None,
        }
    }

    /// Works until one of `signals` comes, and then as long as `grace` lets it.
    ///
    /// # Errors
    /// [`QueueError::Missing`] or [`QueueError::Denied`], if that is the queue's first answer.
    pub(crate) async fn serve(
        mut self,
        mut signals: mpsc::UnboundedReceiver<Signal>,
        grace: Duration,
    ) -> Result<(Signal, Tally), QueueError> {
        loop {
            self.receive_if_room();
            let end = self.stopping;
            if let Some(end) = end.filter(|_| self.running.is_empty() && self.receiving.is_none()) {
                return Ok(self.finish(end.signal).await);
            }
            let step = end.and_then(|end| end.next(Instant::now()));
            let idle_at = self.spare.as_ref().map(|(_, until)| *until);
            tokio::select! {
                biased;
                Some(signal) = signals.recv() => self.told_to_end(signal, grace),
                // Before the end of whoever showed it.
                Some(shown) = self.shown.1.recv() => self.learn(shown),
                Some(done) = self.running.join_next() => self.account(done),
                answer = received(&mut self.receiving) => {
                    self.receiving = None;
                    self.take(answer)?;
                }
                () = reached(step) => self.go_on_ending(),
                signal = given_up(end) => return Ok(self.finish(signal).await),
                () = reached(self.pace.resume()) => self.pace.go_on(),
                () = reached(idle_at) => self.unprotect().await,
            }
        }
    }

    /// Receives as many messages as there is room for and the pace allows.
    fn receive_if_room(&mut self) {
        let room = self.concurrency.saturating_sub(self.running.len());
        let most = self.pace.most(room).min(BATCH);
        if most == 0 || self.stopping.is_some() || self.receiving.is_some() {
            return;
        }
        let most = u8::try_from(most).unwrap_or(1);
        let (queue, hide) = (Arc::clone(&self.queue), self.hide);
        let receiving = async move { queue.receive(most, POLL, hide).await };
        self.receiving = Some(Box::pin(receiving));
    }

    /// Hands messages out. What came too late for that goes back at once.
    fn take(&mut self, answer: Result<Vec<Message>, QueueError>) -> Result<(), QueueError> {
        let messages = match answer {
            Ok(messages) => messages,
            Err(error @ (QueueError::Missing(_) | QueueError::Denied(_))) if !self.answered => {
                return Err(error);
            }
            Err(error) => {
                tracing::warn!(%error, "no messages could be received");
                self.pace.not_received(Instant::now());
                return Ok(());
            }
        };
        self.answered = true;
        self.pace.received();
        for message in messages {
            let work = Arc::clone(&self.work);
            if self.stopping.is_some() {
                self.running.spawn(work.give_back(message));
            } else {
                let orders = Orders::of(&self.orders);
                let probe = Probe::new(&self.shown.0);
                self.pace.handed_out();
                self.running.spawn(work.handle(message, orders, probe));
            }
        }
        Ok(())
    }

    fn account(&mut self, done: Result<Done, JoinError>) {
        let done = done.unwrap_or_else(|error| {
            tracing::error!(%error, "a message was given up; it comes back when its visibility ends");
            Done {
                kind: Kind::Failed,
                in_flight: None,
            }
        });
        self.tally.add(done.kind);
        if let Some(in_flight) = done.in_flight {
            self.spare = Some((in_flight, Instant::now() + IDLE_AFTER));
        }
    }

    fn learn(&mut self, shown: Shown) {
        let pause = self.pace.shown(shown, Instant::now());
        if let Some(pause) = pause.filter(|_| self.stopping.is_none()) {
            tracing::warn!("no message is received for {pause:.1?}");
        }
    }

    fn told_to_end(&mut self, signal: Signal, grace: Duration) {
        let now = Instant::now();
        let at_work = self.running.len();
        match &mut self.stopping {
            Some(end) => end.again(now),
            None => self.stopping = Some(Stopping::begin(signal, now, grace)),
        }
        tracing::info!(%signal, at_work, "no more messages are received");
        self.go_on_ending();
    }

    /// A receive goes on as long as commands may finish: if its connection were cut, the queue could
    /// hide messages from everybody that it had sent to nobody.
    fn go_on_ending(&mut self) {
        let order = self.stopping.map(|end| end.order(Instant::now()));
        let order = order.unwrap_or_default();
        self.orders.send_if_modified(|told| {
            let is_new = *told != order;
            *told = order;
            is_new
        });
        if order >= Order::Stop {
            self.receiving = None;
        }
    }

    /// Counts the last message out. If another one is in flight by now, the task stays protected.
    async fn unprotect(&mut self) {
        if let Some((in_flight, _)) = self.spare.take() {
            in_flight.end().await;
        }
    }

    async fn finish(mut self, signal: Signal) -> (Signal, Tally) {
        let lost = self.running.len();
        if lost > 0 {
            tracing::error!(
                messages = lost,
                "not given back in time: they come back when their visibility ends"
            );
        }
        self.unprotect().await;
        (signal, self.tally)
    }
}

async fn received(receiving: &mut Option<Receiving>) -> Result<Vec<Message>, QueueError> {
    match receiving {
        Some(receiving) => receiving.await,
        None => pending().await,
    }
}

/// Returns when an end has taken longer than it may.
async fn given_up(end: Option<Stopping>) -> Signal {
    match end {
        Some(end) => {
            end.give_up_at().reached().await;
            end.signal
        }
        None => pending().await,
    }
}

#[cfg(test)]
mod tests;
