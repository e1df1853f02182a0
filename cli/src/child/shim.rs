//! The step between the start of a process and the command in it.
//!
//! `lockstep` starts itself in the child. What has to be set there before the command begins would
//! be unsafe code between fork and exec; here it is a few plain calls.

use crate::exit::Exit;
use crate::log::say;
use crate::sys::terminal;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// This very program, even where its file was replaced or is not on the path.
pub(crate) const SELF: &str = "/proc/self/exe";
/// The hidden command that [`start`] serves.
const NAME: &str = "start-command";

/// The process that becomes `command`.
pub(super) fn command(command: &[String]) -> Command {
    let mut shim = Command::new(SELF);
    shim.arg(NAME)
        .arg(std::process::id().to_string())
        .arg("--")
        .args(command)
        .process_group(0);
    shim
}

/// Becomes `command`, if `parent` still lives. From then on the system kills this process when its
/// parent ends, whatever ended it: a guarded command must not outlive its guard
/// (<https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html>).
pub(crate) fn start(parent: i32, command: &[String]) -> Exit {
    let bound = set_pdeathsig(Signal::SIGKILL);
    if bound.is_err() || getppid() != Pid::from_raw(parent) {
        say("the guard is gone, so the command was not started");
        return Exit::CANNOT_RUN;
    }
    terminal::take();
    let [program, arguments @ ..] = command else {
        return Exit::CONFIGURATION;
    };
    let error = Command::new(program).args(arguments).exec();
    say(format!("{program}: {error}"));
    match error.kind() {
        ErrorKind::NotFound => Exit::NOT_FOUND,
        _ => Exit::CANNOT_RUN,
    }
}
