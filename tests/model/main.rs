//! An exhaustive model of the protocol: every order of its steps in small worlds.
//!
//! The checker visits every state that a small world can reach. A world runs the real code: each call is
//! the deployed `protocol::Attempt`, stepped one request at a time, and the table is `LockItems`. Around
//! them are a few executions, a reaper, a sweep and an operator.
//!
//! # What is modelled
//! - A call: its requests to the table one by one, then its effects. Between two steps of a call, other
//!   calls go on and time passes. A request whose order against all others cannot matter is joined with
//!   the one before it.
//! - An execution: it acquires (first without waiting, if its plan says so), waits in a state with a task
//!   token, works, renews, and releases, or cuts its work off and reports that. A refused heartbeat fails
//!   it. It may die at any point, and its last call and its work may go on.
//! - A redrive: the execution goes on once the work of its last attempt has ended, unless that work has
//!   succeeded.
//! - Work: an ECS task, or an execution that exclusive-run starts. A stop takes time. Until the work has
//!   stopped, it may end by itself with an exit code. A container that is stopped exits with 0 as well.
//! - Losses. A function dies after any of its requests: its answer and its remaining effects are lost,
//!   and the caller calls again. The reply to a write is lost, and the SDK sends the same write again.
//! - Delays. A call is delivered twice, the second time at any later point. A waiting state times out
//!   while its call is under way.
//! - Requests that take time. A function reads its clock long before its request arrives. The SDK repeats
//!   a write, which arrives twice, the first one after any later write. A function dies while its write
//!   is on its way. A heartbeat state times out while its heartbeat is under way, so that there are two.
//! - A run that yielded: it is redriven, whether its work has ended or not. Another run asks for its run
//!   key and settles its end by evidence, which may be late or hidden.
//! - Waiters that poll.
//! - The reaper: the deployed `recovery::Check`, one request at a time. It begins at any time with the
//!   lease as it is then, with or without an event, which may be old. StopExecution and StopTask act on
//!   the world. A description is true, late by one change, or hidden. The reaper may die after each
//!   request.
//! - The sweep: it finds a lock only by `due`.
//! - Time in whole seconds. Every read of a clock may be a second slow if the world has `skew`.
//!
//! # What is not modelled
//! - Clocks that are off by less than a second, or by more.
//! - Conflicts that last until a caller gives up; a table that is busy or does not answer.
//! - Two heartbeats of one run in the same millisecond, before and after a redrive.
//! - Two checks of one holder at once.
//! - Holders that are tasks.
//! - A redrive of a run that has waited.
//! - A task that was started a moment ago and is not listed yet.
//! - Progress, tasks noted in the history, and history that is purged.
//!
//! # How a path ends
//! Each count of a [`state::Budget`] only falls, so every path ends. A step that the protocol has to make
//! (a lost wake-up, a dead holder, a closed lock) has no count: it is possible as long as it is due. What
//! must have happened in the end is checked in each state in which no step is possible. A configuration
//! without such a state proves nothing, so it fails.
//!
//! # Exceptions
//! - Work without a permit is allowed in three cases: an operator evicted the run, its stale policy is
//!   `yield`, or the end of its lease is the only evidence about its holder ([`state::Taken`]).
//! - A run key may have two successes if an operator evicted the first run before its success was
//!   recorded.
//! - Each call of a waiting state that was cut off may leave one side item.

mod action;
mod answer;
mod call;
mod cases;
mod check;
mod commands;
mod inspect;
mod mutant;
mod possible;
mod properties;
mod services;
mod state;
mod step;
mod watch;
mod watch_work;
mod wire;
mod world;
