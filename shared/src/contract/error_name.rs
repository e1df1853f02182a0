//! The closed list of error names.

use std::fmt;

/// Name of an error that a workflow can catch. The list is closed.
///
/// Step Functions gets the name as the error name of a failed Lambda task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorName {
    /// The request breaks a rule. Nothing was written. Do not retry.
    InvalidRequest,
    /// The lock, a holder or a run key is in the way. One of these is true:
    ///
    /// - the lock grants no permit now, and the overlap policy neither skips nor waits;
    /// - the execution that started the run holds the lock, whatever the overlap policy is;
    /// - the last attempt of a redriven run has not stopped yet;
    /// - a holder that is to be evicted is alive, or may be;
    /// - a run key that is to be forgotten or started is in use.
    LockHeld,
    /// The queue of the lock has `maxQueue` waiters or more.
    QueueFull,
    /// The lock is held with another number of permits than the request has.
    PermitsMismatch,
    /// The caller has lost its lease, or its run is stale. Stop the work.
    LeaseLost,
    /// An operator paused the lock.
    LockPaused,
    /// The lock is frozen because of a stale holder, until an operator resumes it.
    LockFrozen,
    /// Every attempt met a concurrent write of another run. Retry.
    Contended,
    /// A service gave no clear answer. Retry; a retry is safe.
    Unavailable,
    /// The function may not use a resource it needs. Retrying does not help.
    Denied,
    /// This version cannot read an item of the lock table. The item was not changed.
    Corrupt,
    /// The task of the run was stopped from outside, so exit code 0 of its container does not show a success.
    /// Only the state machine raises this error.
    WorkStopped,
}

impl ErrorName {
    /// All names.
    pub const ALL: [Self; 12] = [
        Self::InvalidRequest,
        Self::LockHeld,
        Self::QueueFull,
        Self::PermitsMismatch,
        Self::LeaseLost,
        Self::LockPaused,
        Self::LockFrozen,
        Self::Contended,
        Self::Unavailable,
        Self::Denied,
        Self::Corrupt,
        Self::WorkStopped,
    ];

    /// Returns the name as a workflow sees it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "Lockstep.InvalidRequest",
            Self::LockHeld => "Lockstep.LockHeld",
            Self::QueueFull => "Lockstep.QueueFull",
            Self::PermitsMismatch => "Lockstep.PermitsMismatch",
            Self::LeaseLost => "Lockstep.LeaseLost",
            Self::LockPaused => "Lockstep.LockPaused",
            Self::LockFrozen => "Lockstep.LockFrozen",
            Self::Contended => "Lockstep.Contended",
            Self::Unavailable => "Lockstep.Unavailable",
            Self::Denied => "Lockstep.Denied",
            Self::Corrupt => "Lockstep.Corrupt",
            Self::WorkStopped => "Lockstep.WorkStopped",
        }
    }

    /// Returns whether the same request may succeed on a retry.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Contended | Self::Unavailable)
    }

    /// Returns whether an operator has to act: no retry and no other request removes the cause. All other
    /// names are answers to the caller, or go away with a retry.
    #[must_use]
    pub const fn is_fault(self) -> bool {
        matches!(self, Self::Denied | Self::Corrupt)
    }
}

impl fmt::Display for ErrorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
