//! The steps of the world.

use crate::services::{News, Sighting};
use crate::state::{Slot, Who, Work};
use lockstep::domain::Command;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A second passes.
    Tick,
    /// No other step is possible, so time passes until one is.
    WaitUntil(u64),
    /// Time passes until another step becomes possible, although others are possible already.
    Leap(u64),
    Start(Who),
    /// A call makes its next step. Its clock may be slow.
    Step(Slot, bool),
    /// The same call is delivered a second time.
    Copy(Slot),
    /// The function dies after its request. Its answer and its remaining effects are lost.
    Lose(Slot, bool),
    /// A function reads its clock, which may be slow, and sends its first request.
    Send(Slot, bool),
    /// A write takes so long that the SDK sends it again. The first one may arrive after the second.
    Stray(Slot, bool),
    /// A function dies while its write is on its way.
    Abandon(Slot, bool),
    /// The write with this index among those on their way arrives.
    Arrive(usize),
    /// The reply to a write is lost, and the SDK sends the same write again.
    Resend(Slot),
    Crash(Who),
    /// The work of an execution ends while the execution does not wait for it. It is stopped, or ends by
    /// itself before that.
    WorkEnds(Who, Work),
    Beat(Who),
    Finish(Who),
    /// The work is over its time. The execution cuts it off, and reports that before it ends.
    CutOff(Who),
    /// The waiting state times out and is entered again.
    TimeOut(Who),
    /// The reaper begins a check of a holder.
    Check(Who),
    /// The reaper begins a check of a holder because of an event.
    CheckOnNews(Who, News),
    /// A check makes its next request. Its clock may be slow.
    CheckOn(Who, bool),
    /// A check makes its next request, and the answer is late by one change, or hidden.
    CheckDimly(Who, Sighting),
    /// The reaper dies after a request of its check.
    CheckDies(Who),
    /// Another run asks for the run key of this one, which yielded, and reads the evidence about it.
    Settle(Who, Sighting),
    /// The sweep sends the command that is due.
    Sweep(Arc<Command>),
    /// The operator sends a command.
    Order(Arc<Command>),
    /// An execution that died is redriven after this number of seconds.
    Redrive(Who, u64),
    /// A redriven execution asks again, a second later, whether the work of its last attempt has ended.
    GoOn(Who),
}
