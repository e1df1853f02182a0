//! Holders that stopped renewing, hung or overran.

use super::time::{Timestamp, rfc3339};
use std::fmt;

/// What happens to a holder that is stale while its execution still runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StalePolicy {
    /// It is stopped; the permit is free once its work has been confirmed to have stopped.
    #[default]
    Terminate,
    /// It loses the permit and keeps running.
    Yield,
    /// The lock is frozen until an operator resumes it.
    Hold,
}

/// Why a holder is stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Staleness {
    /// It has not renewed its lease, which ended at this time.
    Expired(Timestamp),
    /// It is still running after this end of its time (`maxRunSeconds`).
    Overran(Timestamp),
    /// It has made no progress until this time (`noProgressSeconds`).
    Stalled(Timestamp),
}

/// A phrase that follows the name of the holder.
impl fmt::Display for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Expired(at) => {
                let at = rfc3339(at);
                write!(f, "has not renewed its lease, which ended {at}")
            }
            Self::Overran(at) => write!(f, "had to be over by {} (maxRunSeconds)", rfc3339(at)),
            Self::Stalled(at) => {
                let at = rfc3339(at);
                write!(f, "had to make progress by {at} (noProgressSeconds)")
            }
        }
    }
}
