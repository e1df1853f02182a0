//! The exit codes of `lockstep`.

use nix::sys::signal::Signal;

/// An exit code of `lockstep`.
///
/// `lockstep` passes the exit code of its command through. So a code of the list below is ambiguous if the
/// command uses it too; the log line on standard error tells which of the two it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit(u8);

impl Exit {
    /// Success, or nothing had to be done.
    pub(crate) const OK: Self = Self(0);
    /// Any failure that has no code of its own.
    pub(crate) const FAILED: Self = Self(1);
    /// A flag or an environment variable is wrong, there is no table, no Region or no such profile, or a proxy or
    /// a file of certificates cannot be used; nothing was started.
    pub(crate) const CONFIGURATION: Self = Self(64);
    /// The definition cannot be woven or unwoven; nothing was written.
    pub(crate) const BAD_DATA: Self = Self(65);
    /// The definition cannot be read; nothing was written.
    pub(crate) const NO_INPUT: Self = Self(66);
    /// The lock table or another AWS service could not be used: no answer, no credentials, no permission, a
    /// certificate that is not trusted; nothing was started.
    pub(crate) const UNAVAILABLE: Self = Self(69);
    /// The result cannot be written to standard output or to a file.
    pub(crate) const CANNOT_WRITE: Self = Self(73);
    /// The lock is held, paused or frozen, the wait timed out, or required task protection was refused;
    /// nothing was started.
    pub(crate) const NOT_ACQUIRED: Self = Self(75);
    /// The lease was lost or could not be renewed, and the command was stopped; or the grant of a workflow was
    /// gone, and nothing was started.
    pub(crate) const LEASE_LOST: Self = Self(76);
    /// The command exceeded `--max-run` or `--no-progress`, and was stopped.
    pub(crate) const TIMED_OUT: Self = Self(124);
    /// The command was found, but cannot be executed (data, code for another machine), or no process can be
    /// started (no `/proc`).
    pub(crate) const CANNOT_RUN: Self = Self(126);
    /// The command was not found.
    pub(crate) const NOT_FOUND: Self = Self(127);

    /// Returns an exit code that is not in the list above, such as that of a command.
    pub(crate) const fn code(code: u8) -> Self {
        Self(code)
    }

    /// Returns the exit code of a process that `signal` ended, as a shell reports it: 128 plus the signal's
    /// number.
    pub(crate) fn signal(signal: Signal) -> Self {
        Self::signal_number(signal as i32)
    }

    /// Returns the same code as [`Self::signal`] for the signal with this `number`, from 1 to 64.
    pub(crate) fn signal_number(number: i32) -> Self {
        Self(128 | u8::try_from(number).unwrap_or_default())
    }
}

/// The early end of a subcommand: its exit code, and the reason in one line.
pub(crate) type EarlyExit = (Exit, String);

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        exit.0.into()
    }
}
