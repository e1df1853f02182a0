//! Inputs and outputs of the plan.

use super::super::reason::Refused;
use std::time::Duration;

/// A call to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Put {
    /// Identifies the call for its answer.
    pub(crate) number: u64,
    /// Minutes of protection; `None` clears it.
    pub(crate) minutes: Option<u64>,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanStep {
    /// Make this call, and record its answer.
    Put(Put),
    /// Log that protection has expired while work is in flight. Returned once per expiry.
    Lapsed,
    /// Do nothing until this time, unless the plan changes.
    Wait(Duration),
    /// Do nothing, unless the plan changes.
    Nothing,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PutResult {
    /// The task is protected for this time from now; `None` if the answer has no date.
    Protected(Option<Duration>),
    /// The task is not protected any more.
    Cleared,
    /// The call was refused, or its outcome is unknown.
    Refused(Refused),
}

/// The event to log for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProtectionEvent {
    /// The task is protected, which it was not before.
    Protected,
    /// The task stays protected.
    Renewed,
    /// The task is not protected any more.
    Cleared,
    /// Protection was refused, and the last logged reason is another one.
    Refused(Refused),
    /// The last attempt to clear protection failed; the protection ends when it expires.
    LeftToExpire(Refused),
    /// Nothing new.
    Nothing,
}

/// The protection of the work in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProtectionState {
    /// The task is protected.
    Protected,
    /// The answer of the agent is awaited.
    Asking,
    /// The task is not protected; the call is retried.
    Retrying(Refused),
    /// The task is not protected, and the call is not retried.
    Stopped(Refused),
}
