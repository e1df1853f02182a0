//! `lockstep run`: a command under a lock.
//!
//! ```text
//!  acquire, or verify ─▶ protect ─▶ watchdog ─▶ command ──┬─ renewals, progress
//!                                                         ├─ signals passed on
//!  exit code ◀─ unprotect ◀─ release ◀─ kill the rest ◀───┘ end, lost lease, time over, SIGTERM
//! ```

mod grant;
mod work;

pub(crate) use work::OF_A_GRANT;

use crate::args::run::RunArgs;
use crate::exec::supervise::StopCause;
use crate::exec::{Subreaper, check_proc};
use crate::exit::Exit;
use crate::lease::acquire::LAST_WORDS;
use crate::lease::client::LockClient;
use crate::platform::clock::Instant;
use crate::platform::env::filled;
use crate::platform::signals::Signals;
use crate::platform::tls::sdk_config;
use crate::protect::Protection;
use crate::retry::{Bound, again};
use crate::run::grant::{Held, Hold};
use lockstep::contract::{Grant, ReleaseOutcome, ReleaseResponse};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Longest time for the release, however long the lease is: after that, evidence has to do.
const RELEASE_WITHIN: Duration = Duration::from_secs(900);

/// An end before the command has begun, and why.
pub(crate) type EarlyExit = (Exit, String);

/// Runs the command of `args` under its lock.
pub(crate) async fn run(args: RunArgs) -> Exit {
    match attempt(&args).await {
        Ok(exit) => exit,
        Err((exit, why)) => {
            if exit == Exit::OK || exit == Exit::code(args.skip_code) {
                tracing::info!("nothing to do: {why}");
            } else {
                tracing::error!("{why}");
            }
            exit
        }
    }
}

async fn attempt(args: &RunArgs) -> Result<Exit, EarlyExit> {
    let wrong = |why: String| (Exit::CONFIGURATION, why);
    args.check().map_err(wrong)?;
    let config = args.table.config().map_err(wrong)?;
    check_proc()?;
    let failed = |error: std::io::Error| (Exit::FAILED, error.to_string());
    let mut signals = Signals::begin().map_err(failed)?;
    let reaper = Subreaper::begin().map_err(failed)?;
    let sdk = tokio::select! {
        biased;
        signal = signals.end() => return Err(grant::told(signal)),
        sdk = sdk_config() => sdk?,
    };
    let locks = Arc::new(LockClient::open(&sdk, &config));
    let exit = on_table(args, &locks, &config.table, &reaper, &mut signals).await;
    locks.settle().await;
    exit
}

async fn on_table(
    args: &RunArgs,
    locks: &Arc<LockClient>,
    table: &str,
    reaper: &Subreaper,
    signals: &mut Signals,
) -> Result<Exit, EarlyExit> {
    let held = grant::hold(args, locks, table, signals).await?;
    let protection = Protection::start(
        args.protect.protect,
        filled("ECS_AGENT_URI"),
        held.times.length,
    );
    let protected = tokio::select! {
        biased;
        signal = signals.end() => {
            let early = (Exit::signal(signal), format!("{signal} came before the command"));
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
            let bound = release_bound(worked.cause, held.times.length);
            give_back(locks, &held, worked.outcome, bound, signals).await;
            in_flight.end().await;
            Ok(worked.exit)
        }
        Err((cause, early)) => {
            let bound = release_bound(cause, held.times.length);
            give_back(locks, &held, ReleaseOutcome::Failed, bound, signals).await;
            protection.idle().await;
            Err(early)
        }
    }
}

/// How long a table that gives no answer is waited for, under a lease of this `length`. What came to
/// its end by itself has to be written down, most of all a success. Whoever was told to end has no
/// such time, and of a lease that is lost there is little to release.
fn release_bound(cause: Option<StopCause>, length: Duration) -> Bound {
    match cause {
        Some(StopCause::LeaseLost) => Bound::Tries(1),
        Some(StopCause::Signal(_)) => Bound::Until(Instant::now() + LAST_WORDS),
        Some(StopCause::TimedOut) | None => {
            Bound::Until(Instant::now() + length.min(RELEASE_WITHIN))
        }
    }
}

/// Gives the permit back. One that was adopted is its workflow's to release. A signal does not cut
/// the release off, but leaves it little time.
async fn give_back(
    locks: &LockClient,
    held: &Held,
    outcome: ReleaseOutcome,
    bound: Bound,
    signals: &mut Signals,
) {
    if held.hold == Hold::Adopted {
        return;
    }
    let mut releasing = pin!(release(locks, &held.grant, outcome, bound));
    tokio::select! {
        biased;
        () = &mut releasing => {}
        signal = signals.end() => {
            if timeout(LAST_WORDS, releasing).await.is_err() {
                let lock = &held.grant.lock;
                tracing::error!(lock, %signal, "the lock is not released: its lease has to run out");
            }
        }
    }
}

/// Releases, and says so when that fails: the lock is free when its lease has run out.
pub(crate) async fn release(
    locks: &LockClient,
    grant: &Grant,
    outcome: ReleaseOutcome,
    bound: impl Into<Bound>,
) {
    let lock = &grant.lock;
    match again(lock, bound, || locks.release(grant, outcome)).await {
        Ok(ReleaseResponse::Released { .. } | ReleaseResponse::Ending { .. }) => {}
        Ok(ReleaseResponse::Lost { holders, .. }) => {
            tracing::warn!(lock, ?holders, "the lock was not ours any more");
        }
        Err(error) => {
            tracing::error!(lock, %error, "the lock is not released: its lease has to run out");
        }
    }
}
