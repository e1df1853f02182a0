//! What a decision looks at, and what it comes to.

use super::fast::Fast;
use super::guard::{Change, Clause, Guard, RunGuard, WaiterDrop};
use super::holder::{HolderId, TaskToken};
use super::lease::Lease;
use super::record::LockRecord;
use super::run::{Run, RunId, RunOutcome, RunWrite};
use super::terms::Waiter;
use super::ticket::WaiterId;
use super::time::Timestamp;
use super::token::FencingToken;
use super::update::Update;
use std::collections::BTreeMap;

/// What is known of a lock when a command is decided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The record; `None` when the lock has none yet.
    pub record: Option<LockRecord>,
    /// Runs that stood in the way or were asked for.
    pub runs: BTreeMap<RunId, Run>,
    /// The waiter that was asked for, and its side item if there is one.
    pub waiter: Option<(WaiterId, Option<Waiter>)>,
}

impl Snapshot {
    /// Whether the record and a run were read on both sides of a write: a run whose end is not in
    /// the history has its lease in the record.
    #[must_use]
    pub fn is_torn(&self) -> bool {
        let held = |run: &Run| {
            let record = self.record.as_ref();
            record.is_some_and(|record| record.lease(&run.holder, run.token).is_some())
        };
        let mut open = self.runs.iter().filter_map(|(id, run)| match id {
            RunId::Token(_) if run.end.is_none() => Some(run),
            _ => None,
        });
        open.any(|run| !held(run))
    }
}

/// What a command came to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The caller holds a permit from now on.
    Granted {
        /// Its lease.
        lease: Lease,
    },
    /// The caller held a permit before it asked.
    AlreadyHeld {
        /// Its lease.
        lease: Lease,
    },
    /// The caller has a place in the queue.
    Queued {
        /// From 1: how many turns it takes.
        position: usize,
        /// How many wait, the caller counted.
        length: usize,
        /// Who holds the lock, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// The caller waited long enough and has left the queue.
    GaveUp {
        /// How many wait still.
        waiting: usize,
        /// Who holds the lock, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// The lease has a new end.
    Renewed {
        /// The new end.
        expires_at: Timestamp,
    },
    /// The lease is back: the execution goes on after it was over, and nobody was granted since.
    Reinstated {
        /// The new end.
        expires_at: Timestamp,
    },
    /// The run was released before this heartbeat came: nothing is left to renew.
    Ended,
    /// The run is stale and has lost its permit, and may go on without.
    Yielded {
        /// Why.
        evidence: String,
    },
    /// The permit is free, or has gone to the first waiter.
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
    /// A permit, or a place in the queue, was taken from a holder that is dead or sent away.
    Freed {
        /// As what its run went into the history; none for a waiter.
        outcome: Option<RunOutcome>,
    },
    /// The lock is frozen.
    Frozen {
        /// Why.
        note: String,
        /// The end of the holder's lease.
        expires_at: Timestamp,
    },
    /// It is done, and there is nothing to tell.
    Done,
    /// There was nothing to do: things have moved on.
    Unchanged,
}

/// Why a waiter is sent away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dismissal {
    /// Its run key has had its success, or runs right now.
    Duplicate(Box<Run>),
    /// Its time to wait is over.
    GaveUp,
    /// An operator sent it away.
    Evicted,
}

/// What is left to do after the commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// End the heartbeat state that waits with this token.
    EndHeartbeat(TaskToken),
    /// Tell a waiter that it holds the permit.
    Wake(HolderId, Lease),
    /// The same once more, to a waiter that may have heard it before.
    WakeAgain(HolderId, Lease),
    /// Tell a waiter that it waits no more.
    Dismiss(Waiter, Dismissal),
    /// Stop the holder's execution and tasks: another run replaces it.
    Stop(HolderId, Lease),
    /// More waiters may be let in.
    HandOver,
}

/// A decision to be written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transition {
    /// The next record; `None` when there is nothing to write to it.
    pub next: Option<LockRecord>,
    /// Runs to write with it.
    pub runs: Vec<(RunGuard, RunWrite)>,
    /// The waiter that leaves the queue.
    pub waiter: Option<WaiterDrop>,
    /// What the command came to.
    pub outcome: Outcome,
    /// What is left to do after the commit.
    pub effects: Vec<Effect>,
    /// A guard that keeps the decision right and lets others write in between.
    pub narrow: Option<Guard>,
    /// The whole write, where it can be made without knowing the record's numbers.
    pub blind: Option<Fast>,
}

impl Transition {
    /// A decision that writes nothing.
    #[must_use]
    pub(crate) fn unchanged(outcome: Outcome) -> Self {
        Self {
            next: None,
            runs: Vec::new(),
            waiter: None,
            outcome,
            effects: Vec::new(),
            narrow: None,
            blind: None,
        }
    }

    /// A decision that writes `next`, which is one version on.
    #[must_use]
    pub(crate) fn to(mut next: LockRecord, outcome: Outcome) -> Self {
        next.version += 1;
        Self {
            next: Some(next),
            ..Self::unchanged(outcome)
        }
    }

    /// The write that turns `before` into the next record and nothing else. Unless the decision has
    /// a narrower guard, it does not happen if anybody wrote in between.
    #[must_use]
    pub fn change(&self, before: Option<&LockRecord>) -> Option<Change> {
        if let Some(blind) = &self.blind {
            return Some(blind.change.clone());
        }
        let (guard, update) = match (self.next.clone(), before) {
            (None, _) if self.runs.is_empty() => return None,
            (None, _) => (Vec::new(), Update::Keep),
            (Some(next), None) => (vec![Clause::Absent], Update::Create(next)),
            (Some(next), Some(old)) => (
                vec![Clause::Readable, Clause::VersionIs(old.version)],
                Update::between(old, &next),
            ),
        };
        Some(Change {
            guard: self.narrow.clone().unwrap_or(Guard(guard)),
            update,
            runs: self.runs.clone(),
            waiter: self.waiter.clone(),
            read_back: false,
        })
    }
}

impl Outcome {
    /// The fencing token of the caller's own grant, where it got or had one.
    #[must_use]
    pub fn token(&self) -> Option<FencingToken> {
        match self {
            Self::Granted { lease } | Self::AlreadyHeld { lease } => Some(lease.token),
            _ => None,
        }
    }
}
