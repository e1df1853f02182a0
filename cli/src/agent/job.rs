//! One job: its permit, its limits and its state.

use crate::lease::held::Held;
use crate::platform::clock::Instant;
use lockstep::contract::ReleaseOutcome;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The state of a job.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phase {
    /// Its lease is live, and it may go on.
    Open,
    /// It has lost its lease or exceeded a limit, for this reason, and must stop.
    Lost(String),
    /// Its program has ended it.
    Ended(JobEnd),
}

/// The outcome of a job. Only a success keeps the run key of the job taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) enum JobOutcome {
    /// Its work is done. Its run key stays taken.
    Succeeded,
    /// Its work is not done. Its run key is free for another run.
    Failed,
}

impl From<JobOutcome> for ReleaseOutcome {
    fn from(outcome: JobOutcome) -> Self {
        match outcome {
            JobOutcome::Succeeded => Self::Succeeded,
            JobOutcome::Failed => Self::Failed,
        }
    }
}

/// The end of a job.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JobEnd {
    /// The outcome that the program reported.
    pub(super) outcome: JobOutcome,
    /// Seconds that the permit was held; `None` if the lease was already lost at release.
    pub(super) held_seconds: Option<f64>,
}

/// A job. Its `guard` is dropped once the program can no longer work on the job.
#[derive(Clone, Debug)]
pub(super) struct Job<P> {
    /// Its name, which the program chose.
    pub(super) name: String,
    /// Its permit, as of the latest renewal.
    pub(super) held: Held,
    /// Longest time without a change in its progress (`noProgressSeconds`).
    pub(super) no_progress: Option<Duration>,
    /// Its state.
    pub(super) phase: Phase,
    /// The end of its lease, on the clock of this machine.
    pub(super) expires_at: String,
    /// The latest progress that the program reported.
    pub(super) progress: Option<String>,
    /// The latest progress that was written to the lock table.
    pub(super) written: Option<String>,
    /// The time at which the run exceeds `maxRunSeconds`.
    pub(super) run_deadline: Option<Instant>,
    /// The time at which the run exceeds `noProgressSeconds`. A change of the progress moves it.
    pub(super) progress_deadline: Option<Instant>,
    /// The guard; `None` once the job has closed.
    pub(super) guard: Option<P>,
    /// Whether the job was ended or its lease has expired. A closed job is kept only to answer later
    /// requests.
    pub(super) closed: bool,
}

impl<P> Job<P> {
    /// Creates an open job without limits, which holds a permit until `expires_at`.
    pub(super) fn begun(name: String, held: Held, expires_at: String, guard: P) -> Self {
        Self {
            name,
            held,
            no_progress: None,
            phase: Phase::Open,
            expires_at,
            progress: None,
            written: None,
            run_deadline: None,
            progress_deadline: None,
            guard: Some(guard),
            closed: false,
        }
    }

    /// Returns the job with limits for its run and for the time without a change in its progress. Both count
    /// from the request of its grant.
    pub(super) fn limited(self, max_run: Option<Duration>, no_progress: Option<Duration>) -> Self {
        let sent = self.held.sent;
        Self {
            no_progress,
            run_deadline: max_run.map(|most| sent + most),
            progress_deadline: no_progress.map(|most| sent + most),
            ..self
        }
    }

    /// Returns when the lease expires.
    pub(super) fn lease_end(&self) -> Instant {
        self.held.expires()
    }

    /// Returns when the state of the job next changes without a request.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        match &self.phase {
            _ if self.closed => None,
            Phase::Open => {
                let stop = self.held.stop_at();
                let others = self.run_deadline.into_iter().chain(self.progress_deadline);
                others.chain([stop]).min()
            }
            Phase::Lost(_) | Phase::Ended(_) => Some(self.lease_end()),
        }
    }

    /// Returns why an open job must stop at `now`, if it must.
    pub(super) fn lost_reason(&self, now: Instant) -> Option<&'static str> {
        let reached = |end: Option<Instant>| end.is_some_and(|end| end <= now);
        if reached(Some(self.held.stop_at())) {
            Some(
                "its lease is about to expire: the job sent no beat, or no beat reached the lock table",
            )
        } else if reached(self.run_deadline) {
            Some("it exceeded maxRunSeconds")
        } else if reached(self.progress_deadline) {
            Some("it made no progress within noProgressSeconds")
        } else {
            None
        }
    }
}
