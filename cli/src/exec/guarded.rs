//! A guarded command: its processes, its progress and its watchdog.
//!
//! Progress and lease belong together: each renewal writes the progress to the table, and `--no-progress`
//! stops a command that makes no progress although its lease is renewed.

use super::child::Child;
use super::progress::{self, Progress};
use super::supervise::{LeaseLost, Limits, StopCause, StopSource, supervise};
use super::watchdog::Watchdog;
use super::{ChildExit, CommandTree, Spec, Subreaper};
use crate::platform::clock::Instant;
use std::io;
use tokio::sync::watch;

/// Variables that only some grants set. A command must not inherit them from the grant that this process runs
/// under, so they are removed.
const GRANT_VARIABLES: &[&str] = &["LOCKSTEP_RUN_KEY", progress::VARIABLE];

/// The deadline of a command without a lease: the watchdog kills such a command only when this process ends.
const NO_DEADLINE: Instant = Instant::from_millis(u64::MAX);

/// A started command.
#[derive(Debug)]
pub(crate) struct GuardedCommand {
    child: Child,
    progress: Option<Progress>,
    watchdog: Watchdog,
    limits: Limits,
    /// The name of the command in the log.
    name: String,
}

impl GuardedCommand {
    /// Starts a command with a FIFO for its progress. If no FIFO can be created, the command starts without
    /// one, unless `limits` has `no_progress`.
    ///
    /// # Errors
    /// When no process can be started, or when `limits` has `no_progress` and no FIFO can be created.
    pub(crate) fn start(
        name: &str,
        guards: (&Subreaper, &Watchdog),
        limits: Limits,
        mut spec: Spec,
    ) -> io::Result<Self> {
        let progress = match Progress::open() {
            Ok(progress) => Some(progress),
            Err(error) if limits.no_progress.is_some() => return Err(error),
            Err(error) => {
                tracing::warn!(
                    event = "progress_fifo_failed",
                    name,
                    %error,
                    "no FIFO can be created, so the command cannot report its progress"
                );
                None
            }
        };
        let variable = progress.as_ref().map(Progress::variable);
        spec.environment.extend(variable);
        spec.without = GRANT_VARIABLES;
        let child = Child::start(guards, &spec)?;
        Ok(Self::of(name, child, progress, guards.1, limits))
    }

    /// Starts a command without a lease and without a FIFO for its progress.
    ///
    /// # Errors
    /// When no process can be started.
    pub(crate) fn without_lease(
        name: &str,
        guards: (&Subreaper, &Watchdog),
        limits: Limits,
        spec: &Spec,
    ) -> io::Result<Self> {
        let child = Child::start(guards, spec)?;
        guards.1.guard(child.tree(), NO_DEADLINE);
        Ok(Self::of(name, child, None, guards.1, limits))
    }

    fn of(
        name: &str,
        child: Child,
        progress: Option<Progress>,
        watchdog: &Watchdog,
        limits: Limits,
    ) -> Self {
        Self {
            child,
            progress,
            watchdog: watchdog.clone(),
            limits,
            name: name.to_owned(),
        }
    }

    /// Returns the group and the mark that identify the processes of the command.
    pub(crate) fn tree(&self) -> &CommandTree {
        self.child.tree()
    }

    /// Returns the watchdog, and the processes that it has to kill at the deadline of the lease.
    pub(crate) fn guarded(&self) -> (Watchdog, CommandTree) {
        (self.watchdog.clone(), self.tree().clone())
    }

    /// Returns a receiver of the latest progress. Without a FIFO, its value never changes.
    pub(crate) fn progress(&self) -> watch::Receiver<Option<String>> {
        let latest = self.progress.as_ref().map(Progress::latest);
        latest.unwrap_or_else(|| watch::channel(None).1)
    }

    /// Supervises the command as the function [`supervise`] does, until it ends or is killed, and returns why
    /// it was stopped. The caller has to call [`Self::end`] after that.
    pub(crate) async fn supervise(
        &mut self,
        renewal: impl Future<Output = LeaseLost>,
        requests: impl StopSource,
    ) -> Option<StopCause> {
        let latest = self.progress();
        let Self {
            child,
            limits,
            name,
            ..
        } = self;
        supervise(name, child, renewal, latest, requests, *limits).await
    }

    /// Kills what is left of the command, withdraws its deadline from the watchdog, and returns how the
    /// command ended. Until nothing is left, the deadline has to hold, whatever becomes of this process.
    /// `is_alone` says whether this process runs no other command now.
    pub(crate) async fn end(self, is_alone: bool) -> ChildExit {
        self.child.kill_rest(is_alone).await;
        self.watchdog.drop(self.tree().group);
        // Reaped last: after that the kernel may reuse the id of the group.
        self.child.reap()
    }
}
