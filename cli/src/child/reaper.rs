//! Waits for every child of this process, as the first process of a container has to.

use super::{ChildEnd, EndOf, Started, spawn};
use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::io::Error;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Waits for every child of this process: those that it started, and those that lost their parent.
///
/// A process whose parent ends becomes a child of the nearest subreaper above it
/// (<https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html>), and stays a zombie
/// until that one waits for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reaper {
    watched: Arc<Mutex<HashMap<Pid, oneshot::Sender<ChildEnd>>>>,
}

impl Reaper {
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
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let started = spawn(command)?;
        let id = i32::try_from(started.id).unwrap_or(i32::MAX);
        watched.insert(Pid::from_raw(id), tell);
        Ok((started, end))
    }

    /// Waits for all that have ended.
    fn reap(&self) {
        // A look first: while the dead one is not waited for, its id and its group's are not given
        // to anybody else.
        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        loop {
            let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
            let pid = match waitid(Id::All, look) {
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return,
                Ok(status) => status.pid(),
                Err(Errno::EINTR) => continue,
                Err(error) => {
                    tracing::error!(%error, "children cannot be waited for");
                    return;
                }
            };
            let Some(pid) = pid else { return };
            let tell = watched.remove(&pid);
            if tell.is_some() {
                killpg(pid, Signal::SIGKILL).ok();
            }
            let end = waitpid(pid, None).map_or(ChildEnd::Unknown, ChildEnd::of);
            if let Some(tell) = tell {
                // Whoever started it may have stopped caring.
                tell.send(end).ok();
            }
        }
    }
}
