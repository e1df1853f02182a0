//! The whole state of one lock.
//!
//! The holders and the waiters are in this one item, so one conditional write decides who gets a permit.
//! Data that may grow without bound (the history, run keys, the terms of waiters) is in other items.

use super::expectation::Expectation;
use super::gate::{Gate, Mode};
use super::holder::HolderId;
use super::key::RunKey;
use super::lease::Lease;
use super::permits::Permits;
use super::queue::{QUEUE_MAX, Queue};
use super::run::{RunEnd, RunOutcome};
use super::stale::{StalePolicy, Staleness};
use super::terms::Terms;
use super::ticket::{Ticket, WaiterId};
use super::time::Timestamp;
use super::token::FencingToken;
use std::collections::{BTreeMap, BTreeSet};

/// The whole state of one lock: one item, read and written as one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockRecord {
    /// Grows by one with every write.
    pub version: u64,
    /// The fencing token of the latest grant.
    pub last_token: FencingToken,
    /// The ticket of the latest waiter at the end of the queue.
    pub last_ticket: Ticket,
    /// The ticket of the latest run that joined the front of the queue to replace a holder.
    pub front_ticket: Ticket,
    /// The lock's capacity.
    pub permits: Permits,
    /// The holders with their leases. An expired lease stays until it is released, recovered or
    /// evicted.
    pub holders: BTreeMap<HolderId, Lease>,
    /// The waiters with their tickets.
    pub queue: Queue,
    /// What keeps the lock from granting permits.
    pub gate: Gate,
    /// When a run last succeeded.
    pub last_success: Option<Timestamp>,
    /// When a run last failed, was found dead, or lost its permit.
    pub last_failure: Option<Timestamp>,
    /// How often a run is expected to succeed; `None` if no success is expected.
    pub expectation: Option<Expectation>,
    /// When the sweep has to check the lock; `None` if the lock has no holder, no waiter, no pause with
    /// an end and no expectation.
    ///
    /// Heartbeats do not change this time, so it may be earlier than the end of any lease. The sweep
    /// then finds nothing to do and sets the time anew.
    pub due: Option<Timestamp>,
}

/// A broken invariant of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}")]
pub struct BrokenInvariant {
    /// The attribute of the item that breaks the invariant.
    pub attribute: &'static str,
    /// What is wrong.
    pub rule: &'static str,
}

impl LockRecord {
    /// Returns the record of a new lock: version 0, open, with no holder and no waiter.
    #[must_use]
    pub fn new(permits: Permits) -> Self {
        Self {
            version: 0,
            last_token: FencingToken::NONE,
            last_ticket: Ticket::ZERO,
            front_ticket: Ticket::ZERO.behind(),
            permits,
            holders: BTreeMap::new(),
            queue: Queue::default(),
            gate: Gate::OPEN,
            last_success: None,
            last_failure: None,
            expectation: None,
            due: None,
        }
    }

    /// Returns the lease of `holder`, if it has the fencing token `token`.
    #[must_use]
    pub fn lease(&self, holder: &HolderId, token: FencingToken) -> Option<&Lease> {
        self.holders
            .get(holder)
            .filter(|lease| lease.token == token)
    }

    /// Returns the holders, oldest grant first.
    #[must_use]
    pub fn oldest_first(&self) -> Vec<(HolderId, Lease)> {
        let holders = self.holders.iter();
        let mut holders: Vec<_> = holders
            .map(|(h, lease)| (h.clone(), lease.clone()))
            .collect();
        holders.sort_by_key(|(_, lease)| lease.token);
        holders
    }

    /// Returns the holder of the grant with `token`, and its lease.
    #[must_use]
    pub fn holder_under(&self, token: FencingToken) -> Option<(&HolderId, &Lease)> {
        self.holders.iter().find(|(_, lease)| lease.token == token)
    }

    /// Returns the waiter with the smallest ticket.
    #[must_use]
    pub fn first_waiter(&self) -> Option<(&WaiterId, Ticket)> {
        let first = self.queue.iter().min_by_key(|(_, ticket)| **ticket);
        first.map(|(id, ticket)| (id, *ticket))
    }

    /// Returns the position of a waiter in the queue, from 1.
    #[must_use]
    pub fn position(&self, waiter: &WaiterId) -> Option<usize> {
        let own = self.queue.get(waiter)?;
        Some(1 + self.queue.values().filter(|ticket| *ticket < own).count())
    }

    /// Returns whether a permit is free and may be granted at `now`.
    ///
    /// Returns `false` for a lock whose pause has expired if a holder under `hold` is stale. The next check
    /// freezes such a lock, and no permit is granted before.
    #[must_use]
    pub fn can_grant(&self, now: Timestamp) -> bool {
        let freezes = self.gate.mode != Mode::Open && self.why_frozen(now).is_some();
        self.gate.lets_in(now) && self.has_room() && !freezes
    }

    /// Returns the first stale holder under the policy `hold`, for which the lock has to be frozen, and
    /// why the holder is stale. A holder that is ending does not freeze the lock: its permit is free once
    /// its work has stopped.
    #[must_use]
    pub fn why_frozen(&self, now: Timestamp) -> Option<(&HolderId, Staleness)> {
        let mut holders = self.holders.iter();
        holders.find_map(|(holder, lease)| {
            let holds = lease.stale == StalePolicy::Hold && lease.exit.ending.is_none();
            Some((holder, lease.staleness(now).filter(|_| holds)?))
        })
    }

    /// Returns whether a permit is free.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.permits.has_room(self.holders.len())
    }

    /// Returns whether the lock has neither holders nor waiters.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }

    /// Returns the time from which a success counts as missing. Returns `None` if
    ///
    /// - no success is expected,
    /// - the sweep has already noted that the success is missing, or
    /// - the lock is paused: no success is expected of a paused lock.
    #[must_use]
    pub fn success_due(&self) -> Option<Timestamp> {
        let expected = self.expectation.filter(|e| e.missed_at.is_none())?;
        // A lock counts as paused until the sweep ends its expired pause. From then on, the next success is
        // expected within `expectEverySeconds`.
        let paused = matches!(self.gate.mode, Mode::Paused { .. });
        (!paused).then(|| expected.deadline())
    }

    /// Returns the earliest time at which the sweep has something to do: the check of a holder, the
    /// grant of a free permit to a waiter, the stop of a holder for its replacer, the end of a pause, or a
    /// missing success.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        let first_check = self.holders.values();
        let first_check = first_check
            .map(|lease| lease.next_check(&self.gate.mode))
            .min();
        // If all permits are held, no time for the waiters is needed: the end of a holder hands its
        // permit over.
        let waits = !self.queue.is_empty() && self.has_room();
        let next_grant = waits.then_some(self.gate.not_before);
        // A holder is stopped for its replacer when the lock rests no more.
        let replaced =
            |lease: &Lease| lease.exit.replaced_by.is_some() && !lease.exit.is_committed();
        let replaces = !self.has_room() && self.holders.values().any(replaced);
        let next_stop = replaces.then(|| self.gate.opens_at()).flatten();
        let times = [
            first_check,
            next_grant,
            next_stop,
            self.gate.mode.pause_end(),
            self.success_due(),
        ];
        times.into_iter().flatten().min()
    }

    /// Sets [`Self::due`] to `at`, unless it has an earlier time.
    pub(crate) fn due_by(&mut self, at: Timestamp) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// Sets [`Self::due`] to [`Self::next_due`] if the lock has no holder and no waiter. What is left
    /// for the sweep then is the end of a pause and a missing success.
    pub(crate) fn due_if_idle(&mut self) {
        if self.is_idle() {
            self.due = self.next_due();
        }
    }

    /// Records the time of the end of a run in [`Self::last_success`] or [`Self::last_failure`]. A
    /// success restarts the time of the expectation.
    pub(crate) fn note_end(&mut self, end: &RunEnd) {
        match end.outcome {
            RunOutcome::Succeeded => {
                self.last_success = Some(end.at);
                self.expect_from(end.at);
            }
            RunOutcome::Failed | RunOutcome::Recovered | RunOutcome::Lost => {
                self.last_failure = Some(end.at);
            }
            // Of a replaced or evicted run it is not known how its work would have ended.
            _ => {}
        }
    }

    /// Returns the record after the end of a run that no longer had a permit. A late success restarts
    /// the time of the expectation.
    pub(crate) fn after(&self, end: &RunEnd) -> Self {
        let mut next = self.clone();
        next.note_end(end);
        next.due_if_idle();
        next
    }

    /// Opens the lock at `now`. After a pause the time of the expectation starts again, because no
    /// success is expected of a paused lock. After a freeze it continues.
    pub(crate) fn open(&mut self, now: Timestamp) {
        if matches!(self.gate.mode, Mode::Paused { .. }) {
            self.expect_from(now);
        }
        self.gate.mode = Mode::Open;
        self.due_for_success();
    }

    /// Freezes the lock with the note `why`, unless it is paused or frozen. Returns whether the lock
    /// froze. A paused lock keeps the note of the pause. After the pause, the next check of the holders
    /// finds the reason for the freeze again.
    pub(crate) fn freeze(&mut self, why: &str, now: Timestamp) -> bool {
        let opens = self.gate.mode.is_open(now);
        if opens {
            self.open(now);
            self.gate.mode = Mode::Frozen { note: why.into() };
        }
        opens
    }

    /// Starts the time of the expectation again at `time`: a run succeeded, or a pause is over.
    pub(crate) fn expect_from(&mut self, time: Timestamp) {
        let every = self.expectation.map(|expected| expected.every);
        self.expectation = every.map(|every| Expectation::starting(every, time));
        self.due_for_success();
    }

    /// Sets [`Self::due`] to the time from which a success is missing, unless it has an earlier time.
    pub(crate) fn due_for_success(&mut self) {
        if let Some(missing) = self.success_due() {
            self.due_by(missing);
        }
    }

    /// Sets [`Self::due`] to the time from which the sweep may grant a free permit to a waiter, unless
    /// it has an earlier time.
    pub(crate) fn due_for_waiters(&mut self, now: Timestamp) {
        if !self.queue.is_empty() && self.has_room() {
            self.due_by(self.gate.not_before.max(now));
        }
    }

    /// Returns the holder with the run key `key`, and its lease.
    #[must_use]
    pub fn holder_of_run(&self, key: &RunKey) -> Option<(&HolderId, &Lease)> {
        self.holders
            .iter()
            .find(|(_, lease)| lease.run_key.as_ref() == Some(key))
    }

    /// Returns the holder with the run key of `terms`, and its lease; `None` if `terms` have no run key.
    #[must_use]
    pub fn holder_of(&self, terms: &Terms) -> Option<(&HolderId, &Lease)> {
        self.holder_of_run(terms.run_key.as_ref()?)
    }

    /// Returns the holder that must end before a waiter with `terms` gets its turn:
    ///
    /// - the holder that has the waiter's own name, because of an earlier grant, or else
    /// - the holder with the same run key, if it is ending.
    #[must_use]
    pub fn holder_to_wait_for(&self, terms: &Terms) -> Option<&HolderId> {
        let own = self.holders.get_key_value(&terms.holder);
        let of_key = self.holder_of(terms);
        let of_key = of_key.filter(|(_, lease)| lease.exit.ending.is_some());
        own.or(of_key).map(|(holder, _)| holder)
    }

    /// Checks the invariants of a record. Called before each write and after each read.
    ///
    /// A decision that breaks an invariant is a bug of this program, and is not written. An item that
    /// breaks an invariant was damaged, and is refused as `Lockstep.Corrupt`.
    ///
    /// # Errors
    /// The first broken invariant.
    pub fn check_invariants(&self) -> Result<(), BrokenInvariant> {
        let tokens: BTreeSet<_> = self.holders.values().map(|lease| lease.token).collect();
        let tickets: BTreeSet<_> = self.queue.values().collect();
        let mut runs = BTreeSet::new();
        let rules = [
            (
                self.holders.len() <= usize::from(self.permits.get()),
                ("holders", "holders exceed permits"),
            ),
            (
                tokens.len() == self.holders.len(),
                ("holders", "two holders share a fencing token"),
            ),
            (
                tokens.last().is_none_or(|t| *t <= self.last_token),
                ("lastToken", "a token is above lastToken"),
            ),
            (
                self.last_token <= FencingToken::MAX,
                ("lastToken", "lastToken is above 2^53 - 1"),
            ),
            (
                self.queue.len() <= QUEUE_MAX,
                ("queue", "the queue is longer than 500"),
            ),
            (
                tickets.len() == self.queue.len(),
                ("queue", "two waiters share a ticket"),
            ),
            (
                tickets.last().is_none_or(|t| **t <= self.last_ticket),
                ("lastTicket", "a ticket is above lastTicket"),
            ),
            (
                tickets.first().is_none_or(|t| **t >= self.front_ticket),
                ("frontTicket", "a ticket is below frontTicket"),
            ),
            (
                self.holders
                    .values()
                    .flat_map(|l| &l.run_key)
                    .all(|key| runs.insert(key)),
                ("holders", "two holders share a run key"),
            ),
        ];
        let broken = rules.into_iter().find(|(kept, _)| !kept);
        broken.map_or(Ok(()), |(_, (attribute, rule))| {
            Err(BrokenInvariant { attribute, rule })
        })
    }
}
