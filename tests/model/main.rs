//! The protocol under every order of steps: an exhaustive model.
//!
//! The checker visits every state that a small world can reach. The world runs the real code:
//! each call is the deployed `protocol::Attempt`, stepped one request at a time, and the table is
//! `LockItems`. Around it stand a few executions, a reaper, a sweep and an operator.
//!
//! # What is modelled
//! - A call: its requests to the table one by one, then what is left to do. Other calls come in
//!   between, and time passes. A request whose order against all others cannot matter is joined
//!   with the one before it.
//! - An execution: it asks (first without waiting, if so planned), waits in a state with a task
//!   token, works, beats, releases, or cuts its work off and reports that. A refused heartbeat fails
//!   it. It may die at any point, its last call and its work may go on, and it may be redriven: it
//!   goes on once the work of its last attempt has ended, and not where that has succeeded.
//! - Work: an ECS task, or an execution that exclusive-run starts. A stop takes time; until then the work may come to an end of its own, with
//!   an exit code. A container that is stopped exits with 0 as well.
//! - What is lost or comes late: a function dies behind any of its requests, so that its answer and
//!   what it had left to do are gone and the caller calls again; the reply to a write is lost, and
//!   the SDK sends the same write again; a call is delivered twice, the second time at any later
//!   point; a waiting state times out while its call is under way.
//! - Requests that take time: a function reads its clock long before its request arrives; a write is repeated by
//!   the SDK and arrives twice, the first one after any later write; a function dies while its write is on its
//!   way; a heartbeat state times out while its heartbeat is under way, so that two are.
//! - A run that yielded: it is redriven, with its work at its end or not; another run asks for its key and
//!   settles its end by evidence, which may be late or hidden.
//! - Waiters that poll.
//! - The reaper: the deployed `recovery::Check`, one request at a time, begun at any time with the
//!   lease as it is then, with or without an event that may be old. StopExecution and StopTask act
//!   on the world; what is described is true, late by one change, or hidden; the reaper may die
//!   behind each request. The sweep: it finds a lock by `due` alone.
//! - Time in whole seconds; every read of a clock may be a second slow where the world says so.
//!
//! # What is not
//! - Clocks that are off by less than a second, or by more. Conflicts that last until a caller
//!   gives up; a table that is busy or does not answer.
//! - Two heartbeats of one run in the same millisecond, on both sides of a redrive.
//! - Two checks of one holder at once; holders that are tasks; a redrive of a run that has waited;
//!   a task that was started a moment ago and is not listed.
//! - Progress, tasks noted in the history, history that is purged.
//!
//! # How a run ends
//! Each count of a [`state::Budget`] only falls, so every path ends. What the protocol owes (a
//! lost wake-up, a dead holder, a closed lock) is not counted: it happens as long as it is due.
//! What must have come about in the end is judged in each state in which nothing can happen any
//! more; a configuration without such a state proves nothing and fails.
//!
//! # What is excused
//! - Work without a permit: where an operator evicted the run, where its stale policy is `yield`,
//!   and where nothing but the end of a lease can be known of its holder ([`state::Taken`]).
//! - Two successes of a run key: where an operator evicted the one before its success was recorded.
//! - A side item that is left behind: one for each call of a waiting state that was cut off.

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
