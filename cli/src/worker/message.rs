//! One message, from its receive to its end.

mod about;
mod asking;
mod at_work;
mod work;

pub(crate) use at_work::AtWork;

use super::ack::ack;
use super::decide::{Disposition, Kind, Next, Patience, after_answer, after_trouble};
use super::key::{Malformed, OnceKey, once_key, sha256, shard};
use super::poll::{Done, HealthSignal, Work};
use super::queue::{Message, Queue};
use super::report::Report;
use super::shutdown::ShutdownWatch;
use super::table::look;
use crate::exec::Subreaper;
use crate::exec::supervise::Limits;
use crate::exec::watchdog::Watchdog;
use crate::lease::client::LockClient;
use crate::lease::timing::LeaseTiming;
use crate::platform::env::dice;
use crate::platform::identity::HolderIdentity;
use crate::protect::Protection;
use crate::protect::keeper::InFlight;
use lockstep::contract::rfc3339;
use lockstep::domain::LockKey;
use lockstep::store::StoreError;
use lockstep::store::dynamodb::DynamoStore;
use std::sync::Arc;
use std::time::Duration;

/// What all messages of a worker share.
pub(crate) struct MessageProcessor<Q> {
    pub(crate) queue: Arc<Q>,
    pub(crate) locks: Arc<LockClient>,
    /// The same table, to look at.
    pub(crate) table: DynamoStore,
    pub(crate) site: HolderIdentity,
    pub(crate) protection: Protection,
    pub(crate) watchdog: Watchdog,
    pub(crate) reaper: Subreaper,
    pub(crate) report: Report,
    /// First part of the locks' names.
    pub(crate) lock: String,
    pub(crate) once_key: Option<OnceKey>,
    pub(crate) times: LeaseTiming,
    /// How long a message is hidden by a receive, and again by each renewal of its lease.
    pub(crate) hide: Duration,
    pub(crate) patience: Patience,
    pub(crate) limits: Limits,
    pub(crate) command: Vec<String>,
    pub(crate) at_work: AtWork,
}

impl<Q: Queue> Work for MessageProcessor<Q> {
    async fn handle(
        self: Arc<Self>,
        message: Message,
        mut orders: ShutdownWatch,
        probe: HealthSignal,
    ) -> Done {
        let once_key = match once_key(self.once_key.as_ref(), &message) {
            Ok(once_key) => once_key,
            Err(malformed) => return self.malformed(&message, &malformed).await,
        };
        let protected = tokio::select! {
            biased;
            () = orders.stopping() => return self.give_back(message).await,
            protected = self.protection.begin() => protected,
        };
        match protected {
            Ok(in_flight) => {
                let kind = self.under_lock(&message, once_key, orders, probe).await;
                self.done(kind, Some(in_flight))
            }
            Err(refused) => {
                let why = format!("the task is not protected (--protect=required): {refused}");
                let kind = self.not_begun(&message, &why, &orders, probe).await;
                self.done(kind, None)
            }
        }
    }

    async fn give_back(self: Arc<Self>, message: Message) -> Done {
        tracing::info!(id = message.id, "given back: the worker shuts down");
        self.ack(&message, Disposition::GIVE_BACK).await;
        self.report.count(Kind::GivenBack, None);
        self.done(Kind::GivenBack, None)
    }

    async fn look(self: Arc<Self>) -> Result<(), StoreError> {
        match LockKey::new(shard(&self.lock, 0)) {
            Ok(lock) => look(&self.table, &lock).await,
            // The flag was checked.
            Err(_) => Ok(()),
        }
    }
}

impl<Q: Queue> MessageProcessor<Q> {
    fn done(&self, kind: Kind, in_flight: Option<InFlight>) -> Done {
        Done { kind, in_flight }
    }

    async fn ack(&self, message: &Message, fate: Disposition) {
        ack(&*self.queue, message, fate).await;
    }

    fn backoff(&self, message: &Message) -> Duration {
        self.patience.after_failure(message.receive_count, dice())
    }

    /// All that helps to find out what came, but not what it says.
    async fn malformed(&self, message: &Message, malformed: &Malformed) -> Done {
        let Malformed(wrong) = malformed;
        let back_in = self.backoff(message);
        let names: Vec<_> = message.attributes.keys().collect();
        tracing::error!(
            id = message.id,
            receive_count = message.receive_count,
            sent = message.sent.map(rfc3339),
            bytes = message.body.len(),
            sha256 = sha256(&message.body),
            attributes = ?names,
            ?back_in,
            "malformed: {wrong}"
        );
        self.ack(message, Disposition::Hide(back_in)).await;
        self.report.count(Kind::Malformed, None);
        self.done(Kind::Malformed, None)
    }

    /// Hides a message that trouble keeps from its work: it has no part in it, and others would meet
    /// the same.
    async fn not_begun(
        &self,
        message: &Message,
        why: &str,
        orders: &ShutdownWatch,
        probe: HealthSignal,
    ) -> Kind {
        probe.trouble();
        let fate = after_trouble(message.receive_count, dice(), orders.is_stopping());
        tracing::error!(id = message.id, ?fate, "not begun: {why}");
        self.ack(message, fate).await;
        self.report.count(Kind::GivenBack, None);
        Kind::GivenBack
    }

    /// Takes the lock of the once key, and works if it is granted.
    ///
    /// An error is never the message's own. That goes for a lock that is paused or frozen as well, one
    /// of 64: whoever pauses a queue's work pauses all of them, and if it is one alone, the next
    /// message is under another lock and ends the trouble.
    async fn under_lock(
        &self,
        message: &Message,
        key: String,
        orders: ShutdownWatch,
        probe: HealthSignal,
    ) -> Kind {
        let request = self.request(key);
        let (answer, sent) = match self.acquire(&request, &orders).await {
            Ok(answered) => answered,
            Err(error) => {
                let why = error.to_string();
                return self.not_begun(message, &why, &orders, probe).await;
            }
        };
        match after_answer(answer, message.receive_count, &self.patience) {
            Next::Start(granted) => self.work(message, &granted, sent, orders, probe).await,
            Next::Skip { fate, why } => {
                probe.works();
                tracing::info!(
                    id = message.id,
                    lock = request.lock,
                    key = request.run_key,
                    ?fate,
                    "skipped: {why}"
                );
                self.ack(message, fate).await;
                self.report.count(Kind::Skipped, None);
                Kind::Skipped
            }
        }
    }
}
