//! `lockstep worker`: runs a command for each message of an SQS queue, once.
//!
//! ```text
//!  receive ─▶ once key ─▶ protect ─▶ lock of the key ─▶ command ──┬─ lease and visibility renewed
//!     ▲                                  │ taken: skip            │
//!     └──── delete, hide or give back ◀──┴──── release ◀──────────┘ end, lost lease, SIGTERM
//! ```
//!
//! Reading order:
//! - [`decide`]: the disposition of a message
//! - [`message`]: one message, from its receive to its disposition
//! - [`poll`]: the loop, its circuit breaker and health signals
//! - [`table`]: the probe of the lock table, before the first receive and after failures
//! - [`shutdown`]: the phases of the end
//!
//! The lock of a message is one of 64, chosen by the hash of its once key. The once key is its run key. So a
//! success is remembered under the key, a run in flight is a holder in the record of the lock, and a message
//! needs no record of its own.

mod ack;
mod decide;
mod deployments;
mod extend;
mod message;
mod poll;
mod queue;
mod report;
mod settings;
mod shutdown;
mod table;

use crate::args::table::Table;
use crate::args::worker::WorkerArgs;
use crate::exec::supervise::Limits;
use crate::exec::watchdog::Watchdog;
use crate::exec::{Subreaper, check_proc, check_program};
use crate::exit::{EarlyExit, Exit};
use crate::lease::client::LockClient;
use crate::lease::timing::LeaseTiming;
use crate::platform::aws::sdk_config;
use crate::platform::env::variable;
use crate::platform::identity::HolderIdentity;
use crate::platform::signals::Signals;
use crate::protect::Protection;
use decide::{Kind, RetryDelays};
use deployments::Deployments;
use lockstep::domain::Seconds;
use lockstep::store::dynamodb::DynamoStore;
use message::{MessageProcessor, RunningCommands};
use nix::sys::signal::Signal;
use poll::{Ended, Poll, Unusable};
use queue::{CEILING, QueueError, Sqs};
use report::{MessageMetrics, Tally};
use settings::{Flags, risks};
use std::ffi::{OsStr, OsString};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How much longer a message is hidden than its lease lasts, so that its next receiver finds a lease that may
/// be taken over.
const HIDE_MARGIN: Duration = Duration::from_secs(1);

/// Processes messages until a signal ends the worker, or a deployment replaces it.
pub(crate) async fn run(args: WorkerArgs) -> Exit {
    match serve(args).await {
        Ok(Ended::Signal(signal)) => Exit::signal(signal),
        Ok(Ended::Replaced) => Exit::OK,
        Err((exit, why)) => {
            tracing::error!(event = "worker_failed", "{why}");
            exit
        }
    }
}

async fn serve(args: WorkerArgs) -> Result<Ended, EarlyExit> {
    let wrong = |why: String| (Exit::CONFIGURATION, why);
    let failed = |error: std::io::Error| (Exit::FAILED, error.to_string());
    let config = args.table.config().map_err(wrong)?;
    check_proc()?;
    // Without this check the command would fail for every message, until all messages are in the dead-letter
    // queue.
    check_program(
        args.command
            .first()
            .map_or(OsStr::new(""), OsString::as_os_str),
    )?;
    let mut signals = end_signals(Signals::begin().map_err(failed)?);
    let subreaper = Subreaper::begin().map_err(failed)?;
    let watchdog = Watchdog::start(&subreaper).map_err(failed)?;
    let identity = HolderIdentity::find().await.map_err(wrong)?;
    // Credentials may take minutes to load. A signal ends the wait for them.
    let sdk = tokio::select! {
        biased;
        Some(signal) = signals.recv() => return Ok(Ended::Signal(signal)),
        sdk = sdk_config() => sdk?,
    };
    Table::of(&config.table)
        .and_then(|table| table.check_region(&sdk))
        .map_err(wrong)?;
    let queue = Sqs::new(&sdk, args.queue_url.url.clone());
    check_queue(&queue, &args, config.retention.run_keys).await?;
    let times = LeaseTiming::after_silence(args.lease, args.grace);
    let limits = limits_of(&args);
    let protection = Protection::start(
        args.protect.protect,
        variable("ECS_AGENT_URI"),
        times.length,
    );
    // SQS hides a message at most twelve hours after its receive.
    let hide = (args.lease + HIDE_MARGIN).min(CEILING);
    let lock = args.lock.clone();
    let lock = lock.unwrap_or_else(|| args.queue_url.name.clone());
    let queue = Arc::new(queue);
    let drains = args.drain_on_deploy.then_some(identity.task_arn.as_deref());
    let replaced = replaced(drains.and_then(|task| Deployments::of(&sdk, task)));
    log_start(&args, &lock);
    let processor = MessageProcessor {
        queue: Arc::clone(&queue),
        locks: Arc::new(LockClient::open(&sdk, &config)),
        table: DynamoStore::from_sdk(&sdk, config.table.clone()),
        identity,
        protection: protection.clone(),
        watchdog,
        subreaper,
        metrics: MessageMetrics::of(&args.queue_url.name),
        lock,
        once_key: args.once_key,
        times,
        hide,
        delays: RetryDelays {
            lease: args.lease,
            backoff_max: args.backoff_max,
        },
        limits,
        command: args.command,
        scope: args.scope.signal_scope,
        is_alone: args.concurrency == 1,
        running_commands: RunningCommands::default(),
    };
    let locks = Arc::clone(&processor.locks);
    let poll = Poll::new(queue, Arc::new(processor), args.concurrency, hide);
    let ended = poll.serve(signals, args.grace, replaced).await;
    protection.idle().await;
    locks.settle().await;
    let (ended, tally) = ended.map_err(|error| unusable(error, &config.table))?;
    log_tally(ended, &tally);
    Ok(ended)
}

/// Returns the deployment that replaces this worker, when one does; never returns if `deployments` is `None`.
async fn replaced(deployments: Option<Deployments>) -> String {
    match deployments {
        Some(deployments) => deployments.replaced().await,
        None => pending().await,
    }
}

fn limits_of(args: &WorkerArgs) -> Limits {
    Limits {
        max_run: args.max_run,
        no_progress: args.no_progress,
        grace: args.grace,
    }
}

/// Checks that the queue exists, and logs a warning for each setting of it that may cost messages.
async fn check_queue(queue: &Sqs, args: &WorkerArgs, keys: Seconds) -> Result<(), EarlyExit> {
    let flags = Flags {
        lease: args.lease,
        max_run: args.max_run,
        key_retention: Duration::from_secs(u64::from(keys.get())),
    };
    match queue.settings().await {
        Ok(settings) => {
            if settings.max_receives.is_none() {
                tracing::warn!(
                    event = "dead_letter_queue_missing",
                    "the queue has no dead-letter queue: a message that always fails is received again until its retention ends"
                );
            }
            for risk in risks(settings, flags) {
                tracing::warn!(event = "queue_settings_risky", "{risk}");
            }
        }
        Err(error @ QueueError::Missing(_)) => return Err(no_queue(&error)),
        // The task role need not allow sqs:GetQueueAttributes.
        Err(error) => tracing::debug!(
            event = "queue_settings_unknown",
            %error,
            "GetQueueAttributes failed: the queue's settings are unknown"
        ),
    }
    Ok(())
}

fn unusable(what: Unusable, table: &str) -> EarlyExit {
    match what {
        Unusable::Queue(error) => no_queue(&error),
        Unusable::Table(error) => (Exit::UNAVAILABLE, format!("--table {table}: {error}")),
    }
}

fn no_queue(error: &QueueError) -> EarlyExit {
    let exit = match error {
        QueueError::Missing(_) => Exit::CONFIGURATION,
        _ => Exit::UNAVAILABLE,
    };
    (exit, format!("--queue-url: {error}"))
}

/// Returns a channel of the signals that ask this process to end.
fn end_signals(mut signals: Signals) -> mpsc::UnboundedReceiver<Signal> {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move { while sender.send(signals.end().await).is_ok() {} });
    receiver
}

fn log_start(args: &WorkerArgs, lock: &str) {
    tracing::info!(
        event = "worker_started",
        queue = args.queue_url.name,
        lock,
        concurrency = args.concurrency,
        "waiting for messages"
    );
}

fn log_tally(ended: Ended, tally: &Tally) {
    tracing::info!(
        event = "worker_stopped",
        ?ended,
        succeeded = tally.of(Kind::Succeeded),
        failed = tally.of(Kind::Failed),
        skipped = tally.of(Kind::Skipped),
        malformed = tally.of(Kind::Malformed),
        given_back = tally.of(Kind::GivenBack),
        "shut down"
    );
}
