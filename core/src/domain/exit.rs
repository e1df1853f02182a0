//! How a holder leaves its permit.
//!
//! ```text
//!  suspect      silent while its execution runs        ─┐
//!  replaced by  another run waits to take its place    ─┴▶ a heartbeat is still accepted
//!  ending       its execution has cut its work off      ─▶ a redrive may continue the run
//!               its stop is committed, and why          ─▶ heartbeats are refused
//! ```
//!
//! The three are independent: a silent holder may be replaced, and a replaced one may end by itself.

use super::holder::HolderId;
use super::time::Timestamp;

/// The exit of a holder; nothing is set while it works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Exit {
    /// When recovery marked the holder as a suspect: silent while its execution runs. A heartbeat
    /// clears it.
    pub suspect: Option<Timestamp>,
    /// The run that replaces this holder, which is to be stopped.
    pub replaced_by: Option<HolderId>,
    /// Set while the work of this holder is being stopped.
    pub ending: Option<Ending>,
}

/// The state of a holder whose work is being stopped: it keeps its permit until the work has been
/// confirmed to have stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ending {
    /// When the ending began.
    pub since: Timestamp,
    /// Why, which decides whether the holder may continue.
    pub cause: EndingCause,
}

/// Why the work of a holder is being stopped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndingCause {
    /// Its execution is over, or has cut its work off. A redrive of the execution may continue the
    /// run.
    Over,
    /// A stop is committed: heartbeats are refused.
    Stopped,
    /// An operator's eviction is committed, with this reason and the name of the operator. Heartbeats
    /// are refused.
    Evicted(String),
}

impl Exit {
    /// Whether a stop is committed: heartbeats no longer renew the lease.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        matches!(
            self.cause(),
            Some(EndingCause::Stopped | EndingCause::Evicted(_))
        )
    }

    /// Why the work is being stopped, if it is.
    #[must_use]
    pub fn cause(&self) -> Option<&EndingCause> {
        self.ending.as_ref().map(|ending| &ending.cause)
    }

    /// The reason of an operator who evicts the holder, with the operator's name.
    #[must_use]
    pub fn evicted(&self) -> Option<&str> {
        match self.cause()? {
            EndingCause::Evicted(why) => Some(why),
            EndingCause::Over | EndingCause::Stopped => None,
        }
    }

    /// The exit with an ending for `cause`. The time of an earlier ending stays: late heartbeats are
    /// judged by it.
    #[must_use]
    pub fn ending(&self, cause: EndingCause, now: Timestamp) -> Self {
        let since = self.ending.as_ref().map_or(now, |ending| ending.since);
        Self {
            ending: Some(Ending { since, cause }),
            ..self.clone()
        }
    }
}
