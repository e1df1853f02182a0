//! The loop of the worker: receives when there is room, and ends in steps.

mod answers;
mod circuit_breaker;
mod ending;
mod health;

pub(crate) use health::HealthSignal;

use super::decide::Kind;
use super::queue::{Message, Queue, QueueError};
use super::report::Tally;
use super::shutdown::{Shutdown, ShutdownPhase, ShutdownWatch};
use crate::platform::clock::{Instant, reached};
use crate::platform::env::seed;
use crate::protect::keeper::InFlight;
use circuit_breaker::{CircuitBreaker, Step};
use ending::given_up;
use health::Health;
use lockstep::store::StoreError;
use nix::sys::signal::Signal;
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

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
        orders: ShutdownWatch,
        probe: HealthSignal,
    ) -> impl Future<Output = Done> + Send + 'static;

    /// Makes `message` visible to others at once.
    fn give_back(self: Arc<Self>, message: Message) -> impl Future<Output = Done> + Send + 'static;

    /// Looks whether the lock table answers.
    fn look(self: Arc<Self>) -> impl Future<Output = Result<(), StoreError>> + Send + 'static;
}

/// A message that is done with.
#[derive(Debug)]
pub(crate) struct Done {
    /// How it counts.
    pub(crate) kind: Kind,
    /// What counted it as in flight.
    pub(crate) in_flight: Option<InFlight>,
}

/// Why a worker cannot begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// Its queue is not there, or refuses it.
    Queue(QueueError),
    /// Its lock table is not there, or refuses it.
    Table(StoreError),
}

type Asked<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Received = Result<Vec<Message>, QueueError>;
type Looked = Result<(), StoreError>;

/// The loop.
pub(crate) struct Poll<Q, W> {
    queue: Arc<Q>,
    work: Arc<W>,
    concurrency: usize,
    hide: Duration,
    orders: watch::Sender<ShutdownPhase>,
    running: JoinSet<Done>,
    receiving: Option<Asked<Received>>,
    looking: Option<Asked<Looked>>,
    tally: Tally,
    breaker: CircuitBreaker,
    /// What messages show.
    shown: (
        mpsc::UnboundedSender<Health>,
        mpsc::UnboundedReceiver<Health>,
    ),
    /// Whether the queue has ever answered.
    has_queue: bool,
    /// Whether the lock table has ever answered.
    has_table: bool,
    /// Keeps the task protected until then.
    spare: Option<(InFlight, Instant)>,
    stopping: Option<Shutdown>,
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
            looking: None,
            tally: Tally::default(),
            breaker: CircuitBreaker::new(seed()),
            shown: mpsc::unbounded_channel(),
            has_queue: false,
            has_table: false,
            spare: None,
            stopping: None,
        }
    }

    /// Works until one of `signals` comes, and then as long as `grace` lets it.
    ///
    /// # Errors
    /// [`Unusable`], if that is the first answer of the lock table or the queue: whoever deploys finds
    /// out, and no message is worn out. Later, it is taken for trouble that passes.
    pub(crate) async fn serve(
        mut self,
        mut signals: mpsc::UnboundedReceiver<Signal>,
        grace: Duration,
    ) -> Result<(Signal, Tally), Unusable> {
        loop {
            self.go_on();
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
                answer = answered(&mut self.looking) => {
                    self.looking = None;
                    self.seen(answer)?;
                }
                answer = answered(&mut self.receiving) => {
                    self.receiving = None;
                    self.take(answer)?;
                }
                () = reached(step) => self.go_on_ending(),
                signal = given_up(end) => return Ok(self.finish(signal).await),
                () = reached(self.breaker.resume()) => self.breaker.go_on(),
                () = reached(idle_at) => self.unprotect().await,
            }
        }
    }

    /// Looks at the table, or receives as many messages as there is room for and the breaker allows.
    fn go_on(&mut self) {
        if self.stopping.is_some() || self.receiving.is_some() || self.looking.is_some() {
            return;
        }
        let room = self.concurrency.saturating_sub(self.running.len());
        match self.breaker.step(room) {
            Step::Wait => {}
            Step::Look => self.looking = Some(Box::pin(Arc::clone(&self.work).look())),
            Step::Receive(most) => {
                let most = u8::try_from(most.min(BATCH)).unwrap_or(1);
                let (queue, hide) = (Arc::clone(&self.queue), self.hide);
                let receiving = async move { queue.receive(most, POLL, hide).await };
                self.receiving = Some(Box::pin(receiving));
            }
        }
    }
}

async fn answered<T>(asked: &mut Option<Asked<T>>) -> T {
    match asked {
        Some(asked) => asked.await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests;
