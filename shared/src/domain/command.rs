//! What a caller asks of a lock.

use super::holder::{HolderId, TaskToken};
use super::lease::LeaseVersion;
use super::record::LockRecord;
use super::run::{RunId, RunKey, RunOutcome};
use super::terms::{Terms, Waiter};
use super::ticket::WaiterId;
use super::time::{Seconds, Timestamp};
use super::token::FencingToken;
use super::work::TaskEnd;

/// What a caller asks of a lock. Valid by construction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Take a permit, or a place in the queue.
    Acquire(Acquire),
    /// Move the end of a lease forward.
    Renew(Renew),
    /// Give a permit back.
    Release(Release),
    /// Free the permit of a dead holder.
    Recover(Recover),
    /// Give a free permit to the first waiter.
    HandOver,
    /// Mark a holder that is silent while its execution runs.
    Suspect(Suspect),
    /// Commit the stop of a holder, before its work is stopped.
    Stop(Stop),
    /// Note that the work of a holder is being stopped.
    MarkEnding(MarkEnding),
    /// Record how the work of a run ended that had lost its permit and went on without.
    Settle(Settle),
    /// Freeze the lock because of a stale holder.
    Freeze(Freeze),
    /// Give out no permit until [`Command::Resume`].
    Pause(Order),
    /// Give out permits again.
    Resume(Order),
    /// Take a permit or a place in the queue away.
    Evict(Evict),
    /// Take a place in the queue away, and never a permit.
    DropWaiter(Evict),
    /// Remember the task that a run ended with.
    NoteTask(NoteTask),
    /// Say anew when the sweep has to look at the lock.
    Reschedule,
}

/// What to do when all permits are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenFull {
    /// Take none.
    #[default]
    Refuse,
    /// Wait at the end of the queue, if it has fewer waiters than `most`.
    Queue {
        /// Bound of the queue.
        most: usize,
    },
    /// Have the oldest holder stopped and go first in the queue.
    Replace,
}

/// Take a permit, or a place in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Acquire {
    /// On which terms.
    pub terms: Terms,
    /// What to do when all permits are held.
    pub when_full: WhenFull,
    /// The state that waits for the turn.
    pub task_token: Option<TaskToken>,
    /// When waiting is no use any more.
    pub wait_until: Option<Timestamp>,
}

/// Move the end of a lease forward.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Renew {
    /// Who holds.
    pub holder: HolderId,
    /// Under which grant.
    pub token: FencingToken,
    /// The heartbeat state to end at release.
    pub beat: Option<TaskToken>,
    /// How far the work has come.
    pub progress: Option<String>,
    /// How often the holder's execution has been redriven, where the caller reports it.
    pub redrives: Option<u32>,
    /// How long the run is remembered if this heartbeat ends it.
    pub retention: Seconds,
}

/// Give a permit back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Release {
    /// Who held.
    pub holder: HolderId,
    /// Under which grant.
    pub token: FencingToken,
    /// The run key of the grant.
    pub run_key: Option<RunKey>,
    /// How the work ended: succeeded or failed.
    pub outcome: RunOutcome,
    /// How long the run is remembered.
    pub retention: Seconds,
}

/// What shows that a permit may be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Death {
    /// The execution is over and none of its tasks runs.
    Seen,
    /// The lease ran out: the holder cannot be asked, or its stale policy lets it run on.
    Expired,
    /// The execution was over before its holder confirmed the grant that was handed over to it.
    Unconfirmed,
}

/// Free the permit of a dead holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recover {
    /// Who held.
    pub holder: HolderId,
    /// Under which grant.
    pub token: FencingToken,
    /// The lease when the evidence was gathered: a heartbeat since then is a sign of life.
    pub seen: LeaseVersion,
    /// What shows it.
    pub death: Death,
    /// Whether the same evidence shows that the work had succeeded.
    pub succeeded: bool,
    /// The same in words.
    pub evidence: String,
    /// How long the run is remembered.
    pub retention: Seconds,
}

/// Mark a holder that is silent while its execution runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Suspect {
    /// Who holds.
    pub holder: HolderId,
    /// Under which grant.
    pub token: FencingToken,
    /// The lease when the evidence was gathered.
    pub seen: LeaseVersion,
}

/// Commit the stop of a holder. From then on its heartbeats are refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stop {
    /// Who holds.
    pub holder: HolderId,
    /// Under which grant.
    pub token: FencingToken,
    /// The lease when the evidence was gathered.
    pub seen: LeaseVersion,
    /// Why.
    pub reason: StopReason,
}

/// Why a holder that runs is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopReason {
    /// Its lease is over, and it has not cleared the mark of a suspect.
    Silent,
    /// Another run replaces it, and waits for its place.
    Replaced,
}

/// Note that the work of a holder is being stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MarkEnding {
    /// Who holds.
    pub holder: HolderId,
    /// Under which grant.
    pub token: FencingToken,
    /// The lease when the evidence was gathered; `None` where the holder itself reports it.
    pub seen: Option<LeaseVersion>,
}

/// Record how the work of a run ended that had lost its permit and went on without.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settle {
    /// Its run key.
    pub run_key: RunKey,
    /// Its grant.
    pub token: FencingToken,
    /// Whether its work succeeded.
    pub succeeded: bool,
    /// What shows it, in words.
    pub evidence: String,
    /// How long the run is remembered.
    pub retention: Seconds,
}

/// Freeze the lock because of a stale holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Freeze {
    /// Who is stale.
    pub holder: HolderId,
    /// Under which grant.
    pub token: FencingToken,
    /// Why, for whoever has to clear it.
    pub note: String,
    /// How long the entry is remembered.
    pub retention: Seconds,
}

/// An operator's word.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// Who says it.
    pub actor: HolderId,
    /// Why.
    pub note: String,
    /// How long the entry is remembered.
    pub retention: Seconds,
}

/// Take a permit or a place in the queue away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Evict {
    /// Whose.
    pub holder: HolderId,
    /// Who says so, and why.
    pub order: Order,
}

/// Remember the task that a run ended with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NoteTask {
    /// The run's grant.
    pub token: FencingToken,
    /// Its task.
    pub task: TaskEnd,
}

impl Acquire {
    /// The side item of the place that this asks for.
    #[must_use]
    pub fn waiter(&self, now: Timestamp) -> Waiter {
        Waiter {
            terms: self.terms.clone(),
            task_token: self.task_token.clone(),
            wait_until: self.wait_until,
            since: now,
        }
    }

    /// Whether its time to wait is over.
    #[must_use]
    pub fn has_given_up(&self, now: Timestamp) -> bool {
        self.wait_until.is_some_and(|end| now >= end)
    }
}

impl Command {
    /// The side item to write before anything else: whoever finds the place in the queue must find
    /// the state that waits.
    #[must_use]
    pub fn waits_already(&self, now: Timestamp) -> Option<Waiter> {
        match self {
            Self::Acquire(acquire) if acquire.task_token.is_some() => Some(acquire.waiter(now)),
            _ => None,
        }
    }

    /// The run that must be read before this command can be decided on `record`.
    ///
    /// A heartbeat that finds its lease gone asks: was it released, or lost? Acquire and release
    /// write the run in the same transaction and see it there.
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
            Self::NoteTask(note) => Some(RunId::Token(note.token)),
            Self::Settle(settle) => Some(RunId::Key(settle.run_key.clone())),
            _ => None,
        }
    }

    /// The waiter that must be read before this command can be decided on `record`: the one whose
    /// turn comes, or the one that is sent away.
    #[must_use]
    pub fn waiter_to_read(&self, record: Option<&LockRecord>) -> Option<WaiterId> {
        let record = record?;
        match self {
            Self::Acquire(_)
            | Self::Freeze(_)
            | Self::Pause(_)
            | Self::NoteTask(_)
            | Self::Suspect(_)
            | Self::Stop(_)
            | Self::MarkEnding(_)
            | Self::Settle(_)
            | Self::Reschedule => None,
            Self::DropWaiter(evict) => {
                let id = WaiterId::of(&evict.holder);
                record.queue.contains_key(&id).then_some(id)
            }
            Self::Evict(evict) if !record.holders.contains_key(&evict.holder) => {
                let id = WaiterId::of(&evict.holder);
                record.queue.contains_key(&id).then_some(id)
            }
            Self::Renew(renew) => {
                // Only a heartbeat that ends its own lease lets a waiter in.
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
