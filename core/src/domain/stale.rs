//! Holders that stopped renewing their lease, made no progress or exceeded their run time.

use super::time::{Timestamp, rfc3339};
use std::fmt;

/// The stale policy: what happens to a holder that is stale while its execution runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StalePolicy {
    /// The holder is stopped. Its permit is free once a check has seen its work stopped.
    #[default]
    Terminate,
    /// The holder loses its permit and keeps running.
    Yield,
    /// The lock is frozen until an operator resumes it.
    Hold,
}

/// Why a holder is stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Staleness {
    /// The holder has not renewed its lease, which ended at this time.
    Expired(Timestamp),
    /// The run has not ended by this time (`maxRunSeconds`).
    Overran(Timestamp),
    /// The run has made no progress by this time (`noProgressSeconds`).
    Stalled(Timestamp),
}

/// Writes a phrase that follows the name of the holder.
impl fmt::Display for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Expired(at) => {
                let at = rfc3339(at);
                write!(f, "has not renewed its lease, which ended at {at}")
            }
            Self::Overran(at) => {
                let at = rfc3339(at);
                write!(
                    f,
                    "still runs after the end of its run time at {at} (maxRunSeconds)"
                )
            }
            Self::Stalled(at) => {
                let at = rfc3339(at);
                write!(f, "made no progress by {at} (noProgressSeconds)")
            }
        }
    }
}
