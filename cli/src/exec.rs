//! Runs the guarded command: starts it, supervises it, and kills what it leaves behind. The watchdog kills
//! the command if this process cannot.
//!
//! ```text
//!  lockstep ──▶ shim ═▶ the command          in a group of its own, marked, dies with its parent
//!      │                   └─ descendants    also those that left the group: by mark and descent
//!      └──────▶ watchdog                     knows every deadline, kills where lockstep cannot
//! ```
//! A command consists of the processes in its process group and of those that have left the group. It counts
//! as ended only when all of them have ended: a single process that goes on would work without the lock.

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

/// Runs the part of this program that `arguments` name: the watchdog, or the step before a command. This
/// program starts both as processes from its own file. Returns `None` if `arguments` name neither.
///
/// The two are not subcommands of `clap`, which builds the flags of all subcommands before it reads an
/// argument. That takes longer than these processes need to begin their work.
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
