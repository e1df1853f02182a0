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

/// What to start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spec {
    /// The command and its arguments.
    pub(crate) command: Vec<OsString>,
    /// Variables of this process that are removed: they belong to another grant.
    pub(crate) without: &'static [&'static str],
    /// Variables that are added to those of this process.
    pub(crate) environment: Vec<(String, String)>,
    /// Its standard input; `None` inherits that of this process.
    pub(crate) input: Option<Vec<u8>>,
    /// Whether this process runs no other command beside it. Then every process that this one adopts is
    /// the command's.
    pub(crate) is_alone: bool,
    /// Which of its processes get a signal while the first one lives.
    pub(crate) scope: SignalScope,
}

/// A running command, and everything that it starts.
#[derive(Debug)]
pub(crate) struct Child {
    first: EndOf,
    has_first_ended: bool,
    /// Whether nothing was left when its processes were listed. A list takes milliseconds.
    is_gone: bool,
    rest: Rest,
    is_alone: bool,
    scope: SignalScope,
    _shared: SharedStderr,
}

/// How much of a command has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The process that it was started as.
    First,
    /// All its processes.
    All,
}

impl Child {
    /// Starts `spec` in a process group of its own.
    ///
    /// # Errors
    /// When no process can be started. A command that is not found shows in its exit.
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
            // A command of another user may open `/dev/stdin`, for which the pipe's mode counts.
            let readable = Mode::S_IRUSR | Mode::S_IWUSR | Mode::S_IROTH;
            fchmod(&pipe, readable).ok();
            // A thread, because a child that reads slowly must not block this one. It may end without
            // reading all of its input.
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

    /// Identifies its processes.
    pub(crate) fn tree(&self) -> &CommandTree {
        &self.rest.tree
    }

    /// Returns when its first process has ended, and, called again, when all have.
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

    /// Whether its first process has ended.
    pub(crate) fn has_first_ended(&self) -> bool {
        self.has_first_ended
    }

    /// Whether its first process, which has ended, has succeeded.
    pub(crate) fn has_succeeded(&self) -> bool {
        let first = peek_exit(self.tree().group);
        matches!(first, Ok(WaitStatus::Exited(_, 0)))
    }

    /// Whether its first process, which has ended, was ended by a signal that asks to end, or says so as a
    /// shell does.
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

    /// Sends `signal` to the processes in the command's scope, and returns how many are left once the first process
    /// has ended. From then on `signal` goes to all that are left: before, those outside of the scope are the first
    /// process's to signal. SIGKILL knows no scope.
    pub(crate) fn signal(&self, signal: Signal) -> usize {
        let group = self.tree().group;
        if self.has_first_ended || self.scope == SignalScope::Group || signal == Signal::SIGKILL {
            self.signal_group(signal);
        }
        if self.has_first_ended {
            return self.rest.signal_outside(signal, self.is_alone);
        }
        // It can join another group of its session.
        let has_left = getpgid(Some(group)).is_ok_and(|own| own != group);
        if has_left || self.scope == SignalScope::Program {
            send(signal, |signal| kill(group, signal)).ok();
        }
        0
    }

    /// Sends `signal` to all that the scope left out, and returns how many are left in and out of the group.
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

    /// Returns how many are left of the command.
    pub(crate) fn left(&self) -> usize {
        self.rest.count(self.is_alone)
    }

    /// Kills what is left of the command, whose first process has ended. `is_alone` is as in [`Spec`].
    pub(crate) async fn kill_rest(&self, is_alone: bool) {
        let is_known = self.is_gone && (self.is_alone || !is_alone);
        if !is_known {
            self.rest.kill(is_alone).await;
        }
    }

    /// Reaps its first process, which has ended.
    pub(crate) fn reap(self) -> ChildExit {
        self.first.reap()
    }
}
