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
mod limit;
mod mark;
mod procfs;
pub(crate) mod progress;
mod rest;
mod shim;
mod subreaper;
pub(crate) mod supervise;
pub(crate) mod watchdog;
mod which;

pub(crate) use child::Spec;
pub(crate) use descendants::{CommandTree, Descendants};
pub(crate) use exit_status::ChildExit;
pub(crate) use guarded::GuardedCommand;
pub(crate) use mark::Mark;
pub(crate) use procfs::ProcessTable;
pub(crate) use shim::{check_proc, replaced_by};
pub(crate) use subreaper::{EndOf, Subreaper};
pub(crate) use which::check_program;

use crate::exit::Exit;
use std::ffi::OsString;

/// Runs the part of this program that `arguments` name: the watchdog, or the step before a command. Each is a
/// process that this program starts from its own file.
///
/// They are no subcommands: `clap` describes the flags of all subcommands before it reads an argument, which takes
/// longer than such a process takes to begin its work.
pub(crate) fn serve(arguments: impl Iterator<Item = OsString>) -> Option<Exit> {
    let arguments: Vec<_> = arguments.skip(1).collect();
    match &arguments[..] {
        [name] if name == watchdog::NAME => Some(watchdog::watch()),
        [name, parent, mark, end_of_flags, command @ ..]
            if name == shim::NAME && end_of_flags == "--" =>
        {
            let (parent, mark) = (parent.to_str()?.parse().ok()?, mark.to_str()?);
            Some(shim::start(parent, &Mark::parse(mark)?, command))
        }
        _ => None,
    }
}
