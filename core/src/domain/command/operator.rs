//! What operators command, and the note that goes with it.

use crate::domain::{HolderId, Retention, RunKey, WaiterId};

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

/// What keeps a lock from granting permits, and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opening {
    /// A pause or a freeze, by an operator.
    Resume,
    /// An expired pause.
    PauseEnd,
    /// The rest after the last grant.
    Rest,
}

/// Takes a place in the queue away, and never a permit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DropWaiter {
    /// The short name of the waiter.
    pub waiter: WaiterId,
    /// The waiter, whose side item is read. Without it the side item is deleted unread, and no waiting state is
    /// ended: the item is missing or damaged, so the task token is unknown.
    pub holder: Option<HolderId>,
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

impl DropWaiter {
    /// Drops `holder` from the queue.
    #[must_use]
    pub fn of(holder: HolderId, audit: AuditNote) -> Self {
        Self {
            waiter: WaiterId::of(&holder),
            holder: Some(holder),
            audit,
        }
    }
}

impl AuditNote {
    /// The note with the name of the actor.
    #[must_use]
    pub fn signed(&self) -> String {
        format!("{} (by {})", self.note, self.actor)
    }
}
