//! What a decision looks at, and what it comes to.

use super::guard::{Change, Clause, Guard, RunGuard};
use super::holder::{HolderId, TaskToken};
use super::lease::Lease;
use super::record::LockRecord;
use super::run::{Run, RunWrite};
use super::time::Timestamp;
use super::token::FencingToken;
use super::update::Update;

/// What is known of a lock when a command is decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The record; `None` when the lock has none yet.
    pub record: Option<LockRecord>,
    /// The run of the command, where it stood in the way or was asked for.
    pub run: Option<Run>,
}

/// What a command came to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The caller holds a permit from now on.
    Granted {
        /// Its lease.
        lease: Lease,
        /// Dead holders whose permits ended with this grant.
        taken_from: Vec<(HolderId, Lease)>,
    },
    /// The caller held a permit before it asked.
    AlreadyHeld {
        /// Its lease.
        lease: Lease,
    },
    /// The lease has a new end.
    Renewed {
        /// The new end.
        expires_at: Timestamp,
    },
    /// The run was released before this heartbeat came: nothing is left to renew.
    Ended,
    /// The permit is free.
    Released {
        /// When the grant was made.
        since: Timestamp,
        /// When it ended.
        at: Timestamp,
        /// An earlier call had freed it.
        already: bool,
    },
    /// The permit was not the caller's any more.
    Lost {
        /// Who holds the lock now, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
}

/// What is left to do after the commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// End the heartbeat state that waits with this token.
    EndHeartbeat(TaskToken),
}

/// A decision to be written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transition {
    /// The next record; `None` when there is nothing to write.
    pub next: Option<LockRecord>,
    /// Runs to write with it.
    pub runs: Vec<(RunGuard, RunWrite)>,
    /// What the command came to.
    pub outcome: Outcome,
    /// What is left to do after the commit.
    pub effects: Vec<Effect>,
}

impl Transition {
    /// A decision that writes nothing.
    #[must_use]
    pub(crate) fn unchanged(outcome: Outcome) -> Self {
        Self {
            next: None,
            runs: Vec::new(),
            outcome,
            effects: Vec::new(),
        }
    }

    /// The write that turns `before` into the next record and nothing else: if anybody wrote in
    /// between, it does not happen.
    #[must_use]
    pub fn change(&self, before: Option<&LockRecord>) -> Option<Change> {
        let next = self.next.clone()?;
        let (guard, update) = match before {
            None => (vec![Clause::Absent], Update::Create(next)),
            Some(old) => (
                vec![Clause::Readable, Clause::VersionIs(old.version)],
                Update::between(old, &next),
            ),
        };
        Some(Change {
            guard: Guard(guard),
            update,
            runs: self.runs.clone(),
            read_back: false,
        })
    }
}

impl Outcome {
    /// The fencing token of the caller's own grant, where it got or had one.
    #[must_use]
    pub fn token(&self) -> Option<FencingToken> {
        match self {
            Self::Granted { lease, .. } | Self::AlreadyHeld { lease } => Some(lease.token),
            _ => None,
        }
    }
}
