//! Runs, as the history and the markers of run keys keep them.
//!
//! ```text
//!  RunId::Token   every grant that has ended: who, since when, how, on what evidence
//!  RunId::Key     one for each run key: whether it is taken, by which grant, until when
//! ```
//! A run under way has no entry: its lease in the record is its state.

use super::holder::{HolderId, TaskToken};
use super::key::RunKey;
use super::lease::Lease;
use super::time::{Seconds, Timestamp};
use super::token::FencingToken;
use super::work::TaskEnd;

/// The id of an entry in the history of a lock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunId {
    /// The run of a grant. Every grant leaves one.
    Token(FencingToken),
    /// The marker of a run key, which all runs with that key share.
    Key(RunKey),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunOutcome {
    /// The work succeeded: no other run may have this run key within the retention.
    Succeeded,
    /// The work failed: the run key may be used again.
    Failed,
    /// The run was silent or stale, and its permit was freed; it may still be working.
    Lost,
    /// The run was found dead and its permit freed.
    Recovered,
    /// An operator evicted the holder, or, of the marker of a run key, had it forgotten.
    Evicted,
    /// Another run replaced this one.
    Replaced,
}

impl RunOutcome {
    /// All outcomes.
    pub const ALL: [Self; 6] = [
        Self::Succeeded,
        Self::Failed,
        Self::Lost,
        Self::Recovered,
        Self::Evicted,
        Self::Replaced,
    ];

    /// The outcome as the history and the responses spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Lost => "lost",
            Self::Recovered => "recovered",
            Self::Evicted => "evicted",
            Self::Replaced => "replaced",
        }
    }
}

/// How long what has ended is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Retention {
    /// How long the history keeps a run or an act after its end (`RunRetentionDays`).
    pub history: Seconds,
    /// How long a success keeps its run key taken (`RunKeyRetentionDays`).
    pub run_keys: Seconds,
}

impl Retention {
    /// The same length for both.
    #[must_use]
    pub const fn both(length: Seconds) -> Self {
        Self {
            history: length,
            run_keys: length,
        }
    }
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunEnd {
    /// How it ended.
    pub outcome: RunOutcome,
    /// When it ended.
    pub at: Timestamp,
    /// When the retention ends, until which a success keeps its run key taken. Decisions use this
    /// value and never DynamoDB's TTL, which deletes late.
    pub retain_until: Timestamp,
    /// The evidence for the outcome, if the run did not report it itself. Of a run that did, why it was evicted, and
    /// what was known of it before.
    pub evidence: Option<String>,
}

/// One run of a lock: its entry in the lock's history, or the marker of its run key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// The holder.
    pub holder: HolderId,
    /// The token of its grant, which contains the time of the grant.
    pub token: FencingToken,
    /// The run key, if the run has one.
    pub run_key: Option<RunKey>,
    /// How it ended; `None` while it runs, and while its death is not detected.
    pub end: Option<RunEnd>,
    /// The task that it ended with, when known.
    pub task: Option<TaskEnd>,
    /// The lease that a redrive of the execution reinstates: of a run that had a heartbeat state
    /// and did not succeed. Also the lease of a run that lost its permit and continues without it;
    /// on the open marker of a run key only that.
    pub lease: Option<Box<Lease>>,
    /// Task token of the heartbeat state that its success has to end. It is kept because the release that wrote the
    /// success may have died before SendTaskSuccess: the repetition of the release ends the state.
    pub beat: Option<TaskToken>,
}

impl RunEnd {
    /// The same end on the marker of a run key, which is kept for as long as `retention` says.
    #[must_use]
    pub fn of_marker(&self, retention: Retention) -> Self {
        Self {
            retain_until: self.at.plus(retention.run_keys),
            ..self.clone()
        }
    }
}

impl Run {
    /// A run that has just begun.
    #[must_use]
    pub fn started(holder: HolderId, token: FencingToken, run_key: Option<RunKey>) -> Self {
        Self {
            holder,
            token,
            run_key,
            end: None,
            task: None,
            lease: None,
            beat: None,
        }
    }

    /// How it ended, if it did.
    #[must_use]
    pub fn outcome(&self) -> Option<RunOutcome> {
        self.end.as_ref().map(|end| end.outcome)
    }

    /// Whether this run succeeded within its retention, and so keeps its run key taken.
    #[must_use]
    pub fn is_success(&self, now: Timestamp) -> bool {
        self.end
            .as_ref()
            .is_some_and(|end| end.outcome == RunOutcome::Succeeded && now < end.retain_until)
    }

    /// Whether this marker keeps its run key taken for a run that lost its permit and continues
    /// without it: until its end is known, and at most for the retention of run keys after its lease.
    #[must_use]
    pub fn runs_on(&self, retention: Retention, now: Timestamp) -> bool {
        let lease = self.lease.as_ref().filter(|_| self.end.is_none());
        lease.is_some_and(|lease| now < lease.expires_at.plus(retention.run_keys))
    }

    /// Whether this run ended with the outcome of a release: succeeded or failed.
    #[must_use]
    pub fn was_released(&self) -> bool {
        matches!(
            self.outcome(),
            Some(RunOutcome::Succeeded | RunOutcome::Failed)
        )
    }
}

/// A write of one run, in the same transaction as the lock's record. A write without a task keeps
/// the task that was noted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunWrite {
    /// The id of the run.
    pub id: RunId,
    /// The run after the write.
    pub run: Run,
}

impl RunWrite {
    /// The run after this write over `before`.
    #[must_use]
    pub fn over(&self, before: Option<&Run>) -> Run {
        let mut run = self.run.clone();
        run.task = run.task.or_else(|| before?.task.clone());
        run
    }
}
