//! How a process ended.

use crate::exit::Exit;
use nix::sys::signal::Signal;
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChildExit {
    /// It returned a code.
    Code(u8),
    /// The signal with this number ended it. It is a number because real-time signals have no name.
    Signal(i32),
    /// Its exit status is not known, because it was reaped elsewhere or could not be read.
    Unknown,
}

impl ChildExit {
    /// Converts the exit status that `wait` returns.
    pub(crate) fn of(status: ExitStatus) -> Self {
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        match (code, status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }

    /// Returns whether the exit code is 0.
    pub(crate) fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    /// Returns the exit code with which `lockstep` reports this end.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Self::Code(code) => Exit::code(code),
            Self::Signal(signal) => Exit::signal_number(signal),
            Self::Unknown => Exit::FAILED,
        }
    }
}

impl fmt::Display for ChildExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => match Signal::try_from(*signal) {
                Ok(named) => write!(f, "{named}"),
                Err(_) => write!(f, "signal {signal}"),
            },
            Self::Unknown => f.write_str("unknown"),
        }
    }
}
