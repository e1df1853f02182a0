//! A holder's permit with an end.

use super::holder::{HolderId, TaskToken};
use super::run::RunKey;
use super::stale::{StalePolicy, Staleness};
use super::time::{DEAD_AFTER, Seconds, Timestamp};
use super::token::FencingToken;
use super::work::Work;

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
}

/// A turn that its waiter has not taken up yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The state to wake; none for a waiter that asks again by itself.
    pub task_token: Option<TaskToken>,
}

impl Lease {
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

    /// Whether a heartbeat is late: it is worth looking whether the holder still runs.
    ///
    /// A beat takes a second more than its time, and a call of a function some more.
    #[must_use]
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        let since_beat = self
            .length
            .millis()
            .saturating_sub(self.expires_at.millis_since(now));
        now >= self.expires_at || since_beat > self.heartbeat.millis() + 5000
    }

    /// Why the run may not go on although its heartbeat came: it overran, or it hangs.
    #[must_use]
    pub fn is_spent(&self, now: Timestamp) -> Option<Staleness> {
        let overran = self.run_until.filter(|end| now >= *end);
        let stalled = self.stalls_at.filter(|end| now >= *end);
        let stalled = stalled.map(Staleness::Stalled);
        overran.map(Staleness::Overran).or(stalled)
    }

    /// Why the holder is stale, if it is.
    #[must_use]
    pub fn staleness(&self, now: Timestamp) -> Option<Staleness> {
        let expired = self.is_dead(now).then_some(self.expires_at);
        self.is_spent(now).or(expired.map(Staleness::Expired))
    }

    /// The same lease, renewed at `now` by a holder that has shown up. A `beat` replaces the one
    /// before it; a `progress` that differs from the one before it counts.
    #[must_use]
    pub fn renewed(&self, now: Timestamp, beat: Option<TaskToken>, progress: Option<&str>) -> Self {
        let mut lease = self.clone();
        lease.expires_at = now.plus(self.length);
        lease.beat = beat.or(lease.beat);
        lease.call = None;
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
        lease
    }
}
