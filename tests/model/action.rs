//! The steps of the world.

use crate::services::{News, Sighting};
use crate::state::{Slot, Who, Work};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A second passes.
    Tick,
    /// Nothing else can happen: time passes until something can.
    WaitUntil(u64),
    /// The same, although something else can happen.
    Leap(u64),
    Start(Who),
    /// A call goes one step further; its clock may be slow.
    Step(Slot, bool),
    /// The same call is delivered once more.
    Copy(Slot),
    /// The function dies behind its request: the answer is lost, and so is what was left to do.
    Lose(Slot, bool),
    /// The reply to a write is lost, and the SDK sends the same write once more.
    Resend(Slot),
    Crash(Who),
    /// The work of an execution ends although the execution does not wait for it: it is stopped, or
    /// it comes to its own end before.
    WorkEnds(Who, Work),
    Beat(Who),
    Finish(Who),
    /// The work is over its time: the execution cuts it off, and reports that before it ends.
    CutOff(Who),
    /// The waiting state times out and is entered again.
    TimeOut(Who),
    /// The reaper begins a check of a holder.
    Check(Who),
    /// The same, on an event.
    CheckOnNews(Who, News),
    /// A check goes one request further; its clock may be slow.
    CheckOn(Who, bool),
    /// The same, and what it learns is late by one change, or nothing.
    CheckDimly(Who, Sighting),
    /// The reaper dies behind a request of its check.
    CheckDies(Who),
    /// The sweep finds a waiter and a free permit.
    Sweep,
    /// The sweep finds nothing to do and sets the time of the next one.
    LookAgain,
    Pause,
    Resume,
    /// The sweep resumes a lock whose pause is over.
    EndPause,
    Evict(Who),
    /// The operator has a holder stopped, to take its permit then.
    StopEvicted(Who),
    /// The operator ends the rest after the last grant.
    ClearRest,
    /// The operator has the run key of a run that succeeded forgotten.
    Forget,
    /// An execution that died at work goes on, so many seconds later.
    Redrive(Who, u64),
    /// A second later it asks again whether the work of its last attempt has ended.
    GoOn(Who),
}
