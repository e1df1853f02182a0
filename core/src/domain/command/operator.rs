//! Commands of operators, and the note that each carries.

use crate::domain::{HolderId, Retention, RunKey, WaiterId};

/// The actor and the reason of a change that no run of the lock makes: an operator or recovery makes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AuditNote {
    /// The operator, or the service or holder in whose name the change is made.
    pub actor: HolderId,
    /// The reason.
    pub note: String,
    /// How long the history keeps the entry.
    pub retention: Retention,
}

/// What keeps the lock from granting permits, and is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opening {
    /// A pause or a freeze. An operator ends it.
    Resume,
    /// An expired pause. The sweep ends it.
    PauseEnd,
    /// The rest after the last grant. An operator ends it.
    Rest,
}

/// Takes a waiter out of the queue. Never takes a permit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DropWaiter {
    /// The short name of the waiter.
    pub waiter: WaiterId,
    /// The full name of the waiter. `None` if the side item is missing or damaged: then it is deleted
    /// without a read, and no waiting state is ended, because the task token is unknown.
    pub holder: Option<HolderId>,
    /// Who takes the waiter out, and why.
    pub audit: AuditNote,
}

/// Frees the run key of a run that has succeeded, so that another run may have it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Forget {
    /// The run key.
    pub run_key: RunKey,
    /// Who frees the run key, and why.
    pub audit: AuditNote,
}

impl DropWaiter {
    /// Creates the command that takes `holder` out of the queue.
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
    /// Returns the note and the name of the actor, as `<note> (by <actor>)`.
    #[must_use]
    pub fn signed(&self) -> String {
        format!("{} (by {})", self.note, self.actor)
    }
}
