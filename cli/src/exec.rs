//! Runs the guarded command: starts it, supervises it, kills what it leaves behind. The watchdog kills it
//! when this process cannot.
//!
//! ```text
//!  lockstep ──▶ shim ═▶ the command          in a group of its own, marked, dies with its parent
//!      │                   └─ descendants    also those that left the group: by mark and descent
//!      └──────▶ watchdog                     knows every deadline, kills where lockstep cannot
//! ```
//! A command is its process group and what has left that group. Only all of it together counts as
//! ended: one process that goes on would work without the lock.

mod child;
mod descendants;
mod exit_status;
mod guarded;
mod mark;
mod orphans;
mod procfs;
pub(crate) mod progress;
mod shim;
mod subreaper;
pub(crate) mod supervise;
pub(crate) mod watchdog;
mod which;

pub(crate) use child::{Child, EndOf, Spec, Started};
pub(crate) use descendants::{CommandTree, Descendants};
pub(crate) use exit_status::ChildExit;
pub(crate) use guarded::GuardedCommand;
pub(crate) use mark::Mark;
pub(crate) use orphans::kill_orphans;
pub(crate) use procfs::ProcessTable;
pub(crate) use shim::{SELF, check_proc, start as start_command};
pub(crate) use subreaper::Subreaper;
pub(crate) use which::check_program;
