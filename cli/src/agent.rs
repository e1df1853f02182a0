//! `lockstep agent`: locks for a program that runs many jobs in one process, over a local HTTP API.
//!
//! The program beats for each job, and the agent renews its lease then: it never renews by itself,
//! for that would keep the jobs of a dead program alive.
//!
//! - [`book`] and [`job`] say which job may go on, and until when: pure.
//! - [`service`] brings that onto the lock table. [`routes`] is the API, [`listen`] where it is,
//!   [`local`] for whom.
//! - [`command`] is the program, where the agent starts it.

mod command;
mod error;
mod host_guard;
mod job;
mod listen;
mod registry;
mod request;
mod response;
mod routes;
mod service;

use crate::args::agent::AgentArgs;
use crate::exec::check_proc;
use crate::exit::Exit;
use crate::lease::client::LockClient;
use crate::platform::clock::sleep;
use crate::platform::env::filled;
use crate::platform::identity::HolderIdentity;
use crate::platform::signals::Signals;
use crate::platform::tls::sdk_config;
use crate::protect::Protection;
use crate::run::EarlyExit;
use listen::Listener;
use service::Service;
use std::sync::Arc;

/// Serves until it is told to stop, or until its command ends.
pub(crate) async fn agent(args: AgentArgs) -> Exit {
    attempt(&args).await.unwrap_or_else(|(exit, why)| {
        tracing::error!("{why}");
        exit
    })
}

async fn attempt(args: &AgentArgs) -> Result<Exit, EarlyExit> {
    let wrong = |why: String| (Exit::CONFIGURATION, why);
    let failed = |error: std::io::Error| (Exit::FAILED, error.to_string());
    let config = args.table.config().map_err(wrong)?;
    if !args.command.is_empty() {
        check_proc()?;
    }
    let mut signals = Signals::begin().map_err(failed)?;
    let sdk = sdk_config().await?;
    let listener = Listener::bind(args).await.map_err(wrong)?;
    let service = Arc::new(Service {
        locks: LockClient::open(&sdk, &config),
        site: HolderIdentity::find().await.map_err(wrong)?,
        protection: Protection::start(args.protect.protect, filled("ECS_AGENT_URI"), args.lease),
        lease: args.lease,
        grace: args.grace,
        book: std::sync::Mutex::default(),
        changed: tokio::sync::watch::Sender::default(),
    });
    let url = listener.url();
    tracing::info!(url, "the agent listens");
    let own = Arc::clone(&service);
    tokio::spawn(async move { own.keep().await });
    let serving = tokio::spawn(listener.serve(routes::router(Arc::clone(&service))));
    let exit = if args.command.is_empty() {
        Ok(beside(args, &service, &mut signals).await)
    } else {
        command::supervise(args, url, &service, &mut signals)
            .await
            .map_err(failed)
    };
    // Its socket goes with it.
    serving.abort();
    serving.await.ok();
    service.locks.settle().await;
    exit
}

/// Beside a program that somebody else has started. Jobs that are open at the end are left to
/// lapse, never released: the program may still be at work.
async fn beside(args: &AgentArgs, service: &Arc<Service>, signals: &mut Signals) -> Exit {
    let signal = signals.end().await;
    let open = service.book().open();
    tracing::info!(%signal, open, "no job begins any more; those that are open have {:?} to end", args.grace);
    let ended = async {
        service.stop().await;
        service.empty().await;
        service.certain().await;
    };
    tokio::select! {
        () = ended => service.protection.idle().await,
        () = sleep(args.grace) => {
            let open = service.book().open();
            tracing::warn!(open, "jobs are still open: their leases have to run out");
        }
        again = signals.end() => tracing::warn!(signal = %again, "jobs are left to run out at once"),
    }
    Exit::signal(signal)
}
