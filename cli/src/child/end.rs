//! How a process ended.

use crate::exit::Exit;
use nix::sys::signal::Signal;
use nix::sys::wait::WaitStatus;
use std::fmt;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChildEnd {
    /// It returned a code.
    Code(u8),
    /// A signal ended it.
    Signal(Signal),
    /// It is gone, and nobody knows how.
    Unknown,
}

impl ChildEnd {
    /// The end that the system tells of.
    pub(crate) fn of(status: WaitStatus) -> Self {
        match status {
            WaitStatus::Exited(_, code) => u8::try_from(code).map_or(Self::Unknown, Self::Code),
            WaitStatus::Signaled(_, signal, _) => Self::Signal(signal),
            _ => Self::Unknown,
        }
    }

    /// Whether the work is done.
    pub(crate) fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    /// The same as a code to exit with.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Self::Code(code) => Exit::code(code),
            Self::Signal(signal) => Exit::signal(signal),
            Self::Unknown => Exit::FAILED,
        }
    }
}

impl fmt::Display for ChildEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "{signal}"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}
