//! The terms of a request for a permit.

use super::exit::Exit;
use super::holder::{HolderId, TaskToken};
use super::key::RunKey;
use super::lease::{Call, Lease, Pace};
use super::permits::Permits;
use super::run::Retention;
use super::stale::StalePolicy;
use super::ticket::WaiterId;
use super::time::{DEAD_AFTER, Seconds, Timestamp};
use super::token::FencingToken;
use super::work::Work;

/// The terms of a request for a permit, from which its grant makes the lease, at once or after a
/// wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// The caller, which becomes the holder.
    pub holder: HolderId,
    /// Capacity that the caller expects the lock to have.
    pub permits: Permits,
    /// Length of the lease.
    pub lease: Seconds,
    /// Time between heartbeats.
    pub heartbeat: Seconds,
    /// Longest duration of the run.
    pub max_run: Option<Seconds>,
    /// Longest time without a change in the progress of the run.
    pub no_progress: Option<Seconds>,
    /// What happens to the run when it is stale.
    pub stale: StalePolicy,
    /// Shortest time between this grant and the next one of the lock.
    pub min_interval: Option<Seconds>,
    /// Longest time between two successes of the lock (`expectEverySeconds`). `None` leaves the
    /// expectation that the lock has.
    pub expect_every: Option<Seconds>,
    /// Run key of the run, if it has one.
    pub run_key: Option<RunKey>,
    /// Where the run's ECS tasks are found.
    pub work: Option<Work>,
    /// How long the history keeps an ended run.
    pub retention: Retention,
    /// The execution that started the caller's execution, if it is known.
    pub parent: Option<HolderId>,
    /// Number of redrives of the caller's execution that the caller reports.
    pub redrives: u32,
}

impl Terms {
    /// The terms of `holder`: one permit, a lease of a minute with a heartbeat every 20 s, and no optional
    /// field.
    #[must_use]
    pub fn new(holder: HolderId, retention: Retention) -> Self {
        Self {
            redrives: 0,
            parent: None,
            holder,
            permits: Permits::ONE,
            lease: Seconds::of(60),
            heartbeat: Seconds::of(20),
            max_run: None,
            no_progress: None,
            stale: StalePolicy::Terminate,
            min_interval: None,
            expect_every: None,
            run_key: None,
            work: None,
            retention,
        }
    }

    /// Whether the caller may be a later attempt at the run of `lease`.
    #[must_use]
    pub fn may_repeat(&self, lease: &Lease) -> bool {
        let same_parent = self.parent.is_some() && self.parent == lease.parent;
        let same_run = self.run_key.is_some() && self.run_key == lease.run_key;
        same_parent || same_run
    }

    /// The lease of a grant made at `now`.
    #[must_use]
    pub fn lease(&self, token: FencingToken, now: Timestamp) -> Lease {
        Lease {
            token,
            expires_at: now.plus(self.lease),
            pace: Pace {
                length: self.lease,
                heartbeat: self.heartbeat,
            },
            run_until: self.max_run.map(|most| now.plus(most)),
            max_run: self.max_run,
            no_progress: self.no_progress,
            stalls_at: self.no_progress.map(|most| now.plus(most)),
            progress: None,
            stale: self.stale,
            expect_every: self.expect_every,
            run_key: self.run_key.clone(),
            work: self.work.clone(),
            beat: None,
            call: None,
            exit: Exit::default(),
            redrives: self.redrives,
            parent: self.parent.clone(),
        }
    }
}

/// Time after a hand-over in which its waiter has to confirm it, before it counts as silent.
///
/// Its waiting state registers again and finds the grant: at the latest after the longest attempt
/// of a wait, which is a year in 4,000 attempts, and the pauses of its retries. A run that has left
/// its waiting state never registers.
pub const UNCONFIRMED_MAX: Seconds = Seconds::of(8_000);

/// A waiter: the side item of a place in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Waiter {
    /// The terms of its request.
    pub terms: Terms,
    /// Task token of the waiting state; `None` for a caller that polls.
    pub task_token: Option<TaskToken>,
    /// When it gives up; `None` waits without limit.
    pub wait_until: Option<Timestamp>,
    /// When it registered. A late registration does not replace a newer one.
    pub since: Timestamp,
    /// When it registered first: a registration keeps the time of the one before it.
    pub queued_at: Timestamp,
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

    /// Whether it has not registered for so long that it would lose a grant: a waiting state for [`UNCONFIRMED_MAX`], a
    /// caller that polls for its own lease. Such a caller registers when it takes its place, and not when it asks again.
    #[must_use]
    pub fn is_silent(&self, now: Timestamp) -> bool {
        let longest = match self.task_token {
            Some(_) => UNCONFIRMED_MAX,
            None => self.terms.lease,
        };
        now > self.since.plus(longest).plus(DEAD_AFTER)
    }

    /// The lease of a hand-over to this waiter at `now`, which the waiter has not confirmed.
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
