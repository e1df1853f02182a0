//! The limits of a run: `maxRunSeconds` and `noProgressSeconds`.

use super::Lease;
use crate::domain::stale::Staleness;
use crate::domain::time::{CLOCK_SKEW, Seconds, Timestamp};

/// Time after a limit of a run before a check acts on the limit. In this time the run's own heartbeat,
/// or the time-out of its state, ends the run with an error that its workflow can catch.
const LIMIT_GRACE: Seconds = Seconds::of(60);

impl Lease {
    /// Returns when a check acts on a limit of the run: 60 s after the earlier of `run_until` and
    /// `stalls_at`. A heartbeat of the run acts on the limit at once, but the heartbeats of a long run
    /// are up to 15 minutes apart.
    #[must_use]
    pub fn enforces_limits_at(&self) -> Option<Timestamp> {
        let limits = [self.run_until, self.stalls_at].into_iter().flatten();
        limits.min().map(|limit| limit.plus(LIMIT_GRACE))
    }

    /// Returns why a check acts on the run although its lease may be live; `None` before
    /// [`Self::enforces_limits_at`].
    #[must_use]
    pub fn limit_to_enforce(&self, now: Timestamp) -> Option<Staleness> {
        let over = self.enforces_limits_at().is_some_and(|end| now >= end);
        self.is_spent(now).filter(|_| over)
    }

    /// Returns whether the run has a time limit or a limit without progress.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.run_until.is_some() || self.no_progress.is_some()
    }

    /// Returns the lease with limits that begin at `now`, for a holder that acquires again and has sent
    /// no heartbeat yet: the answer to its first acquire was lost. Returns `None` if the limits stay as
    /// they are.
    ///
    /// The end of the lease does not move, and the limits begin no later than that end. So a holder that
    /// repeats its request without a heartbeat gains at most the length of one lease.
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

    /// Returns why the run is stale although it renews its lease: it exceeded `maxRunSeconds` or
    /// `noProgressSeconds`.
    #[must_use]
    pub fn is_spent(&self, now: Timestamp) -> Option<Staleness> {
        let overran = self.run_until.filter(|end| now >= *end);
        let stalled = self.stalls_at.filter(|end| now >= *end);
        let stalled = stalled.map(Staleness::Stalled);
        overran.map(Staleness::Overran).or(stalled)
    }
}
