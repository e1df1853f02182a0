//! Commands to a lock.

mod operator;

pub use operator::{AuditNote, DropWaiter, Forget, Opening};

use super::holder::{HolderId, TaskToken};
use super::key::RunKey;
use super::lease::{LeaseVersion, Pace};
use super::record::LockRecord;
use super::run::{Retention, RunId, RunOutcome};
use super::terms::{Terms, Waiter};
use super::ticket::WaiterId;
use super::time::{Seconds, Timestamp};
use super::token::FencingToken;
use super::work::TaskEnd;

/// A command to a lock. Every value of this type is valid.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Takes a permit, or a place in the queue.
    Acquire(Acquire),
    /// Renews a lease.
    Renew(Renew),
    /// Releases a permit.
    Release(Release),
    /// Frees the permit of a dead holder.
    Recover(Recover),
    /// Grants a free permit to the first waiter.
    HandOver,
    /// Marks a holder that is about to leave. The holder keeps its permit.
    Mark(Mark),
    /// Records how the work of a run ended that had lost its permit and continued without it.
    Settle(Settle),
    /// Freezes the lock because of a stale holder.
    Freeze(Freeze),
    /// Pauses the lock until [`Opening::Resume`], or until the given time.
    Pause(AuditNote, Option<Timestamp>),
    /// Opens a paused, frozen or resting lock.
    Open(Opening, AuditNote),
    /// Frees the run key of a run that has succeeded.
    Forget(Forget),
    /// Records in the history that an operator has started a run. The run acquires the lock by itself.
    NoteStart(AuditNote),
    /// Takes a waiter out of the queue. Never takes a permit.
    DropWaiter(DropWaiter),
    /// Records the ECS task that a run ended with.
    NoteTask(NoteTask),
    /// Sets the time at which the lock is due for the sweep.
    Reschedule,
    /// Records that no success came in the expected time.
    NoteMissing,
}

impl From<Renew> for Command {
    fn from(renew: Renew) -> Self {
        Self::Renew(renew)
    }
}

impl From<Release> for Command {
    fn from(release: Release) -> Self {
        Self::Release(release)
    }
}

/// What an acquire does when all permits are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenFull {
    /// It is refused.
    #[default]
    Refuse,
    /// It waits at the end of the queue, if that has fewer waiters than `most`.
    Queue {
        /// Bound of the queue.
        most: usize,
    },
    /// It joins the front of the queue, and the oldest holder that no other run replaces is stopped.
    Replace,
}

/// What an acquire does at a paused lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenPaused {
    /// It is refused.
    #[default]
    Refuse,
    /// It waits at the end of the queue, if that has fewer waiters than `most`.
    Queue {
        /// Bound of the queue.
        most: usize,
    },
    /// It waits if no other run waits, so that one run catches up on all that were missed during the
    /// pause.
    CatchUp,
}

/// Takes a permit, or a place in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Acquire {
    /// The terms of the request.
    pub terms: Terms,
    /// What an acquire does when all permits are held.
    pub when_full: WhenFull,
    /// What the acquire does at a paused lock. A run that waits there keeps its place after the resume.
    pub when_paused: WhenPaused,
    /// Task token of the waiting state; `None` for a caller that polls.
    pub task_token: Option<TaskToken>,
    /// When the caller gives up the wait; `None` waits without limit.
    pub wait_until: Option<Timestamp>,
}

/// Renews a lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Renew {
    /// The holder.
    pub holder: HolderId,
    /// The token of its grant.
    pub token: FencingToken,
    /// Task token of the heartbeat state, which the release ends.
    pub beat: Option<TaskToken>,
    /// The length of the lease and the time to the next heartbeat from now on. `None` keeps both as they
    /// are, and costs a read.
    pub pace: Option<Pace>,
    /// The progress of the work.
    pub progress: Option<String>,
    /// The limit without progress of the grant, as its receipt contains it. A wrong value costs a second
    /// request.
    pub no_progress: Option<Seconds>,
    /// Number of redrives of the holder's execution; `None` if the caller does not report it.
    pub redrives: Option<u32>,
    /// Whether a redriven run asks with this heartbeat whether its work may begin again. The time limits
    /// of the run start again with each such heartbeat.
    pub resumes: bool,
    /// How long the history keeps the run if this heartbeat ends it.
    pub retention: Retention,
}

/// Releases a permit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Release {
    /// The holder.
    pub holder: HolderId,
    /// The token of its grant.
    pub token: FencingToken,
    /// The run key of the grant.
    pub run_key: Option<RunKey>,
    /// How the work ended: succeeded or failed.
    pub outcome: RunOutcome,
    /// `expectEverySeconds` of the grant, as its receipt contains it. A wrong value costs a read.
    pub expect_every: Option<Seconds>,
    /// How long the history keeps the run.
    pub retention: Retention,
}

/// What shows that a permit may be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecoveryBasis {
    /// The end is seen: the holder's execution or task has ended or is no longer known, or the run
    /// reported the end of its work; and none of its work is seen running.
    Seen,
    /// The lease is dead and the holder is not an execution, or the holder is stale and its policy is
    /// `yield`.
    Expired,
    /// The holder has not confirmed its hand-over, and its execution ended before the hand-over, or it
    /// polls and its stop is committed.
    Unconfirmed,
    /// An operator frees the permit: by the eviction of a holder of which nothing shows that it lives,
    /// or by abandoning a holder whose eviction is committed.
    Evicted,
}

/// Frees the permit of a dead holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recover {
    /// The holder.
    pub holder: HolderId,
    /// The token of its grant.
    pub token: FencingToken,
    /// The version of the lease under which the evidence was gathered. The command changes nothing if a
    /// heartbeat has renewed the lease since.
    pub seen: LeaseVersion,
    /// What shows that the permit may be freed.
    pub basis: RecoveryBasis,
    /// Whether the same evidence shows that the work succeeded.
    pub succeeded: bool,
    /// The evidence in words.
    pub evidence: String,
    /// How long the history keeps the run.
    pub retention: Retention,
}

/// Marks a holder that is about to leave. The holder keeps its permit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// The holder.
    pub holder: HolderId,
    /// The token of its grant.
    pub token: FencingToken,
    /// The version of the lease under which the evidence was gathered. `None` marks the holder under any
    /// version: the holder itself reports its end, or an operator forces its eviction.
    pub seen: Option<LeaseVersion>,
    /// The mark to set.
    pub step: ExitStep,
}

/// A mark of a holder that is about to leave its permit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExitStep {
    /// The holder is a suspect: silent while its execution runs. A heartbeat clears the mark.
    Suspect,
    /// The holder is ending: its execution has ended, or has reported that its work is stopping, and the
    /// work may still run.
    Ending,
    /// The stop of the holder is committed, before its work is stopped. Heartbeats are refused from then
    /// on.
    Stop(StopReason),
    /// The stop of the holder is committed because an operator evicts it. The permit is free once a
    /// check has seen the work stopped.
    Evict(AuditNote),
}

/// Why a holder that runs is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopReason {
    /// The holder is stale: it stayed silent after it was marked as a suspect, or exceeded a limit of
    /// its run.
    Stale,
    /// Another run waits in the queue to replace it.
    Replaced,
}

/// Records how the work of a run ended that had lost its permit and continued without it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settle {
    /// The run key of the run.
    pub run_key: RunKey,
    /// The token of the run's grant.
    pub token: FencingToken,
    /// Whether its work succeeded.
    pub succeeded: bool,
    /// The evidence in words.
    pub evidence: String,
    /// How long the history keeps the run.
    pub retention: Retention,
}

/// Freezes the lock because of a stale holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Freeze {
    /// The stale holder.
    pub holder: HolderId,
    /// The token of its grant.
    pub token: FencingToken,
    /// Why the holder is stale, for the operator who resumes the lock.
    pub note: String,
    /// How long the history keeps the entry.
    pub retention: Retention,
}

/// Records the ECS task that a run ended with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NoteTask {
    /// The token of the run's grant.
    pub token: FencingToken,
    /// The task.
    pub task: TaskEnd,
}

impl Acquire {
    /// Creates a request with these terms that does not wait.
    #[must_use]
    pub fn new(terms: Terms) -> Self {
        Self {
            terms,
            when_full: WhenFull::Refuse,
            when_paused: WhenPaused::Refuse,
            task_token: None,
            wait_until: None,
        }
    }

    /// Returns the side item for a place in the queue that is taken at `now`.
    #[must_use]
    pub fn waiter(&self, now: Timestamp) -> Waiter {
        Waiter {
            terms: self.terms.clone(),
            task_token: self.task_token.clone(),
            wait_until: self.wait_until,
            since: now,
            queued_at: now,
        }
    }

    /// Returns whether the caller's time to wait is over.
    #[must_use]
    pub fn has_given_up(&self, now: Timestamp) -> bool {
        self.wait_until.is_some_and(|end| now >= end)
    }

    /// Returns whether the request waits at a paused lock in a queue with the bound `most`.
    #[must_use]
    pub fn waits_paused(&self, most: usize) -> bool {
        self.when_paused == WhenPaused::Queue { most }
    }
}

impl Command {
    /// Returns the side item to write before anything else; `None` if no state waits with a task token
    /// yet. It is written first so that whoever reads the place in the queue finds the task token.
    #[must_use]
    pub fn waiter_to_register_first(&self, now: Timestamp) -> Option<Waiter> {
        match self {
            Self::Acquire(acquire) if acquire.task_token.is_some() => Some(acquire.waiter(now)),
            _ => None,
        }
    }

    /// Returns the run that must be read before this command can be decided on `record`.
    ///
    /// A heartbeat or a release without a lease reads how its run ended. An acquire with a run key, and
    /// a release with a lease, write a run in the same transaction. If that transaction fails, its
    /// conflict returns the run.
    #[must_use]
    pub fn run_to_read(&self, record: Option<&LockRecord>) -> Option<RunId> {
        match self {
            Self::Renew(renew) => {
                let held = record.is_some_and(|r| r.lease(&renew.holder, renew.token).is_some());
                (!held).then_some(RunId::Token(renew.token))
            }
            Self::Release(release) => {
                let held =
                    record.is_some_and(|r| r.lease(&release.holder, release.token).is_some());
                (!held).then_some(RunId::Token(release.token))
            }
            // A waiting state learns that its run key has had a success before it takes a place or
            // replaces a holder.
            Self::Acquire(acquire) if acquire.task_token.is_some() => {
                let key = acquire.terms.run_key.clone()?;
                let id = WaiterId::of(&acquire.terms.holder);
                let waits = record.is_some_and(|r| r.queue.contains_key(&id));
                (!waits).then_some(RunId::Key(key))
            }
            Self::NoteTask(note) => Some(RunId::Token(note.token)),
            Self::Settle(settle) => Some(RunId::Key(settle.run_key.clone())),
            Self::Forget(forget) => Some(RunId::Key(forget.run_key.clone())),
            _ => None,
        }
    }

    /// Returns the waiter whose side item must be read before this command can be decided on `record`:
    /// the first in the queue, the one that is sent away, or the caller.
    #[must_use]
    pub fn waiter_to_read(&self, record: Option<&LockRecord>) -> Option<WaiterId> {
        let record = record?;
        match self {
            // The side item has the time at which the caller joined: it replaces no holder that was
            // granted a permit later.
            Self::Acquire(acquire) if acquire.when_full == WhenFull::Replace => {
                let id = WaiterId::of(&acquire.terms.holder);
                record.queue.contains_key(&id).then_some(id)
            }
            Self::Acquire(_)
            | Self::Freeze(_)
            | Self::Pause(..)
            | Self::NoteStart(_)
            | Self::NoteTask(_)
            | Self::Mark(_)
            | Self::Forget(_)
            | Self::Settle(_)
            | Self::Reschedule
            | Self::NoteMissing => None,
            Self::DropWaiter(drop) => {
                let queued = record.queue.contains_key(&drop.waiter);
                let id = drop.holder.as_ref().map(|_| drop.waiter.clone());
                id.filter(|_| queued)
            }
            Self::Renew(renew) => {
                // A heartbeat frees a permit for a waiter only if the run exceeds a limit and its lease
                // ends.
                let lease = record.lease(&renew.holder, renew.token)?;
                let may_end = lease.run_until.is_some() || lease.stalls_at.is_some();
                record
                    .first_waiter()
                    .filter(|_| may_end)
                    .map(|(id, _)| id.clone())
            }
            _ => record.first_waiter().map(|(id, _)| id.clone()),
        }
    }
}
