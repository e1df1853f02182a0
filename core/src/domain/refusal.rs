//! Refusals of commands.

use super::holder::HolderId;
use super::key::RunKey;
use super::lease::Lease;
use super::permits::Permits;
use super::run::Run;
use super::stale::Staleness;
use super::terms::Terms;
use super::time::Timestamp;
use super::token::FencingToken;

/// Why a command changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// All permits are held.
    Held {
        /// The holders, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
        /// The lock's capacity.
        permits: Permits,
        /// Number of waiters.
        waiting: usize,
    },
    /// The queue has reached its bound.
    QueueFull {
        /// The bound of the queue: that of the request, or [`QUEUE_MAX`](super::QUEUE_MAX).
        most: usize,
        /// Number of waiters.
        waiting: usize,
        /// The holders, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// A permit is free, and the rest after the last grant is not over yet.
    TooSoon {
        /// Earliest time of the next grant.
        not_before: Timestamp,
    },
    /// A run with the same run key has succeeded within the retention, or is still running.
    Duplicate {
        /// The run key.
        run_key: RunKey,
        /// The run with that key.
        run: Box<Run>,
    },
    /// The caller expects another capacity than the lock has.
    PermitsMismatch {
        /// The lock's capacity.
        has: Permits,
        /// The capacity that the caller expects.
        asked: Permits,
        /// The holders, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// An operator paused the lock.
    Paused {
        /// The operator's note and name.
        note: String,
        /// When the pause ends by itself, if it does.
        until: Option<Timestamp>,
        /// Number of waiters.
        waiting: usize,
        /// The holders, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// The lock is frozen: a holder is stale, or evidence about a holder could not be read for an hour.
    Frozen {
        /// Why the lock is frozen.
        note: String,
    },
    /// All permits are held, one of them by the caller's own execution or by the execution that started
    /// it.
    HeldByParent {
        /// The holder that is the caller's own execution or its parent.
        holder: HolderId,
    },
    /// The caller's grant has ended, or a stop of the caller is committed.
    LeaseLost {
        /// The caller.
        holder: HolderId,
        /// The token of its grant.
        token: FencingToken,
        /// The current holders, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// The run exceeded `maxRunSeconds` or `noProgressSeconds`, and its stale policy is `terminate`.
    Stale {
        /// The caller.
        holder: HolderId,
        /// Why the run is stale.
        why: Staleness,
    },
}

impl Refusal {
    /// Returns whether a caller with `terms` should wait for a holder that is being stopped. That is so
    /// if
    ///
    /// - more holders are ending than runs wait, so one of the permits is left for the caller, or
    /// - an ending holder may be an earlier attempt at the caller's own run ([`Terms::may_be_retry_of`]). The
    ///   runs in the queue go first then. One of them may be another attempt at the same run that has
    ///   died.
    #[must_use]
    pub fn should_wait_for_ending_holder(&self, terms: &Terms) -> bool {
        let Self::Held {
            holders, waiting, ..
        } = self
        else {
            return false;
        };
        let ending = holders.iter().map(|(_, lease)| lease);
        let ending: Vec<_> = ending.filter(|lease| lease.exit.ending.is_some()).collect();
        ending.len() > *waiting || ending.iter().any(|lease| terms.may_be_retry_of(lease))
    }
}
