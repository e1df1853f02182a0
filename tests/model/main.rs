//! The protocol under every order of steps: an exhaustive model.
//!
//! The checker looks at every state that a small world can reach. The world runs the real code:
//! `fast`, `decide`, `Transition::change`, what a command reads first, and `LockItems::commit` as
//! the table. Around it stand a few executions, a reaper, a sweep and an operator.
//!
//! # What is modelled
//! - A call in its steps: register, write without a look, read the record, read the rest and
//!   decide, write, do what is left. Other calls come in between. A step whose order against all
//!   others cannot matter is joined with the one before it.
//! - An execution: it asks (first without waiting, if so planned), waits in a state with a task
//!   token, works, beats, releases. It may die at any point, its last call and its work may go on,
//!   and it may be started again (redriven).
//! - What is lost or comes late: a function dies behind its write, so that its answer and what it
//!   had left to do are gone and the caller calls again; a call is delivered twice, the second time
//!   at any later point; a waiting state times out while its call is under way.
//! - The reaper: it recovers only an execution that is over and whose work has stopped, or a lease
//!   that ran out where nobody can be asked or the policy is to yield. The sweep: it finds a lock
//!   by `due` alone.
//! - Time in whole seconds; every read of a clock may be a second slow where the world says so.
//!
//! # What is not
//! - Clocks that are off by less than a second, or by more. Conflicts that last until a caller
//!   gives up; a table that is busy or does not answer.
//! - Waiters without a task token, progress, tasks noted in the history, history that is purged.
//! - How the reaper comes by its evidence, and work that an abort leaves running: the permit goes
//!   back only once the work has stopped.
//!
//! # How a run ends
//! Each count of a [`state::Budget`] only falls, so every path ends. What the protocol owes (a
//! lost wake-up, a dead holder, a closed lock) is not counted: it happens as long as it is due.
//! The two `eventually` properties hold in a last state only, so no path hides another's failure.

mod action;
mod answer;
mod call;
mod cases;
mod check;
mod commands;
mod effect;
mod look;
mod mutant;
mod names;
mod possible;
mod properties;
mod state;
mod step;
mod watch;
mod watch_queue;
mod world;
