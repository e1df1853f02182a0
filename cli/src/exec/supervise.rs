//! Supervises a running command: stops it when required, and records why.

use crate::exec::{Child, ChildExit};
use crate::platform::clock::{Instant, earlier, reached};
use nix::sys::signal::Signal;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::watch;

/// Time limits of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// From its start to SIGTERM.
    pub(crate) max_run: Option<Duration>,
    /// From the last change of its progress to SIGTERM.
    pub(crate) no_progress: Option<Duration>,
    /// From SIGTERM to SIGKILL.
    pub(crate) grace: Duration,
}

/// Why a command was stopped. The first cause counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// Its lease was lost.
    LeaseLost,
    /// Its guard received this signal.
    Signal(Signal),
    /// It exceeded `max_run` or `no_progress`.
    TimedOut,
}

/// A request to a running command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopRequest {
    /// Sends a signal that does not ask it to end.
    Forward(Signal),
    /// Sends this signal, and SIGKILL after the duration, if there is one.
    Terminate(Signal, Option<Duration>),
    /// Sends SIGKILL.
    Kill,
}

/// The end of a lease under which a command still runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseLost {
    /// The reason, in a sentence.
    pub(crate) why: String,
    /// When the command has to be dead.
    pub(crate) kill_at: Instant,
}

/// A source of requests to a command.
pub(crate) trait StopSource: Send {
    /// Waits for the next request.
    fn next(&mut self) -> impl Future<Output = StopRequest> + Send;
}

/// Waits until the command ends. Stops it when `renewal` returns, when `requests` asks for it, or when
/// one of `limits` is reached. `work` is its name in the log.
pub(crate) async fn supervise(
    work: &str,
    mut child: Child,
    renewal: impl Future<Output = LeaseLost>,
    mut progress: watch::Receiver<Option<String>>,
    mut requests: impl StopSource,
    limits: Limits,
) -> (ChildExit, Option<StopCause>) {
    let mut renewal = pin!(renewal);
    let started = Instant::now();
    let run_end = limits.max_run.map(|most| started + most);
    let mut progress_end = limits.no_progress.map(|most| started + most);
    let (mut is_renewed, mut cause, mut kill_at) = (true, None, None);
    loop {
        tokio::select! {
            biased;
            end = child.ended() => return (end, cause),
            lost = &mut renewal, if is_renewed => {
                is_renewed = false;
                let LeaseLost { why, kill_at: lease_end } = lost;
                child.signal(Signal::SIGTERM);
                cause = cause.or(Some(StopCause::LeaseLost));
                kill_at = earlier(kill_at, Some(lease_end));
                tracing::error!(
                    event = "lease_lost",
                    work,
                    "the lease is lost; stopping the command: {why}"
                );
            }
            request = requests.next() => match request {
                StopRequest::Forward(signal) => child.signal(signal),
                StopRequest::Terminate(signal, within) => {
                    child.signal(signal);
                    cause = cause.or(Some(StopCause::Signal(signal)));
                    kill_at = kill_at.or(within.map(|within| Instant::now() + within));
                }
                StopRequest::Kill => {
                    cause = cause.or(Some(StopCause::Signal(Signal::SIGTERM)));
                    child.signal(Signal::SIGKILL);
                }
            },
            Ok(()) = progress.changed(), if progress_end.is_some() => {
                progress_end = limits.no_progress.map(|most| Instant::now() + most);
            }
            () = reached(earlier(run_end, progress_end)), if cause.is_none() => {
                child.signal(Signal::SIGTERM);
                let is_over = run_end.is_some_and(|end| end.left().is_zero());
                let why = if is_over { "--max-run exceeded" } else { "no progress within --no-progress" };
                tracing::error!(event = "command_timed_out", work, "{why}: stopping the command");
                cause = Some(StopCause::TimedOut);
                kill_at = Some(Instant::now() + limits.grace);
            }
            () = reached(kill_at) => {
                child.signal(Signal::SIGKILL);
                kill_at = None;
                tracing::warn!(
                    event = "command_killed",
                    work,
                    "the command did not stop in time; sent SIGKILL"
                );
            }
        }
    }
}
