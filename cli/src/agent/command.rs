//! The program that the agent starts.
//!
//! An agent that has started its program knows when the program is dead, and then releases the open jobs at
//! once. An agent beside the program cannot know that, and lets the leases of the jobs expire.

use super::service::Service;
use crate::args::agent::AgentArgs;
use crate::exec::supervise::{ForwardedSignals, Limits, StopCause, StopRequest, StopSource};
use crate::exec::watchdog::Watchdog;
use crate::exec::{GuardedCommand, Spec, Subreaper};
use crate::exit::Exit;
use crate::platform::foreground;
use crate::platform::signals::Signals;
use std::future::pending;
use std::io::Error;
use std::sync::Arc;

/// The environment variable that tells the program the address of the agent.
const VARIABLE: &str = "LOCKSTEP_AGENT";

/// Starts the program and waits for its end. Once all its processes are dead, releases its open jobs as
/// failed.
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
        is_alone: true,
        scope: args.scope.signal_scope,
        ..Spec::default()
    };
    let limits = Limits {
        max_run: None,
        no_progress: None,
        grace: args.grace,
    };
    let guards = (&reaper, &watchdog);
    let mut program = GuardedCommand::without_lease("program", guards, limits, &spec)?;
    let group = program.tree().group;
    let grace = args.grace;
    let signals = ForwardedSignals { signals, grace };
    let cause = program
        .supervise(pending(), ProgramSignals { signals, service })
        .await;
    // The jobs are released after the last process of the program has ended. If they were released first, a
    // job could go on without its lock.
    let end = program.end(true).await;
    foreground::take_back(group);
    // Waits for begins that are under way: their jobs have to be released too.
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
    Ok(match cause {
        Some(StopCause::Signal(signal)) => Exit::signal(signal),
        // The program has no lease and no time limit, so only a signal is a cause.
        Some(StopCause::LeaseLost | StopCause::TimedOut) | None => end.exit(),
    })
}

/// Forwards every signal to the program: a JVM answers SIGQUIT with a thread dump. SIGTERM and SIGINT also
/// stop the agent from beginning jobs.
struct ProgramSignals<'a> {
    signals: ForwardedSignals<'a>,
    service: &'a Arc<Service>,
}

impl StopSource for ProgramSignals<'_> {
    async fn next(&mut self) -> StopRequest {
        let request = self.signals.next().await;
        if let StopRequest::Terminate(..) = request {
            // No more jobs begin. Open ones may beat and end until the program has stopped.
            self.service.registry().capacity.stop();
        }
        request
    }
}
