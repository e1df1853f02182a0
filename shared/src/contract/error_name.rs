//! The closed list of error names.

use std::fmt;

/// The only error names that a workflow may catch.
///
/// They reach Step Functions as the error name of a failed Lambda task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorName {
    /// The request breaks a rule. Nothing was written. Do not retry.
    InvalidRequest,
    /// No permit is free, and the overlap policy neither skips nor waits; or the last attempt of a
    /// redriven run has not stopped yet; or a holder that is to be evicted is alive.
    LockHeld,
    /// The lock's queue is at its bound.
    QueueFull,
    /// The lock is held under another capacity than the request expects.
    PermitsMismatch,
    /// The caller's lease is gone, or its run is over time: stop the work.
    LeaseLost,
    /// An operator paused the lock.
    LockPaused,
    /// The lock is frozen because of a stale holder, until an operator resumes it.
    LockFrozen,
    /// Every attempt met a concurrent write of another run. Retry.
    Contended,
    /// A service gave no clear answer. Retry; it is safe.
    Unavailable,
    /// The function may not use a resource it needs. Retrying does not help.
    Denied,
    /// An item is not readable by this version. It was not touched.
    Corrupt,
    /// The task of the run was stopped from outside: that its container exited with 0 shows no
    /// success. Only the state machine raises it.
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
