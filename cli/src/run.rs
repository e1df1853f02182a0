//! `lockstep run`: a command under a lock.
//!
//! ```text
//!  acquire, or verify ─▶ protect ─▶ guardian ─▶ command ──┬─ renewals, progress
//!                                                         ├─ signals passed on
//!  exit code ◀─ unprotect ◀─ release ◀─ kill the rest ◀───┘ end, lost lease, time over, SIGTERM
//! ```

mod grant;
mod work;

pub(crate) use work::OF_A_GRANT;

use crate::again::{Patience, again};
use crate::args::run::RunArgs;
use crate::child::Reaper;
use crate::exit::Exit;
use crate::locks::Locks;
use crate::protect::Protection;
use crate::run::grant::{Held, Hold};
use crate::signals::Signals;
use crate::sys::clock::Instant;
use crate::sys::env::filled;
use lockstep::contract::{Grant, ReleaseOutcome, ReleaseResponse};
use std::sync::Arc;
use std::time::Duration;

/// Longest time for the release, however long the lease is: after that, evidence has to do.
const RELEASE_WITHIN: Duration = Duration::from_secs(900);

/// An end before the command has begun, and why.
pub(crate) type Early = (Exit, String);

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

async fn attempt(args: &RunArgs) -> Result<Exit, Early> {
    let wrong = |why: String| (Exit::CONFIGURATION, why);
    args.check().map_err(wrong)?;
    let failed = |error: std::io::Error| (Exit::FAILED, error.to_string());
    let mut signals = Signals::begin().map_err(failed)?;
    let reaper = Reaper::begin().map_err(failed)?;
    let config = args.table.config().map_err(wrong)?;
    let locks = Arc::new(Locks::open(&config).await);
    let held = grant::hold(args, &locks, &config.table, &mut signals).await?;
    let protection = Protection::start(
        args.protect.protect,
        filled("ECS_AGENT_URI"),
        held.times.length,
    );
    let protected = tokio::select! {
        biased;
        signal = signals.end() => {
            Err((Exit::signal(signal), format!("{signal} came before the command")))
        }
        protected = protection.begin() => protected.map_err(|refused| {
            let why = format!("the task is not protected (--protect=required): {refused}");
            (Exit::NOT_ACQUIRED, why)
        }),
    };
    match protected {
        Ok(in_flight) => {
            let worked = work::work(args, &locks, &held, &reaper, &mut signals).await;
            give_back(&locks, &held, worked, &mut signals).await;
            in_flight.end().await;
            Ok(worked.exit)
        }
        Err(early) => {
            give_back(&locks, &held, work::Worked::NONE, &mut signals).await;
            protection.idle().await;
            Err(early)
        }
    }
}

/// A grant that was adopted is its workflow's to release. What is done has to be written down, so a
/// table that is out of reach is waited for, as long as the lease lasts or until the next signal.
async fn give_back(locks: &Locks, held: &Held, worked: work::Worked, signals: &mut Signals) {
    if held.hold == Hold::Adopted {
        return;
    }
    let patience = if worked.is_lost {
        // Of that there is little to release.
        Patience::Tries(1)
    } else {
        Patience::Until(Instant::now() + held.times.length.min(RELEASE_WITHIN))
    };
    tokio::select! {
        () = release(locks, &held.grant, worked.outcome, patience) => {}
        signal = signals.end() => {
            let lock = &held.grant.lock;
            tracing::error!(lock, %signal, "the lock is not released: its lease has to run out");
        }
    }
}

/// Releases, and says so when that fails: the lock is free when its lease has run out.
pub(crate) async fn release(
    locks: &Locks,
    grant: &Grant,
    outcome: ReleaseOutcome,
    patience: impl Into<Patience>,
) {
    let lock = &grant.lock;
    match again(lock, patience, || locks.release(grant, outcome)).await {
        Ok(ReleaseResponse::Released { .. }) => {}
        Ok(ReleaseResponse::Lost { holders, .. }) => {
            tracing::warn!(lock, ?holders, "the lock was not ours any more");
        }
        Err(error) => {
            tracing::error!(lock, %error, "the lock is not released: its lease has to run out");
        }
    }
}
