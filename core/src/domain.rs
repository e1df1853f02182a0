//! The lock protocol as pure data and pure functions.
//!
//! A [`LockRecord`] is the whole state of one lock. [`decide()`] applies a [`Command`] to it and
//! returns a [`Transition`] or a [`Refusal`]. [`fast_path()`] returns a write that needs no read
//! first: a [`Guard`] and an [`Update`], both plain data that any store can evaluate.
//!
//! May depend on: `core` and `std`, `thiserror` for the texts of errors, `sha2` for short names and
//! `time` for RFC 3339. No clock, no randomness, no I/O, no JSON and no AWS type.

mod act;
mod child;
mod command;
mod decide;
mod execution;
mod execution_arn;
mod exit;
mod expectation;
mod fast_path;
mod gate;
mod guard;
mod history;
mod holder;
mod key;
mod lease;
mod permits;
mod queue;
mod record;
mod refusal;
mod run;
mod stale;
mod standing;
mod start_name;
mod state_machine;
mod task;
mod task_arn;
mod task_group;
mod terms;
mod text;
mod ticket;
mod time;
mod token;
mod transition;
mod update;
mod work;

#[cfg(test)]
mod tests;

pub use act::{Act, ActKind};
pub use child::{child_arn, child_name, child_stem, parse_child};
pub use command::{
    Acquire, AuditNote, Command, DropWaiter, ExitStep, Forget, Freeze, Mark, NoteTask, Opening,
    Recover, RecoveryBasis, Release, Renew, Settle, StopReason, WhenFull, WhenPaused,
};
pub use decide::{decide, refused_by_run};
pub use execution::{ExecutionDescription, ExecutionEnd, ExecutionState};
pub use execution_arn::ExecutionArn;
pub use exit::{Ending, EndingCause, Exit};
pub use expectation::Expectation;
pub use fast_path::fast_path;
pub use gate::{Gate, Mode};
pub use guard::{Change, Clause, Guard, RunGuard, WaiterDrop};
pub use holder::{HolderId, TaskToken};
pub use key::{LockKey, RunKey};
pub use lease::{Call, Lease, LeaseVersion, Pace, Restart};
pub use permits::Permits;
pub use queue::{QUEUE_MAX, Queue};
pub use record::{BrokenInvariant, LockRecord};
pub use refusal::Refusal;
pub use run::{Retention, Run, RunEnd, RunId, RunOutcome, RunWrite};
pub use stale::{StalePolicy, Staleness};
pub use standing::{Execution, Standing, standing};
pub use start_name::start_name;
pub use state_machine::StateMachineArn;
pub use task::{Container, Task};
pub use task_arn::TaskArn;
pub use task_group::{parse_group, task_group};
pub use terms::{Terms, UNCONFIRMED_MAX, Waiter};
pub use text::Invalid;
pub use ticket::{Ticket, WaiterId};
pub use time::{CLOCK_SKEW, DEAD_AFTER, Seconds, Timestamp, length_text, rfc3339};
pub use token::FencingToken;
pub use transition::{Dismissal, Effect, FastPath, Outcome, Snapshot, Transition};
pub use update::{Assign, Update};
pub use work::{FailedStart, TaskEnd, TaskSet, Work};
