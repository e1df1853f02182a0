//! Reaps every child of this process, as the first process of a container has to do.

use super::ChildExit;
use super::procfs::own_children;
use crate::platform::children::{adopt_orphans, is_stopped, peek_exit};
use crate::platform::foreground;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::io::Error;
use std::process::{Child, ChildStdin, ChildStdout, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};

/// Reaps every child of this process: the processes that it has started, and orphans that it has adopted.
///
/// When a process ends, its children become children of the nearest subreaper above it. A child that has
/// ended stays a zombie until the subreaper waits for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subreaper {
    watched: Arc<Mutex<HashMap<Pid, Watched>>>,
    /// Changes after children were reaped.
    reaped: watch::Sender<()>,
}

/// A started process, and the channel that reports its end. The channel is `None` once the end has been
/// reported; from then on the process is a zombie, which its [`EndOf`] reaps.
#[derive(Debug)]
struct Watched {
    process: Child,
    report: Option<oneshot::Sender<()>>,
}

/// A process that was started.
pub(crate) struct Started {
    /// Its id.
    pub(crate) pid: Pid,
    /// The pipe to its standard input, if there is one.
    pub(crate) stdin: Option<ChildStdin>,
    /// The pipe from its standard output, if there is one.
    pub(crate) stdout: Option<ChildStdout>,
}

/// The end of a started process.
///
/// The process stays a zombie until [`Self::reap`]. Until then the kernel does not reuse its id or the id of
/// its group, so a signal to the group reaches what is left of the group and nothing else. If this value is
/// dropped, the process is reaped as soon as it has ended.
#[derive(Debug)]
pub(crate) struct EndOf {
    pid: Pid,
    reaper: Subreaper,
    ended: oneshot::Receiver<()>,
}

impl Subreaper {
    /// Makes this process a subreaper, and starts a task that reaps its children.
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
                own.reaped.send_replace(());
            }
        });
        Ok(reaper)
    }

    /// Starts `command`.
    ///
    /// # Errors
    /// When no process can be started.
    pub(crate) fn start(&self, command: &mut Command) -> Result<(Started, EndOf), Error> {
        let (report, ended) = oneshot::channel();
        // Locked until the child is in the map, so that it is not reaped before.
        let mut watched = self.watched();
        let mut process = command.spawn()?;
        let started = Started {
            pid: Pid::from_raw(i32::try_from(process.id()).unwrap_or(i32::MAX)),
            stdin: process.stdin.take(),
            stdout: process.stdout.take(),
        };
        let (pid, reaper) = (started.pid, self.clone());
        let report = Some(report);
        watched.insert(pid, Watched { process, report });
        Ok((started, EndOf { pid, reaper, ended }))
    }

    /// Returns a receiver that changes each time after children were reaped.
    pub(super) fn reaped(&self) -> watch::Receiver<()> {
        self.reaped.subscribe()
    }

    /// Reaps the children that have ended by now, except those that an [`EndOf`] reaps. Children that end
    /// later cause another SIGCHLD: children that end all the time must not hold up the other tasks.
    fn reap(&self) {
        // Children that were started here are checked one by one: a list of children needs a file descriptor.
        let started: Vec<_> = self.watched().keys().copied().collect();
        for pid in started.iter().filter(|pid| has_ended(**pid)) {
            self.report(*pid);
        }
        let children = own_children().unwrap_or_else(|error| {
            tracing::error!(event = "reap_failed", %error, "failed to list children");
            [].into()
        });
        for orphan in children.iter().filter(|child| !started.contains(child)) {
            waitpid(*orphan, Some(WaitPidFlag::WNOHANG)).ok();
        }
    }

    /// Sends SIGCONT to a command that the terminal has stopped with Ctrl-Z. A shell expects that its job
    /// stops as a whole, but this process cannot stop with the command, because it has to renew the lease.
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

    /// Reports the end of a process that was started here, once. Reaps the process if its [`EndOf`] was
    /// dropped.
    fn report(&self, pid: Pid) {
        let report = self
            .watched()
            .get_mut(&pid)
            .and_then(|one| one.report.take());
        if report.is_some_and(|report| report.send(()).is_err()) {
            self.finish(pid);
        }
    }

    /// Kills what is left of the group of a process that has ended, and reaps the process.
    fn finish(&self, pid: Pid) -> ChildExit {
        let Some(mut ended) = self.watched().remove(&pid) else {
            return ChildExit::Unknown;
        };
        killpg(pid, Signal::SIGKILL).ok();
        let end = ended.process.wait();
        end.map_or(ChildExit::Unknown, ChildExit::of)
    }

    /// Returns whether the end of the child `pid` has been reported, so that its [`EndOf`] has to reap it.
    fn is_kept(&self, pid: Pid) -> bool {
        let watched = self.watched();
        watched
            .get(&pid)
            .is_some_and(|process| process.report.is_none())
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<Pid, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EndOf {
    /// Returns when the process has ended. It is not reaped yet.
    pub(crate) async fn ended(&mut self) {
        if !self.ended.is_terminated() {
            (&mut self.ended).await.ok();
        }
    }

    /// Kills what is left of the group of the process, which has ended, and reaps the process.
    pub(crate) fn reap(self) -> ChildExit {
        self.reaper.finish(self.pid)
    }
}

impl Drop for EndOf {
    fn drop(&mut self) {
        // From here on a report is not received. Whoever tries to report the end reaps the process instead.
        self.ended.close();
        if self.reaper.is_kept(self.pid) {
            self.reaper.finish(self.pid);
        }
    }
}

/// Returns whether a child has ended. For a child that a real-time signal has ended, `nix` returns EINVAL,
/// because it has no name for the signal; that counts as an end.
fn has_ended(pid: Pid) -> bool {
    peek_exit(pid) != Ok(WaitStatus::StillAlive)
}
