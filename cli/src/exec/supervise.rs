//! A command at work: what ends it, and why.

use crate::exec::{Child, ChildExit};
use crate::lease::renewer::LeaseLost;
use crate::platform::clock::{Instant, earlier, reached};
use nix::sys::signal::Signal;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::watch;

/// How long a command may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// In all.
    pub(crate) max_run: Option<Duration>,
    /// Without a change in its progress.
    pub(crate) no_progress: Option<Duration>,
    /// From SIGTERM to SIGKILL.
    pub(crate) grace: Duration,
}

/// Why a command was stopped. The first cause counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// Its lease was lost.
    LeaseLost,
    /// Its guard was told to end, by this signal.
    Signal(Signal),
    /// It took too long, or made no progress.
    TimedOut,
}

/// What is said to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopRequest {
    /// A signal that does not ask it to end.
    Forward(Signal),
    /// To end by this signal, within that time if there is one.
    Terminate(Signal, Option<Duration>),
    /// To be dead.
    Kill,
}

/// Whoever speaks to a command.
pub(crate) trait StopSource: Send {
    /// What is said next.
    fn next(&mut self) -> impl Future<Output = StopRequest> + Send;
}

/// Waits for the end of the command, and sees to it that it comes when it has to: when `keeping` its
/// lease fails, when `speaker` says so, when its time is over. `work` is its name in the log.
pub(crate) async fn supervise(
    work: &str,
    mut child: Child,
    keeping: impl Future<Output = LeaseLost>,
    mut progress: watch::Receiver<Option<String>>,
    mut speaker: impl StopSource,
    limits: Limits,
) -> (ChildExit, Option<StopCause>) {
    let mut keeping = pin!(keeping);
    let begun = Instant::now();
    let over = limits.max_run.map(|most| begun + most);
    let mut stalled = limits.no_progress.map(|most| begun + most);
    let (mut is_kept, mut cause, mut dead_by) = (true, None, None);
    loop {
        tokio::select! {
            biased;
            end = child.ended() => return (end, cause),
            lost = &mut keeping, if is_kept => {
                is_kept = false;
                let LeaseLost { why, kill_at } = lost;
                child.signal(Signal::SIGTERM);
                cause = cause.or(Some(StopCause::LeaseLost));
                dead_by = earlier(dead_by, Some(kill_at));
                tracing::error!(work, "the lease is lost, the command is stopped: {why}");
            }
            word = speaker.next() => match word {
                StopRequest::Forward(signal) => child.signal(signal),
                StopRequest::Terminate(signal, within) => {
                    child.signal(signal);
                    cause = cause.or(Some(StopCause::Signal(signal)));
                    dead_by = dead_by.or(within.map(|within| Instant::now() + within));
                }
                StopRequest::Kill => {
                    cause = cause.or(Some(StopCause::Signal(Signal::SIGTERM)));
                    child.signal(Signal::SIGKILL);
                }
            },
            Ok(()) = progress.changed(), if stalled.is_some() => {
                stalled = limits.no_progress.map(|most| Instant::now() + most);
            }
            () = reached(earlier(over, stalled)), if cause.is_none() => {
                child.signal(Signal::SIGTERM);
                let is_over = over.is_some_and(|over| over.left().is_zero());
                let why = if is_over { "--max-run is over" } else { "no progress within --no-progress" };
                tracing::error!(work, "{why}: the command is stopped");
                cause = Some(StopCause::TimedOut);
                dead_by = Some(Instant::now() + limits.grace);
            }
            () = reached(dead_by) => {
                child.signal(Signal::SIGKILL);
                dead_by = None;
                tracing::warn!(work, "the command did not stop in time and is killed");
            }
        }
    }
}
