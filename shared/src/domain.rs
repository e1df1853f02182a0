//! The lock protocol as pure data and pure functions.
//!
//! A [`LockRecord`] is the whole state of one lock. A [`Command`] meets it in [`decide`], which
//! answers with a [`Transition`] or a [`Refusal`]. [`fast`] says what can be written without
//! looking first: a [`Guard`] and an [`Update`], both plain data that any store can evaluate.
//!
//! May depend on: `core` and `std` only (and `thiserror` for the wording of errors). No clock, no
//! randomness, no I/O, no JSON, no AWS type.

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
mod text;
mod time;
mod token;
mod transition;
mod update;

pub use command::{Acquire, Command, Release, Renew};
pub use decide::{decide, refused_by_run};
pub use fast::{Fast, fast};
pub use guard::{Change, Clause, Guard, RunGuard};
pub use holder::{HolderId, TaskToken};
pub use key::LockKey;
pub use lease::Lease;
pub use permits::Permits;
pub use record::{LockRecord, Mode, QUEUE_MAX};
pub use refusal::Refusal;
pub use run::{Run, RunEnd, RunId, RunKey, RunOutcome, RunWrite};
pub use text::Invalid;
pub use time::{CLOCK_SKEW, Seconds, Timestamp};
pub use token::FencingToken;
pub use transition::{Effect, Outcome, Snapshot, Transition};
pub use update::{Assign, Update};
