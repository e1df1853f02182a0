//! Keeps a lease: renews it, and says when the command under it has to stop.

use crate::exec::CommandTree;
use crate::exec::watchdog::Watchdog;
use crate::lease::client::LockClient;
use crate::lease::timing::LeaseTiming;
use crate::platform::clock::Instant;
use lockstep::contract::{ErrorName, Grant, HeartbeatResponse};
use lockstep::error::Error;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The answer to a renewal.
type Answer = Result<HeartbeatResponse, Error>;

/// Why a command may not go on under its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseLost {
    /// What was told or found, in a sentence.
    pub(crate) why: String,
    /// When the command has to be dead.
    pub(crate) kill_at: Instant,
}

/// One lease, and what depends on it.
#[derive(Clone, Debug)]
pub(crate) struct LeaseRenewer {
    /// The table.
    pub(crate) locks: Arc<LockClient>,
    /// The receipt.
    pub(crate) grant: Grant,
    /// Its times.
    pub(crate) times: LeaseTiming,
    /// When the request was sent that the lease is counted from.
    pub(crate) sent: Instant,
    /// What the command says of its progress.
    pub(crate) progress: watch::Receiver<Option<String>>,
    /// What kills the command when its time is over, and which command that is.
    pub(crate) guarded: Option<(Watchdog, CommandTree)>,
}

impl LeaseRenewer {
    /// Renews until the lease is lost, or cannot be renewed in time. A command that is over has its
    /// keeper dropped.
    pub(crate) async fn keep(self) -> LeaseLost {
        let nobody = watch::Sender::new(self.sent);
        self.keep_and_tell(nobody).await
    }

    /// The same, and tells after each renewal when its request was sent.
    pub(crate) async fn keep_and_tell(mut self, renewed: watch::Sender<Instant>) -> LeaseLost {
        self.guard();
        loop {
            let stop_at = self.times.stop_at(self.sent);
            let next = self.sent + self.times.beat();
            let renewing = async {
                next.reached().await;
                self.renew().await
            };
            let outcome = tokio::select! {
                biased;
                outcome = renewing => outcome,
                () = stop_at.reached() => return self.out_of_reach(),
            };
            match outcome {
                Ok(sent) => {
                    self.sent = sent;
                    self.guard();
                    renewed.send_replace(sent);
                }
                Err(why) => return self.lost(why),
            }
        }
    }

    /// Renews once, and returns when the request that was answered was sent. A request that gets no
    /// answer does not hold up the next: several may be under way, and the first answer counts.
    ///
    /// # Errors
    /// Why the lease is lost.
    async fn renew(&mut self) -> Result<Instant, String> {
        let mut requests = JoinSet::new();
        loop {
            requests.spawn(self.request());
            let again = Instant::now() + self.times.again();
            loop {
                let answer = tokio::select! {
                    Some(Ok(answer)) = requests.join_next() => answer,
                    () = again.reached() => break,
                };
                match answer {
                    (Some(Ok(HeartbeatResponse::Renewed { .. })), sent) => return Ok(sent),
                    (Some(Ok(HeartbeatResponse::Ended)), _) => {
                        return Err("its run has been released by somebody else".into());
                    }
                    (Some(Err(error)), _) if error.name() == ErrorName::LeaseLost => {
                        return Err(error.message().to_owned());
                    }
                    (Some(Err(error)), _) => {
                        tracing::warn!(lock = self.grant.lock, %error, "the lease was not renewed");
                    }
                    (None, _) => {
                        tracing::warn!(lock = self.grant.lock, "a renewal got no answer");
                    }
                }
            }
        }
    }

    /// A request, with its answer if that comes in time, and when it was sent.
    fn request(&mut self) -> impl Future<Output = (Option<Answer>, Instant)> + use<> {
        let (locks, grant) = (Arc::clone(&self.locks), self.grant.clone());
        let progress = self.progress.borrow_and_update().clone();
        let within = self.times.answer_within();
        async move {
            let sent = Instant::now();
            let answer = timeout(within, locks.renew(&grant, progress)).await;
            (answer.ok(), sent)
        }
    }

    /// The watchdog kills the command at the end of the lease, whatever becomes of this process.
    fn guard(&self) {
        if let Some((watchdog, family)) = &self.guarded {
            watchdog.guard(family, self.times.kill_at(self.sent));
        }
    }

    fn out_of_reach(&self) -> LeaseLost {
        self.lost("it could not be renewed in time: the lock table gives no answer".into())
    }

    fn lost(&self, why: String) -> LeaseLost {
        let kill_at = self.times.dead_by(self.sent, Instant::now());
        LeaseLost { why, kill_at }
    }
}
