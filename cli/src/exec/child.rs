//! The guarded command as a child process, in a process group of its own.

use super::rest::{Rest, send};
use super::subreaper::EndOf;
use super::watchdog::Watchdog;
use super::{ChildExit, CommandTree, Mark, Subreaper, shim};
use crate::platform::children::peek_exit;
use crate::platform::empty;
use crate::platform::signals::SignalScope;
use crate::platform::stderr::SharedStderr;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::stat::{Mode, fchmod};
use nix::sys::wait::WaitStatus;
use nix::unistd::getpgid;
use std::ffi::OsString;
use std::io::{Error, Write};
use std::process::Stdio;

/// A command to start, with its environment and input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spec {
    /// The command and its arguments.
    pub(crate) command: Vec<OsString>,
    /// Variables that the command does not inherit from this process, because they belong to another grant.
    pub(crate) without: &'static [&'static str],
    /// Variables that are added to those that the command inherits.
    pub(crate) environment: Vec<(String, String)>,
    /// The bytes of its standard input; `None` to inherit the standard input of this process.
    pub(crate) input: Option<Vec<u8>>,
    /// Whether this process runs no other command at the same time. Then every process that this process
    /// adopts belongs to the command.
    pub(crate) is_alone: bool,
    /// Which processes of the command get a signal while its first process lives.
    pub(crate) scope: SignalScope,
}

/// A running command, and everything that it starts.
#[derive(Debug)]
pub(crate) struct Child {
    first: EndOf,
    has_first_ended: bool,
    /// Whether the last list of its processes was empty. Saves another list, which takes milliseconds.
    is_gone: bool,
    rest: Rest,
    is_alone: bool,
    scope: SignalScope,
    _shared: SharedStderr,
}

/// How much of a command has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The first process: the one that was started.
    First,
    /// All its processes.
    All,
}

impl Child {
    /// Starts `spec` in a process group of its own.
    ///
    /// # Errors
    /// When no process can be started. If the command is not found, its exit code says so.
    pub(crate) fn start(
        (reaper, watchdog): (&Subreaper, &Watchdog),
        spec: &Spec,
    ) -> Result<Self, Error> {
        let mark = Mark::new();
        let mut command = shim::command(&spec.command, &mark);
        empty::give_back(&mut command);
        for name in spec.without {
            command.env_remove(name);
        }
        command.envs(spec.environment.iter().map(|(k, v)| (k, v)));
        command.envs([mark.variable()]);
        if spec.input.is_some() {
            command.stdin(Stdio::piped());
        }
        let shared = SharedStderr::begin();
        let reaped = reaper.reaped();
        let (process, first) = reaper.start(&mut command)?;
        if let (Some(input), Some(mut pipe)) = (spec.input.clone(), process.stdin) {
            // A command that runs as another user may open `/dev/stdin`, which checks the mode of the pipe.
            let readable = Mode::S_IRUSR | Mode::S_IWUSR | Mode::S_IROTH;
            fchmod(&pipe, readable).ok();
            // Written by a thread, because a child that reads slowly must not block this one. The child may
            // end without reading all of its input.
            std::thread::spawn(move || pipe.write_all(&input).ok());
        }
        let group = process.pid;
        Ok(Self {
            first,
            has_first_ended: false,
            is_gone: false,
            rest: Rest {
                tree: CommandTree { group, mark },
                watchdog: watchdog.clone(),
                reaped,
            },
            is_alone: spec.is_alone,
            scope: spec.scope,
            _shared: shared,
        })
    }

    /// Returns the group and the mark that identify the processes of the command.
    pub(crate) fn tree(&self) -> &CommandTree {
        &self.rest.tree
    }

    /// Returns [`Ended::First`] when the first process has ended and, called again, [`Ended::All`] when all
    /// processes of the command have ended.
    pub(crate) async fn ended(&mut self) -> Ended {
        if self.has_first_ended {
            self.rest.gone(self.is_alone).await;
            self.is_gone = true;
            return Ended::All;
        }
        self.first.ended().await;
        self.has_first_ended = true;
        Ended::First
    }

    /// Returns whether the first process has ended.
    pub(crate) fn has_first_ended(&self) -> bool {
        self.has_first_ended
    }

    /// Returns whether the first process, which has ended, has exited with code 0.
    pub(crate) fn has_succeeded(&self) -> bool {
        let first = peek_exit(self.tree().group);
        matches!(first, Ok(WaitStatus::Exited(_, 0)))
    }

    /// Returns whether SIGTERM or SIGINT ended the first process, or whether it exited with the code that a
    /// shell reports for such an end, 143 or 130.
    pub(crate) fn was_asked_to_end(&self) -> bool {
        let first = peek_exit(self.tree().group);
        [Signal::SIGTERM, Signal::SIGINT]
            .into_iter()
            .any(|asked| match first {
                Ok(WaitStatus::Signaled(_, signal, _)) => signal == asked,
                Ok(WaitStatus::Exited(_, code)) => code == 128 + asked as i32,
                _ => false,
            })
    }

    /// Sends `signal`, and returns how many processes are left once the first process has ended:
    /// - While the first process lives, the processes in the command's scope get `signal`, and 0 is returned.
    ///   The first process is responsible for the others.
    /// - After it has ended, all processes that are left get `signal`.
    /// - SIGKILL goes to the whole group, whatever the scope.
    pub(crate) fn signal(&self, signal: Signal) -> usize {
        let group = self.tree().group;
        if self.has_first_ended || self.scope == SignalScope::Group || signal == Signal::SIGKILL {
            self.signal_group(signal);
        }
        if self.has_first_ended {
            return self.rest.signal_outside(signal, self.is_alone);
        }
        // The first process may have joined another group of its session.
        let has_left = getpgid(Some(group)).is_ok_and(|own| own != group);
        if has_left || self.scope == SignalScope::Program {
            send(signal, |signal| kill(group, signal)).ok();
        }
        0
    }

    /// Sends `signal` to all processes of the command that are outside of the scope, and returns how many
    /// processes are left in and out of the group.
    pub(crate) fn signal_others(&self, signal: Signal) -> usize {
        match self.scope {
            SignalScope::Group => self.rest.signal_outside(signal, self.is_alone),
            SignalScope::Program => self.rest.signal_all_but_first(signal, self.is_alone),
        }
    }

    fn signal_group(&self, signal: Signal) {
        let group = self.tree().group;
        match send(signal, |signal| killpg(group, signal)) {
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => {
                tracing::warn!(
                    event = "signal_failed",
                    %group,
                    %signal,
                    %error,
                    "failed to send a signal"
                );
            }
        }
    }

    /// Returns how many processes of the command are left.
    pub(crate) fn left(&self) -> usize {
        self.rest.count(self.is_alone)
    }

    /// Kills the processes that are left of the command, whose first process has ended. `is_alone` is as in
    /// [`Spec`].
    pub(crate) async fn kill_rest(&self, is_alone: bool) {
        let is_known = self.is_gone && (self.is_alone || !is_alone);
        if !is_known {
            self.rest.kill(is_alone).await;
        }
    }

    /// Reaps the first process, which has ended, and returns how it ended.
    pub(crate) fn reap(self) -> ChildExit {
        self.first.reap()
    }
}
