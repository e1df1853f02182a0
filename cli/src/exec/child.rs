//! The processes that do the work: each in a group of its own, none of them left behind.

use super::{ChildExit, CommandTree, Mark, Subreaper, shim};
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io::{Error, Write};
use std::process::Stdio;
use tokio::sync::oneshot;

/// Brings the end of a process.
pub(crate) type EndOf = oneshot::Receiver<ChildExit>;

/// What to start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spec {
    /// The command and its arguments.
    pub(crate) command: Vec<String>,
    /// Variables of this process that it does not get: they are about another grant.
    pub(crate) without: &'static [&'static str],
    /// Variables that it gets beside the others of this process.
    pub(crate) environment: Vec<(String, String)>,
    /// What it reads on standard input; none is what this process reads.
    pub(crate) input: Option<Vec<u8>>,
}

/// A process at work, and everything that it starts.
#[derive(Debug)]
pub(crate) struct Child {
    family: CommandTree,
    end: EndOf,
}

impl Child {
    /// Starts `spec` in a process group of its own.
    ///
    /// # Errors
    /// When no process can be started. A command that is not there shows in its end.
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
            // A thread, because a child that reads slowly must hold up nobody. One that ends
            // without reading all of it is free to.
            std::thread::spawn(move || pipe.write_all(&input).ok());
        }
        let group = process.pid;
        let family = CommandTree { group, mark };
        Ok(Self { family, end })
    }

    /// What its processes have in common.
    pub(crate) fn family(&self) -> &CommandTree {
        &self.family
    }

    /// Its end. What it left behind in its group has been killed by then.
    pub(crate) async fn ended(&mut self) -> ChildExit {
        (&mut self.end).await.unwrap_or(ChildExit::Unknown)
    }

    /// Sends `signal` to the whole group.
    pub(crate) fn signal(&self, signal: Signal) {
        match killpg(self.family.group, signal) {
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => {
                tracing::warn!(group = %self.family.group, %signal, %error, "the signal was not sent");
            }
        }
    }
}

/// A process that was started.
pub(crate) struct Started {
    /// Its id.
    pub(crate) pid: Pid,
    /// What it reads, if that is a pipe.
    pub(crate) stdin: Option<std::process::ChildStdin>,
    /// What it writes, if that is a pipe.
    pub(crate) stdout: Option<std::process::ChildStdout>,
}
