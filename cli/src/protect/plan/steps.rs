//! Inputs and outputs of the plan.

use super::super::reason::Refused;
use std::time::Duration;

/// A call to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Put {
    /// Matches its answer to the call.
    pub(crate) number: u64,
    /// Minutes of protection; `None` clears it.
    pub(crate) minutes: Option<u64>,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanStep {
    /// Make this call, and record its answer.
    Put(Put),
    /// Protection has expired while work is in flight: log it. Returned once.
    Lapsed,
    /// Nothing until then, unless the plan changes.
    Wait(Duration),
    /// Nothing, unless the plan changes.
    Nothing,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PutResult {
    /// Protected for this long from now, if the answer has a date.
    Protected(Option<Duration>),
    /// Not protected any more.
    Cleared,
    /// Not done, or the outcome is unknown.
    Refused(Refused),
}

/// The event to log for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProtectionEvent {
    /// The task is protected; it was not before.
    Protected,
    /// The task stays protected.
    Renewed,
    /// The task is not protected any more.
    Cleared,
    /// Protection was refused, for this reason for the first time.
    Refused(Refused),
    /// The last attempt to clear failed; the protection expires.
    LeftToExpire(Refused),
    /// Nothing new.
    Nothing,
}

/// The protection of the work in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProtectionState {
    /// It is protected.
    Protected,
    /// The answer is awaited.
    Asking,
    /// It is not protected; the call is retried.
    Retrying(Refused),
    /// It is not protected, and no call is retried.
    Stopped(Refused),
}
