//! Waits for every child of this process, as the first process of a container has to.

use super::procfs::ProcessTable;
use super::{ChildExit, EndOf, Started};
use crate::platform::foreground;
use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::io::Error;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Waits for every child of this process: those that it started, and those that lost their parent.
///
/// A process whose parent ends becomes a child of the nearest subreaper above it
/// (<https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html>), and stays a zombie
/// until that one waits for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subreaper {
    watched: Arc<Mutex<HashMap<Pid, Watched>>>,
}

/// A process whose end somebody waits for.
#[derive(Debug)]
struct Watched {
    process: Child,
    tell: oneshot::Sender<ChildExit>,
}

impl Subreaper {
    /// Begins to wait, in a task of its own.
    ///
    /// # Errors
    /// When signals cannot be listened to.
    pub(crate) fn begin() -> Result<Self, Error> {
        set_child_subreaper(true).ok();
        let reaper = Self::default();
        let mut told = signal(SignalKind::child())?;
        let own = reaper.clone();
        tokio::spawn(async move {
            while told.recv().await.is_some() {
                own.reap();
                own.resume();
            }
        });
        Ok(reaper)
    }

    /// Starts `command`. Its end comes by the receiver.
    ///
    /// # Errors
    /// When no process can be started.
    pub(crate) fn start(&self, command: &mut Command) -> Result<(Started, EndOf), Error> {
        let (tell, end) = oneshot::channel();
        // Held over the start: nobody may wait for the child before it is known here.
        let mut watched = self.watched();
        let mut process = command.spawn()?;
        let started = Started {
            pid: Pid::from_raw(i32::try_from(process.id()).unwrap_or(i32::MAX)),
            stdin: process.stdin.take(),
            stdout: process.stdout.take(),
        };
        watched.insert(started.pid, Watched { process, tell });
        Ok((started, end))
    }

    /// Waits for all that have ended.
    fn reap(&self) {
        loop {
            let ended: Vec<_> = match look(Id::All) {
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return,
                Ok(status) => status.pid().into_iter().collect(),
                Err(Errno::EINTR) => continue,
                // `nix` knows no real-time signals. It says that instead of whose end it was.
                Err(Errno::EINVAL) => {
                    let zombies = ProcessTable::now();
                    zombies.zombies_of(Pid::this()).filter(has_ended).collect()
                }
                Err(error) => {
                    tracing::error!(%error, "children cannot be waited for");
                    return;
                }
            };
            if ended.is_empty() {
                return;
            }
            for pid in ended {
                self.bury(pid);
            }
        }
    }

    /// Lets a command go on that the terminal has stopped (Ctrl-Z). A shell would offer its prompt, and
    /// this process could not stop with the command: the lease would not be renewed.
    fn resume(&self) {
        let groups: Vec<_> = self.watched().keys().copied().collect();
        for group in groups.into_iter().filter(|group| is_stopped(*group)) {
            if foreground::is_of(group) {
                tracing::warn!("Ctrl-Z does not stop work under a lease; Ctrl-C ends it");
                killpg(group, Signal::SIGCONT).ok();
            }
        }
    }

    /// Kills what is left of the group of a process that has ended, and tells of its end.
    fn bury(&self, pid: Pid) {
        let Some(Watched { mut process, tell }) = self.watched().remove(&pid) else {
            // An orphan. How it ended is nobody's business.
            waitpid(pid, None).ok();
            return;
        };
        killpg(pid, Signal::SIGKILL).ok();
        let end = process.wait().map_or(ChildExit::Unknown, ChildExit::of);
        // Whoever started it may have stopped caring.
        tell.send(end).ok();
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<Pid, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks for one that has ended. While it is not waited for, its id and its group's are not given to
/// anybody else.
fn look(whom: Id<'_>) -> nix::Result<WaitStatus> {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(whom, flags)
}

/// Whether the child `pid` was stopped by Ctrl-Z since this was asked last.
fn is_stopped(pid: Pid) -> bool {
    let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
    waitid(Id::Pid(pid), flags) == Ok(WaitStatus::Stopped(pid, Signal::SIGTSTP))
}

/// A process whose first thread alone has ended looks like a zombie, too.
fn has_ended(pid: &Pid) -> bool {
    look(Id::Pid(*pid)) != Ok(WaitStatus::StillAlive)
}
