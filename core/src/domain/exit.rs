//! How a holder leaves its permit.
//!
//! ```text
//!  suspect      silent while its execution runs        ─┐
//!  replaced by  another run waits to take its place    ─┴▶ a heartbeat is still accepted
//!  ending       its execution has ended or reported     ─▶ a redrive may continue the run
//!               that its work is stopping
//!               its stop is committed                   ─▶ heartbeats are refused
//! ```
//!
//! The three marks are independent: a silent holder may be replaced, and a holder that is to be replaced
//! may end by itself.

use super::holder::HolderId;
use super::time::Timestamp;

/// The marks of a holder that may leave. None is set while the holder works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Exit {
    /// When recovery marked the holder as a suspect: silent while its execution runs. A heartbeat clears
    /// the mark.
    pub suspect: Option<Timestamp>,
    /// The run that waits to replace this holder. The holder is to be stopped for it.
    pub replaced_by: Option<HolderId>,
    /// Set while the work of this holder is being stopped.
    pub ending: Option<Ending>,
}

/// The state of a holder whose work is being stopped. The holder keeps its permit until a check has seen
/// the work stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ending {
    /// When the ending began.
    pub since: Timestamp,
    /// Why the holder is ending. The cause decides whether a redrive may continue the run.
    pub cause: EndingCause,
}

/// Why the work of a holder is being stopped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndingCause {
    /// Its execution has ended, or has reported that its work is stopping. A redrive of the execution
    /// may continue the run.
    Over,
    /// A stop is committed: heartbeats are refused.
    Stopped,
    /// An operator's eviction is committed, with this reason and the name of the operator. Heartbeats
    /// are refused.
    Evicted(String),
}

impl Exit {
    /// Returns whether a stop is committed: heartbeats no longer renew the lease.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        matches!(
            self.cause(),
            Some(EndingCause::Stopped | EndingCause::Evicted(_))
        )
    }

    /// Returns why the work is being stopped; `None` if the holder is not ending.
    #[must_use]
    pub fn cause(&self) -> Option<&EndingCause> {
        self.ending.as_ref().map(|ending| &ending.cause)
    }

    /// Returns the reason and the name of the operator who evicts the holder; `None` if no eviction is
    /// committed.
    #[must_use]
    pub fn evicted(&self) -> Option<&str> {
        match self.cause()? {
            EndingCause::Evicted(why) => Some(why),
            EndingCause::Over | EndingCause::Stopped => None,
        }
    }

    /// Returns the exit with an ending for `cause`. If the holder is ending already, the time of that
    /// ending stays, because it decides whether a heartbeat came late.
    #[must_use]
    pub fn ending(&self, cause: EndingCause, now: Timestamp) -> Self {
        let since = self.ending.as_ref().map_or(now, |ending| ending.since);
        Self {
            ending: Some(Ending { since, cause }),
            ..self.clone()
        }
    }
}
