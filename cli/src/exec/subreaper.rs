//! Reaps every child of this process, as the first process of a container has to.

use super::procfs::ProcessTable;
use super::{ChildExit, EndOf, Started};
use crate::platform::children::{adopt_orphans, is_stopped, peek_exit};
use crate::platform::foreground;
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::io::Error;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Reaps every child of this process: those that it started, and orphans.
///
/// A process whose parent ends becomes a child of the nearest subreaper above it, and stays a zombie
/// until the subreaper waits for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subreaper {
    watched: Arc<Mutex<HashMap<Pid, Watched>>>,
}

/// A started process, and the channel for its exit.
#[derive(Debug)]
struct Watched {
    process: Child,
    exit: oneshot::Sender<ChildExit>,
}

impl Subreaper {
    /// Starts a task that reaps children.
    ///
    /// # Errors
    /// When no handler for SIGCHLD can be installed.
    pub(crate) fn begin() -> Result<Self, Error> {
        adopt_orphans();
        let reaper = Self::default();
        let mut child_signals = signal(SignalKind::child())?;
        let own = reaper.clone();
        tokio::spawn(async move {
            while child_signals.recv().await.is_some() {
                own.reap();
                own.resume();
            }
        });
        Ok(reaper)
    }

    /// Starts `command`. The receiver returns its exit.
    ///
    /// # Errors
    /// When no process can be started.
    pub(crate) fn start(&self, command: &mut Command) -> Result<(Started, EndOf), Error> {
        let (exit, end) = oneshot::channel();
        // Locked over the start: the child must not be reaped before it is in the map.
        let mut watched = self.watched();
        let mut process = command.spawn()?;
        let started = Started {
            pid: Pid::from_raw(i32::try_from(process.id()).unwrap_or(i32::MAX)),
            stdin: process.stdin.take(),
            stdout: process.stdout.take(),
        };
        watched.insert(started.pid, Watched { process, exit });
        Ok((started, end))
    }

    /// Reaps all children that have ended.
    fn reap(&self) {
        loop {
            let ended: Vec<_> = match peek_exit(None) {
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return,
                Ok(status) => status.pid().into_iter().collect(),
                Err(Errno::EINTR) => continue,
                // `nix` has no real-time signals: it returns EINVAL instead of the id.
                Err(Errno::EINVAL) => {
                    let zombies = ProcessTable::now();
                    zombies.zombies_of(Pid::this()).filter(has_ended).collect()
                }
                Err(error) => {
                    tracing::error!(event = "reap_failed", %error, "waitid failed");
                    return;
                }
            };
            if ended.is_empty() {
                return;
            }
            for pid in ended {
                self.reap_one(pid);
            }
        }
    }

    /// Sends SIGCONT to a command that the terminal has stopped (Ctrl-Z). This process cannot stop with
    /// the command, as a shell expects before it shows its prompt: the lease would not be renewed.
    fn resume(&self) {
        let groups: Vec<_> = self.watched().keys().copied().collect();
        for group in groups.into_iter().filter(|group| is_stopped(*group)) {
            if foreground::is_of(group) {
                tracing::warn!(
                    event = "command_resumed",
                    "Ctrl-Z does not stop work under a lease; Ctrl-C ends it"
                );
                killpg(group, Signal::SIGCONT).ok();
            }
        }
    }

    /// Kills what is left of the group of a process that has ended, reaps it and sends its exit.
    fn reap_one(&self, pid: Pid) {
        let Some(Watched { mut process, exit }) = self.watched().remove(&pid) else {
            // An orphan: its exit is not needed.
            waitpid(pid, None).ok();
            return;
        };
        killpg(pid, Signal::SIGKILL).ok();
        let end = process.wait().map_or(ChildExit::Unknown, ChildExit::of);
        // The receiver may have been dropped.
        exit.send(end).ok();
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<Pid, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A process of which only the first thread has ended is a zombie in `/proc`, too.
fn has_ended(pid: &Pid) -> bool {
    peek_exit(Some(*pid)) != Ok(WaitStatus::StillAlive)
}
