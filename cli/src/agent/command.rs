//! The program that the agent starts.
//!
//! An agent that starts its program knows when that is dead, so open jobs can be released at once.
//! One beside the program cannot know it, and leaves them to their leases.

use super::service::Service;
use crate::args::agent::AgentArgs;
use crate::exec::watchdog::Watchdog;
use crate::exec::{Child, ChildExit, Spec, Subreaper, kill_orphans};
use crate::exit::Exit;
use crate::platform::clock::{Instant, reached};
use crate::platform::foreground;
use crate::platform::signals::{Signals, asks_to_end};
use nix::sys::signal::Signal;
use std::io::Error;
use std::sync::Arc;

/// The environment variable with the agent's address.
const VARIABLE: &str = "LOCKSTEP_AGENT";
/// No lease bounds the program as a whole: the watchdog only kills it when this process ends.
const NEVER: Instant = Instant::from_millis(u64::MAX);

/// Starts the program and waits for its end. Once all its processes are dead, its open jobs are released
/// as failed.
///
/// # Errors
/// If no process can be started.
pub(super) async fn supervise(
    args: &AgentArgs,
    url: String,
    service: &Arc<Service>,
    signals: &mut Signals,
) -> Result<Exit, Error> {
    let reaper = Subreaper::begin()?;
    let watchdog = Watchdog::start(&reaper)?;
    let spec = Spec {
        command: args.command.clone(),
        environment: vec![(VARIABLE.into(), url)],
        ..Spec::default()
    };
    let mut child = Child::start(&reaper, &spec)?;
    let tree = child.tree().clone();
    watchdog.guard(&tree, NEVER);
    let (end, cause) = until_end(args, &mut child, service, signals).await;
    watchdog.drop(tree.group);
    foreground::take_back(tree.group);
    // First nothing is left of the program, then its jobs are released: the other way around, a job
    // would run on without its lock.
    kill_orphans(&tree, || Some(watchdog.pid())).await;
    // A begin that is under way is waited for: its job has to be released too.
    service.stop().await;
    let open = service.registry().open();
    tracing::info!(
        event = "command_ended",
        %end,
        open,
        "the program has ended; its open jobs are released as failed"
    );
    service.end_all().await;
    service.reconciled().await;
    service.protection.idle().await;
    Ok(cause.map_or(end.exit(), Exit::signal))
}

async fn until_end(
    args: &AgentArgs,
    child: &mut Child,
    service: &Arc<Service>,
    signals: &mut Signals,
) -> (ChildExit, Option<Signal>) {
    let mut cause = None;
    let mut kill_at = None;
    loop {
        tokio::select! {
            biased;
            end = child.ended() => return (end, cause),
            signal = signals.next() => {
                // Every signal is the program's: a JVM answers SIGQUIT with a thread dump. Only
                // those that ask to end begin its end.
                child.signal(signal);
                if asks_to_end(signal) && cause.is_none() {
                    tracing::info!(
                        event = "signal_forwarded",
                        %signal,
                        "the program has {:?} to stop",
                        args.grace
                    );
                    // No job begins any more. Open ones may beat and end until the program has
                    // stopped.
                    service.registry().capacity.stop();
                    cause = Some(signal);
                    kill_at = Some(Instant::now() + args.grace);
                }
            }
            () = reached(kill_at) => {
                kill_at = None;
                tracing::warn!(
                    event = "command_killed",
                    "the program did not stop within its grace period"
                );
                child.signal(Signal::SIGKILL);
            }
        }
    }
}
