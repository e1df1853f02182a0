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

/// The terms of a request for a permit. The grant builds the lease from them, at once or after a wait in
/// the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// The caller, which becomes the holder.
    pub holder: HolderId,
    /// Capacity of the lock that the caller expects.
    pub permits: Permits,
    /// Length of the lease.
    pub lease: Seconds,
    /// Time between heartbeats.
    pub heartbeat: Seconds,
    /// Longest duration of the run.
    pub max_run: Option<Seconds>,
    /// Longest time without a change in the progress of the run.
    pub no_progress: Option<Seconds>,
    /// What happens to the run if it is stale.
    pub stale: StalePolicy,
    /// Shortest time between this grant and the next one of the lock.
    pub min_interval: Option<Seconds>,
    /// Longest time between two successes of the lock (`expectEverySeconds`). `None` keeps the lock's
    /// present expectation.
    pub expect_every: Option<Seconds>,
    /// Run key of the run, if it has one.
    pub run_key: Option<RunKey>,
    /// The work of the run, as far as Lockstep can find it.
    pub work: Option<Work>,
    /// How long the history keeps an ended run.
    pub retention: Retention,
    /// The execution that started the caller's execution, if it is known.
    pub parent: Option<HolderId>,
    /// Number of redrives of the caller's execution, as the caller reports it.
    pub redrives: u32,
}

impl Terms {
    /// Returns the default terms of `holder`: one permit, a lease of 60 s with a heartbeat every 20 s,
    /// and no optional field.
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

    /// Returns whether the caller may be a later attempt at the run of `lease`: both have the same
    /// parent or the same run key.
    #[must_use]
    pub fn may_be_retry_of(&self, lease: &Lease) -> bool {
        let same_parent = self.parent.is_some() && self.parent == lease.parent;
        let same_run = self.run_key.is_some() && self.run_key == lease.run_key;
        same_parent || same_run
    }

    /// Returns the lease of a grant at `now` with the fencing token `token`.
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

/// Time after a hand-over within which the waiter has to confirm it. Afterwards the waiter counts as
/// silent.
///
/// The waiting state of a live run registers again within this time and finds the grant. The longest
/// attempt of a wait is a year divided into 4,000 attempts, which is 7,884 s, and the pauses between its
/// retries come on top. A run that has left its waiting state never registers again.
pub const UNCONFIRMED_MAX: Seconds = Seconds::of(8_000);

/// A waiter: the side item of a place in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Waiter {
    /// The terms of its request.
    pub terms: Terms,
    /// Task token of the waiting state; `None` for a caller that polls.
    pub task_token: Option<TaskToken>,
    /// When the waiter gives up; `None` waits without limit.
    pub wait_until: Option<Timestamp>,
    /// When the waiter last registered. A registration that arrives after a newer one does not replace
    /// it.
    pub since: Timestamp,
    /// When the waiter first registered. Later registrations keep this time.
    pub queued_at: Timestamp,
}

impl Waiter {
    /// Returns the waiter's short name in the queue.
    #[must_use]
    pub fn id(&self) -> WaiterId {
        WaiterId::of(&self.terms.holder)
    }

    /// Returns whether the waiter's time to wait is over.
    #[must_use]
    pub fn has_given_up(&self, now: Timestamp) -> bool {
        self.wait_until.is_some_and(|end| now >= end)
    }

    /// Returns whether the waiter has not registered for so long that it counts as silent:
    ///
    /// - a waiting state for [`UNCONFIRMED_MAX`],
    /// - a caller that polls for the length of its lease. Such a caller registers when it takes its
    ///   place, and not when it asks again.
    ///
    /// To both times [`DEAD_AFTER`] is added, because clocks may differ.
    #[must_use]
    pub fn is_silent(&self, now: Timestamp) -> bool {
        let longest = match self.task_token {
            Some(_) => UNCONFIRMED_MAX,
            None => self.terms.lease,
        };
        now > self.since.plus(longest).plus(DEAD_AFTER)
    }

    /// Returns the lease of a hand-over to this waiter at `now`, with [`Lease::call`] set until the
    /// waiter confirms it.
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
