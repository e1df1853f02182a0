//! The whole state of one lock.

use super::holder::HolderId;
use super::lease::Lease;
use super::permits::Permits;
use super::run::RunKey;
use super::time::Timestamp;
use super::token::FencingToken;
use std::collections::{BTreeMap, BTreeSet};

/// Most waiters a lock can have. Bounds the size of the record.
pub const QUEUE_MAX: usize = 500;

/// Whether the lock gives out permits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Permits are given out.
    Open,
    /// An operator paused the lock; holders finish, nobody new starts.
    Paused {
        /// What the operator wrote.
        note: String,
    },
    /// A stale holder froze the lock until an operator has looked.
    Frozen {
        /// Why.
        note: String,
    },
}

/// The whole state of one lock: one item, read and written as one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockRecord {
    /// Grows by one with every write.
    pub version: u64,
    /// The token of the latest grant.
    pub last_token: FencingToken,
    /// The arrival number of the latest waiter.
    pub last_ticket: u64,
    /// Capacity.
    pub permits: Permits,
    /// Who holds a permit. An expired lease stays until its holder releases or another takes over.
    pub holders: BTreeMap<HolderId, Lease>,
    /// Who waits: a short hash of the waiter, and its arrival number.
    pub queue: BTreeMap<String, u64>,
    /// Earliest time of the next grant.
    pub not_before: Timestamp,
    /// Whether permits are given out.
    pub mode: Mode,
}

impl LockRecord {
    /// A lock that was never granted.
    #[must_use]
    pub fn new(permits: Permits) -> Self {
        Self {
            version: 0,
            last_token: FencingToken::NONE,
            last_ticket: 0,
            permits,
            holders: BTreeMap::new(),
            queue: BTreeMap::new(),
            not_before: Timestamp::from_millis(0),
            mode: Mode::Open,
        }
    }

    /// The lease of `holder` under `token`, if that grant is still in the record.
    #[must_use]
    pub fn lease(&self, holder: &HolderId, token: FencingToken) -> Option<&Lease> {
        self.holders
            .get(holder)
            .filter(|lease| lease.token == token)
    }

    /// The dead holder whose lease ended first.
    #[must_use]
    pub fn first_dead(&self, now: Timestamp) -> Option<&HolderId> {
        let dead = self.holders.iter().filter(|(_, lease)| lease.is_dead(now));
        dead.min_by_key(|(_, lease)| (lease.expires_at, lease.token))
            .map(|(holder, _)| holder)
    }

    /// Who runs `key` at present.
    #[must_use]
    pub fn holder_of_run(&self, key: &RunKey) -> Option<(&HolderId, &Lease)> {
        self.holders
            .iter()
            .find(|(_, lease)| lease.run_key.as_ref() == Some(key))
    }

    /// Checks what must hold for every record, before a write and after a read.
    ///
    /// # Errors
    /// The rule that is broken.
    pub fn check_invariants(&self) -> Result<(), &'static str> {
        let tokens: BTreeSet<_> = self.holders.values().map(|lease| lease.token).collect();
        let tickets: BTreeSet<_> = self.queue.values().collect();
        let mut runs = BTreeSet::new();
        let rules = [
            (
                self.holders.len() <= usize::from(self.permits.get()),
                "holders exceed permits",
            ),
            (
                tokens.len() == self.holders.len(),
                "two holders share a fencing token",
            ),
            (
                tokens.last().is_none_or(|t| *t <= self.last_token),
                "a token is above lastToken",
            ),
            (
                self.last_token <= FencingToken::MAX,
                "lastToken is above 2^53 - 1",
            ),
            (
                self.queue.len() <= QUEUE_MAX,
                "the queue is longer than 500",
            ),
            (
                tickets.len() == self.queue.len(),
                "two waiters share a ticket",
            ),
            (
                tickets.last().is_none_or(|t| **t <= self.last_ticket),
                "a ticket is above lastTicket",
            ),
            (
                self.holders
                    .values()
                    .flat_map(|l| &l.run_key)
                    .all(|key| runs.insert(key)),
                "two holders share a run key",
            ),
        ];
        rules
            .into_iter()
            .find(|(kept, _)| !kept)
            .map_or(Ok(()), |(_, rule)| Err(rule))
    }
}
