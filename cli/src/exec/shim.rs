//! The step between the start of a process and the command in it.
//!
//! `lockstep` starts itself in the child. What has to be set there before the command begins would
//! be unsafe code between fork and exec; here it is a few plain calls.

use super::which::{find, is_foreign};
use crate::exit::Exit;
use crate::log::say;
use crate::platform::foreground;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, execv, getppid};
use std::ffi::CString;
use std::io::{Error, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
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
    foreground::take();
    let [program, arguments @ ..] = command else {
        return Exit::CONFIGURATION;
    };
    let error = match find(program) {
        Ok(file) if is_foreign(&file) => exec_alone(&file, command),
        _ => Command::new(program).args(arguments).exec(),
    };
    say(format!("{program}: {error}"));
    match error.kind() {
        ErrorKind::NotFound => Exit::NOT_FOUND,
        _ => Exit::CANNOT_RUN,
    }
}

/// Becomes `command`, if the kernel takes its `file`.
///
/// The C library hands a file that the kernel refuses to a shell, which then fails in its own way. This
/// call does not. It is kept for such files, as it leaves SIGPIPE ignored.
fn exec_alone(file: &Path, command: &[String]) -> Error {
    let text = |bytes: &[u8]| CString::new(bytes).unwrap_or_default();
    let file = text(file.as_os_str().as_bytes());
    let words: Vec<_> = command.iter().map(|word| text(word.as_bytes())).collect();
    match execv(&file, &words) {
        Err(errno) => errno.into(),
    }
}

/// Whether commands can be started at all.
///
/// # Errors
/// The exit code, and why not: [`SELF`] is below `/proc`.
pub(crate) fn check_proc() -> Result<(), (Exit, String)> {
    if Path::new(SELF).exists() {
        return Ok(());
    }
    let why = "no command can be started: /proc is not mounted".into();
    Err((Exit::CANNOT_RUN, why))
}
