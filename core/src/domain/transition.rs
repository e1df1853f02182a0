//! The input and the result of a decision.
//!
//! ```text
//!  Snapshot, Command, time ─▶ decide ─▶ Transition ─▶ Change ─▶ the table
//!                                └▶ Refusal    └▶ Effects, after the commit
//! ```

use super::act::Act;
use super::gate::Mode;
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

/// What a decision knows about a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The record; `None` when the lock has none yet.
    pub record: Option<LockRecord>,
    /// What closes a lock without a record; `None` if nothing does.
    pub new_lock: Option<Mode>,
    /// The runs that a conflict or a read returned.
    pub runs: BTreeMap<RunId, Run>,
    /// The waiter that was read, and its side item if there is one.
    pub waiter: Option<(WaiterId, Option<Waiter>)>,
}

impl Snapshot {
    /// Whether a write came between the reads of the record and of a run: a run without an end in
    /// the history must have its lease in the record.
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

/// The outcome of a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The caller is granted a permit.
    Granted {
        /// Its lease.
        lease: Lease,
    },
    /// The caller already holds a permit.
    AlreadyHeld {
        /// Its lease.
        lease: Lease,
    },
    /// The caller has a place in the queue.
    Queued {
        /// Position in the queue, from 1.
        position: usize,
        /// Number of waiters, the caller included.
        length: usize,
        /// The holders, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// The caller's time to wait is over, and it is not in the queue.
    GaveUp {
        /// Number of waiters.
        waiting: usize,
        /// The holders, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// The lease has a new end.
    Renewed {
        /// The new end.
        expires_at: Timestamp,
    },
    /// The lease is reinstated: the execution was redriven, and no run was granted a permit since.
    Reinstated {
        /// The new end.
        expires_at: Timestamp,
    },
    /// The run had succeeded before this heartbeat, or continues without its permit: no lease is
    /// left to renew.
    Ended,
    /// The run is stale and loses its permit, and may continue without it.
    Yielded {
        /// Why.
        evidence: String,
    },
    /// The permit is free, or handed over to the first waiter.
    Released {
        /// When the grant was made.
        since: Timestamp,
        /// When it ended.
        at: Timestamp,
        /// Whether an earlier call had released it.
        already: bool,
        /// The note and name of the operator, if the holder released its permit while it was being evicted.
        evicted: Option<String>,
    },
    /// The caller no longer held the permit.
    Lost {
        /// The current holders, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// A permit was taken from a dead or evicted holder, or a place in the queue from a waiter.
    Freed {
        /// The outcome of its run in the history; `None` for a waiter.
        outcome: Option<RunOutcome>,
    },
    /// The lock is frozen.
    Frozen {
        /// Why.
        note: String,
        /// The end of the holder's lease.
        expires_at: Timestamp,
    },
    /// The command is done, and has no result.
    Done,
    /// There was nothing to do: the lock or the run is in another state than the command requires.
    Unchanged,
}

/// Why a waiter is sent away without a grant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dismissal {
    /// A run with its run key has succeeded within the retention, or is under way.
    Duplicate(Box<Run>),
    /// Its time to wait is over.
    GaveUp,
    /// An operator, or recovery, took it out of the queue.
    Evicted,
}

/// What remains to be done after the commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Ends the heartbeat state with this task token.
    EndHeartbeat(TaskToken),
    /// Wakes a waiter that was granted a permit: SendTaskSuccess ends its waiting state.
    Wake(HolderId, Lease),
    /// Wakes it again, although it may have been woken before.
    WakeAgain(HolderId, Lease),
    /// Ends the waiting state of a waiter that is sent away.
    Dismiss(Waiter, Dismissal),
    /// Stops the holder's execution and tasks: another run replaces it.
    Stop(HolderId, Lease),
    /// Executes [`super::Command::HandOver`]: another waiter may be granted a permit.
    HandOver,
}

/// A write that needs no read first: where its guard holds, it does what [`super::decide()`] does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FastPath {
    /// The write.
    pub change: Change,
    pub(crate) promise: Promise,
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one of them, for a moment"
)]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Promise {
    /// Known before the write.
    Known(Outcome),
    /// The lease of this renewal, as the store returns it after the write.
    LeaseOf(HolderId, FencingToken),
    /// The place of this waiter, as the store returns it after the write.
    PlaceOf(WaiterId),
}

impl FastPath {
    /// The outcome of the command. `after` is the record after the write, if the change reads it
    /// back; `None` if the outcome needs a record that `after` does not have.
    #[must_use]
    pub fn outcome(&self, after: Option<&LockRecord>) -> Option<Outcome> {
        match &self.promise {
            Promise::Known(outcome) => Some(outcome.clone()),
            Promise::LeaseOf(holder, token) => {
                let lease = after?.lease(holder, *token)?;
                Some(Outcome::Renewed {
                    expires_at: lease.expires_at,
                })
            }
            Promise::PlaceOf(id) => {
                let after = after?;
                Some(Outcome::Queued {
                    position: after.position(id)?,
                    length: after.queue.len(),
                    holders: after.oldest_first(),
                })
            }
        }
    }
}

/// A decision to be written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transition {
    /// The next record; `None` when there is nothing to write to it.
    pub next: Option<LockRecord>,
    /// The runs to write with it.
    pub runs: Vec<(RunGuard, RunWrite)>,
    /// The act to write with it.
    pub act: Option<Act>,
    /// The side item to delete.
    pub waiter: Option<WaiterDrop>,
    /// The outcome of the command.
    pub outcome: Outcome,
    /// What remains to be done after the commit.
    pub effects: Vec<Effect>,
    /// A guard that allows other writes in between and keeps the decision valid.
    pub narrow_guard: Option<Guard>,
    /// The whole write, where it does not depend on the record's version and tickets.
    pub fast_path: Option<FastPath>,
}

impl Transition {
    /// A decision that writes nothing.
    #[must_use]
    pub(crate) fn unchanged(outcome: Outcome) -> Self {
        Self {
            next: None,
            runs: Vec::new(),
            act: None,
            waiter: None,
            outcome,
            effects: Vec::new(),
            narrow_guard: None,
            fast_path: None,
        }
    }

    /// A decision that writes `next`, with its version incremented.
    #[must_use]
    pub(crate) fn to(mut next: LockRecord, outcome: Outcome) -> Self {
        next.version += 1;
        Self {
            next: Some(next),
            ..Self::unchanged(outcome)
        }
    }

    /// The write of this decision over `before`; `None` if there is nothing to write. Unless the
    /// decision has a narrower guard, it fails if the record was written in between.
    #[must_use]
    pub fn change(&self, before: Option<&LockRecord>) -> Option<Change> {
        // A decision that is right for any record on which the fast guard holds: then the write
        // need not fail because of another arrival.
        if let Some(fast_path) = &self.fast_path {
            return Some(fast_path.change.clone());
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
            guard: self.narrow_guard.clone().unwrap_or(Guard(guard)),
            update,
            runs: self.runs.clone(),
            act: self.act.clone(),
            waiter: self.waiter.clone(),
            read_back: false,
        })
    }
}

impl Outcome {
    /// The fencing token of the caller's grant, if it has one.
    #[must_use]
    pub fn token(&self) -> Option<FencingToken> {
        match self {
            Self::Granted { lease } | Self::AlreadyHeld { lease } => Some(lease.token),
            _ => None,
        }
    }
}
