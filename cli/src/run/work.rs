//! Runs the command under its grant, and maps its end to an exit code and an outcome.
//!
//! The outcome is a success only if the command ended by itself with exit code 0. If something stopped the
//! command, its exit code does not count: a program that handles SIGTERM may exit with 0 halfway through its
//! work.

use crate::args::run::RunArgs;
use crate::exec::supervise::{ForwardedSignals, Limits, StopCause};
use crate::exec::watchdog::Watchdog;
use crate::exec::{ChildExit, GuardedCommand, Spec, Subreaper};
use crate::exit::Exit;
use crate::lease::client::LockClient;
use crate::lease::held::Held;
use crate::lease::renewer::LeaseRenewer;
use crate::platform::foreground;
use crate::platform::signals::Signals;
use lockstep::contract::ReleaseOutcome;
use std::sync::Arc;

/// The result of the work.
#[derive(Clone, Debug)]
pub(crate) struct Worked {
    /// The exit code.
    pub(crate) exit: Exit,
    /// The outcome for the history.
    pub(crate) outcome: ReleaseOutcome,
    /// Why the command was stopped; `None` if it ended by itself.
    pub(crate) cause: Option<StopCause>,
    /// Why the run failed, for the message to people; `None` after a success.
    pub(crate) failure: Option<String>,
}

impl Worked {
    fn failed(exit: Exit, cause: Option<StopCause>, failure: String) -> Self {
        Self {
            exit,
            outcome: ReleaseOutcome::Failed,
            cause,
            failure: Some(failure),
        }
    }
}

/// Starts the command, supervises it, and returns when the command and its descendants have ended.
pub(crate) async fn work(
    args: &RunArgs,
    locks: &Arc<LockClient>,
    held: &Held,
    reaper: &Subreaper,
    signals: &mut Signals,
) -> Worked {
    let limits = Limits {
        max_run: args.max_run,
        no_progress: args.no_progress,
        grace: args.grace,
    };
    let spec = Spec {
        command: args.command.clone(),
        environment: held.environment.clone(),
        is_alone: true,
        scope: args.scope.signal_scope,
        ..Spec::default()
    };
    let lock = &held.grant.lock;
    // The watchdog starts first. If it cannot be started, the command is not started either.
    let started = Watchdog::start(reaper)
        .and_then(|watchdog| GuardedCommand::start(lock, (reaper, &watchdog), limits, spec));
    let mut command = match started {
        Ok(command) => command,
        Err(error) => {
            tracing::error!(event = "command_start_failed", %error, "no process can be started");
            let failure = format!("the command was not started: {error}");
            return Worked::failed(Exit::CANNOT_RUN, None, failure);
        }
    };
    let group = command.tree().group;
    let renewer = LeaseRenewer {
        locks: Arc::clone(locks),
        held: held.clone(),
        progress: command.progress(),
        written: None,
        guarded: Some(command.guarded()),
    };
    let grace = args.grace;
    let source = ForwardedSignals { signals, grace };
    let cause = command.supervise(renewer.keep(), source).await;
    // `true`: this process runs no other command.
    let end = command.end(true).await;
    foreground::take_back(group);
    judge(end, cause)
}

/// Maps the end of the command to a result. A command that was stopped counts as failed, whatever its exit
/// code: its work may be incomplete, and its run key has to be free for another run.
fn judge(end: ChildExit, cause: Option<StopCause>) -> Worked {
    tracing::info!(event = "command_ended", %end, ?cause, "the command has ended");
    let (exit, failure) = match cause {
        None if end.is_success() => {
            return Worked {
                exit: end.exit(),
                outcome: ReleaseOutcome::Succeeded,
                cause,
                failure: None,
            };
        }
        None => (end.exit(), format!("the command ended with {end}")),
        Some(StopCause::LeaseLost) => (
            Exit::LEASE_LOST,
            "the command was stopped: the lease was not renewed".to_owned(),
        ),
        Some(StopCause::Signal(signal)) => (
            Exit::signal(signal),
            format!("the command was stopped by {signal}"),
        ),
        Some(StopCause::TimedOut) => (
            Exit::TIMED_OUT,
            "the command was stopped: it exceeded --max-run or --no-progress".to_owned(),
        ),
    };
    Worked::failed(exit, cause, failure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::Signal;

    #[test]
    fn a_stopped_command_fails_with_the_exit_code_of_its_cause() {
        use ReleaseOutcome::{Failed, Succeeded};
        let good = ChildExit::Code(0);
        let sigterm = StopCause::Signal(Signal::SIGTERM);
        for (end, cause, outcome, code, failure) in [
            (good, None, Succeeded, 0, ""),
            (ChildExit::Code(3), None, Failed, 3, "exit code 3"),
            (ChildExit::Signal(9), None, Failed, 137, "SIGKILL"),
            (good, Some(StopCause::LeaseLost), Failed, 76, "lease"),
            (good, Some(StopCause::TimedOut), Failed, 124, "exceeded"),
            (good, Some(sigterm), Failed, 143, "by SIGTERM"),
        ] {
            let judged = judge(end, cause);
            let expected = (outcome, Exit::code(code));
            assert_eq!((judged.outcome, judged.exit), expected, "{end:?} {cause:?}");
            let said = judged.failure.unwrap_or_default();
            assert!(said.contains(failure), "{said}");
            assert_eq!(said.is_empty(), outcome == Succeeded, "{said}");
        }
    }
}
