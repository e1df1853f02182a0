//! Keeps a lease: renews it, and says when the command under it has to stop.

use crate::guardian::Guardian;
use crate::lease::LeaseTimes;
use crate::locks::Locks;
use crate::sys::clock::{Instant, sleep};
use lockstep::contract::{ErrorName, Grant, HeartbeatResponse};
use nix::unistd::Pid;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::timeout;

/// Why a command may not go on under its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    /// What was told or found, in a sentence.
    pub(crate) why: String,
    /// When the command has to be dead.
    pub(crate) kill_at: Instant,
}

/// One lease, and what depends on it.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    /// The table.
    pub(crate) locks: Arc<Locks>,
    /// The receipt.
    pub(crate) grant: Grant,
    /// Its times.
    pub(crate) times: LeaseTimes,
    /// When the request was sent that the lease is counted from.
    pub(crate) sent: Instant,
    /// What the command says of its progress.
    pub(crate) progress: watch::Receiver<Option<String>>,
    /// Who kills the command when its time is over, and which group that is.
    pub(crate) guarded: Option<(Guardian, Pid)>,
}

impl Keeper {
    /// Renews until the lease is lost, or cannot be renewed in time. A command that is over has its
    /// keeper dropped.
    pub(crate) async fn keep(self) -> Lost {
        let nobody = watch::Sender::new(self.sent);
        self.keep_and_tell(nobody).await
    }

    /// The same, and tells after each renewal when its request was sent.
    pub(crate) async fn keep_and_tell(mut self, renewed: watch::Sender<Instant>) -> Lost {
        self.guard();
        let mut next = self.sent + self.times.beat();
        loop {
            let stop_at = self.times.stop_at(self.sent);
            tokio::select! {
                () = stop_at.reached() => return self.out_of_reach(),
                () = next.reached() => {}
            }
            let sent = Instant::now();
            let progress = self.progress.borrow_and_update().clone();
            let answer = tokio::select! {
                () = stop_at.reached() => return self.out_of_reach(),
                answer = timeout(self.times.answer_within(), self.locks.renew(&self.grant, progress)) => answer,
            };
            let Ok(answer) = answer else {
                tracing::warn!(lock = self.grant.lock, "a renewal got no answer");
                sleep(self.times.again()).await;
                continue;
            };
            match answer {
                Ok(HeartbeatResponse::Renewed { .. }) => {
                    self.sent = sent;
                    self.guard();
                    renewed.send_replace(sent);
                    next = sent + self.times.beat();
                }
                Ok(HeartbeatResponse::Ended) => {
                    return self.lost("its run has been released by somebody else".into());
                }
                Err(error) if error.name() == ErrorName::LeaseLost => {
                    return self.lost(error.message().to_owned());
                }
                Err(error) => {
                    tracing::warn!(lock = self.grant.lock, %error, "the lease was not renewed");
                    sleep(self.times.again()).await;
                }
            }
        }
    }

    /// The guardian kills the command at the end of the lease, whatever becomes of this process.
    fn guard(&self) {
        if let Some((guardian, group)) = &self.guarded {
            guardian.guard(*group, self.times.kill_at(self.sent));
        }
    }

    fn out_of_reach(&self) -> Lost {
        self.lost("it could not be renewed in time: the lock table gives no answer".into())
    }

    fn lost(&self, why: String) -> Lost {
        let kill_at = self.times.dead_by(self.sent, Instant::now());
        Lost { why, kill_at }
    }
}
