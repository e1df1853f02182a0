//! What operators command, and the note that goes with it.

use crate::domain::{FencingToken, HolderId, LeaseVersion, Retention, RunKey, WaiterId};

/// The actor and the reason of a change of a lock from outside of a run: by an operator or by recovery.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AuditNote {
    /// The operator, or the service that acts for one.
    pub actor: HolderId,
    /// Why.
    pub note: String,
    /// How long the history keeps the entry.
    pub retention: Retention,
}

/// Takes a permit or a place in the queue away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Evict {
    /// The holder or waiter.
    pub holder: HolderId,
    /// The actor and the reason.
    pub audit: AuditNote,
}

/// Commits the stop of a holder that an operator evicts: heartbeats are refused from then on, and the
/// permit is free once the work has been confirmed to have stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StopEvicted {
    /// The holder.
    pub holder: HolderId,
    /// The token of its grant.
    pub token: FencingToken,
    /// The version of the lease that the holder was seen to have ended with; `None` stops it whatever it
    /// did since.
    pub seen: Option<LeaseVersion>,
    /// Who evicts, and why.
    pub audit: AuditNote,
}

/// Takes a place in the queue away and deletes its side item unread. The waiting state is not ended:
/// its holder and its task token are unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DropUnread {
    /// The short name of the waiter.
    pub waiter: WaiterId,
    /// Who drops it, and why.
    pub audit: AuditNote,
}

/// Makes the run key of a run that has succeeded free for another run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Forget {
    /// The run key.
    pub run_key: RunKey,
    /// Who has it forgotten, and why.
    pub audit: AuditNote,
}

impl AuditNote {
    /// The note with the name of the actor.
    #[must_use]
    pub fn signed(&self) -> String {
        format!("{} (by {})", self.note, self.actor)
    }
}
