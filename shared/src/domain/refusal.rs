//! Why a command changes nothing. Each refusal names both sides.

use super::holder::HolderId;
use super::lease::Lease;
use super::permits::Permits;
use super::run::{Run, RunKey};
use super::stale::Staleness;
use super::time::Timestamp;
use super::token::FencingToken;

/// Why a command changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// All permits are held.
    Held {
        /// By whom, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
        /// The lock's capacity.
        permits: Permits,
        /// How many wait.
        waiting: usize,
    },
    /// The queue is at its bound.
    QueueFull {
        /// The bound that the caller asked for.
        most: usize,
        /// How many wait.
        waiting: usize,
        /// Who holds the lock, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// The lock is free, but its last grant asked for more distance.
    TooSoon {
        /// Earliest time of the next grant.
        not_before: Timestamp,
    },
    /// The run key has had its success, or runs right now.
    Duplicate {
        /// The key.
        run_key: RunKey,
        /// The run that has it.
        run: Box<Run>,
    },
    /// The caller expects another capacity than the holders were granted under.
    PermitsMismatch {
        /// What the lock has.
        has: Permits,
        /// What the caller asked for.
        asked: Permits,
        /// Who holds the lock, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// An operator paused the lock.
    Paused {
        /// What the operator wrote.
        note: String,
    },
    /// A stale holder froze the lock.
    Frozen {
        /// Why.
        note: String,
    },
    /// The caller's grant is not in the record any more.
    LeaseLost {
        /// Who asked.
        holder: HolderId,
        /// Under which grant.
        token: FencingToken,
        /// Who holds the lock now, oldest grant first.
        holders: Vec<(HolderId, Lease)>,
    },
    /// The run overran or hangs, and its stale policy is to terminate.
    Stale {
        /// Who asked.
        holder: HolderId,
        /// Why it may not go on.
        why: Staleness,
    },
}

impl Refusal {
    /// Whether a permit is about to become free that no waiter waits for: the work of its holder is
    /// being stopped.
    #[must_use]
    pub fn frees_a_permit(&self) -> bool {
        let Self::Held {
            holders, waiting, ..
        } = self
        else {
            return false;
        };
        let ending = holders.iter().filter(|(_, lease)| lease.ending.is_some());
        ending.count() > *waiting
    }
}
