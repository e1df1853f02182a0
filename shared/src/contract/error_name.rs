//! The closed list of error names.

use std::fmt;

/// Name of an error that a workflow can catch. The list is closed.
///
/// Step Functions gets the name as the error name of a failed Lambda task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorName {
    /// The request breaks a rule: the message names the field, the value and the rule. Nothing was
    /// written.
    InvalidRequest,
    /// The lock, a holder or a run key is in the way. One of these is true:
    ///
    /// - the lock grants no permit now, and the overlap policy neither skips nor waits;
    /// - the execution that started the run holds the lock, whatever the overlap policy is;
    /// - the last attempt of a redriven run has not stopped yet;
    /// - a holder that is to be evicted is alive, or may be;
    /// - a run key that is to be forgotten or started is in use.
    LockHeld,
    /// The queue of the lock has `maxQueue` waiters, or 500 with `overlap` `replace`, and `whenQueueFull`
    /// is `fail`.
    QueueFull,
    /// The lock is held or waited for with another number of permits than the request has, and the
    /// overlap policy is not `queue`. With `queue`, the run waits until no run holds the lock. A process
    /// that waits longer than a lease of its own takes a place at the end of the queue again. A workflow
    /// loses its place after 8,000 s without a request.
    PermitsMismatch,
    /// The caller has lost its lease, or its run is stale. Stop the work.
    LeaseLost,
    /// An operator paused the lock, and `onPaused` is `fail`; or an earlier attempt at the run may still
    /// hold the lock.
    LockPaused,
    /// The lock froze: it grants no permit until an operator resumes it.
    LockFrozen,
    /// Every attempt met a write of another run.
    Contended,
    /// A service gave no clear answer. A retry is safe.
    Unavailable,
    /// The function may not use a resource that it needs.
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
