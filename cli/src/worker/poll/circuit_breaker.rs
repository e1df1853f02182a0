//! When messages are received, and how many at once.
//!
//! ```text
//!  first look ─▶ as many as fit ─▶ pause ─▶ look ─▶ one message ─▶ as many as fit
//!      │  it answers        trouble  ▲        │ it answers  │  it works
//!      │                             ├────────┘ it does not │
//!      └─────────────────────────────┴──────────────────────┘
//!         it does not                          trouble
//! ```
//!
//! A receive wears a message out, so the table is tried without one first, and what is left with one.
//! Until that one has shown something there is no other. Messages that had been received when trouble
//! began are waited for in the same way. Pure: the time comes from outside.

use super::health::Health;
use crate::platform::clock::Instant;
use lockstep::backoff::Backoff;
use std::time::Duration;

/// Bounds of the pause after a receive that failed, or while there is trouble.
const PAUSES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing, until something is shown or over.
    Wait,
    /// To look whether the table answers.
    Look,
    /// To receive that many messages at most.
    Receive(usize),
}

/// How fast messages are received.
#[derive(Debug)]
pub(super) struct CircuitBreaker {
    backoff: Backoff,
    /// Receives that failed, one after the other.
    failures: u32,
    /// Pauses because of trouble, one after the other.
    troubles: u32,
    /// Messages that were handed out and have shown nothing yet.
    undecided: usize,
    /// Whether the table has answered since the last trouble.
    looked: bool,
    /// Neither look nor receive before then.
    resume: Option<Instant>,
}

impl CircuitBreaker {
    /// At first there is no trouble, but a look. `seed` spreads the pauses of workers that have the same.
    pub(super) fn new(seed: u64) -> Self {
        Self::with(Backoff::new(PAUSES.0, PAUSES.1, seed))
    }

    pub(super) fn with(backoff: Backoff) -> Self {
        Self {
            backoff,
            failures: 0,
            troubles: 0,
            undecided: 0,
            looked: false,
            resume: None,
        }
    }

    /// What to do next where there is room for so many messages.
    pub(super) fn step(&self, room: usize) -> Step {
        let trouble = self.troubles > 0;
        if room == 0 || self.resume.is_some() || trouble && self.undecided > 0 {
            return Step::Wait;
        }
        match (self.looked, trouble) {
            (false, _) => Step::Look,
            (true, true) => Step::Receive(1),
            (true, false) => Step::Receive(room),
        }
    }

    /// When the pause is over, if there is one.
    pub(super) fn resume(&self) -> Option<Instant> {
        self.resume
    }

    /// The pause is over.
    pub(super) fn go_on(&mut self) {
        self.resume = None;
    }

    /// The queue has answered.
    pub(super) fn received(&mut self) {
        self.failures = 0;
    }

    /// The queue has not answered.
    pub(super) fn not_received(&mut self, now: Instant) {
        self.pause(now, self.backoff.wait(self.failures));
        self.failures += 1;
    }

    /// A message is on its way.
    pub(super) fn handed_out(&mut self) {
        self.undecided += 1;
    }

    /// A message that was handed out has shown something. Answers how long the pause is that begins.
    pub(super) fn shown(&mut self, shown: Health, now: Instant) -> Option<Duration> {
        self.undecided = self.undecided.saturating_sub(1);
        match shown {
            Health::Ok => self.troubles = 0,
            Health::Failing => return self.trouble(now),
            Health::Unknown => {}
        }
        None
    }

    /// The table has answered a look, or not. Answers how long the pause is that begins.
    pub(super) fn looked(&mut self, answers: bool, now: Instant) -> Option<Duration> {
        self.looked = answers;
        if answers { None } else { self.trouble(now) }
    }

    /// What is met by many at once is one trouble: more of it within the pause makes it no longer.
    fn trouble(&mut self, now: Instant) -> Option<Duration> {
        self.looked = false;
        if self.troubles > 0 && self.resume.is_some() {
            return None;
        }
        let length = self.backoff.wait(self.troubles);
        self.pause(now, length);
        self.troubles += 1;
        Some(length)
    }

    fn pause(&mut self, now: Instant, length: Duration) {
        self.resume = self.resume.max(Some(now + length));
    }
}

#[cfg(test)]
mod tests;
