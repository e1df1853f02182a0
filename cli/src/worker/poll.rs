//! The loop of the worker: receives messages while there is room, and shuts down in phases.

mod answers;
mod circuit_breaker;
mod drain;
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
use drain::overdue;
use health::Health;
use lockstep::store::StoreError;
use nix::sys::signal::Signal;
use std::future::pending;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Longest long poll of SQS
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-short-and-long-polling.html>).
const POLL: Duration = Duration::from_secs(20);
/// Most messages of one ReceiveMessage call.
const BATCH: usize = 10;
/// How long the protection of the task lasts after the last message, so that it is not cleared and set again
/// between two messages.
const IDLE_AFTER: Duration = Duration::from_secs(1);

/// Processes messages.
pub(crate) trait Work: Send + Sync + 'static {
    /// Processes `message` to its end, or until `shutdown` stops it. Reports on `health`, as early as
    /// possible, whether the shared dependencies work for another message.
    fn handle(
        self: Arc<Self>,
        message: Message,
        shutdown: ShutdownWatch,
        health: HealthSignal,
    ) -> impl Future<Output = Done> + Send + 'static;

    /// Makes `message` visible to other workers at once.
    fn give_back(self: Arc<Self>, message: Message) -> impl Future<Output = Done> + Send + 'static;

    /// Checks that the lock table answers.
    fn probe(self: Arc<Self>) -> impl Future<Output = Result<(), StoreError>> + Send + 'static;
}

/// The result of a processed message.
#[derive(Debug)]
pub(crate) struct Done {
    /// The kind of the message.
    pub(crate) kind: Kind,
    /// The guard that counts the message as in flight, for the protection of the task.
    pub(crate) in_flight: Option<InFlight>,
}

/// Why a worker has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// This signal asked it to end.
    Signal(Signal),
    /// A deployment replaces it, and its messages are finished.
    Replaced,
}

/// Why a worker cannot begin its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// The queue does not exist, or denies access.
    Queue(QueueError),
    /// The lock table does not exist, or denies access.
    Table(StoreError),
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Received = Result<Vec<Message>, QueueError>;
type Probed = Result<(), StoreError>;

/// The state of the loop.
pub(crate) struct Poll<Q, W> {
    queue: Arc<Q>,
    work: Arc<W>,
    concurrency: usize,
    hide: Duration,
    phase: watch::Sender<ShutdownPhase>,
    running: JoinSet<Done>,
    receiving: Option<BoxFuture<Received>>,
    probing: Option<BoxFuture<Probed>>,
    tally: Tally,
    breaker: CircuitBreaker,
    /// The channel of the health signals of messages.
    health: (
        mpsc::UnboundedSender<Health>,
        mpsc::UnboundedReceiver<Health>,
    ),
    /// Whether the queue has ever answered.
    has_queue: bool,
    /// Whether the lock table has ever answered.
    has_table: bool,
    /// Keeps the task protected until this time.
    lingering: Option<(InFlight, Instant)>,
    shutdown: Option<Shutdown>,
    /// Whether a deployment replaces this worker. It then receives no more, and may take any time to finish
    /// its messages.
    is_replaced: bool,
}

impl<Q: Queue, W: Work> Poll<Q, W> {
    /// Creates a loop over `queue` for at most `concurrency` messages at once, each received with
    /// the visibility timeout `hide`.
    pub(crate) fn new(queue: Arc<Q>, work: Arc<W>, concurrency: u8, hide: Duration) -> Self {
        Self {
            queue,
            work,
            concurrency: concurrency.into(),
            hide,
            phase: watch::Sender::default(),
            running: JoinSet::new(),
            receiving: None,
            probing: None,
            tally: Tally::default(),
            breaker: CircuitBreaker::new(seed()),
            health: mpsc::unbounded_channel(),
            has_queue: false,
            has_table: false,
            lingering: None,
            shutdown: None,
            is_replaced: false,
        }
    }

    /// Processes messages until
    /// - one of `signals` arrives; then shuts down within `grace`
    /// - `replaced` returns what replaces this worker; then finishes the messages that it has
    ///
    /// # Errors
    /// [`Unusable`], if the lock table or the queue does not exist or denies access in its first answer. The
    /// deployment fails then, and no message uses up its receives. Later, the same error counts as a
    /// temporary failure.
    pub(crate) async fn serve(
        mut self,
        mut signals: mpsc::UnboundedReceiver<Signal>,
        grace: Duration,
        replaced: impl Future<Output = String>,
    ) -> Result<(Ended, Tally), Unusable> {
        let mut replaced = pin!(replaced);
        loop {
            self.start_next();
            let end = self.shutdown;
            if self.running.is_empty() && self.receiving.is_none() {
                if let Some(end) = end {
                    return Ok(self.finish(Ended::Signal(end.signal)).await);
                }
                if self.is_replaced {
                    return Ok(self.finish(Ended::Replaced).await);
                }
            }
            let step = end.and_then(|end| end.next(Instant::now()));
            let idle_at = self.lingering.as_ref().map(|(_, until)| *until);
            tokio::select! {
                biased;
                Some(signal) = signals.recv() => self.on_signal(signal, grace),
                // Handled before the end of the message that has sent it.
                Some(health) = self.health.1.recv() => self.on_health(health),
                Some(done) = self.running.join_next() => self.on_done(done),
                answer = completed(&mut self.probing) => {
                    self.probing = None;
                    self.on_probed(answer)?;
                }
                answer = completed(&mut self.receiving) => {
                    self.receiving = None;
                    self.on_received(answer)?;
                }
                () = reached(step) => self.advance_shutdown(),
                signal = overdue(end) => return Ok(self.finish(Ended::Signal(signal)).await),
                by = &mut replaced, if !self.is_replaced => self.on_replaced(&by),
                () = reached(self.breaker.resume_at()) => self.breaker.end_pause(),
                () = reached(idle_at) => self.unprotect().await,
            }
        }
    }

    /// Starts a probe of the table, or a receive of as many messages as there is room for and the circuit
    /// breaker allows.
    fn start_next(&mut self) {
        if self.shutdown.is_some()
            || self.is_replaced
            || self.receiving.is_some()
            || self.probing.is_some()
        {
            return;
        }
        let room = self.concurrency.saturating_sub(self.running.len());
        match self.breaker.step(room) {
            Step::Wait => {}
            Step::Probe => self.probing = Some(Box::pin(Arc::clone(&self.work).probe())),
            Step::Receive(most) => {
                let most = u8::try_from(most.min(BATCH)).unwrap_or(1);
                let (queue, hide) = (Arc::clone(&self.queue), self.hide);
                let receiving = async move { queue.receive(most, POLL, hide).await };
                self.receiving = Some(Box::pin(receiving));
            }
        }
    }
}

/// Returns the output of `future`; never returns if there is none.
async fn completed<T>(future: &mut Option<BoxFuture<T>>) -> T {
    match future {
        Some(future) => future.await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests;
