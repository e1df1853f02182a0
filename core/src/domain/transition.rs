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
use super::permits::Permits;
use super::record::LockRecord;
use super::run::{Run, RunId, RunOutcome, RunWrite};
use super::terms::Waiter;
use super::ticket::WaiterId;
use super::time::Timestamp;
use super::token::FencingToken;
use super::update::Update;
use std::collections::BTreeMap;

/// The items of a lock that a decision sees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The record; `None` if the lock has none yet.
    pub record: Option<LockRecord>,
    /// The mode that a lock without a record begins with, if all locks are paused; `None` if they are
    /// open.
    pub new_lock: Option<Mode>,
    /// The runs that a conflict or a read returned.
    pub runs: BTreeMap<RunId, Run>,
    /// The waiter whose side item was read, and the side item if it exists.
    pub waiter: Option<(WaiterId, Option<Waiter>)>,
}

impl Snapshot {
    /// Returns the record of a lock that has none yet: open, or paused if all locks are paused.
    #[must_use]
    pub fn new_record(&self, permits: Permits) -> LockRecord {
        let mut new = LockRecord::new(permits);
        new.gate.mode = self.new_lock.clone().unwrap_or(Mode::Open);
        new
    }

    /// Returns whether another write came between the read of the record and the read of a run. A run in
    /// the history that has no end must have its lease in the record; if the lease is missing, the two
    /// were read in different versions.
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
        /// The caller's lease.
        lease: Lease,
    },
    /// The caller already holds a permit.
    AlreadyHeld {
        /// The caller's lease.
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
    /// The caller's time to wait is over. The caller is no longer in the queue.
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
    /// No lease is left to renew, and the heartbeat is no error. That is so if
    ///
    /// - the run succeeded before this heartbeat,
    /// - the run lost its permit under `yield` and continues without it, or
    /// - the heartbeat was under way when the run released its permit after a failure.
    Ended,
    /// The run is stale under `yield`: it loses its permit and continues without it.
    Yielded {
        /// Why the run is stale.
        evidence: String,
    },
    /// The permit is free, or is handed over to the first waiter.
    Released {
        /// When the grant was made.
        since: Timestamp,
        /// When the grant ended.
        at: Timestamp,
        /// Whether an earlier call released the permit.
        already: bool,
        /// The note and name of the operator, if an eviction of the holder was committed before it
        /// released its permit.
        evicted: Option<String>,
    },
    /// The caller no longer held the permit.
    Lost {
        /// The current holders, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// A permit was taken from a dead or evicted holder, or a place in the queue from a waiter.
    Freed {
        /// The outcome of the holder's run in the history; `None` for a waiter.
        outcome: Option<RunOutcome>,
    },
    /// The lock is frozen.
    Frozen {
        /// Why the lock is frozen.
        note: String,
        /// The end of the holder's lease.
        expires_at: Timestamp,
    },
    /// The command has made its change. It has no other result.
    Done,
    /// The command changed nothing, because the lock or the run is not in the state that the command
    /// requires.
    Unchanged,
}

/// Why a waiter is sent away without a grant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dismissal {
    /// Another run with the waiter's run key has succeeded within the retention, or is still running.
    Duplicate(Box<Run>),
    /// The waiter's time to wait is over, or it has been silent for too long.
    GaveUp,
    /// An operator or recovery took the waiter out of the queue.
    Evicted,
}

/// A call that remains to be made after the commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Ends the heartbeat state with this task token.
    EndHeartbeat(TaskToken),
    /// Wakes a waiter that was granted a permit: SendTaskSuccess ends the waiting state.
    Wake(HolderId, Lease),
    /// Wakes a waiter again, although an earlier call may have woken it.
    WakeAgain(HolderId, Lease),
    /// Ends the waiting state of a waiter that gets no permit.
    Dismiss(Waiter, Dismissal),
    /// Stops the holder's execution and work, because another run replaces the holder.
    Stop(HolderId, Lease),
    /// Executes [`super::Command::HandOver`], because another waiter may be granted a permit.
    HandOver,
}

/// A write that needs no read first. If its guard holds, the update is the one that [`super::decide()`]
/// would return.
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
    /// The outcome is known before the write.
    Known(Outcome),
    /// The outcome has the end of this holder's lease, which the store returns after the write.
    LeaseOf(HolderId, FencingToken),
    /// The outcome has the place of this waiter, which the store returns after the write.
    PlaceOf(WaiterId),
}

impl FastPath {
    /// Returns the outcome of the command. `after` is the record after the write, if the change reads it
    /// back. Returns `None` if the outcome needs the record and `after` is missing or does not contain
    /// the lease or the waiter.
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
    /// The next record; `None` if the record does not change.
    pub next: Option<LockRecord>,
    /// The runs to write in the same transaction.
    pub runs: Vec<(RunGuard, RunWrite)>,
    /// The act to write in the same transaction.
    pub act: Option<Act>,
    /// The side item to delete.
    pub waiter: Option<WaiterDrop>,
    /// The outcome of the command.
    pub outcome: Outcome,
    /// The calls that remain to be made after the commit.
    pub effects: Vec<Effect>,
    /// A guard that allows other writes between the read and this write, under which the decision stays
    /// valid.
    pub narrow_guard: Option<Guard>,
    /// The whole write, if it does not depend on the record's version and tickets.
    pub fast_path: Option<FastPath>,
}

impl Transition {
    /// Returns a decision that writes nothing.
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

    /// Returns a decision that writes `next`, with its version incremented.
    #[must_use]
    pub(crate) fn to(mut next: LockRecord, outcome: Outcome) -> Self {
        next.version += 1;
        Self {
            next: Some(next),
            ..Self::unchanged(outcome)
        }
    }

    /// Returns the write of this decision, which was made on `before`; `None` if there is nothing to
    /// write. The write fails if the record has changed since, unless the decision has a narrower guard.
    #[must_use]
    pub fn change(&self, before: Option<&LockRecord>) -> Option<Change> {
        // This decision is valid for any record on which the fast guard holds, so the write need not
        // fail because another waiter arrived.
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
    /// Returns the fencing token of the caller's grant, if it has one.
    #[must_use]
    pub fn token(&self) -> Option<FencingToken> {
        match self {
            Self::Granted { lease } | Self::AlreadyHeld { lease } => Some(lease.token),
            _ => None,
        }
    }
}
