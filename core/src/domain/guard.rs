//! The condition of a write, as plain data.
//!
//! A clause is one named fact that a decision relies on. A guard is a list of clauses and contains no
//! code. So two stores can evaluate the same guard, and a property test can compare what a guard implies
//! with what `decide` would do.

use super::act::Act;
use super::gate::Mode;
use super::holder::{HolderId, TaskToken};
use super::key::RunKey;
use super::lease::Lease;
use super::permits::Permits;
use super::record::LockRecord;
use super::run::{Run, RunOutcome, RunWrite};
use super::terms::Waiter;
use super::ticket::{Ticket, WaiterId};
use super::time::{Seconds, Timestamp};
use super::token::FencingToken;
use super::update::Update;

/// One named condition on a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Clause {
    /// The lock has no record yet.
    Absent,
    /// This version can read the record.
    Readable,
    /// The lock grants permits.
    Open,
    /// The lock is not frozen.
    NotFrozen,
    /// The lock has no pause with an end: the sweep has to find such a lock.
    NoPauseEnd,
    /// The lock has the capacity that the caller expects.
    PermitsAre(Permits),
    /// The lock has fewer holders than permits. Dead holders count.
    BelowCapacity,
    /// The caller holds no permit yet.
    NotHeldBy(HolderId),
    /// The queue is empty.
    QueueEmpty,
    /// The queue has fewer waiters than this.
    QueueBelow(usize),
    /// The caller is not in the queue.
    NotQueued(WaiterId),
    /// The waiter has this ticket.
    TicketIs(WaiterId, Ticket),
    /// No other run has joined the front of the queue since this ticket.
    FrontIs(Ticket),
    /// No permit can be granted to the caller at this time: all permits are held, other runs wait, or
    /// the lock rests, is paused or is frozen.
    MustWait(Timestamp),
    /// The lock rests until exactly this time.
    RestIs(Timestamp),
    /// All permits are held.
    AtCapacity,
    /// The lock does not rest at this time.
    SpacingPassed(Timestamp),
    /// This token is larger than the token of the latest grant.
    TokenNewer(FencingToken),
    /// The holder holds the grant with this token.
    LeaseIs(HolderId, FencingToken),
    /// The lock has one holder.
    OnlyHolder,
    /// The holder's lease has this run key, or none.
    RunKeyIs(HolderId, Option<RunKey>),
    /// The holder's lease has no heartbeat state to end.
    NoBeat(HolderId),
    /// The work of the holder is not being stopped.
    NotEnding(HolderId),
    /// The holder has reported this number of redrives of its execution.
    RedrivesAre(HolderId, u32),
    /// At this time the holder has exceeded neither `maxRunSeconds` nor `noProgressSeconds`.
    NotSpent(HolderId, Timestamp),
    /// The holder has confirmed its grant, or got it without a hand-over.
    Confirmed(HolderId),
    /// The holder's lease ends at this time or before.
    EndsBy(HolderId, Timestamp),
    /// The holder's lease has this limit without progress, or none.
    NoProgressIs(HolderId, Option<Seconds>),
    /// The last progress of the holder differs from this.
    ProgressIsNot(HolderId, String),
    /// The holder's lease is exactly as it was read.
    LeaseSame(HolderId, Box<Lease>),
    /// The lock is due for the sweep at this time or before, or not at all.
    DueNotAfter(Timestamp),
    /// The lock is due for the sweep at this time or later, or not at all.
    DueNotBefore(Timestamp),
    /// The lock is due for the sweep at exactly this time, or not at all.
    DueIs(Option<Timestamp>),
    /// A success is expected this often, or not at all.
    ExpectedEvery(Option<Seconds>),
    /// The record has not been written since it was read.
    VersionIs(u64),
}

/// The condition of a write: all clauses hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard(pub Vec<Clause>);

/// The condition of the write of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunGuard {
    /// The run key is free at this time: it has no run, a run that ended without success, or a success
    /// whose retention has ended.
    NotTaken(Timestamp),
    /// The item is the run of this grant and has no end.
    RunningUnder(FencingToken),
    /// The item is the run of this grant and has neither an end nor the lease of a run that continues without
    /// its permit.
    LeftUnder(FencingToken),
    /// The item does not exist, or is the run of this grant and has no end.
    OpenFor(FencingToken),
    /// The item is the run of this grant and has an end.
    EndedUnder(FencingToken),
    /// The item is the run of this grant, and its end has exactly this time.
    EndedAt(FencingToken, Timestamp),
}

/// A side item to delete with the write. The write fails if the item has changed since it was read: a
/// waiter that has registered a new waiting state since must not lose its side item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WaiterDrop {
    /// The waiter.
    pub id: WaiterId,
    /// The task token that the side item had when it was read; `None` deletes any side item of the
    /// waiter.
    pub task_token: Option<Option<TaskToken>>,
}

/// One atomic write of a record, its runs, an act and a side item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// The condition on the record.
    pub guard: Guard,
    /// The update of the record.
    pub update: Update,
    /// The runs to write, each with its condition.
    pub runs: Vec<(RunGuard, RunWrite)>,
    /// The act to write, under a key that no other write has.
    pub act: Option<Act>,
    /// The side item to delete.
    pub waiter: Option<WaiterDrop>,
    /// Whether the caller needs the record after the write. Possible only if the change writes nothing
    /// but the record, because a DynamoDB transaction returns no items.
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
            Self::Open => record.gate.mode == Mode::Open,
            Self::NotFrozen => !record.gate.is_frozen(),
            Self::NoPauseEnd => record.gate.mode.pause_end().is_none(),
            Self::PermitsAre(permits) => record.permits == *permits,
            Self::BelowCapacity => record.has_room(),
            Self::NotHeldBy(holder) => !record.holders.contains_key(holder),
            Self::QueueEmpty => record.queue.is_empty(),
            Self::QueueBelow(most) => record.queue.len() < *most,
            Self::NotQueued(id) => !record.queue.contains_key(id),
            Self::TicketIs(id, ticket) => record.queue.get(id) == Some(ticket),
            Self::FrontIs(ticket) => record.front_ticket == *ticket,
            Self::MustWait(now) => {
                !record.gate.lets_in(*now) || !record.has_room() || !record.queue.is_empty()
            }
            Self::RestIs(time) => record.gate.not_before == *time,
            Self::SpacingPassed(now) => record.gate.not_before <= *now,
            Self::TokenNewer(token) => record.last_token < *token,
            Self::LeaseIs(holder, token) => record.lease(holder, *token).is_some(),
            Self::OnlyHolder => record.holders.len() == 1,
            Self::RunKeyIs(holder, key) => lease(holder).is_some_and(|l| l.run_key == *key),
            Self::NoBeat(holder) => lease(holder).is_some_and(|l| l.beat.is_none()),
            Self::AtCapacity => !record.has_room(),
            Self::NotEnding(holder) => lease(holder).is_some_and(|l| l.exit.ending.is_none()),
            Self::RedrivesAre(holder, count) => lease(holder).is_some_and(|l| l.redrives == *count),
            Self::NotSpent(holder, now) => {
                lease(holder).is_some_and(|l| l.is_spent(*now).is_none())
            }
            Self::Confirmed(holder) => lease(holder).is_some_and(|l| l.call.is_none()),
            Self::EndsBy(holder, end) => lease(holder).is_some_and(|l| l.expires_at <= *end),
            Self::NoProgressIs(holder, most) => {
                lease(holder).is_some_and(|l| l.no_progress == *most)
            }
            Self::ProgressIsNot(holder, progress) => {
                lease(holder).is_some_and(|l| l.progress.as_ref() != Some(progress))
            }
            Self::LeaseSame(holder, seen) => lease(holder) == Some(&**seen),
            Self::DueIs(due) => record.due == *due,
            Self::DueNotAfter(time) => record.due.is_none_or(|due| due <= *time),
            Self::DueNotBefore(time) => record.due.is_none_or(|due| due >= *time),
            Self::ExpectedEvery(every) => record.expectation.map(|e| e.every) == *every,
            Self::VersionIs(version) => record.version == *version,
        }
    }
}

impl Guard {
    /// Returns whether all clauses hold for `record`.
    #[must_use]
    pub fn holds(&self, record: Option<&LockRecord>) -> bool {
        self.0.iter().all(|clause| clause.holds(record))
    }
}

impl RunGuard {
    /// Returns whether the condition holds for `run`.
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
            Self::LeftUnder(token) => {
                running_under(token) && run.is_some_and(|run| run.lease.is_none())
            }
            Self::OpenFor(token) => run.is_none() || running_under(token),
            Self::EndedAt(token, at) => run.is_some_and(|r| {
                r.token == token && r.end.as_ref().is_some_and(|end| end.at == at)
            }),
            Self::EndedUnder(token) => run.is_some_and(|r| r.token == token && r.end.is_some()),
        }
    }
}

impl WaiterDrop {
    /// Returns whether the side item does not exist or still has the task token that was read.
    #[must_use]
    pub fn holds(&self, waiter: Option<&Waiter>) -> bool {
        match (&self.task_token, waiter) {
            (Some(seen), Some(waiter)) => waiter.task_token == *seen,
            _ => true,
        }
    }
}
