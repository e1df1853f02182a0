//! The program that the agent starts.

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

/// The variable with the address of the agent.
const VARIABLE: &str = "LOCKSTEP_AGENT";
/// No lease bounds the program as a whole; the watchdog is there for the end of this process.
const NEVER: Instant = Instant::from_millis(u64::MAX);

/// Starts the program and stays with it. When nothing of it is left, its open jobs are released as
/// failed: nobody works on them.
///
/// # Errors
/// When no process can be started.
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
    let family = child.family().clone();
    watchdog.guard(&family, NEVER);
    let (end, cause) = until_end(args, &mut child, service, signals).await;
    watchdog.drop(family.group);
    foreground::take_back(family.group);
    kill_orphans(&family, || Some(watchdog.pid())).await;
    service.stop().await;
    let open = service.book().open();
    tracing::info!(%end, open, "the program has ended; its open jobs are released as failed");
    service.end_all().await;
    service.certain().await;
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
    let mut dead_by = None;
    loop {
        tokio::select! {
            biased;
            end = child.ended() => return (end, cause),
            signal = signals.next() => {
                child.signal(signal);
                if asks_to_end(signal) && cause.is_none() {
                    tracing::info!(%signal, "passed on; the program has {:?} to stop", args.grace);
                    service.book().places.stop();
                    cause = Some(signal);
                    dead_by = Some(Instant::now() + args.grace);
                }
            }
            () = reached(dead_by) => {
                dead_by = None;
                tracing::warn!("the program did not stop in time and is killed");
                child.signal(Signal::SIGKILL);
            }
        }
    }
}
