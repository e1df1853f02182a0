//! Processes one message, from its receive to its disposition.
//!
//! ```text
//!  once key ── unreadable ─▶ hidden, longer each time, until the dead-letter queue takes it
//!     │
//!  protection ─▶ lock ── no answer, paused, frozen ─▶ deferred: trouble of all messages
//!                 │ ├── succeeded before ───────────▶ deleted
//!                 │ └── in flight elsewhere ────────▶ hidden for a lease or more
//!                 ▼
//!              command ─▶ release ─▶ delete, hide, or leave
//! ```
//! SQS delivers a message at least once, and moves it to the dead-letter queue after a number of receives. So
//! a message that could not begin is hidden for a long time, and a message that the worker gives back at its
//! shutdown is visible at once.

mod acquire;
mod environment;
mod running_commands;
mod work;

pub(crate) use running_commands::RunningCommands;

use super::ack::ack;
use super::decide::{Disposition, Kind, LockDecision, RetryDelays, decide_on_response, deferred};
use super::poll::{Done, HealthSignal, Work};
use super::queue::{Message, Queue};
use super::report::MessageMetrics;
use super::shutdown::ShutdownWatch;
use super::table::probe;
use crate::exec::Subreaper;
use crate::exec::supervise::Limits;
use crate::exec::watchdog::Watchdog;
use crate::lease::client::LockClient;
use crate::lease::held::Held;
use crate::lease::timing::LeaseTiming;
use crate::once_key::{Malformed, OnceKey, once_key, sha256, shard};
use crate::platform::env::random_fraction;
use crate::platform::identity::HolderIdentity;
use crate::platform::signals::SignalScope;
use crate::protect::Protection;
use crate::protect::keeper::InFlight;
use lockstep::domain::{LockKey, rfc3339};
use lockstep::store::StoreError;
use lockstep::store::dynamodb::DynamoStore;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

/// Processes the messages of a worker. Its fields are what all messages share.
pub(crate) struct MessageProcessor<Q> {
    pub(crate) queue: Arc<Q>,
    pub(crate) locks: Arc<LockClient>,
    /// The lock table, for probes.
    pub(crate) table: DynamoStore,
    pub(crate) identity: HolderIdentity,
    pub(crate) protection: Protection,
    pub(crate) watchdog: Watchdog,
    pub(crate) subreaper: Subreaper,
    pub(crate) metrics: MessageMetrics,
    /// Prefix of the names of the locks.
    pub(crate) lock: String,
    pub(crate) once_key: Option<OnceKey>,
    pub(crate) times: LeaseTiming,
    /// Visibility timeout of a message, from its receive and from each renewal of its lease.
    pub(crate) hide: Duration,
    pub(crate) delays: RetryDelays,
    pub(crate) limits: Limits,
    pub(crate) command: Vec<OsString>,
    pub(crate) scope: SignalScope,
    /// Whether the worker processes one message at a time.
    pub(crate) is_alone: bool,
    pub(crate) running_commands: RunningCommands,
}

impl<Q: Queue> Work for MessageProcessor<Q> {
    async fn handle(
        self: Arc<Self>,
        message: Message,
        mut shutdown: ShutdownWatch,
        health: HealthSignal,
    ) -> Done {
        let once_key = match once_key(self.once_key.as_ref(), &message.id, &message.body) {
            Ok(once_key) => once_key,
            Err(malformed) => return self.malformed(&message, &malformed).await,
        };
        let protected = tokio::select! {
            biased;
            // No request has been sent to the table yet, so there is nothing to release.
            () = shutdown.stopping() => return self.give_back(message).await,
            protected = self.protection.begin() => protected,
        };
        match protected {
            Ok(in_flight) => {
                let kind = self.under_lock(&message, once_key, shutdown, health).await;
                self.done(kind, Some(in_flight))
            }
            Err(refused) => {
                let why = format!("the task is not protected (--protect=required): {refused}");
                let kind = self.defer(&message, &why, &shutdown, health).await;
                self.done(kind, None)
            }
        }
    }

    async fn give_back(self: Arc<Self>, message: Message) -> Done {
        tracing::info!(
            event = "message_given_back",
            id = message.id,
            "message given back to the queue: the worker is shutting down"
        );
        self.ack(&message, Disposition::GIVE_BACK).await;
        self.metrics.count(Kind::GivenBack, None);
        self.done(Kind::GivenBack, None)
    }

    async fn probe(self: Arc<Self>) -> Result<(), StoreError> {
        match LockKey::new(shard(&self.lock, 0)) {
            Ok(lock) => probe(&self.table, &lock).await,
            // Does not occur: the parser of --lock has checked the name.
            Err(_) => Ok(()),
        }
    }
}

impl<Q: Queue> MessageProcessor<Q> {
    fn done(&self, kind: Kind, in_flight: Option<InFlight>) -> Done {
        Done { kind, in_flight }
    }

    async fn ack(&self, message: &Message, disposition: Disposition) {
        ack(&*self.queue, message, disposition).await;
    }

    /// Returns the time until a failed message is visible again. It grows with the number of receives, and
    /// has a random part.
    fn backoff(&self, message: &Message) -> Duration {
        self.delays
            .after_failure(message.receive_count, random_fraction())
    }

    /// Logs everything that identifies the message except its body, and hides the message.
    async fn malformed(&self, message: &Message, malformed: &Malformed) -> Done {
        let Malformed(wrong) = malformed;
        let back_in = self.backoff(message);
        let names: Vec<_> = message.attributes.keys().collect();
        tracing::error!(
            event = "message_malformed",
            id = message.id,
            receive_count = message.receive_count,
            sent = message.sent.map(rfc3339),
            bytes = message.body.len(),
            sha256 = sha256(&message.body),
            attributes = ?names,
            ?back_in,
            "message malformed: {wrong}"
        );
        self.ack(message, Disposition::Hide(back_in)).await;
        self.metrics.count(Kind::Malformed, None);
        self.done(Kind::Malformed, None)
    }

    /// Hides a message that could not begin because of a shared dependency, and reports that dependency as
    /// failing: other messages would fail on it too.
    async fn defer(
        &self,
        message: &Message,
        why: &str,
        shutdown: &ShutdownWatch,
        health: HealthSignal,
    ) -> Kind {
        health.failing();
        let disposition = deferred(
            message.receive_count,
            random_fraction(),
            shutdown.is_stopping(),
        );
        tracing::error!(
            event = "message_deferred",
            id = message.id,
            ?disposition,
            "message deferred: {why}"
        );
        self.ack(message, disposition).await;
        self.metrics.count(Kind::GivenBack, None);
        Kind::GivenBack
    }

    /// Acquires the lock of the once key, and runs the command if it is granted.
    ///
    /// An error counts as trouble of a shared dependency, even if the lock is paused or frozen: whoever
    /// pauses the work of a queue pauses all 64 locks. If only one lock is paused, the next message is likely
    /// to have another lock, and closes the circuit breaker.
    async fn under_lock(
        &self,
        message: &Message,
        key: String,
        shutdown: ShutdownWatch,
        health: HealthSignal,
    ) -> Kind {
        let request = self.request(key);
        let (answer, sent) = match self.acquire(&request, &shutdown).await {
            Ok(answered) => answered,
            Err(error) => {
                let why = error.to_string();
                return self.defer(message, &why, &shutdown, health).await;
            }
        };
        match decide_on_response(answer, message.receive_count, &self.delays) {
            LockDecision::Start(granted) => {
                let held = Held::acquired(*granted, self.times, sent);
                self.work(message, &held, shutdown, health).await
            }
            LockDecision::Skip { disposition, why } => {
                // The table has answered, which is what the circuit breaker needs to know.
                health.ok();
                tracing::info!(
                    event = "message_skipped",
                    id = message.id,
                    lock = request.lock,
                    key = request.options.run_key,
                    ?disposition,
                    "skipped: {why}"
                );
                self.ack(message, disposition).await;
                self.metrics.count(Kind::Skipped, None);
                Kind::Skipped
            }
        }
    }
}
