//! `lockstep worker`: a command for each message of an SQS queue, once.
//!
//! ```text
//!  receive ─▶ once key ─▶ protect ─▶ lock of the key ─▶ command ──┬─ lease and visibility renewed
//!     ▲                                  │ taken: skip            │
//!     └──── delete, hide or give back ◀──┴──── release ◀──────────┘ end, lost lease, SIGTERM
//! ```
//!
//! Reading order: [`decide`] (what becomes of a message), [`message`] (one message), [`poll`] (the
//! loop, its breaker and its probes), [`table`] (what is looked at before the first receive, and in
//! trouble), [`stopping`] (the end).
//!
//! A message's lock is one of 64 by the hash of its once key; its run key is the once key. So a
//! success is remembered under the key, a run in flight is a holder in the lock's record, and a
//! message leaves no record of its own.

mod ack;
mod decide;
mod extend;
pub(crate) mod key;
mod message;
mod poll;
mod queue;
mod report;
mod shutdown;
mod table;

use crate::args::worker::WorkerArgs;
use crate::exec::supervise::Limits;
use crate::exec::watchdog::Watchdog;
use crate::exec::{Subreaper, check_proc, check_program};
use crate::exit::Exit;
use crate::lease::client::LockClient;
use crate::lease::timing::LeaseTiming;
use crate::platform::env::filled;
use crate::platform::identity::HolderIdentity;
use crate::platform::signals::Signals;
use crate::platform::tls;
use crate::protect::Protection;
use decide::{Kind, Patience};
use lockstep::store::dynamodb::DynamoStore;
use message::{AtWork, MessageProcessor};
use nix::sys::signal::Signal;
use poll::{Poll, Unusable};
use queue::{CEILING, QueueError, Sqs};
use report::{Report, Tally};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How much longer a message is hidden than its lease lasts: whoever receives it then finds that it
/// may be taken over.
const HIDE_LONGER: Duration = Duration::from_secs(1);

/// Works on messages until a signal ends it.
pub(crate) async fn run(args: WorkerArgs) -> Exit {
    match serve(args).await {
        Ok(signal) => Exit::signal(signal),
        Err((exit, why)) => {
            tracing::error!("{why}");
            exit
        }
    }
}

async fn serve(args: WorkerArgs) -> Result<Signal, (Exit, String)> {
    let wrong = |why: String| (Exit::CONFIGURATION, why);
    let failed = |error: std::io::Error| (Exit::FAILED, error.to_string());
    let config = args.table.config().map_err(wrong)?;
    check_proc()?;
    // Else each message would fail by it, until all are among the dead letters.
    check_program(args.command.first().map_or("", String::as_str))?;
    let signals = ends(Signals::begin().map_err(failed)?);
    let reaper = Subreaper::begin().map_err(failed)?;
    let watchdog = Watchdog::start(&reaper).map_err(failed)?;
    let site = HolderIdentity::find().await.map_err(wrong)?;
    let sdk = tls::sdk_config().await?;
    let queue = Sqs::new(&sdk, args.queue_url.url.clone());
    look(&queue).await?;
    let times = LeaseTiming::after_silence(args.lease, args.grace);
    let protection = Protection::start(args.protect.protect, filled("ECS_AGENT_URI"), times.length);
    let hide = (args.lease + HIDE_LONGER).min(CEILING);
    let lock = args.lock.unwrap_or_else(|| args.queue_url.name.clone());
    let queue = Arc::new(queue);
    tracing::info!(
        queue = args.queue_url.name,
        lock,
        concurrency = args.concurrency,
        "waiting for messages"
    );
    let desk = MessageProcessor {
        queue: Arc::clone(&queue),
        locks: Arc::new(LockClient::open(&sdk, &config)),
        table: DynamoStore::from_sdk(&sdk, config.table.clone()),
        site,
        protection: protection.clone(),
        watchdog,
        reaper,
        report: Report::of(&args.queue_url.name),
        lock,
        once_key: args.once_key,
        times,
        hide,
        patience: Patience {
            lease: args.lease,
            backoff_max: args.backoff_max,
        },
        limits: Limits {
            max_run: args.max_run,
            no_progress: args.no_progress,
            grace: args.grace,
        },
        command: args.command,
        at_work: AtWork::default(),
    };
    let locks = Arc::clone(&desk.locks);
    let poll = Poll::new(queue, Arc::new(desk), args.concurrency, hide);
    let ended = poll.serve(signals, args.grace).await;
    protection.idle().await;
    locks.settle().await;
    let (signal, tally) = ended.map_err(|error| unusable(error, &config.table))?;
    sum_up(signal, &tally);
    Ok(signal)
}

/// Says at once what would show only when it is too late.
async fn look(queue: &Sqs) -> Result<(), (Exit, String)> {
    match queue.has_redrive_policy().await {
        Ok(true) => {}
        Ok(false) => tracing::warn!(
            "the queue has no dead-letter queue: a message that always fails comes back until it expires"
        ),
        Err(error @ QueueError::Missing(_)) => return Err(no_queue(&error)),
        // The task role may go without sqs:GetQueueAttributes.
        Err(error) => tracing::debug!(%error, "the queue's redrive policy is not known"),
    }
    Ok(())
}

fn unusable(what: Unusable, table: &str) -> (Exit, String) {
    match what {
        Unusable::Queue(error) => no_queue(&error),
        Unusable::Table(error) => (Exit::UNAVAILABLE, format!("--table {table}: {error}")),
    }
}

fn no_queue(error: &QueueError) -> (Exit, String) {
    let exit = match error {
        QueueError::Missing(_) => Exit::CONFIGURATION,
        _ => Exit::UNAVAILABLE,
    };
    (exit, format!("--queue-url: {error}"))
}

/// The signals that ask this process to end.
fn ends(mut signals: Signals) -> mpsc::UnboundedReceiver<Signal> {
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move { while tell.send(signals.end().await).is_ok() {} });
    told
}

fn sum_up(signal: Signal, tally: &Tally) {
    tracing::info!(
        %signal,
        succeeded = tally.of(Kind::Succeeded),
        failed = tally.of(Kind::Failed),
        skipped = tally.of(Kind::Skipped),
        malformed = tally.of(Kind::Malformed),
        given_back = tally.of(Kind::GivenBack),
        "shut down"
    );
}
