//! The command at work: what ends it, and what that means.

use super::grant::Held;
use crate::args::run::RunArgs;
use crate::attend::{Cause, Limits, Speaker, Word, attend};
use crate::child::{Child, ChildEnd, Reaper, Spec, kill_strays};
use crate::exit::Exit;
use crate::guardian::Guardian;
use crate::keeper::Keeper;
use crate::locks::Locks;
use crate::progress::{self, Progress};
use crate::signals::{Signals, asks_to_end};
use crate::sys::terminal;
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
    pub(crate) cause: Option<Cause>,
}

impl Worked {
    fn failed(exit: Exit, cause: Option<Cause>) -> Self {
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
    locks: &Arc<Locks>,
    held: &Held,
    reaper: &Reaper,
    signals: &mut Signals,
) -> Worked {
    match begin(args, held, reaper) {
        Ok((child, guardian, progress)) => {
            let family = child.family().clone();
            let said = progress.as_ref().map_or_else(silence, Progress::latest);
            let keeper = Keeper {
                locks: Arc::clone(locks),
                grant: held.grant.clone(),
                times: held.times,
                sent: held.sent,
                progress: said.clone(),
                guarded: Some((guardian.clone(), family.clone())),
            };
            let limits = Limits {
                max_run: args.max_run,
                no_progress: args.no_progress,
                grace: args.grace,
            };
            let (lock, grace) = (&held.grant.lock, args.grace);
            let heard = Heard { signals, grace };
            let (end, cause) = attend(lock, child, keeper.keep(), said, heard, limits).await;
            guardian.drop(family.group);
            terminal::take_back(family.group);
            kill_strays(&family, || Some(guardian.pid())).await;
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
        without: OF_A_GRANT,
        environment,
        input: None,
    };
    let child = Child::start(reaper, &spec)?;
    Ok((child, guardian, progress))
}

/// What the caller's signals say to the command.
struct Heard<'a> {
    signals: &'a mut Signals,
    grace: Duration,
}

impl Speaker for Heard<'_> {
    async fn next(&mut self) -> Word {
        let signal = self.signals.next().await;
        if !asks_to_end(signal) {
            return Word::Pass(signal);
        }
        tracing::info!(%signal, "passed on; the command has {:?} to stop", self.grace);
        Word::End(signal, Some(self.grace))
    }
}

/// Nobody will ever say anything.
fn silence() -> watch::Receiver<Option<String>> {
    watch::channel(None).1
}

/// What an end means. A command that was stopped has not succeeded, whatever its code says: it may
/// have left its work half done, and its run key has to be free for another try.
fn judge(end: ChildEnd, cause: Option<Cause>) -> Worked {
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
        Some(Cause::Lost) => Exit::LEASE_LOST,
        Some(Cause::Told(signal)) => Exit::signal(signal),
        Some(Cause::TimedOut) => Exit::TIMED_OUT,
    };
    Worked::failed(exit, cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::Signal;

    #[test]
    fn only_a_command_that_was_let_finish_can_succeed() {
        let good = ChildEnd::Code(0);

        assert_eq!(judge(good, None).outcome, ReleaseOutcome::Succeeded);
        for cause in [Cause::Lost, Cause::Told(Signal::SIGTERM), Cause::TimedOut] {
            assert_eq!(judge(good, Some(cause)).outcome, ReleaseOutcome::Failed);
        }
    }

    #[test]
    fn each_cause_has_its_code_and_a_free_command_its_own() {
        let code = |end, cause| judge(end, cause).exit;

        assert_eq!(code(ChildEnd::Code(3), None), Exit::code(3));
        assert_eq!(code(ChildEnd::Signal(9), None), Exit::code(137));
        let stopped = ChildEnd::Code(0);
        assert_eq!(code(stopped, Some(Cause::Lost)), Exit::code(76));
        assert_eq!(code(stopped, Some(Cause::TimedOut)), Exit::code(124));
        let signal = Cause::Told(Signal::SIGTERM);
        assert_eq!(code(stopped, Some(signal)), Exit::code(143));
    }
}
