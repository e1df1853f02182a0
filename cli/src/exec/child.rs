//! The guarded command as a child process, in a process group of its own.

use super::{ChildExit, CommandTree, Mark, Subreaper, shim};
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io::{Error, Write};
use std::process::Stdio;
use tokio::sync::oneshot;

/// Receives the exit of a process.
pub(crate) type EndOf = oneshot::Receiver<ChildExit>;

/// What to start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spec {
    /// The command and its arguments.
    pub(crate) command: Vec<String>,
    /// Variables of this process that are removed: they belong to another grant.
    pub(crate) without: &'static [&'static str],
    /// Variables that are added to those of this process.
    pub(crate) environment: Vec<(String, String)>,
    /// Its standard input; `None` inherits that of this process.
    pub(crate) input: Option<Vec<u8>>,
}

/// A running command, and everything that it starts.
#[derive(Debug)]
pub(crate) struct Child {
    tree: CommandTree,
    end: EndOf,
}

impl Child {
    /// Starts `spec` in a process group of its own.
    ///
    /// # Errors
    /// When no process can be started. A command that is not found shows in its exit.
    pub(crate) fn start(reaper: &Subreaper, spec: &Spec) -> Result<Self, Error> {
        let mut command = shim::command(&spec.command);
        for name in spec.without {
            command.env_remove(name);
        }
        let mark = Mark::new();
        command.envs(spec.environment.iter().map(|(k, v)| (k, v)));
        command.envs([mark.variable()]);
        if spec.input.is_some() {
            command.stdin(Stdio::piped());
        }
        let (process, end) = reaper.start(&mut command)?;
        if let (Some(input), Some(mut pipe)) = (spec.input.clone(), process.stdin) {
            // A thread, because a child that reads slowly must not block this one. It may end without
            // reading all of its input.
            std::thread::spawn(move || pipe.write_all(&input).ok());
        }
        let group = process.pid;
        let tree = CommandTree { group, mark };
        Ok(Self { tree, end })
    }

    /// Identifies its processes.
    pub(crate) fn tree(&self) -> &CommandTree {
        &self.tree
    }

    /// Waits for its exit. The rest of its group has been killed by then.
    pub(crate) async fn ended(&mut self) -> ChildExit {
        (&mut self.end).await.unwrap_or(ChildExit::Unknown)
    }

    /// Sends `signal` to the whole group.
    pub(crate) fn signal(&self, signal: Signal) {
        match killpg(self.tree.group, signal) {
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => {
                let group = self.tree.group;
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
}

/// A process that was started.
pub(crate) struct Started {
    /// Its id.
    pub(crate) pid: Pid,
    /// The pipe to its standard input, if there is one.
    pub(crate) stdin: Option<std::process::ChildStdin>,
    /// The pipe from its standard output, if there is one.
    pub(crate) stdout: Option<std::process::ChildStdout>,
}
