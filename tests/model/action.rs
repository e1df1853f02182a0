//! The steps of the world.

use crate::state::{Slot, Who};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A second passes.
    Tick,
    /// Nothing else can happen: time passes until something can.
    WaitUntil(u64),
    Start(Who),
    /// A call goes one step further; its clock may be slow.
    Step(Slot, bool),
    /// The same call is delivered once more.
    Copy(Slot),
    /// The function dies behind its write: the answer is lost, and so is what was left to do.
    Lose(Slot, bool),
    Crash(Who),
    /// The work of an execution that is over comes to its end.
    WorkStops(Who),
    Beat(Who),
    Finish(Who),
    /// The waiting state times out and is entered again.
    TimeOut(Who),
    /// The reaper has seen that the execution is over and its work stopped.
    Reap(Who),
    /// The reaper has found the lease of a silent holder run out.
    Expire(Who),
    Freeze(Who),
    /// The sweep finds a waiter and a free permit.
    Sweep,
    /// The sweep can do nothing and looks again later.
    LookAgain,
    Pause,
    Resume,
    Evict(Who),
    /// An execution that died at work goes on, so many seconds later.
    Redrive(Who, u64),
}
