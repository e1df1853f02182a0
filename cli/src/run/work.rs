//! Runs the command under its grant, and maps its end to an exit code and an outcome.

use super::grant::Held;
use crate::args::run::RunArgs;
use crate::exec::progress::{self, Progress};
use crate::exec::supervise::{Limits, StopCause, StopRequest, StopSource, supervise};
use crate::exec::watchdog::Watchdog;
use crate::exec::{Child, ChildExit, Spec, Subreaper, kill_orphans};
use crate::exit::Exit;
use crate::lease::client::LockClient;
use crate::lease::renewer::LeaseRenewer;
use crate::platform::foreground;
use crate::platform::signals::{Signals, asks_to_end};
use lockstep::contract::ReleaseOutcome;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Variables that only some grants set. Their inherited values belong to the grant that this
/// process runs under, so they are removed.
pub(crate) const OF_A_GRANT: &[&str] = &["LOCKSTEP_RUN_KEY", progress::VARIABLE];

/// The result of the work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worked {
    /// The exit code.
    pub(crate) exit: Exit,
    /// The outcome for the history.
    pub(crate) outcome: ReleaseOutcome,
    /// Why it was stopped, if it was.
    pub(crate) cause: Option<StopCause>,
}

impl Worked {
    fn failed(exit: Exit, cause: Option<StopCause>) -> Self {
        Self {
            exit,
            outcome: ReleaseOutcome::Failed,
            cause,
        }
    }
}

/// Starts the command, and returns when it and its descendants have ended.
pub(crate) async fn work(
    args: &RunArgs,
    locks: &Arc<LockClient>,
    held: &Held,
    reaper: &Subreaper,
    signals: &mut Signals,
) -> Worked {
    match begin(args, held, reaper) {
        Ok((child, watchdog, progress)) => {
            let tree = child.tree().clone();
            let latest = progress.as_ref().map_or_else(no_progress, Progress::latest);
            let renewer = LeaseRenewer {
                locks: Arc::clone(locks),
                grant: held.grant.clone(),
                times: held.times,
                sent: held.sent,
                progress: latest.clone(),
                guarded: Some((watchdog.clone(), tree.clone())),
            };
            let limits = Limits {
                max_run: args.max_run,
                no_progress: args.no_progress,
                grace: args.grace,
            };
            let (lock, grace) = (&held.grant.lock, args.grace);
            let source = ForwardedSignals { signals, grace };
            let (end, cause) = supervise(lock, child, renewer.keep(), latest, source, limits).await;
            watchdog.drop(tree.group);
            foreground::take_back(tree.group);
            kill_orphans(&tree, || Some(watchdog.pid())).await;
            judge(end, cause)
        }
        Err(error) => {
            tracing::error!(event = "command_start_failed", %error, "no process can be started");
            Worked::failed(Exit::CANNOT_RUN, None)
        }
    }
}

fn begin(
    args: &RunArgs,
    held: &Held,
    reaper: &Subreaper,
) -> Result<(Child, Watchdog, Option<Progress>), std::io::Error> {
    let progress = match Progress::open() {
        Ok(progress) => Some(progress),
        Err(error) if args.no_progress.is_some() => return Err(error),
        Err(error) => {
            tracing::warn!(
                event = "progress_fifo_failed",
                %error,
                "there is no FIFO for the command's progress"
            );
            None
        }
    };
    let mut environment = held.environment.clone();
    environment.extend(progress.as_ref().map(Progress::variable));
    let watchdog = Watchdog::start(reaper)?;
    let spec = Spec {
        command: args.command.clone(),
        without: OF_A_GRANT,
        environment,
        input: None,
    };
    let child = Child::start(reaper, &spec)?;
    Ok((child, watchdog, progress))
}

/// The signals of this process, as requests to the command.
struct ForwardedSignals<'a> {
    signals: &'a mut Signals,
    grace: Duration,
}

impl StopSource for ForwardedSignals<'_> {
    async fn next(&mut self) -> StopRequest {
        let signal = self.signals.next().await;
        if !asks_to_end(signal) {
            return StopRequest::Forward(signal);
        }
        tracing::info!(
            event = "signal_forwarded",
            %signal,
            "the command has {:?} to stop",
            self.grace
        );
        StopRequest::Terminate(signal, Some(self.grace))
    }
}

/// Progress that never changes.
fn no_progress() -> watch::Receiver<Option<String>> {
    watch::channel(None).1
}

/// Maps the end of the command to a result. A command that was stopped has failed, whatever its
/// exit code: its work may be incomplete, and its run key has to be free for another run.
fn judge(end: ChildExit, cause: Option<StopCause>) -> Worked {
    tracing::info!(event = "command_ended", %end, ?cause, "the command has ended");
    let exit = match cause {
        None if end.is_success() => {
            return Worked {
                exit: end.exit(),
                outcome: ReleaseOutcome::Succeeded,
                cause,
            };
        }
        None => end.exit(),
        Some(StopCause::LeaseLost) => Exit::LEASE_LOST,
        Some(StopCause::Signal(signal)) => Exit::signal(signal),
        Some(StopCause::TimedOut) => Exit::TIMED_OUT,
    };
    Worked::failed(exit, cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::Signal;

    #[test]
    fn only_a_command_that_was_not_stopped_can_succeed() {
        let good = ChildExit::Code(0);

        assert_eq!(judge(good, None).outcome, ReleaseOutcome::Succeeded);
        for cause in [
            StopCause::LeaseLost,
            StopCause::Signal(Signal::SIGTERM),
            StopCause::TimedOut,
        ] {
            assert_eq!(judge(good, Some(cause)).outcome, ReleaseOutcome::Failed);
        }
    }

    #[test]
    fn each_cause_has_its_exit_code_and_a_command_that_was_not_stopped_its_own() {
        let code = |end, cause| judge(end, cause).exit;

        assert_eq!(code(ChildExit::Code(3), None), Exit::code(3));
        assert_eq!(code(ChildExit::Signal(9), None), Exit::code(137));
        let stopped = ChildExit::Code(0);
        assert_eq!(code(stopped, Some(StopCause::LeaseLost)), Exit::code(76));
        assert_eq!(code(stopped, Some(StopCause::TimedOut)), Exit::code(124));
        let signal = StopCause::Signal(Signal::SIGTERM);
        assert_eq!(code(stopped, Some(signal)), Exit::code(143));
    }
}
