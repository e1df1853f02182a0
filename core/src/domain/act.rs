//! Acts on a lock by operators, and freezes, as the history contains them.

use super::command::AuditNote;
use super::holder::HolderId;
use super::record::LockRecord;
use super::run::Retention;
use super::time::Timestamp;
use super::token::FencingToken;

/// A change of a lock that is not made by one of its runs, as an entry in the history.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Act {
    /// The version of the record that the act wrote. It identifies the act, because each write has its
    /// own version.
    pub version: u64,
    /// What was done.
    pub kind: ActKind,
    /// The operator, or the holder because of which the lock froze.
    pub actor: HolderId,
    /// The token of the latest grant at that time.
    pub token: FencingToken,
    /// When the act was written.
    pub at: Timestamp,
    /// When the retention of the entry ends.
    pub retain_until: Timestamp,
    /// The reason, and the name of the operator.
    pub note: Option<String>,
}

/// The kind of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActKind {
    /// The lock was paused.
    Paused,
    /// The lock was resumed.
    Resumed,
    /// The lock was frozen.
    Frozen,
    /// A waiter was taken out of the queue.
    Evicted,
    /// The rest after the last grant was ended.
    RestCleared,
    /// A run key was forgotten.
    Forgotten,
    /// A run was started.
    Started,
}

impl ActKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Paused,
        Self::Resumed,
        Self::Frozen,
        Self::Evicted,
        Self::RestCleared,
        Self::Forgotten,
        Self::Started,
    ];

    /// Returns the kind as it is written in the history and in responses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::Frozen => "frozen",
            Self::Evicted => "evicted",
            Self::RestCleared => "restCleared",
            Self::Forgotten => "forgotten",
            Self::Started => "started",
        }
    }
}

impl Act {
    /// Creates the act of an operator that writes `next` at `now`.
    pub(crate) fn ordered(
        next: &LockRecord,
        kind: ActKind,
        audit: &AuditNote,
        now: Timestamp,
    ) -> Self {
        let (note, retention) = (audit.signed(), audit.retention);
        Self::written(next, kind, &audit.actor, note, retention, now)
    }

    /// Creates the act of a freeze because of `holder` that writes `next` at `now`.
    pub(crate) fn freeze(
        next: &LockRecord,
        holder: &HolderId,
        note: String,
        retention: Retention,
        now: Timestamp,
    ) -> Self {
        Self::written(next, ActKind::Frozen, holder, note, retention, now)
    }

    fn written(
        next: &LockRecord,
        kind: ActKind,
        actor: &HolderId,
        note: String,
        retention: Retention,
        now: Timestamp,
    ) -> Self {
        Self {
            version: next.version,
            kind,
            actor: actor.clone(),
            token: next.last_token,
            at: now,
            retain_until: now.plus(retention.history),
            note: Some(note),
        }
    }
}
