//! The closed list of error names.

use std::fmt;

/// The only error names that a workflow may catch.
///
/// They reach Step Functions as the error name of a failed Lambda task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorName {
    /// The request breaks a rule. Nothing was written. Do not retry.
    InvalidRequest,
    /// All permits are held and the request asked to fail then.
    LockHeld,
    /// The lock's queue is at its bound.
    QueueFull,
    /// The lock is held under another capacity than the request expects.
    PermitsMismatch,
    /// The caller's lease is gone, or its run is over time: stop the work.
    LeaseLost,
    /// An operator paused the lock.
    LockPaused,
    /// A stale holder froze the lock until an operator has looked.
    LockFrozen,
    /// Others wrote the lock in between, again and again. Retry.
    Contended,
    /// A service gave no clear answer. Retry; asking again is safe.
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
    /// Every name there is.
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

    /// The name as a workflow sees it.
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

    /// Whether the same request may succeed a moment later.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Contended | Self::Unavailable)
    }
}

impl fmt::Display for ErrorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
