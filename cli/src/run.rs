//! `lockstep run`: runs a command under a lock.
//!
//! ```text
//!  acquire, or verify ─▶ protect ─▶ watchdog ─▶ command ──┬─ renewals, progress
//!                                                         ├─ forwarded signals
//!  exit code ◀─ unprotect ◀─ release ◀─ kill orphans ◀────┘ end, lost lease, time over, SIGTERM
//! ```
//!
//! The watchdog starts before the command, so that the command is guarded from its first moment. Processes
//! that the command leaves behind are killed before the lock is released, because nothing guards their work
//! after the release.

mod grant;
mod work;

use crate::args::run::RunArgs;
use crate::args::table::Table;
use crate::exec::progress::VARIABLE as PROGRESS;
use crate::exec::supervise::StopCause;
use crate::exec::{Subreaper, check_proc, replaced_by};
use crate::exit::{EarlyExit, Exit};
use crate::lease::acquire::FINAL_REQUEST_TIMEOUT;
use crate::lease::client::LockClient;
use crate::lease::held::{Held, Hold, RunEnd};
use crate::log::flush;
use crate::platform::aws::sdk_config;
use crate::platform::clock::{Instant, reached};
use crate::platform::env::variable;
use crate::platform::signals::Signals;
use crate::protect::Protection;
use crate::retry::Bound;
use lockstep::contract::ReleaseOutcome;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// Longest time for the release, however long the lease is. After it, recovery by evidence frees the lock.
const RELEASE_WITHIN: Duration = Duration::from_secs(900);

/// Runs the command of `args` under its lock.
pub(crate) async fn run(args: RunArgs) -> Exit {
    match attempt(&args).await {
        Ok(exit) => exit,
        Err((exit, why)) => {
            if exit == Exit::OK || exit == Exit::code(args.skip_code) {
                tracing::info!(event = "run_skipped", "nothing to do: {why}");
            } else {
                tracing::error!(event = "run_failed", "{why}");
            }
            exit
        }
    }
}

/// Checks the flags, installs the signal handlers, and runs the command on the lock table. The handlers are
/// installed before any process is started: from then on a SIGTERM ends this process in order.
async fn attempt(args: &RunArgs) -> Result<Exit, EarlyExit> {
    let wrong = |why: String| (Exit::CONFIGURATION, why);
    args.check().map_err(wrong)?;
    if args.without_lock {
        tracing::error!(
            event = "run_without_lock",
            "--without-lock: another run may start beside this one, and no time limit stops it"
        );
        // `replaced_by` replaces this process, so queued log lines would be lost.
        flush();
        // A program that reports its progress must not fail because there is no FIFO.
        return Ok(replaced_by(&args.command, Some((PROGRESS, "/dev/null"))));
    }
    let config = args.table.config().map_err(wrong)?;
    check_proc()?;
    let failed = |error: std::io::Error| (Exit::FAILED, error.to_string());
    let mut signals = Signals::begin().map_err(failed)?;
    let reaper = Subreaper::begin().map_err(failed)?;
    // Credentials may take minutes to load. A signal ends the wait for them.
    let sdk = tokio::select! {
        biased;
        signal = signals.end() => return Err(grant::interrupted(signal)),
        sdk = sdk_config() => sdk?,
    };
    Table::of(&config.table)
        .and_then(|table| table.check_region(&sdk))
        .map_err(wrong)?;
    let locks = Arc::new(LockClient::open(&sdk, &config));
    let exit = run_under_lock(args, &locks, &config.table, &reaper, &mut signals).await;
    // Events are published in the background. Without this wait, the events of the release would be lost when
    // the process ends.
    locks.settle().await;
    exit
}

/// Acquires the lock, protects the task, runs the command, and releases the lock. The permit is released on
/// every path, unless the grant was adopted from a workflow, which releases it itself.
async fn run_under_lock(
    args: &RunArgs,
    locks: &Arc<LockClient>,
    table: &str,
    reaper: &Subreaper,
    signals: &mut Signals,
) -> Result<Exit, EarlyExit> {
    let held = grant::hold(args, locks, table, signals).await?;
    let protection = Protection::start(
        args.protect.protect,
        variable("ECS_AGENT_URI"),
        held.length(),
    );
    let protected = tokio::select! {
        biased;
        signal = signals.end() => {
            let early = (Exit::signal(signal), format!("{signal} before the command was started"));
            Err((Some(StopCause::Signal(signal)), early))
        }
        protected = protection.begin() => protected.map_err(|refused| {
            let why = format!("the task is not protected (--protect=required): {refused}");
            (None, (Exit::NOT_ACQUIRED, why))
        }),
    };
    match protected {
        Ok(in_flight) => {
            let worked = work::work(args, locks, &held, reaper, signals).await;
            let bound = release_bound(worked.cause, held.length());
            let end = (worked.outcome, worked.failure.as_deref());
            release_acquired(locks, &held, end, (bound, worked.cause), signals).await;
            in_flight.end().await;
            Ok(worked.exit)
        }
        // The command was not started. The outcome is failed, so the run key stays free.
        Err((cause, early)) => {
            let bound = release_bound(cause, held.length());
            let end = (ReleaseOutcome::Failed, Some(early.1.as_str()));
            release_acquired(locks, &held, end, (bound, cause), signals).await;
            protection.idle().await;
            Err(early)
        }
    }
}

/// Returns how long the release is retried, under a lease of this `length`:
/// - A command that ended by itself or exceeded a time limit: for the length of the lease, at most
///   [`RELEASE_WITHIN`], because its outcome has to be recorded, above all a success.
/// - A process that a signal has asked to end: for [`FINAL_REQUEST_TIMEOUT`].
/// - A lost lease: one attempt.
fn release_bound(cause: Option<StopCause>, length: Duration) -> Bound {
    match cause {
        Some(StopCause::LeaseLost) => Bound::Tries(1),
        Some(StopCause::Signal(_)) => Bound::Until(Instant::now() + FINAL_REQUEST_TIMEOUT),
        Some(StopCause::TimedOut) | None => {
            Bound::Until(Instant::now() + length.min(RELEASE_WITHIN))
        }
    }
}

/// Releases the permit, unless the grant was adopted: the workflow releases such a permit itself. A signal,
/// also the one that stopped the work, does not cancel the release, but limits it to
/// [`FINAL_REQUEST_TIMEOUT`].
async fn release_acquired(
    locks: &LockClient,
    held: &Held,
    end: RunEnd<'_>,
    (bound, cause): (Bound, Option<StopCause>),
    signals: &mut Signals,
) {
    if held.hold == Hold::Adopted {
        return;
    }
    // The release is not cancelled, because the lock table may already have carried it out.
    let mut releasing = pin!(held.release(locks, end, bound));
    let end_by = || Instant::now() + FINAL_REQUEST_TIMEOUT;
    let mut limit = matches!(cause, Some(StopCause::Signal(_))).then(end_by);
    loop {
        tokio::select! {
            biased;
            () = &mut releasing => return,
            _ = signals.end(), if limit.is_none() => limit = Some(end_by()),
            () = reached(limit) => {
                let lock = &held.grant.lock;
                tracing::error!(
                    event = "release_failed",
                    lock,
                    "the lock table did not confirm the release in time: the lock is free when its lease expires"
                );
                return;
            }
        }
    }
}
