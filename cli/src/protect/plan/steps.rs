//! What goes into the plan and what comes out.

use super::super::reason::Refused;
use std::time::Duration;

/// A call to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Put {
    /// Tells its answer from those of earlier calls.
    pub(crate) number: u64,
    /// Minutes of protection; `None` clears it.
    pub(crate) minutes: Option<u64>,
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Make this call and bring its answer.
    Put(Put),
    /// The protection has run out while work is in flight: say so, once.
    Lapsed,
    /// Nothing until then, unless something happens.
    Wait(Duration),
    /// Nothing, unless something happens.
    Nothing,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Protected for this long from now, if the answer says how long.
    Protected(Option<Duration>),
    /// Not protected any more.
    Cleared,
    /// Not done, as far as one knows.
    Refused(Refused),
}

/// What an answer means, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The task is protected; it was not before.
    Protected,
    /// The task stays protected.
    Renewed,
    /// The task is not protected any more.
    Cleared,
    /// Protection was refused, for the first time for this reason.
    Refused(Refused),
    /// Clearing failed for the last time; the protection ends by itself.
    LeftToExpire(Refused),
    /// Nothing that has not been said before.
    Nothing,
}

/// How work in flight stands with its protection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is protected.
    Protected,
    /// The answer is awaited.
    Asking,
    /// It is not protected; it is tried again by itself.
    Retrying(Refused),
    /// It is not protected, and waiting will not change it.
    Stopped(Refused),
}
