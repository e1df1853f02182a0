//! A holder's permit with an end.

use super::holder::{HolderId, TaskToken};
use super::run::RunKey;
use super::stale::{StalePolicy, Staleness};
use super::time::{DEAD_AFTER, Seconds, Timestamp};
use super::token::FencingToken;
use super::work::Work;

/// Longest silence between heartbeats that needs no check.
const OVERDUE_MAX: Seconds = Seconds::of(60);

/// How much later than its time a heartbeat may come.
const OVERDUE_SLACK: Seconds = Seconds::of(5);

/// Shortest time that a silent holder has to clear the mark of a suspect.
const SUSPICION_MIN: Seconds = Seconds::of(10);

/// A holder's permit with an end, moved forward by heartbeats.
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
    /// How far each heartbeat moves the end.
    pub length: Seconds,
    /// Time between heartbeats.
    pub heartbeat: Seconds,
    /// When the run must be over.
    pub run_until: Option<Timestamp>,
    /// How long the run may go without a change in its progress.
    pub no_progress: Option<Seconds>,
    /// When the run counts as hung unless its progress changes.
    pub stalls_at: Option<Timestamp>,
    /// The latest progress that the run reported.
    pub progress: Option<String>,
    /// What happens to the holder when it is stale.
    pub stale: StalePolicy,
    /// The idempotency key of the trigger, if the run carries one.
    pub run_key: Option<RunKey>,
    /// Where the run's ECS tasks are found.
    pub work: Option<Work>,
    /// How to end the heartbeat state at release, if there is one.
    pub beat: Option<TaskToken>,
    /// Set while the holder, a waiter until its turn came, has not shown up.
    pub call: Option<Call>,
    /// Who asked for this holder to be stopped and takes its place.
    pub replaced_by: Option<HolderId>,
    /// When recovery found the holder silent while its execution ran. A heartbeat clears it.
    pub suspect: Option<Timestamp>,
    /// Set while the work of this holder is being stopped.
    pub ending: Option<Ending>,
    /// The redrives of the holder's execution, as far as the holder has reported them.
    pub redrives: u32,
    /// The execution that started the holder's execution. A caller that retries a nested execution
    /// shares it with the attempt before.
    pub parent: Option<HolderId>,
}

/// One version of a lease: a heartbeat, a redrive and the mark of an ending each make another one.
/// Evidence that was gathered under one version is void under the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LeaseVersion {
    /// [`Lease::expires_at`].
    pub expires_at: Timestamp,
    /// [`Lease::redrives`].
    pub redrives: u32,
    /// Whether [`Lease::ending`] is set.
    pub ending: bool,
}

/// The state of a holder whose work is being stopped: it keeps its permit until the work is seen to
/// have stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ending {
    /// Since when.
    pub since: Timestamp,
    /// Why, and whether the holder may go on.
    pub cause: EndingCause,
}

/// Why the work of a holder is being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndingCause {
    /// Its execution is over, or has cut its work off. A redrive of the execution may go on.
    Over,
    /// A stop is committed: heartbeats are refused from here on.
    Stopped,
}

/// A turn that its waiter has not taken up yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The state to wake; none for a waiter that asks again by itself.
    pub task_token: Option<TaskToken>,
    /// When the waiter registered: a sign of its life.
    pub since: Timestamp,
}

impl Lease {
    /// The version that the lease is at.
    ///
    /// A heartbeat within the millisecond of the one before it leaves `expires_at` as it was.
    #[must_use]
    pub fn version(&self) -> LeaseVersion {
        LeaseVersion {
            expires_at: self.expires_at,
            redrives: self.redrives,
            ending: self.ending.is_some(),
        }
    }

    /// Whether others may judge the lease dead: expired for longer than clocks can differ.
    #[must_use]
    pub fn is_dead(&self, now: Timestamp) -> bool {
        now >= self.expires_at.plus(DEAD_AFTER)
    }

    /// Whether the holder itself may still rely on the lease.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }

    /// When it was granted or last renewed.
    #[must_use]
    pub fn renewed_at(&self) -> Timestamp {
        Timestamp::from_millis(
            self.expires_at
                .millis()
                .saturating_sub(self.length.millis()),
        )
    }

    /// The last sign of life of its holder: its registration in the queue until it confirms the hand-over,
    /// then its last heartbeat.
    #[must_use]
    pub fn last_sign(&self) -> Timestamp {
        let call = self.call.as_ref();
        call.map_or_else(|| self.renewed_at(), |call| call.since)
    }

    /// Whether a heartbeat is late: it is worth looking whether the holder still runs.
    ///
    /// A beat takes a second more than its time, and a call of a function some more. However long
    /// its heartbeats are apart, a holder that has been silent for a minute is worth a call.
    #[must_use]
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        let since_beat = self
            .length
            .millis()
            .saturating_sub(self.expires_at.millis_since(now));
        let heartbeat = self.heartbeat.min(OVERDUE_MAX);
        now >= self.expires_at || since_beat > heartbeat.plus(OVERDUE_SLACK).millis()
    }

    /// Whether a stop is committed: no heartbeat renews the lease any more.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        let cause = self.ending.map(|ending| ending.cause);
        cause == Some(EndingCause::Stopped)
    }

    /// From when on a holder that was marked silent at `suspect` counts as stale: it has had the
    /// time of a whole heartbeat, and at least ten seconds, to clear the mark.
    #[must_use]
    pub fn suspicion_ends(&self, suspect: Timestamp) -> Timestamp {
        suspect.plus(self.heartbeat.max(SUSPICION_MIN))
    }

    /// Why the run may not go on although its heartbeat came: it overran, or it hangs.
    #[must_use]
    pub fn is_spent(&self, now: Timestamp) -> Option<Staleness> {
        let overran = self.run_until.filter(|end| now >= *end);
        let stalled = self.stalls_at.filter(|end| now >= *end);
        let stalled = stalled.map(Staleness::Stalled);
        overran.map(Staleness::Overran).or(stalled)
    }

    /// Why the holder is stale, if it is. Silence alone makes it so only once a mark of suspicion
    /// has stood for its time: after an outage of the table every lease is over, and every holder
    /// is well.
    #[must_use]
    pub fn staleness(&self, now: Timestamp) -> Option<Staleness> {
        let suspicion_over = self
            .suspect
            .is_some_and(|at| now >= self.suspicion_ends(at));
        let silent = self.is_dead(now) && suspicion_over;
        let expired = silent.then_some(Staleness::Expired(self.expires_at));
        self.is_spent(now).or(expired)
    }

    /// When recovery has something to do about this holder, unless a heartbeat comes first.
    #[must_use]
    pub fn next_check(&self) -> Timestamp {
        let ending = self.ending.map(|ending| ending.since);
        let suspicion = self.suspect.map(|at| self.suspicion_ends(at));
        ending.or(suspicion).unwrap_or(self.expires_at)
    }

    /// The same lease, renewed at `now` by its holder. A `beat` replaces the one before it; a
    /// `progress` that differs from the one before it counts.
    #[must_use]
    pub fn renewed(&self, now: Timestamp, beat: Option<TaskToken>, progress: Option<&str>) -> Self {
        let mut lease = self.clone();
        lease.expires_at = now.plus(self.length);
        lease.beat = beat.or(lease.beat);
        lease.call = None;
        lease.suspect = None;
        if let Some(progress) = progress
            && lease.progress.as_deref() != Some(progress)
        {
            lease.progress = Some(progress.to_owned());
            lease.stalls_at = self.no_progress.map(|most| now.plus(most));
        }
        lease
    }

    /// The same lease without the task tokens in it.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        Self {
            beat: None,
            call: None,
            ..self.clone()
        }
    }

    /// The same lease for a run that is started again at `now`: it has its whole time once more.
    #[must_use]
    pub fn restarted(&self, now: Timestamp) -> Self {
        let granted = self.token.granted_at();
        let whole =
            |end: Timestamp| Timestamp::from_millis(now.millis() + end.millis_since(granted));
        let mut lease = self.renewed(now, None, None);
        lease.run_until = self.run_until.map(whole);
        lease.stalls_at = self.no_progress.map(|most| now.plus(most));
        lease.replaced_by = None;
        lease.ending = None;
        lease
    }

    /// The same lease of a holder whose execution has been redriven since, for the time with that
    /// number: whatever was ending goes on.
    #[must_use]
    pub fn redriven(&self, redrives: u32, now: Timestamp) -> Self {
        Self {
            redrives,
            ending: None,
            ..self.excused(now)
        }
    }

    /// The same lease without what made its holder stale: its time and its progress count anew.
    #[must_use]
    pub fn excused(&self, now: Timestamp) -> Self {
        let Self { replaced_by, .. } = self;
        Self {
            replaced_by: replaced_by.clone(),
            ending: self.ending,
            call: self.call.clone(),
            ..self.restarted(now)
        }
    }
}
