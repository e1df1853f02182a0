//! The exit codes of `lockstep`.

use nix::sys::signal::Signal;

/// An exit code of `lockstep`.
///
/// A command's own code is passed through, so a code of the list below is ambiguous if the command uses it
/// too; the line on stderr resolves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit(u8);

impl Exit {
    /// Success, or there was nothing to do.
    pub(crate) const OK: Self = Self(0);
    /// A failure without a code of its own.
    pub(crate) const FAILED: Self = Self(1);
    /// A flag or an environment variable is wrong; nothing was started.
    pub(crate) const CONFIGURATION: Self = Self(64);
    /// The definition cannot be woven or unwoven; nothing was written.
    pub(crate) const BAD_DATA: Self = Self(65);
    /// The definition cannot be read; nothing was written.
    pub(crate) const NO_INPUT: Self = Self(66);
    /// The lock table could not be used; nothing was started.
    pub(crate) const UNAVAILABLE: Self = Self(69);
    /// The result cannot be written.
    pub(crate) const CANNOT_WRITE: Self = Self(73);
    /// The lock is held, paused or frozen, or the wait timed out; nothing was started.
    pub(crate) const NOT_ACQUIRED: Self = Self(75);
    /// The lease was lost, or could not be renewed; the command was stopped.
    pub(crate) const LEASE_LOST: Self = Self(76);
    /// The command exceeded its time limit or made no progress, and was stopped.
    pub(crate) const TIMED_OUT: Self = Self(124);
    /// The command cannot be run.
    pub(crate) const CANNOT_RUN: Self = Self(126);
    /// The command was not found.
    pub(crate) const NOT_FOUND: Self = Self(127);

    /// A code that is not in the list.
    pub(crate) const fn code(code: u8) -> Self {
        Self(code)
    }

    /// The code for a process that a signal ended, as in shells: 128 plus the signal's number.
    pub(crate) fn signal(signal: Signal) -> Self {
        Self::signal_number(signal as i32)
    }

    /// As [`Self::signal`], by number: 1 to 64.
    pub(crate) fn signal_number(number: i32) -> Self {
        Self(128 | u8::try_from(number).unwrap_or_default())
    }
}

/// Why a subcommand ends early: the exit code, and one line.
pub(crate) type EarlyExit = (Exit, String);

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        exit.0.into()
    }
}
