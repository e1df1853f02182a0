//! Prints a text repeatedly, until the command is interrupted.

use super::act_error::ActError;
use super::function::Function;
use super::screen::Screen;
use super::{LOCKS, Rows, new_locks, print, rows, rows_of};
use crate::exit::Exit;
use lockstep::clock::{Clock, SystemClock};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::Value;
use std::io::{IsTerminal, stdout};
use std::os::fd::AsFd;
use std::time::Duration;

/// Moves the cursor to the top and clears the screen
/// (<https://en.wikipedia.org/wiki/ANSI_escape_code#Control_Sequence_Introducer_commands>).
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

/// Prints the list of locks that `request` asks for, once every `every`.
pub(super) async fn list(
    view: &Function,
    request: &Value,
    every: Duration,
    wide: bool,
) -> Result<Exit, ActError> {
    let answer = async || {
        let Rows { found, first, .. } = rows_of(view, request.clone(), "locks", u32::MAX).await?;
        let screen = Screen::new(wide);
        let table = rows::as_table(&screen, LOCKS, &found, "no lock");
        Ok(table + &new_locks(screen, &first["newLocks"]))
    };
    again(every, answer).await
}

/// Prints what `answer` returns, once every `every`. On a terminal the screen is cleared before each print;
/// otherwise a text is printed only if it differs from the one before.
pub(super) async fn again(
    every: Duration,
    answer: impl AsyncFn() -> Result<String, ActError>,
) -> Result<Exit, ActError> {
    let mut last = String::new();
    loop {
        let text = answer().await?;
        if stdout().is_terminal() {
            print(&format!("{CLEAR}{text}"))?;
        } else if text != last {
            print(&format!("{text}\n"))?;
        }
        last = text;
        if has_no_reader() {
            return Ok(Exit::OK);
        }
        SystemClock.sleep(every).await;
    }
}

/// Returns whether standard output is a pipe whose other end is closed, so that nobody reads it any more
/// (<https://man7.org/linux/man-pages/man2/poll.2.html>).
fn has_no_reader() -> bool {
    let out = stdout();
    let mut ends = [PollFd::new(out.as_fd(), PollFlags::empty())];
    poll(&mut ends, PollTimeout::ZERO).is_ok()
        && ends[0]
            .revents()
            .is_some_and(|seen| seen.contains(PollFlags::POLLERR))
}
