//! `lockstep agent`: locks for a program that runs many jobs in one process, over a local HTTP API.
//!
//! The program sends a beat for each job, and the agent renews the lease of that job. Without a beat it
//! renews nothing, because that would keep the jobs of a dead program alive.
//!
//! - [`registry`] and [`job`] decide which job may go on, and until when. They are pure.
//! - [`service`] carries the decisions out on the lock table. [`routes`] is the API, [`listen`] its listener,
//!   [`host_guard`] its check against browser requests.
//! - [`command`] runs the program, if the agent has to start it.

mod command;
mod error;
#[cfg(test)]
mod golden;
mod host_guard;
mod job;
mod listen;
#[cfg(test)]
mod openapi;
mod registry;
mod request;
mod response;
mod routes;
mod service;

use crate::args::agent::AgentArgs;
use crate::args::table::Table;
use crate::exec::check_proc;
use crate::exit::{EarlyExit, Exit};
use crate::lease::client::LockClient;
use crate::platform::aws::sdk_config;
use crate::platform::clock::sleep;
use crate::platform::env::variable;
use crate::platform::identity::HolderIdentity;
use crate::platform::signals::Signals;
use crate::protect::Protection;
use listen::Listener;
use service::Service;
use std::sync::Arc;

/// Serves the API until a signal asks the agent to stop, or until its command ends.
pub(crate) async fn agent(args: AgentArgs) -> Exit {
    attempt(&args).await.unwrap_or_else(|(exit, reason)| {
        tracing::error!(event = "agent_failed", "{reason}");
        exit
    })
}

async fn attempt(args: &AgentArgs) -> Result<Exit, EarlyExit> {
    let wrong = |reason: String| (Exit::CONFIGURATION, reason);
    let failed = |error: std::io::Error| (Exit::FAILED, error.to_string());
    let config = args.table.config().map_err(wrong)?;
    if !args.command.is_empty() {
        check_proc()?;
    }
    let mut signals = Signals::begin().map_err(failed)?;
    // Credentials may take minutes to load. A signal ends the wait for them.
    let sdk = tokio::select! {
        biased;
        signal = signals.end() => {
            return Err((Exit::signal(signal), format!("{signal} before the AWS credentials were loaded")));
        }
        sdk = sdk_config() => sdk?,
    };
    Table::of(&config.table)
        .and_then(|table| table.check_region(&sdk))
        .map_err(wrong)?;
    let listener = Listener::bind(args).await.map_err(wrong)?;
    let service = Arc::new(Service {
        locks: LockClient::open(&sdk, &config),
        identity: HolderIdentity::find().await.map_err(wrong)?,
        protection: Protection::start(args.protect.protect, variable("ECS_AGENT_URI"), args.lease),
        lease: args.lease,
        grace: args.grace,
        registry: std::sync::Mutex::default(),
        changed: tokio::sync::watch::Sender::default(),
    });
    let url = listener.url();
    tracing::info!(event = "agent_started", url, "listening");
    let timed = Arc::clone(&service);
    tokio::spawn(async move { timed.run_timer().await });
    let serving = tokio::spawn(listener.serve(routes::router(Arc::clone(&service))));
    let exit = if args.command.is_empty() {
        Ok(serve_until_signal(args, &service, &mut signals).await)
    } else {
        command::supervise(args, url, &service, &mut signals)
            .await
            .map_err(failed)
    };
    // Dropping the listener removes its socket file.
    serving.abort();
    serving.await.ok();
    service.locks.settle().await;
    exit
}

/// Serves a program that the agent did not start, until a signal. Jobs that are still open after `--grace`
/// are not released, because the program may still be at work: their leases expire.
async fn serve_until_signal(
    args: &AgentArgs,
    service: &Arc<Service>,
    signals: &mut Signals,
) -> Exit {
    let signal = signals.end().await;
    let open = service.registry().open();
    tracing::info!(
        event = "signal_received",
        %signal,
        open,
        "the agent is stopping: no more jobs begin, and open jobs have {:?} to end",
        args.grace
    );
    let ended = async {
        service.stop().await;
        service.drained().await;
        service.reconciled().await;
    };
    tokio::select! {
        () = ended => service.protection.idle().await,
        () = sleep(args.grace) => {
            let open = service.registry().open();
            tracing::warn!(
                event = "shutdown_timed_out",
                open,
                "jobs are still open; their leases expire"
            );
        }
        second = signals.end() => tracing::warn!(
            event = "shutdown_forced",
            signal = %second,
            "exiting at once; the leases of open jobs expire"
        ),
    }
    Exit::signal(signal)
}
