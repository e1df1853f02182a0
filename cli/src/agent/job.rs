//! One job: what it was begun with, and how it stands.

use crate::lease::timing::LeaseTiming;
use crate::platform::clock::Instant;
use lockstep::contract::{Grant, ReleaseOutcome};
use std::time::Duration;

/// A job as it begins.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    /// What its program calls it.
    pub(super) name: String,
    /// The receipt of its permit.
    pub(super) grant: Grant,
    /// The times of its lease.
    pub(super) times: LeaseTiming,
    /// How long it may run.
    pub(super) max_run: Option<Duration>,
    /// How long it may go without a change in its progress.
    pub(super) no_progress: Option<Duration>,
}

/// How a job stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phase {
    /// Its lease is good.
    Open,
    /// It must not go on, and why.
    Lost(String),
    /// Its program has ended it.
    Ended(Ending),
}

/// The end of a job.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ending {
    /// What its program said.
    pub(super) outcome: ReleaseOutcome,
    /// How long its lock was held, in seconds; none when its permit was no longer its own.
    pub(super) held_seconds: Option<f64>,
}

/// A job, and what is `kept` for it while its program may be at work.
#[derive(Clone, Debug)]
pub(super) struct Job<P> {
    /// What it was begun with.
    pub(super) terms: Terms,
    /// How it stands.
    pub(super) phase: Phase,
    /// When its lease ends, as the table says it.
    pub(super) expires_at: String,
    /// The latest progress that was told.
    pub(super) progress: Option<String>,
    /// When the request was sent that the lease is counted from.
    pub(super) sent: Instant,
    /// The progress that the table knows.
    pub(super) written: Option<String>,
    /// When it has run as long as it may.
    pub(super) over: Option<Instant>,
    /// When it counts as hung, unless its progress changes.
    pub(super) stalls: Option<Instant>,
    /// What is kept for it.
    pub(super) kept: Option<P>,
    /// Nothing of it counts any more: it is remembered only.
    pub(super) closed: bool,
}

impl<P> Job<P> {
    /// A job that has its permit, by a request that was sent at `sent`.
    pub(super) fn begun(terms: Terms, sent: Instant, expires_at: String, kept: P) -> Self {
        Self {
            phase: Phase::Open,
            expires_at,
            progress: None,
            sent,
            written: None,
            over: terms.max_run.map(|most| sent + most),
            stalls: terms.no_progress.map(|most| sent + most),
            kept: Some(kept),
            closed: false,
            terms,
        }
    }

    /// When its lease has run out.
    pub(super) fn ends(&self) -> Instant {
        self.sent + self.terms.times.length
    }

    /// When something becomes of it by itself.
    pub(super) fn next(&self) -> Option<Instant> {
        match &self.phase {
            _ if self.closed => None,
            Phase::Open => {
                let stop = self.terms.times.stop_at(self.sent);
                let others = self.over.into_iter().chain(self.stalls);
                others.chain([stop]).min()
            }
            Phase::Lost(_) | Phase::Ended(_) => Some(self.ends()),
        }
    }

    /// Why it must not go on at `now`.
    pub(super) fn spent(&self, now: Instant) -> Option<&'static str> {
        let reached = |end: Option<Instant>| end.is_some_and(|end| end <= now);
        if reached(Some(self.terms.times.stop_at(self.sent))) {
            Some("its lease runs out: no beat came in time, or none reached the lock table")
        } else if reached(self.over) {
            Some("it ran over maxRunSeconds")
        } else if reached(self.stalls) {
            Some("it made no progress within noProgressSeconds")
        } else {
            None
        }
    }
}
