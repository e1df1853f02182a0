//! The progress of an audit, on standard error. On a terminal it is one line that is rewritten; elsewhere a
//! line is printed every ten seconds.

use crate::log;
use crate::platform::clock::Instant;
use std::io::{IsTerminal, stderr};

/// Least time between two lines if standard error is not a terminal, in milliseconds.
const LINES: u64 = 10_000;
/// Least time between two changes of the line on a terminal, in milliseconds.
const CHANGES: u64 = 200;

/// Moves the cursor to the beginning of the line and clears the line
/// (<https://en.wikipedia.org/wiki/ANSI_escape_code#Control_Sequence_Introducer_commands>).
const CLEAR: &str = "\r\u{1b}[K";

/// Shows how far an audit is.
#[derive(Debug)]
pub(super) struct Progress {
    is_terminal: bool,
    shown: Instant,
    is_line_open: bool,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            is_terminal: stderr().is_terminal(),
            shown: Instant::now(),
            is_line_open: false,
        }
    }

    /// Shows `text`, unless a text was shown less than [`CHANGES`] ago on a terminal, or less than [`LINES`]
    /// ago elsewhere.
    pub(super) fn show(&mut self, text: impl FnOnce() -> String) {
        let passed = Instant::now().millis().saturating_sub(self.shown.millis());
        if passed < if self.is_terminal { CHANGES } else { LINES } {
            return;
        }
        self.shown = Instant::now();
        if self.is_terminal {
            log::print(format!("{CLEAR}lockstep: {}", text()));
            self.is_line_open = true;
        } else {
            log::print_line(text());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_line_open {
            log::print(CLEAR.into());
        }
    }
}
