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
    /// The queue has as many waiters as the bound allows.
    QueueFull {
        /// The bound: that of the caller, or of all queues.
        most: usize,
        /// Number of waiters.
        waiting: usize,
        /// The holders, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// A permit is free, but the rest after the last grant is not over.
    TooSoon {
        /// Earliest time of the next grant.
        not_before: Timestamp,
    },
    /// A run with the same run key has succeeded within the retention, or is under way.
    Duplicate {
        /// The key.
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
        /// When the pause is over, if that is known.
        until: Option<Timestamp>,
        /// Number of waiters.
        waiting: usize,
        /// The holders, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// A stale holder froze the lock.
    Frozen {
        /// Why.
        note: String,
    },
    /// All permits are held, and the caller's own execution or the one that started it has one of them.
    HeldByParent {
        /// That holder.
        holder: HolderId,
    },
    /// The caller's grant has ended, or its stop is committed.
    LeaseLost {
        /// The caller.
        holder: HolderId,
        /// The token of its grant.
        token: FencingToken,
        /// The current holders, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// The run is over its time or makes no progress, and its stale policy is `terminate`.
    Stale {
        /// The caller.
        holder: HolderId,
        /// Why it is stale.
        why: Staleness,
    },
}

impl Refusal {
    /// Whether a caller with `terms` gets a permit by waiting for the end of a holder that is being stopped: more
    /// holders are ending than runs wait, or one of them may be an earlier attempt at the caller's own run. Those
    /// that wait go first then, and one of them may be an attempt in between that has died.
    #[must_use]
    pub fn frees_a_permit(&self, terms: &Terms) -> bool {
        let Self::Held {
            holders, waiting, ..
        } = self
        else {
            return false;
        };
        let ending = holders.iter().map(|(_, lease)| lease);
        let ending: Vec<_> = ending.filter(|lease| lease.exit.ending.is_some()).collect();
        ending.len() > *waiting || ending.iter().any(|lease| terms.may_repeat(lease))
    }
}
