//! A holder's permit with an end.

use super::holder::TaskToken;
use super::run::{RunId, RunKey};
use super::time::{CLOCK_SKEW, Seconds, Timestamp};
use super::token::FencingToken;

/// A holder's permit with an end, moved forward by heartbeats.
///
/// ```text
///   granted        heartbeat         heartbeat          expires_at  + CLOCK_SKEW
///      |---- length ----|---- length ----|---- length ----|-------------|
///      token                                              holder stops  others may take over
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The fencing token of the grant. Renewals keep it.
    pub token: FencingToken,
    /// When the lease ends unless it is renewed.
    pub expires_at: Timestamp,
    /// How far each heartbeat moves the end.
    pub length: Seconds,
    /// When the run must be over; heartbeats after it are refused.
    pub run_until: Option<Timestamp>,
    /// The idempotency key of the trigger, if the run carries one.
    pub run_key: Option<RunKey>,
    /// How to end the heartbeat state at release, if there is one.
    pub beat: Option<TaskToken>,
}

impl Lease {
    /// Whether others may take the permit over: expired for longer than clocks can differ.
    #[must_use]
    pub fn is_dead(&self, now: Timestamp) -> bool {
        now >= self.expires_at.plus(CLOCK_SKEW)
    }

    /// Whether the holder itself may still rely on the lease.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }

    /// Whether the run has used up its `maxRunSeconds`.
    #[must_use]
    pub fn is_overrun(&self, now: Timestamp) -> bool {
        self.run_until.is_some_and(|end| now >= end)
    }

    /// The same lease, renewed at `now`. A `beat` replaces the one before it.
    #[must_use]
    pub fn renewed(&self, now: Timestamp, beat: Option<TaskToken>) -> Self {
        let mut lease = self.clone();
        lease.expires_at = now.plus(self.length);
        lease.beat = beat.or(lease.beat);
        lease
    }

    /// Where the run of this lease is recorded.
    #[must_use]
    pub fn run_id(&self) -> RunId {
        RunId::of(self.run_key.as_ref(), self.token)
    }
}
