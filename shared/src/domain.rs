//! The lock protocol as pure data and pure functions.
//!
//! A [`LockRecord`] is the whole state of one lock. A [`Command`] meets it in [`decide`], which
//! answers with a [`Transition`] or a [`Refusal`]. [`fast`] says what can be written without
//! looking first: a [`Guard`] and an [`Update`], both plain data that any store can evaluate.
//!
//! May depend on: `core` and `std` only (and `thiserror` for the wording of errors, `sha2` for the
//! short names of waiters). No clock, no randomness, no I/O, no JSON, no AWS type.

mod command;
mod decide;
mod fast;
mod guard;
mod holder;
mod key;
mod lease;
mod permits;
mod record;
mod refusal;
mod run;
mod stale;
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

pub use command::{
    Acquire, Command, Death, Evict, Freeze, MarkEnding, NoteTask, Order, Recover, Release, Renew,
    Settle, Stop, StopReason, Suspect, WhenFull,
};
pub use decide::{decide, refused_by_run};
pub use fast::{Fast, fast};
pub use guard::{Change, Clause, Guard, RunGuard, WaiterDrop};
pub use holder::{HolderId, TaskToken};
pub use key::LockKey;
pub use lease::{Call, Ending, EndingCause, Lease, LeaseVersion};
pub use permits::Permits;
pub use record::{LockRecord, Mode, QUEUE_MAX};
pub use refusal::Refusal;
pub use run::{Run, RunEnd, RunId, RunKey, RunOutcome, RunWrite};
pub use stale::{StalePolicy, Staleness};
pub use terms::{Terms, Waiter};
pub use text::Invalid;
pub use ticket::{Ticket, WaiterId};
pub use time::{CLOCK_SKEW, DEAD_AFTER, Seconds, Timestamp};
pub use token::FencingToken;
pub use transition::{Dismissal, Effect, Outcome, Snapshot, Transition};
pub use update::{Assign, Update};
pub use work::{TaskEnd, Work};
