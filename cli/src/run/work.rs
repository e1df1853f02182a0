//! The command at work: what ends it, and what that means.

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

/// What only some grants have. One that this process was itself started under is another one.
pub(crate) const OF_A_GRANT: &[&str] = &["LOCKSTEP_RUN_KEY", progress::VARIABLE];

/// What the work came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worked {
    /// What to exit with.
    pub(crate) exit: Exit,
    /// What the history says.
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

/// Starts the command and stays with it until nothing of it is left.
pub(crate) async fn work(
    args: &RunArgs,
    locks: &Arc<LockClient>,
    held: &Held,
    reaper: &Subreaper,
    signals: &mut Signals,
) -> Worked {
    match begin(args, held, reaper) {
        Ok((child, watchdog, progress)) => {
            let family = child.family().clone();
            let said = progress.as_ref().map_or_else(silence, Progress::latest);
            let keeper = LeaseRenewer {
                locks: Arc::clone(locks),
                grant: held.grant.clone(),
                times: held.times,
                sent: held.sent,
                progress: said.clone(),
                guarded: Some((watchdog.clone(), family.clone())),
            };
            let limits = Limits {
                max_run: args.max_run,
                no_progress: args.no_progress,
                grace: args.grace,
            };
            let (lock, grace) = (&held.grant.lock, args.grace);
            let heard = ForwardedSignals { signals, grace };
            let (end, cause) = supervise(lock, child, keeper.keep(), said, heard, limits).await;
            watchdog.drop(family.group);
            foreground::take_back(family.group);
            kill_orphans(&family, || Some(watchdog.pid())).await;
            judge(end, cause)
        }
        Err(error) => {
            tracing::error!(%error, "no process can be started");
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
            tracing::warn!(%error, "there is no FIFO for the command's progress");
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

/// What the caller's signals say to the command.
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
        tracing::info!(%signal, "passed on; the command has {:?} to stop", self.grace);
        StopRequest::Terminate(signal, Some(self.grace))
    }
}

/// Nobody will ever say anything.
fn silence() -> watch::Receiver<Option<String>> {
    watch::channel(None).1
}

/// What an end means. A command that was stopped has not succeeded, whatever its code says: it may
/// have left its work half done, and its run key has to be free for another try.
fn judge(end: ChildExit, cause: Option<StopCause>) -> Worked {
    tracing::info!(%end, ?cause, "the command has ended");
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
    fn only_a_command_that_was_let_finish_can_succeed() {
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
    fn each_cause_has_its_code_and_a_free_command_its_own() {
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
