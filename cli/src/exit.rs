//! What `lockstep` exits with.

use nix::sys::signal::Signal;

/// What `lockstep` exits with.
///
/// A command's own code is passed through, so a code of the list below is ambiguous where a command
/// uses it too; the line on stderr tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit(u8);

impl Exit {
    /// All went well, or there was nothing to do.
    pub(crate) const OK: Self = Self(0);
    /// Something failed that has no code of its own.
    pub(crate) const FAILED: Self = Self(1);
    /// A flag or a variable of the environment is wrong; nothing was started.
    pub(crate) const CONFIGURATION: Self = Self(64);
    /// The lock table could not be used; nothing was started.
    pub(crate) const UNAVAILABLE: Self = Self(69);
    /// The lock is held, paused or frozen, or the wait was over; nothing was started.
    pub(crate) const NOT_ACQUIRED: Self = Self(75);
    /// The lease was lost, or could not be renewed; the command was stopped.
    pub(crate) const LEASE_LOST: Self = Self(76);
    /// The command ran over its time or made no progress, and was stopped.
    pub(crate) const TIMED_OUT: Self = Self(124);
    /// The command cannot be run.
    pub(crate) const CANNOT_RUN: Self = Self(126);
    /// The command was not found.
    pub(crate) const NOT_FOUND: Self = Self(127);

    /// A code of its own.
    pub(crate) const fn code(code: u8) -> Self {
        Self(code)
    }

    /// As shells tell of a process that a signal ended: 128 and the signal's number.
    pub(crate) fn signal(signal: Signal) -> Self {
        Self::signal_number(signal as i32)
    }

    /// The same, by number: 1 to 64.
    pub(crate) fn signal_number(number: i32) -> Self {
        Self(128 | u8::try_from(number).unwrap_or_default())
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        exit.0.into()
    }
}
