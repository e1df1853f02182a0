//! A command under a lease: its process, its progress and its watchdog.
//!
//! Progress and lease belong together: the table learns the progress with each renewal, and
//! `--no-progress` stops a command whose lease is renewed for ever and that does nothing.

use super::progress::{self, Progress};
use super::supervise::{LeaseLost, Limits, StopCause, StopSource, supervise};
use super::watchdog::Watchdog;
use super::{Child, ChildExit, CommandTree, Spec, Subreaper};
use std::io;
use tokio::sync::watch;

/// Variables that only some grants set. Their inherited values belong to the grant that this
/// process runs under, so they are removed.
const OF_A_GRANT: &[&str] = &["LOCKSTEP_RUN_KEY", progress::VARIABLE];

/// A started command.
#[derive(Debug)]
pub(crate) struct GuardedCommand {
    child: Child,
    progress: Option<Progress>,
    watchdog: Watchdog,
    limits: Limits,
    /// Its name in the log.
    name: String,
}

impl GuardedCommand {
    /// Starts a command with a FIFO for its progress. Without a `no_progress` limit it starts without
    /// the FIFO too, if there can be none.
    ///
    /// # Errors
    /// When no process can be started.
    pub(crate) fn start(
        name: &str,
        (reaper, watchdog): (&Subreaper, &Watchdog),
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
                    "there is no FIFO for the command's progress"
                );
                None
            }
        };
        let variable = progress.as_ref().map(Progress::variable);
        spec.environment.extend(variable);
        spec.without = OF_A_GRANT;
        Ok(Self {
            child: Child::start(reaper, &spec)?,
            progress,
            watchdog: watchdog.clone(),
            limits,
            name: name.to_owned(),
        })
    }

    /// Its processes.
    pub(crate) fn tree(&self) -> &CommandTree {
        self.child.tree()
    }

    /// The watchdog and the processes that it kills at the deadline of the lease.
    pub(crate) fn guarded(&self) -> (Watchdog, CommandTree) {
        (self.watchdog.clone(), self.tree().clone())
    }

    /// The latest progress; without a FIFO one that never changes.
    pub(crate) fn progress(&self) -> watch::Receiver<Option<String>> {
        let latest = self.progress.as_ref().map(Progress::latest);
        latest.unwrap_or_else(|| watch::channel(None).1)
    }

    /// Supervises the command until it ends, as [`supervise`] does. Then the watchdog guards it no more.
    pub(crate) async fn finish(
        self,
        renewal: impl Future<Output = LeaseLost>,
        requests: impl StopSource,
    ) -> (ChildExit, Option<StopCause>) {
        let (group, latest) = (self.tree().group, self.progress());
        let Self {
            child,
            limits,
            name,
            ..
        } = self;
        let ended = supervise(&name, child, renewal, latest, requests, limits).await;
        // Only after the end: until then the deadline must hold, whatever becomes of this process.
        self.watchdog.drop(group);
        ended
    }
}
