//! On which terms a run asks for a permit.

use super::holder::{HolderId, TaskToken};
use super::lease::{Call, Lease};
use super::permits::Permits;
use super::run::RunKey;
use super::stale::StalePolicy;
use super::ticket::WaiterId;
use super::time::{Seconds, Timestamp};
use super::token::FencingToken;
use super::work::Work;

/// On which terms a run asks for a permit. A lease is made of them, now or when its turn comes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// Who asks.
    pub holder: HolderId,
    /// Capacity that the caller expects the lock to have.
    pub permits: Permits,
    /// Length of the lease.
    pub lease: Seconds,
    /// Time between heartbeats.
    pub heartbeat: Seconds,
    /// The run may not last longer than this.
    pub max_run: Option<Seconds>,
    /// The run may not go longer than this without a change in its progress.
    pub no_progress: Option<Seconds>,
    /// What happens to the run when it is stale.
    pub stale: StalePolicy,
    /// No other grant within this time.
    pub min_interval: Option<Seconds>,
    /// Idempotency key of the trigger.
    pub run_key: Option<RunKey>,
    /// Where the run's ECS tasks are found.
    pub work: Option<Work>,
    /// How long an ended run is remembered.
    pub retention: Seconds,
    /// The execution that started the caller's execution, if it is known.
    pub parent: Option<HolderId>,
    /// How often the caller's execution has been redriven, as far as the caller reports it.
    pub redrives: u32,
}

impl Terms {
    /// The lease of a grant made at `now`.
    #[must_use]
    pub fn lease(&self, token: FencingToken, now: Timestamp) -> Lease {
        Lease {
            token,
            expires_at: now.plus(self.lease),
            length: self.lease,
            heartbeat: self.heartbeat,
            run_until: self.max_run.map(|most| now.plus(most)),
            no_progress: self.no_progress,
            stalls_at: self.no_progress.map(|most| now.plus(most)),
            progress: None,
            stale: self.stale,
            run_key: self.run_key.clone(),
            work: self.work.clone(),
            beat: None,
            call: None,
            replaced_by: None,
            suspect: None,
            ending: None,
            redrives: self.redrives,
            parent: self.parent.clone(),
        }
    }
}

/// Who waits for a turn: the side item of a place in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Waiter {
    /// What it asks for.
    pub terms: Terms,
    /// The state that waits for the turn; none for a caller that asks again by itself.
    pub task_token: Option<TaskToken>,
    /// When it gives up.
    pub wait_until: Option<Timestamp>,
    /// When it registered. A registration that comes late does not replace a newer one.
    pub since: Timestamp,
}

impl Waiter {
    /// Its short name in the queue.
    #[must_use]
    pub fn id(&self) -> WaiterId {
        WaiterId::of(&self.terms.holder)
    }

    /// Whether its time to wait is over.
    #[must_use]
    pub fn has_given_up(&self, now: Timestamp) -> bool {
        self.wait_until.is_some_and(|end| now >= end)
    }

    /// The lease that its turn brings at `now`, to be called for.
    #[must_use]
    pub fn lease(&self, token: FencingToken, now: Timestamp) -> Lease {
        let mut lease = self.terms.lease(token, now);
        lease.call = Some(Call {
            task_token: self.task_token.clone(),
            since: self.since,
        });
        lease
    }
}
