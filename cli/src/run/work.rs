//! The command at work: what ends it, and what that means.

use super::grant::Held;
use crate::args::run::RunArgs;
use crate::child::{Child, ChildEnd, Reaper, Spec, kill_strays};
use crate::exit::Exit;
use crate::guardian::Guardian;
use crate::keeper::{Keeper, Lost};
use crate::locks::Locks;
use crate::progress::Progress;
use crate::signals::{Signals, asks_to_end};
use crate::sys::clock::Instant;
use lockstep::contract::ReleaseOutcome;
use nix::sys::signal::Signal;
use std::future::pending;
use std::sync::Arc;
use tokio::sync::watch;

/// What the work came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worked {
    /// What to exit with.
    pub(crate) exit: Exit,
    /// What the history says.
    pub(crate) outcome: ReleaseOutcome,
}

impl Worked {
    /// No work was begun.
    pub(crate) const NONE: Self = Self::failed(Exit::FAILED);

    const fn failed(exit: Exit) -> Self {
        let outcome = ReleaseOutcome::Failed;
        Self { exit, outcome }
    }
}

/// Why a command was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Lost,
    Signal(Signal),
    TimedOut,
}

/// Starts the command and stays with it until nothing of it is left.
pub(crate) async fn work(
    args: &RunArgs,
    locks: &Arc<Locks>,
    held: &Held,
    reaper: &Reaper,
    signals: &mut Signals,
) -> Worked {
    match begin(args, held, reaper) {
        Ok((child, guardian, progress)) => {
            let group = child.group();
            let said = progress.as_ref().map_or_else(silence, Progress::latest);
            let keeper = Keeper {
                locks: Arc::clone(locks),
                grant: held.grant.clone(),
                times: held.times,
                sent: held.sent,
                progress: said.clone(),
                guarded: Some((guardian.clone(), group)),
            };
            let (end, cause) = attend(args, child, keeper, said, signals).await;
            guardian.drop(group);
            kill_strays(&[guardian.pid()]);
            judge(end, cause)
        }
        Err(error) => {
            tracing::error!(%error, "no process can be started");
            Worked::failed(Exit::CANNOT_RUN)
        }
    }
}

fn begin(
    args: &RunArgs,
    held: &Held,
    reaper: &Reaper,
) -> Result<(Child, Guardian, Option<Progress>), std::io::Error> {
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
    let guardian = Guardian::start(reaper)?;
    let spec = Spec {
        command: args.command.clone(),
        environment,
        input: None,
    };
    let child = Child::start(reaper, &spec)?;
    Ok((child, guardian, progress))
}

/// Waits for the end of the command, and sees to it that it comes when it has to.
async fn attend(
    args: &RunArgs,
    mut child: Child,
    keeper: Keeper,
    mut progress: watch::Receiver<Option<String>>,
    signals: &mut Signals,
) -> (ChildEnd, Option<Cause>) {
    let begun = Instant::now();
    let mut over = args.max_run.map(|most| begun + most);
    let mut stalled = args.no_progress.map(|most| begun + most);
    let mut keeping = Box::pin(keeper.keep());
    let mut is_kept = true;
    let mut cause = None;
    let mut dead_by = None;
    loop {
        tokio::select! {
            biased;
            end = child.ended() => return (end, cause),
            lost = &mut keeping, if is_kept => {
                is_kept = false;
                let Lost { why, kill_at } = lost;
                tracing::error!("the lease is lost, the command is stopped: {why}");
                cause = cause.or(Some(Cause::Lost));
                dead_by = Some(dead_by.map_or(kill_at, |by: Instant| by.min(kill_at)));
                child.signal(Signal::SIGTERM);
            }
            signal = signals.next() => {
                child.signal(signal);
                if asks_to_end(signal) && cause.is_none() {
                    tracing::info!(%signal, "passed on; the command has {:?} to stop", args.grace);
                    cause = Some(Cause::Signal(signal));
                    dead_by = dead_by.or(Some(Instant::now() + args.grace));
                }
            }
            Ok(()) = progress.changed(), if stalled.is_some() => {
                stalled = args.no_progress.map(|most| Instant::now() + most);
            }
            () = reached(earlier(over, stalled)), if cause.is_none() => {
                let why = if over.is_some_and(|over| over.left().is_zero()) {
                    "--max-run is over"
                } else {
                    "no progress within --no-progress"
                };
                (over, stalled) = (None, None);
                tracing::error!("{why}: the command is stopped");
                cause = Some(Cause::TimedOut);
                dead_by = Some(Instant::now() + args.grace);
                child.signal(Signal::SIGTERM);
            }
            () = reached(dead_by) => {
                dead_by = None;
                tracing::warn!("the command did not stop in time and is killed");
                child.signal(Signal::SIGKILL);
            }
        }
    }
}

async fn reached(time: Option<Instant>) {
    match time {
        Some(time) => time.reached().await,
        None => pending().await,
    }
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

/// Nobody will ever say anything.
fn silence() -> watch::Receiver<Option<String>> {
    watch::channel(None).1
}

/// What an end means. A command that was stopped has not succeeded, whatever its code says: it may
/// have left its work half done, and its run key has to be free for another try.
fn judge(end: ChildEnd, cause: Option<Cause>) -> Worked {
    tracing::info!(%end, ?cause, "the command has ended");
    match cause {
        None if end.is_success() => Worked {
            exit: end.exit(),
            outcome: ReleaseOutcome::Succeeded,
        },
        None => Worked::failed(end.exit()),
        Some(Cause::Lost) => Worked::failed(Exit::LEASE_LOST),
        Some(Cause::Signal(signal)) => Worked::failed(Exit::signal(signal)),
        Some(Cause::TimedOut) => Worked::failed(Exit::TIMED_OUT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_command_that_was_let_finish_can_succeed() {
        let good = ChildEnd::Code(0);

        assert_eq!(judge(good, None).outcome, ReleaseOutcome::Succeeded);
        for cause in [Cause::Lost, Cause::Signal(Signal::SIGTERM), Cause::TimedOut] {
            assert_eq!(judge(good, Some(cause)).outcome, ReleaseOutcome::Failed);
        }
    }

    #[test]
    fn each_cause_has_its_code_and_a_free_command_its_own() {
        let code = |end, cause| judge(end, cause).exit;

        assert_eq!(code(ChildEnd::Code(3), None), Exit::code(3));
        assert_eq!(
            code(ChildEnd::Signal(Signal::SIGKILL), None),
            Exit::code(137)
        );
        let stopped = ChildEnd::Code(0);
        assert_eq!(code(stopped, Some(Cause::Lost)), Exit::code(76));
        assert_eq!(code(stopped, Some(Cause::TimedOut)), Exit::code(124));
        let signal = Cause::Signal(Signal::SIGTERM);
        assert_eq!(code(stopped, Some(signal)), Exit::code(143));
    }
}
