//! Runs, as the history and the markers of run keys contain them.
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

/// The id of a run's item: its entry in the history, or the marker of a run key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunId {
    /// The entry of a grant in the history. Every grant that ends leaves one.
    Token(FencingToken),
    /// The marker of a run key, which all runs with that key share.
    Key(RunKey),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunOutcome {
    /// The work succeeded. Its run key stays taken within the retention.
    Succeeded,
    /// The work failed. Its run key is free.
    Failed,
    /// The run was silent or stale, and its permit was freed. Its work may still be running.
    Lost,
    /// The run was found dead, and its permit was freed.
    Recovered,
    /// An operator evicted the holder. On the marker of a run key also: an operator freed the run key.
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

    /// Returns the outcome as it is written in the history and in responses.
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

/// How long ended runs and run keys are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Retention {
    /// How long the history keeps a run or an act after its end (`RunRetentionDays`).
    pub history: Seconds,
    /// How long a success keeps its run key taken (`RunKeyRetentionDays`).
    pub run_keys: Seconds,
}

impl Retention {
    /// Creates a retention with the same length for both.
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
    /// How the run ended.
    pub outcome: RunOutcome,
    /// When the run ended.
    pub at: Timestamp,
    /// When the retention ends. Until then a success keeps its run key taken. Decisions compare this
    /// time with the clock, because DynamoDB's TTL deletes items late.
    pub retain_until: Timestamp,
    /// The evidence for the outcome, if the run did not report the outcome itself. Of a run that
    /// reported it:
    ///
    /// - why an operator evicted the run, or
    /// - how the run had ended before its late report.
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
    /// How the run ended; `None` while it runs, and until its death is detected.
    pub end: Option<RunEnd>,
    /// The ECS task that the run ended with; `None` if none is known.
    pub task: Option<TaskEnd>,
    /// The lease of the run, without its task tokens. It is kept for two kinds of runs:
    ///
    /// - a run that had a heartbeat state and did not succeed: a redrive of its execution reinstates the
    ///   lease,
    /// - a run that lost its permit under `yield` and continues without it. Only the lease of such a run
    ///   is on the marker of a run key, while the marker is open.
    pub lease: Option<Box<Lease>>,
    /// Task token of the heartbeat state of a run that succeeded. It is kept because the release that
    /// wrote the success may have died before SendTaskSuccess. A repeated release then ends the state.
    pub beat: Option<TaskToken>,
}

impl RunEnd {
    /// Returns the same end with the retention of a run key's marker.
    #[must_use]
    pub fn of_marker(&self, retention: Retention) -> Self {
        Self {
            retain_until: self.at.plus(retention.run_keys),
            ..self.clone()
        }
    }
}

impl Run {
    /// Creates a run without an end.
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

    /// Returns how the run ended; `None` if it has no end.
    #[must_use]
    pub fn outcome(&self) -> Option<RunOutcome> {
        self.end.as_ref().map(|end| end.outcome)
    }

    /// Returns whether this run succeeded and its retention has not ended, so that its run key is taken.
    #[must_use]
    pub fn is_success(&self, now: Timestamp) -> bool {
        self.end
            .as_ref()
            .is_some_and(|end| end.outcome == RunOutcome::Succeeded && now < end.retain_until)
    }

    /// Returns whether this marker keeps its run key taken for a run that lost its permit and continues
    /// without it. The key is taken until the end of the run is known, and at most for the retention of
    /// run keys after the end of its lease.
    #[must_use]
    pub fn runs_on(&self, retention: Retention, now: Timestamp) -> bool {
        let lease = self.lease.as_ref().filter(|_| self.end.is_none());
        lease.is_some_and(|lease| now < lease.expires_at.plus(retention.run_keys))
    }

    /// Returns whether this run ended with the outcome of a release: succeeded or failed.
    #[must_use]
    pub fn was_released(&self) -> bool {
        matches!(
            self.outcome(),
            Some(RunOutcome::Succeeded | RunOutcome::Failed)
        )
    }
}

/// A write of one run, in the same transaction as the lock's record. A write without a task keeps the
/// task that is in the item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunWrite {
    /// The id of the run.
    pub id: RunId,
    /// The run after the write.
    pub run: Run,
}

impl RunWrite {
    /// Returns the run after this write replaces `before`.
    #[must_use]
    pub fn over(&self, before: Option<&Run>) -> Run {
        let mut run = self.run.clone();
        run.task = run.task.or_else(|| before?.task.clone());
        run
    }
}
