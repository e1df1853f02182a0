//! Decides when messages are received, and how many at once.
//!
//! ```text
//!  first probe ─▶ closed ─▶ open: pause ─▶ probe ─▶ half-open: one message ─▶ closed
//!      │  it answers  failure   ▲            │ it answers  │              it works
//!      │                        ├────────────┘ it does not │
//!      └────────────────────────┴──────────────────────────┘
//!         it does not                       failure
//! ```
//!
//! Each receive brings a message closer to the dead-letter queue. So an open breaker first probes the table
//! without a message, and then receives a single one. It receives no other message until that one has sent
//! its health signal. It also waits for the health signals of the messages that were in flight when it
//! opened. Pure: the caller passes the time.

use super::health::Health;
use crate::platform::clock::Instant;
use lockstep::backoff::Backoff;
use std::time::Duration;

/// Bounds of the pause after a failed receive, and while the breaker is open.
const PAUSES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Do nothing, until a health signal comes or the pause ends.
    Wait,
    /// Check that the table answers.
    Probe,
    /// Receive at most this many messages.
    Receive(usize),
}

/// A circuit breaker for receives. It is closed while `failures` is 0. Otherwise it is half-open if
/// `is_probed` is true, and open if not.
#[derive(Debug)]
pub(super) struct CircuitBreaker {
    backoff: Backoff,
    /// Consecutive failed receives.
    receive_failures: u32,
    /// Number of consecutive times that the breaker has opened.
    failures: u32,
    /// Number of messages in flight that have not sent their health signal yet.
    undecided: usize,
    /// Whether the table has answered a probe since the last failure.
    is_probed: bool,
    /// The end of the pause: neither a probe nor a receive is made before it.
    resume_at: Option<Instant>,
}

impl CircuitBreaker {
    /// Creates a closed breaker that probes before its first receive. `seed` spreads the pauses of
    /// workers that fail together.
    pub(super) fn new(seed: u64) -> Self {
        Self::with(Backoff::new(PAUSES.0, PAUSES.1, seed))
    }

    pub(super) fn with(backoff: Backoff) -> Self {
        Self {
            backoff,
            receive_failures: 0,
            failures: 0,
            undecided: 0,
            is_probed: false,
            resume_at: None,
        }
    }

    /// Returns what to do next, with room for this many messages.
    pub(super) fn step(&self, room: usize) -> Step {
        let is_closed = self.failures == 0;
        if room == 0 || self.resume_at.is_some() || !is_closed && self.undecided > 0 {
            return Step::Wait;
        }
        match (self.is_probed, is_closed) {
            (false, _) => Step::Probe,
            (true, false) => Step::Receive(1),
            (true, true) => Step::Receive(room),
        }
    }

    /// Returns the end of the pause, if there is one.
    pub(super) fn resume_at(&self) -> Option<Instant> {
        self.resume_at
    }

    /// Ends the pause.
    pub(super) fn end_pause(&mut self) {
        self.resume_at = None;
    }

    /// Records that the queue answered.
    pub(super) fn receive_succeeded(&mut self) {
        self.receive_failures = 0;
    }

    /// Records that the queue did not answer, and begins a pause.
    pub(super) fn receive_failed(&mut self, now: Instant) {
        self.pause(now, self.backoff.wait(self.receive_failures));
        self.receive_failures += 1;
    }

    /// Records that a message is in flight.
    pub(super) fn dispatched(&mut self) {
        self.undecided += 1;
    }

    /// Records the health signal of a message. Returns the length of the pause, if one begins.
    pub(super) fn record_health(&mut self, health: Health, now: Instant) -> Option<Duration> {
        self.undecided = self.undecided.saturating_sub(1);
        match health {
            Health::Ok => self.failures = 0,
            Health::Failing => return self.open(now),
            Health::Unknown => {}
        }
        None
    }

    /// Records whether the table answered a probe. Returns the length of the pause, if one begins.
    pub(super) fn record_probe(&mut self, answers: bool, now: Instant) -> Option<Duration> {
        self.is_probed = answers;
        if answers { None } else { self.open(now) }
    }

    /// Opens the breaker, and returns the length of its pause. Further failures within the pause count as the
    /// same failure and do not extend it.
    fn open(&mut self, now: Instant) -> Option<Duration> {
        self.is_probed = false;
        if self.failures > 0 && self.resume_at.is_some() {
            return None;
        }
        let length = self.backoff.wait(self.failures);
        self.pause(now, length);
        self.failures += 1;
        Some(length)
    }

    fn pause(&mut self, now: Instant, length: Duration) {
        self.resume_at = self.resume_at.max(Some(now + length));
    }
}

#[cfg(test)]
mod tests;
