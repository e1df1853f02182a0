//! The condition of a write, as plain data.

use super::holder::HolderId;
use super::permits::Permits;
use super::record::{LockRecord, Mode};
use super::run::{Run, RunKey, RunOutcome, RunWrite};
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
    /// The lock has the capacity that the caller expects.
    PermitsAre(Permits),
    /// Fewer holders than permits, dead ones counted.
    BelowCapacity,
    /// The caller holds no permit yet.
    NotHeldBy(HolderId),
    /// Nobody waits.
    QueueEmpty,
    /// The next grant may be made at this time.
    SpacingPassed(Timestamp),
    /// This token is above the last one.
    TokenNewer(FencingToken),
    /// The holder has this very grant.
    LeaseIs(HolderId, FencingToken),
    /// The holder's lease carries this run key, or none.
    RunKeyIs(HolderId, Option<RunKey>),
    /// No heartbeat state waits to be ended.
    NoBeat(HolderId),
    /// The holder's `maxRunSeconds` is not used up at this time.
    NotOverrun(HolderId, Timestamp),
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
}

/// One atomic write: a record, and runs with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// What must hold of the record.
    pub guard: Guard,
    /// What becomes of the record.
    pub update: Update,
    /// What must hold of runs, and what becomes of them. The command's own run comes first: a
    /// conflict tells that one and no other.
    pub runs: Vec<(RunGuard, RunWrite)>,
    /// Whether the caller needs the record as it is after the write. Only without runs: a
    /// DynamoDB transaction returns nothing.
    pub read_back: bool,
}

impl Clause {
    fn holds(&self, record: Option<&LockRecord>) -> bool {
        let Some(record) = record else {
            return *self == Self::Absent;
        };
        match self {
            Self::Absent => false,
            Self::Readable => true,
            Self::Open => record.mode == Mode::Open,
            Self::PermitsAre(permits) => record.permits == *permits,
            Self::BelowCapacity => record.permits.has_room(record.holders.len()),
            Self::NotHeldBy(holder) => !record.holders.contains_key(holder),
            Self::QueueEmpty => record.queue.is_empty(),
            Self::SpacingPassed(now) => record.not_before <= *now,
            Self::TokenNewer(token) => record.last_token < *token,
            Self::LeaseIs(holder, token) => record.lease(holder, *token).is_some(),
            Self::RunKeyIs(holder, key) => record
                .holders
                .get(holder)
                .is_some_and(|lease| lease.run_key == *key),
            Self::NoBeat(holder) => record.holders.get(holder).is_some_and(|l| l.beat.is_none()),
            Self::NotOverrun(holder, now) => record
                .holders
                .get(holder)
                .is_some_and(|lease| !lease.is_overrun(*now)),
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
                run.end.is_some_and(|end| {
                    end.outcome != RunOutcome::Succeeded || end.retain_until <= now
                })
            }),
            Self::RunningUnder(token) => running_under(token),
            Self::OpenFor(token) => run.is_none() || running_under(token),
        }
    }
}
