//! What is remembered of a run after its lease is gone.

use super::holder::HolderId;
use super::text::{self, Invalid};
use super::time::Timestamp;
use super::token::FencingToken;

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

/// Which run: the one of a run key, or else the one of a grant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunId {
    /// All attempts at one tick share this run.
    Key(RunKey),
    /// A run without a run key is known by its grant.
    Token(FencingToken),
}

impl RunId {
    /// The run of a grant.
    #[must_use]
    pub fn of(key: Option<&RunKey>, token: FencingToken) -> Self {
        key.map_or(Self::Token(token), |key| Self::Key(key.clone()))
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunOutcome {
    /// The work succeeded: no other run may have this run key within the retention.
    Succeeded,
    /// The work failed: the run key may be tried again.
    Failed,
    /// The lease ran out and another run took the permit over.
    Lost,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RunEnd {
    /// How it ended.
    pub outcome: RunOutcome,
    /// When it ended.
    pub at: Timestamp,
    /// Until when a success keeps its run key taken. Judged by this value, never by DynamoDB's
    /// TTL, which deletes late.
    pub retain_until: Timestamp,
}

/// One run of a lock: the marker of its run key, and its entry in the lock's history.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// Who ran.
    pub holder: HolderId,
    /// Under which grant.
    pub token: FencingToken,
    /// How it ended; `None` while it runs, or when it died and nobody has noticed.
    pub end: Option<RunEnd>,
}

impl Run {
    /// Whether this run keeps its run key taken for good.
    #[must_use]
    pub fn is_success(&self, now: Timestamp) -> bool {
        self.end
            .is_some_and(|end| end.outcome == RunOutcome::Succeeded && now < end.retain_until)
    }

    /// Whether the holder of `token` itself ended this run.
    #[must_use]
    pub fn was_released(&self, token: FencingToken) -> bool {
        let released = self.end.is_some_and(|end| end.outcome != RunOutcome::Lost);
        released && self.token == token
    }
}

/// A write of one run, in the same transaction as the lock's record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunWrite {
    /// Which run.
    pub id: RunId,
    /// What it is from now on.
    pub run: Run,
}
