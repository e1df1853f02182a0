//! The condition of a write, as plain data.

use super::holder::{HolderId, TaskToken};
use super::lease::Lease;
use super::permits::Permits;
use super::record::{LockRecord, Mode};
use super::run::{Run, RunKey, RunOutcome, RunWrite};
use super::terms::Waiter;
use super::ticket::{Ticket, WaiterId};
use super::time::Timestamp;
use super::token::FencingToken;
use super::update::Update;

/// One named condition on a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Clause {
    /// The lock has no record yet.
    Absent,
    /// The record is one this version can read.
    Readable,
    /// Permits are given out.
    Open,
    /// No stale holder has frozen the lock.
    NotFrozen,
    /// The lock has the capacity that the caller expects.
    PermitsAre(Permits),
    /// Fewer holders than permits, dead ones counted.
    BelowCapacity,
    /// The caller holds no permit yet.
    NotHeldBy(HolderId),
    /// Nobody waits.
    QueueEmpty,
    /// Fewer wait than this.
    QueueBelow(usize),
    /// The caller does not wait yet.
    NotQueued(WaiterId),
    /// The waiter has this ticket.
    TicketIs(WaiterId, Ticket),
    /// Nobody else has gone first in the queue.
    FrontIs(Ticket),
    /// No grant can be made at this time: all permits are held, others wait, or the lock rests or
    /// is closed.
    MustWait(Timestamp),
    /// As many hold a permit as may, or more.
    AtCapacity,
    /// The next grant may be made at this time.
    SpacingPassed(Timestamp),
    /// This token is above the last one.
    TokenNewer(FencingToken),
    /// The holder has this very grant.
    LeaseIs(HolderId, FencingToken),
    /// Nobody else holds a permit.
    OnlyHolder,
    /// The holder's lease carries this run key, or none.
    RunKeyIs(HolderId, Option<RunKey>),
    /// No heartbeat state waits to be ended.
    NoBeat(HolderId),
    /// The work of the holder is not being stopped.
    NotEnding(HolderId),
    /// The holder has reported so many redrives of its execution.
    RedrivesAre(HolderId, u32),
    /// The holder has neither used up its time nor made no progress for too long.
    NotSpent(HolderId, Timestamp),
    /// The holder's lease is exactly as it was seen.
    LeaseSame(HolderId, Box<Lease>),
    /// The sweep does not look later than this, if at all.
    DueNotAfter(Timestamp),
    /// The sweep looks at this very time.
    DueIs(Option<Timestamp>),
    /// Nobody wrote since the record was seen.
    VersionIs(u64),
}

/// The condition of a write: all clauses hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard(pub Vec<Clause>);

/// The condition of a run's write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunGuard {
    /// Nobody has the run key: no run, one that did not succeed, or a success past its retention.
    NotTaken(Timestamp),
    /// The run of this grant, not ended yet.
    RunningUnder(FencingToken),
    /// No run, or the run of this grant, not ended yet.
    OpenFor(FencingToken),
    /// The run of this grant, ended.
    EndedUnder(FencingToken),
    /// The run of this grant, ended at this time and not again since.
    EndedAt(FencingToken, Timestamp),
}

/// A side item to delete with the write, as it was seen: a waiter that registered its state anew
/// in between must not lose it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WaiterDrop {
    /// Whose.
    pub id: WaiterId,
    /// The state that it was seen to wait in; `None` where that does not matter.
    pub task_token: Option<Option<TaskToken>>,
}

/// One atomic write: a record, and runs with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// What must hold of the record.
    pub guard: Guard,
    /// What becomes of the record.
    pub update: Update,
    /// What must hold of runs, and what becomes of them.
    pub runs: Vec<(RunGuard, RunWrite)>,
    /// The waiter that leaves the queue.
    pub waiter: Option<WaiterDrop>,
    /// Whether the caller needs the record as it is after the write. Only for a change of the
    /// record alone: a DynamoDB transaction returns nothing.
    pub read_back: bool,
}

impl Clause {
    fn holds(&self, record: Option<&LockRecord>) -> bool {
        let Some(record) = record else {
            return *self == Self::Absent;
        };
        let lease = |holder| record.holders.get(holder);
        match self {
            Self::Absent => false,
            Self::Readable => true,
            Self::Open => record.mode == Mode::Open,
            Self::NotFrozen => !matches!(record.mode, Mode::Frozen { .. }),
            Self::PermitsAre(permits) => record.permits == *permits,
            Self::BelowCapacity => record.has_room(),
            Self::NotHeldBy(holder) => !record.holders.contains_key(holder),
            Self::QueueEmpty => record.queue.is_empty(),
            Self::QueueBelow(most) => record.queue.len() < *most,
            Self::NotQueued(id) => !record.queue.contains_key(id),
            Self::TicketIs(id, ticket) => record.queue.get(id) == Some(ticket),
            Self::FrontIs(ticket) => record.front_ticket == *ticket,
            Self::MustWait(now) => !record.can_grant(*now) || !record.queue.is_empty(),
            Self::SpacingPassed(now) => record.not_before <= *now,
            Self::TokenNewer(token) => record.last_token < *token,
            Self::LeaseIs(holder, token) => record.lease(holder, *token).is_some(),
            Self::OnlyHolder => record.holders.len() == 1,
            Self::RunKeyIs(holder, key) => lease(holder).is_some_and(|l| l.run_key == *key),
            Self::NoBeat(holder) => lease(holder).is_some_and(|l| l.beat.is_none()),
            Self::AtCapacity => !record.has_room(),
            Self::NotEnding(holder) => lease(holder).is_some_and(|l| l.ending.is_none()),
            Self::RedrivesAre(holder, count) => lease(holder).is_some_and(|l| l.redrives == *count),
            Self::NotSpent(holder, now) => {
                lease(holder).is_some_and(|l| l.is_spent(*now).is_none())
            }
            Self::LeaseSame(holder, seen) => lease(holder) == Some(&**seen),
            Self::DueIs(due) => record.due == *due,
            Self::DueNotAfter(time) => record.due.is_none_or(|due| due <= *time),
            Self::VersionIs(version) => record.version == *version,
        }
    }
}

impl Guard {
    /// Whether all clauses hold of `record`.
    #[must_use]
    pub fn holds(&self, record: Option<&LockRecord>) -> bool {
        self.0.iter().all(|clause| clause.holds(record))
    }
}

impl RunGuard {
    /// Whether the condition holds of `run`.
    #[must_use]
    pub fn holds(self, run: Option<&Run>) -> bool {
        let running_under = |token| run.is_some_and(|r| r.token == token && r.end.is_none());
        match self {
            Self::NotTaken(now) => run.is_none_or(|run| {
                run.end.as_ref().is_some_and(|end| {
                    end.outcome != RunOutcome::Succeeded || end.retain_until <= now
                })
            }),
            Self::RunningUnder(token) => running_under(token),
            Self::OpenFor(token) => run.is_none() || running_under(token),
            Self::EndedAt(token, at) => run.is_some_and(|r| {
                r.token == token && r.end.as_ref().is_some_and(|end| end.at == at)
            }),
            Self::EndedUnder(token) => run.is_some_and(|r| r.token == token && r.end.is_some()),
        }
    }
}

impl WaiterDrop {
    /// Whether the side item is as it was seen, or gone.
    #[must_use]
    pub fn holds(&self, waiter: Option<&Waiter>) -> bool {
        match (&self.task_token, waiter) {
            (Some(seen), Some(waiter)) => waiter.task_token == *seen,
            _ => true,
        }
    }
}
