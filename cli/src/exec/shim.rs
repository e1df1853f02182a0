//! The step between the start of a process and the command in it.
//!
//! `lockstep` starts itself in the child, sets the child up with a few safe calls, and then executes the
//! command. The same between `fork` and `execve` would require unsafe code.

use super::which::{cannot_be_executed, find};
use super::{Mark, limit};
use crate::exit::{EarlyExit, Exit};
use crate::log::print_line;
use crate::platform::children::{self, SELF};
use crate::platform::foreground;
use nix::unistd::{Pid, execv, getppid};
use std::ffi::{CString, OsString};
use std::io::{Error, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The first argument of a process that [`start`] serves.
pub(super) const NAME: &str = "start-command";

/// Returns a command line that starts this program, which then executes `command` with `mark`.
pub(super) fn command(command: &[OsString], mark: &Mark) -> Command {
    let mut shim = Command::new(SELF);
    shim.arg(NAME)
        .arg(std::process::id().to_string())
        .arg(mark.text())
        .arg("--")
        .args(command)
        .process_group(0);
    shim
}

/// Executes `command` in this process with `mark`, if `parent` still lives. The kernel then kills the command
/// when its parent ends for any reason: a guarded command must not outlive its guard.
pub(super) fn start(parent: i32, mark: &Mark, command: &[OsString]) -> Exit {
    let bound = children::die_with_parent();
    if !bound || getppid() != Pid::from_raw(parent) {
        print_line("the command was not started: the process that guards it has ended");
        return Exit::CANNOT_RUN;
    }
    foreground::take();
    limit::set(mark.number());
    replaced_by(command, None)
}

/// Executes `command` in this process, with one more environment `variable`. Returns only if the command
/// cannot be executed, after printing the reason.
pub(crate) fn replaced_by(command: &[OsString], variable: Option<(&str, &str)>) -> Exit {
    let [program, arguments @ ..] = command else {
        return Exit::CONFIGURATION;
    };
    let error = match find(program) {
        Ok(file) if cannot_be_executed(&file) => exec_without_shell(&file, command),
        _ => Command::new(program).args(arguments).envs(variable).exec(),
    };
    print_line(format!("{}: {error}", program.display()));
    match error.kind() {
        ErrorKind::NotFound => Exit::NOT_FOUND,
        _ => Exit::CANNOT_RUN,
    }
}

/// Executes `command` in this process, if the kernel accepts its `file`.
///
/// `execvp` passes a file that the kernel rejects to a shell, which then fails with a misleading error;
/// `execv` does not. `execv` is used for such files only, because it leaves SIGPIPE ignored.
fn exec_without_shell(file: &Path, command: &[OsString]) -> Error {
    let text = |bytes: &[u8]| CString::new(bytes).unwrap_or_default();
    let file = text(file.as_os_str().as_bytes());
    let arguments: Vec<_> = command.iter().map(|word| text(word.as_bytes())).collect();
    match execv(&file, &arguments) {
        Err(errno) => errno.into(),
    }
}

/// Checks that commands can be started.
///
/// # Errors
/// The exit code and the reason, when `/proc` is not mounted: the path [`SELF`] is in it.
pub(crate) fn check_proc() -> Result<(), EarlyExit> {
    if Path::new(SELF).exists() {
        return Ok(());
    }
    let why = "no command can be started: /proc is not mounted".into();
    Err((Exit::CANNOT_RUN, why))
}
