//! What is remembered of a run after its lease is gone.

use super::holder::HolderId;
use super::lease::Lease;
use super::text::{self, Invalid};
use super::time::{Seconds, Timestamp};
use super::token::FencingToken;
use super::work::TaskEnd;

/// Idempotency key of the trigger, such as schedule ARN and scheduled time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey(String);

impl RunKey {
    /// The rule a run key keeps.
    pub const RULE: &'static str = "1 to 512 visible ASCII characters without spaces, such as \
                                    <schedule ARN>#<scheduled time>";

    /// Takes `key` if it keeps [`Self::RULE`].
    ///
    /// # Errors
    /// [`Invalid`] with the rule.
    pub fn new(key: impl Into<String>) -> Result<Self, Invalid> {
        let key = key.into();
        text::check(&key, 512, text::visible, Self::RULE)?;
        Ok(Self(key))
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Which entry of the lock's history.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunId {
    /// The run of a grant: every grant leaves one.
    Token(FencingToken),
    /// The marker of a run key: all attempts at one tick share it.
    Key(RunKey),
    /// What an operator did, or a stale holder made necessary: by the version that it made.
    Act(u64),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunOutcome {
    /// The work succeeded: no other run may have this run key within the retention.
    Succeeded,
    /// The work failed: the run key may be tried again.
    Failed,
    /// The lease ran out and the permit went on, while the run may still be at work.
    Lost,
    /// The run was found dead and its permit freed.
    Recovered,
    /// An operator took the permit away.
    Evicted,
    /// Another run asked for this one to be stopped.
    Replaced,
    /// Not a run: the lock was paused.
    Paused,
    /// Not a run: the lock was resumed.
    Resumed,
    /// Not a run: the lock was frozen.
    Frozen,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunEnd {
    /// How it ended.
    pub outcome: RunOutcome,
    /// When it ended.
    pub at: Timestamp,
    /// Until when a success keeps its run key taken. Judged by this value, never by DynamoDB's
    /// TTL, which deletes late.
    pub retain_until: Timestamp,
    /// What the outcome rests on, where the run did not say it itself.
    pub evidence: Option<String>,
}

/// One run of a lock: its entry in the lock's history, or the marker of its run key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// Who ran; who acted.
    pub holder: HolderId,
    /// Under which grant. Its time is when the permit was acquired.
    pub token: FencingToken,
    /// The run key, if the run carries one.
    pub run_key: Option<RunKey>,
    /// How it ended; `None` while it runs, or when it died and nobody has noticed.
    pub end: Option<RunEnd>,
    /// The task that it ended with, when known.
    pub task: Option<TaskEnd>,
    /// What a redrive of the execution puts back: the lease of a run that had a heartbeat state
    /// and did not succeed. On an open marker of a run key: the lease of a run that lost its permit
    /// and went on without.
    pub lease: Option<Box<Lease>>,
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
        }
    }

    /// How it ended, if it did.
    #[must_use]
    pub fn outcome(&self) -> Option<RunOutcome> {
        self.end.as_ref().map(|end| end.outcome)
    }

    /// Whether this run keeps its run key taken for good.
    #[must_use]
    pub fn is_success(&self, now: Timestamp) -> bool {
        self.end
            .as_ref()
            .is_some_and(|end| end.outcome == RunOutcome::Succeeded && now < end.retain_until)
    }

    /// Whether this marker of a run key is kept by a run that lost its permit and went on without:
    /// until its end is known, and at most for `retention` after its lease.
    #[must_use]
    pub fn runs_on(&self, retention: Seconds, now: Timestamp) -> bool {
        let lease = self.lease.as_ref().filter(|_| self.end.is_none());
        lease.is_some_and(|lease| now < lease.expires_at.plus(retention))
    }

    /// Whether the holder itself ended this run.
    #[must_use]
    pub fn was_released(&self) -> bool {
        matches!(
            self.outcome(),
            Some(RunOutcome::Succeeded | RunOutcome::Failed)
        )
    }
}

/// A write of one run, in the same transaction as the lock's record. A task that was noted stays
/// where the write has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunWrite {
    /// Which run.
    pub id: RunId,
    /// What it is from now on.
    pub run: Run,
}

impl RunWrite {
    /// The run after this write, where `before` stood.
    #[must_use]
    pub fn over(&self, before: Option<&Run>) -> Run {
        let mut run = self.run.clone();
        run.task = run.task.or_else(|| before?.task.clone());
        run
    }
}
