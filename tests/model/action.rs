//! The steps of the world.

use crate::services::{News, Sighting};
use crate::state::{Slot, Who, Work};
use lockstep::domain::Command;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// A function reads its clock, which may be slow, and sends its first request.
    Send(Slot, bool),
    /// A write takes so long that the SDK sends it once more: the first one may arrive after the second.
    Stray(Slot, bool),
    /// A function dies while its write is on its way.
    Abandon(Slot, bool),
    /// The oldest of those, or a later one, arrives.
    Arrive(usize),
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
    /// Another run asks for the run key of this one, which yielded: the evidence about it is read.
    Settle(Who, Sighting),
    /// The sweep carries out what is due.
    Sweep(Arc<Command>),
    /// The operator gives an order.
    Order(Arc<Command>),
    /// An execution that died at work goes on, so many seconds later.
    Redrive(Who, u64),
    /// A second later it asks again whether the work of its last attempt has ended.
    GoOn(Who),
}
