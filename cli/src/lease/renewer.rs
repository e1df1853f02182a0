//! Renews a lease, and reports when the command under it has to stop.
//!
//! All times count from when the request of the last successful renewal was sent. At the table, the lease may
//! have begun at any time after that, so this process never counts on it for longer than the table does.

use crate::exec::CommandTree;
use crate::exec::supervise::LeaseLost;
use crate::exec::watchdog::Watchdog;
use crate::lease::client::LockClient;
use crate::lease::held::Held;
use crate::platform::clock::Instant;
use lockstep::contract::{ErrorName, HeartbeatResponse};
use lockstep::error::Error;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The result of a renewal.
type HeartbeatResult = Result<HeartbeatResponse, Error>;

/// A request of a renewal: when it was sent, and its progress.
struct Sent {
    at: Instant,
    progress: Option<String>,
}

/// Renews one lease, and moves the deadline of the command under it.
pub(crate) struct LeaseRenewer {
    /// The client of the lock table.
    pub(crate) locks: Arc<LockClient>,
    /// The permit.
    pub(crate) held: Held,
    /// The progress that the command reports.
    pub(crate) progress: watch::Receiver<Option<String>>,
    /// The progress that the record of the lock has, as far as this process knows.
    pub(crate) written: Option<String>,
    /// The watchdog that kills the command at the end of its lease, and the processes of that command.
    pub(crate) guarded: Option<(Watchdog, CommandTree)>,
}

impl LeaseRenewer {
    /// Renews until the lease is lost or cannot be renewed in time, and returns why. The caller drops the
    /// future when the command has ended.
    pub(crate) async fn keep(self) -> LeaseLost {
        let unobserved = watch::Sender::new(self.held.sent);
        self.renew_and_notify(unobserved).await
    }

    /// Renews as [`Self::keep`] does, and sends to `renewed` when the request of each renewal was sent.
    pub(crate) async fn renew_and_notify(mut self, renewed: watch::Sender<Instant>) -> LeaseLost {
        self.guard();
        loop {
            let stop_at = self.held.stop_at();
            let next = self.held.sent + self.held.times.beat();
            let renewing = async {
                next.reached().await;
                self.renew().await
            };
            let outcome = tokio::select! {
                biased;
                outcome = renewing => outcome,
                () = stop_at.reached() => return self.not_renewed_in_time(),
            };
            match outcome {
                Ok(sent) => {
                    self.held.sent = sent;
                    self.guard();
                    renewed.send_replace(sent);
                }
                Err(why) => return self.lost(why),
            }
        }
    }

    /// Renews once, and returns when the answered request was sent. A request that gets no response does not
    /// delay the next one: several may be under way, and the first success counts.
    ///
    /// # Errors
    /// The reason why the lease is lost.
    async fn renew(&mut self) -> Result<Instant, String> {
        let mut requests = JoinSet::new();
        loop {
            requests.spawn(self.request());
            // A connection that hangs must not cost the lease, so the next request is sent beside this one.
            let next = Instant::now() + self.held.times.retry_interval();
            loop {
                let answer = tokio::select! {
                    Some(Ok(answer)) = requests.join_next() => answer,
                    () = next.reached() => break,
                };
                match answer {
                    (Some(Ok(HeartbeatResponse::Renewed { .. })), sent) => {
                        self.written = sent.progress.or(self.written.take());
                        return Ok(sent.at);
                    }
                    (Some(Ok(HeartbeatResponse::Ended)), _) => {
                        return Err("its run has already been released".into());
                    }
                    // The only error that means that the lease is lost. After any other error the lease lasts
                    // until its time is over.
                    (Some(Err(error)), _) if error.name() == ErrorName::LeaseLost => {
                        return Err(error.message().to_owned());
                    }
                    (Some(Err(error)), _) => {
                        tracing::warn!(
                            event = "renewal_failed",
                            lock = self.held.grant.lock,
                            %error,
                            "the lease was not renewed; retrying"
                        );
                    }
                    (None, _) => {
                        tracing::warn!(
                            event = "renewal_failed",
                            lock = self.held.grant.lock,
                            "no answer to a renewal; retrying"
                        );
                    }
                }
            }
        }
    }

    /// Returns one request, and its result if that comes within the time of a request. Progress that the
    /// record already has is not sent, because that costs a second write.
    fn request(&mut self) -> impl Future<Output = (Option<HeartbeatResult>, Sent)> + use<> {
        let (locks, grant) = (Arc::clone(&self.locks), self.held.grant.clone());
        let latest = self.progress.borrow_and_update().clone();
        let progress = latest.filter(|latest| self.written.as_ref() != Some(latest));
        let (within, lease) = (self.held.times.request_timeout(), self.held.renewal_times());
        async move {
            let at = Instant::now();
            let answer = timeout(within, locks.renew(&grant, lease, progress.clone())).await;
            (answer.ok(), Sent { at, progress })
        }
    }

    /// Sets the time at which the watchdog kills the command, even if this process is dead by then.
    fn guard(&self) {
        if let Some((watchdog, tree)) = &self.guarded {
            watchdog.guard(tree, self.held.kill_at());
        }
    }

    fn not_renewed_in_time(&self) -> LeaseLost {
        self.lost("no answer from the lock table has confirmed a renewal in time".into())
    }

    fn lost(&self, why: String) -> LeaseLost {
        let kill_at = self.held.times.dead_by(self.held.sent, Instant::now());
        LeaseLost { why, kill_at }
    }
}
