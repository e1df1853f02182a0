//! Leases.

use super::exit::Exit;
use super::gate::Mode;
use super::holder::{HolderId, TaskToken};
use super::key::RunKey;
use super::stale::{StalePolicy, Staleness};
use super::time::{CLOCK_SKEW, DEAD_AFTER, Seconds, Timestamp};
use super::token::FencingToken;
use super::work::Work;

/// Longest time between heartbeats after which a heartbeat counts as late.
const OVERDUE_MAX: Seconds = Seconds::of(60);

/// How much later than its time a heartbeat may come before it counts as late.
const OVERDUE_SLACK: Seconds = Seconds::of(5);

/// Shortest time in which a suspect can clear its mark.
const SUSPICION_MIN: Seconds = Seconds::of(10);

/// How long a grant is good: each heartbeat moves the end forward.
///
/// ```text
///   granted        heartbeat         heartbeat          expires_at  + DEAD_AFTER
///      |---- length ----|---- length ----|---- length ----|-------------|
///      token                                              holder stops  others may judge it dead
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The fencing token of the grant. Renewals keep it.
    pub token: FencingToken,
    /// When the lease ends unless it is renewed.
    pub expires_at: Timestamp,
    /// How long a heartbeat keeps the lease, and when the next one comes.
    pub pace: Pace,
    /// When the run must be over (`maxRunSeconds`).
    pub run_until: Option<Timestamp>,
    /// How long the run may take: a restart sets `run_until` from it. A lease that an older version granted has a
    /// `run_until` without it.
    pub max_run: Option<Seconds>,
    /// Longest time without a change in the progress of the run (`noProgressSeconds`).
    pub no_progress: Option<Seconds>,
    /// When the run counts as stalled unless its progress changes.
    pub stalls_at: Option<Timestamp>,
    /// The latest progress that the run reported.
    pub progress: Option<String>,
    /// What happens to the holder when it is stale.
    pub stale: StalePolicy,
    /// The expectation that the grant came with (`expectEverySeconds`). It is here for the receipt: with
    /// it a release needs no read.
    pub expect_every: Option<Seconds>,
    /// The run key, if the run has one.
    pub run_key: Option<RunKey>,
    /// Where the run's ECS tasks are found.
    pub work: Option<Work>,
    /// Task token of the heartbeat state, which the release ends; `None` without such a state.
    pub beat: Option<TaskToken>,
    /// Set from a hand-over until the waiter confirms it by a request.
    pub call: Option<Call>,
    /// How the holder leaves.
    pub exit: Exit,
    /// Number of redrives of the holder's execution that the holder has reported.
    pub redrives: u32,
    /// The execution that started the holder's execution. A retry of a nested execution has the
    /// same parent as the attempt before it.
    pub parent: Option<HolderId>,
}

/// How long a lease is good after a heartbeat, and when the next heartbeat comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pace {
    /// Time from a heartbeat to the end of the lease that it sets.
    pub length: Seconds,
    /// Time between heartbeats.
    pub heartbeat: Seconds,
}

/// Time after the end of its lease in which a holder without readable evidence is left as it is:
/// its cluster was deleted, its family has more tasks than Lockstep reads, or a permission is
/// missing. Then its lock is frozen.
const HIDDEN_MAX: Seconds = Seconds::of(3_600);

/// Time after a limit of a run in which its own heartbeat or the time-out of its state ends it, with an error that
/// its workflow can catch.
const LIMIT_SLACK: Seconds = Seconds::of(60);

/// When the sweep looks at a hand-over that is not confirmed, counted from its grant.
const CONFIRMED_WITHIN: Seconds = Seconds::of(60);

/// One version of a lease: a heartbeat, a redrive and the mark of an ending each create another.
/// Evidence that was gathered under one version is void under the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LeaseVersion {
    /// [`Lease::expires_at`].
    pub expires_at: Timestamp,
    /// [`Lease::redrives`].
    pub redrives: u32,
    /// Whether [`Exit::ending`] is set.
    pub ending: bool,
}

/// Why the time limits of a run start again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// The time that has passed does not count as the run's: an operator resumed the lock that was frozen for
    /// it, or it confirmed its hand-over late.
    Excused,
    /// Its execution was redriven. Contains the number of redrives.
    Redriven(u32),
    /// Its grant had ended, and is reinstated. Contains the number of redrives.
    Reinstated(u32),
}

/// A hand-over that its waiter has not confirmed yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Task token of the waiting state to wake; `None` for a waiter that polls.
    pub task_token: Option<TaskToken>,
    /// When the waiter registered, which is a sign of life.
    pub since: Timestamp,
}

impl Lease {
    /// The current version of the lease.
    ///
    /// A heartbeat within the millisecond of the one before it leaves `expires_at` as it was.
    #[must_use]
    pub fn version(&self) -> LeaseVersion {
        LeaseVersion {
            expires_at: self.expires_at,
            redrives: self.redrives,
            ending: self.exit.ending.is_some(),
        }
    }

    /// Whether others may judge the lease dead: expired for longer than clocks can differ.
    #[must_use]
    pub fn is_dead(&self, now: Timestamp) -> bool {
        now >= self.dead_at()
    }

    /// When others may judge the lease dead.
    #[must_use]
    pub fn dead_at(&self) -> Timestamp {
        self.expires_at.plus(DEAD_AFTER)
    }

    /// Whether the holder itself may still rely on the lease.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }

    /// Whether the sweep checks its holder: a wake-up, a stop or an end is under way, the lease is dead, or a limit
    /// was exceeded.
    #[must_use]
    pub fn is_swept(&self, now: Timestamp) -> bool {
        let asked = self.call.is_some() || self.exit.replaced_by.is_some();
        asked
            || self.exit.ending.is_some()
            || self.is_dead(now)
            || self.is_stopped_for(now).is_some()
    }

    /// When a check acts on a limit of the run, if its heartbeat has not done so: a minute after the limit.
    /// The heartbeats of a long run are up to a quarter of an hour apart.
    #[must_use]
    pub fn limit_ends(&self) -> Option<Timestamp> {
        let limits = [self.run_until, self.stalls_at].into_iter().flatten();
        limits.min().map(|limit| limit.plus(LIMIT_SLACK))
    }

    /// Why a check acts on the run although its lease may be live: [`Self::limit_ends`] has come.
    #[must_use]
    pub fn is_stopped_for(&self, now: Timestamp) -> Option<Staleness> {
        let over = self.limit_ends().is_some_and(|end| now >= end);
        self.is_spent(now).filter(|_| over)
    }

    /// When it was granted or last renewed.
    #[must_use]
    pub fn renewed_at(&self) -> Timestamp {
        Timestamp::from_millis(
            self.expires_at
                .millis()
                .saturating_sub(self.pace.length.millis()),
        )
    }

    /// The last sign of life of its holder: its registration in the queue until it confirms the hand-over,
    /// then its last heartbeat.
    #[must_use]
    pub fn last_sign(&self) -> Timestamp {
        let call = self.call.as_ref();
        call.map_or_else(|| self.renewed_at(), |call| call.since)
    }

    /// Whether a heartbeat is late, so that a check of the holder is worthwhile.
    ///
    /// A heartbeat takes a second more than its time, and the call of a function some more. However
    /// far apart its heartbeats are, a holder that has been silent for a minute is worth a check.
    #[must_use]
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        let since_beat = self
            .pace
            .length
            .millis()
            .saturating_sub(self.expires_at.millis_since(now));
        // The heartbeats of a long run are up to a quarter of an hour apart, and its lease is three
        // of them: without this bound the next run would wait that long for a dead one.
        let heartbeat = self.pace.heartbeat.min(OVERDUE_MAX);
        now >= self.expires_at || since_beat > heartbeat.plus(OVERDUE_SLACK).millis()
    }

    /// When a holder that was marked as a suspect at `suspect` counts as stale: after the time of a
    /// whole heartbeat, and at least ten seconds, in which it can clear the mark.
    #[must_use]
    pub fn suspicion_ends(&self, suspect: Timestamp) -> Timestamp {
        suspect.plus(self.pace.heartbeat.max(SUSPICION_MIN))
    }

    /// Whether the run has a limit of time or progress.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.run_until.is_some() || self.no_progress.is_some()
    }

    /// The lease with limits that begin at `now`, for a holder that asks again and has sent no heartbeat yet: it
    /// learns of its grant only now. `None` if its limits stay.
    ///
    /// The end of the lease stays, too, and the limits begin before it. So a holder that repeats its request without
    /// a heartbeat gains the length of one lease at most.
    #[must_use]
    pub fn learned(&self, now: Timestamp) -> Option<Self> {
        let before = |end: Timestamp, length: Seconds| end.millis().saturating_sub(length.millis());
        let ran = self.run_until.zip(self.max_run);
        let moved = self.stalls_at.zip(self.no_progress);
        let began = [ran, moved].into_iter().flatten();
        let began = began.map(|(end, length)| before(end, length)).max()?;
        let began = Timestamp::from_millis(began).plus(CLOCK_SKEW);
        let has_beat = self.renewed_at() > began || self.beat.is_some() || self.progress.is_some();
        let begin = now.min(self.expires_at);
        (!has_beat && begin > began).then(|| Self {
            run_until: self
                .max_run
                .map_or(self.run_until, |most| Some(begin.plus(most))),
            stalls_at: self.no_progress.map(|most| begin.plus(most)),
            ..self.clone()
        })
    }

    /// Why the run is stale although it renews its lease: it is over its time, or makes no
    /// progress.
    #[must_use]
    pub fn is_spent(&self, now: Timestamp) -> Option<Staleness> {
        let overran = self.run_until.filter(|end| now >= *end);
        let stalled = self.stalls_at.filter(|end| now >= *end);
        let stalled = stalled.map(Staleness::Stalled);
        overran.map(Staleness::Overran).or(stalled)
    }

    /// Why the holder is stale, if it is. Silence alone makes it stale only after
    /// [`Self::suspicion_ends`]: after an outage of the table all leases are over while all holders
    /// are alive.
    #[must_use]
    pub fn staleness(&self, now: Timestamp) -> Option<Staleness> {
        let silent = self.is_silent(now);
        let expired = silent.then_some(Staleness::Expired(self.expires_at));
        self.is_spent(now).or(expired)
    }

    /// Whether the lease is dead, and the mark as a suspect was not cleared in time.
    #[must_use]
    pub fn is_silent(&self, now: Timestamp) -> bool {
        let marked = self.exit.suspect;
        self.is_dead(now) && marked.is_some_and(|at| now >= self.suspicion_ends(at))
    }

    /// When a holder freezes its lock if whether it is dead could not be read until then: an hour after the end of
    /// its lease.
    #[must_use]
    pub fn hidden_until(&self) -> Timestamp {
        self.expires_at.plus(HIDDEN_MAX)
    }

    /// When recovery has to check this holder of a lock in `mode`, unless a heartbeat comes before: at the end of its lease or at
    /// its limit, whichever is first. In a frozen lock the limits do not count. A permit that was handed over and not yet
    /// confirmed is checked after a minute, because its waiter may be dead or may not have been told.
    #[must_use]
    pub fn next_check(&self, mode: &Mode) -> Timestamp {
        let ending = self.exit.ending.as_ref().map(|ending| ending.since);
        let suspicion = self.exit.suspect.map(|at| self.suspicion_ends(at));
        let frozen = matches!(mode, Mode::Frozen { .. });
        let limit = self.limit_ends().filter(|_| !frozen);
        let granted = self.token.granted_at();
        let confirmed = self.call.as_ref().map(|_| granted.plus(CONFIRMED_WITHIN));
        let silence = limit.into_iter().chain(confirmed);
        let silence = silence.fold(self.expires_at, Timestamp::min);
        ending.or(suspicion).unwrap_or(silence)
    }

    /// The lease at another pace, which the next renewal applies.
    #[must_use]
    pub fn paced(self, pace: Option<Pace>) -> Self {
        Self {
            pace: pace.unwrap_or(self.pace),
            ..self
        }
    }

    /// The lease, renewed at `now` by its holder. A `beat` replaces the task token of the heartbeat
    /// state; a `progress` that differs from the last one restarts the time without progress.
    #[must_use]
    pub fn renewed(&self, now: Timestamp, beat: Option<TaskToken>, progress: Option<&str>) -> Self {
        let mut lease = self.clone();
        lease.expires_at = now.plus(self.pace.length);
        lease.beat = beat.or(lease.beat);
        lease.call = None;
        lease.exit.suspect = None;
        if let Some(progress) = progress
            && lease.progress.as_deref() != Some(progress)
        {
            lease.progress = Some(progress.to_owned());
            lease.stalls_at = self.no_progress.map(|most| now.plus(most));
        }
        lease
    }

    /// The lease without its task tokens.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        Self {
            beat: None,
            call: None,
            ..self.clone()
        }
    }

    /// The lease without an unconfirmed hand-over.
    #[must_use]
    pub fn confirmed(&self) -> Self {
        Self {
            call: None,
            ..self.clone()
        }
    }

    /// The lease, renewed at `now`, of a run whose time limits start again.
    ///
    /// ```text
    ///              hand-over   replacement   ending
    ///  excused     keeps       keeps         keeps
    ///  redriven    keeps       keeps         ends, and an eviction with it
    ///  reinstated  ends        ends          ends
    /// ```
    #[must_use]
    pub fn restarted(&self, why: Restart, now: Timestamp) -> Self {
        let granted = self.token.granted_at();
        let whole = |end: Timestamp| {
            let most = self.max_run.map(Seconds::millis);
            let most = most.unwrap_or_else(|| end.millis_since(granted));
            Timestamp::from_millis(now.millis() + most)
        };
        let renewed = self.renewed(now, None, None);
        let Exit {
            replaced_by,
            ending,
            ..
        } = renewed.exit.clone();
        let (call, replaced_by, ending, redrives) = match why {
            Restart::Excused => (self.call.clone(), replaced_by, ending, self.redrives),
            Restart::Redriven(count) => (self.call.clone(), replaced_by, None, count),
            Restart::Reinstated(count) => (None, None, None, count),
        };
        Self {
            // The clock that set it may be ahead of this one.
            expires_at: renewed.expires_at.max(self.expires_at),
            run_until: self.run_until.map(whole),
            stalls_at: self.no_progress.map(|most| now.plus(most)),
            call,
            exit: Exit {
                suspect: None,
                replaced_by,
                ending,
            },
            redrives,
            ..renewed
        }
    }
}
