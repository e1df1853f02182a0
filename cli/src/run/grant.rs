//! The grant that a command runs under: acquired here, or adopted from a workflow.
//!
//! ```text
//!  LOCKSTEP_LOCK, _HOLDER, _FENCING_TOKEN   adopted: renewed once, kept, never released
//!  --lock                                   acquired: by a new holder, released here
//! ```
//! An answer that is lost leaves open whether a permit was granted. So a run that gives up asks
//! once more, to leave the queue or to release what it finds; what it cannot confirm ends with its
//! lease.

use crate::args::run::RunArgs;
use crate::exit::{EarlyExit, Exit};
use crate::lease::acquire::{Acquired, FINAL_REQUEST_TIMEOUT, take};
use crate::lease::client::LockClient;
use crate::lease::held::{Held, Hold};
use crate::lease::timing::LeaseTiming;
use crate::lease::unconfirmed::{Sleep, give_back};
use crate::platform::clock::Instant;
use crate::platform::env::variable;
use crate::platform::identity::HolderIdentity;
use crate::platform::signals::Signals;
use crate::retry::retry;
use lockstep::contract::{AcquireRequest, ErrorName, Grant, HeartbeatResponse, parse_time};
use lockstep::error::Error;
use nix::sys::signal::Signal;
use std::time::Duration;
use tokio::time::timeout;

/// Number of requests to verify an adopted grant, if they get no answer.
const TRIES: u32 = 5;

/// Longest time in which a run without an answer tries to release what it may have been granted, so
/// that the lock is free before its lease ends.
const GIVE_BACK_WITHIN: Duration = Duration::from_secs(15);
const UNCONFIRMED: &str =
    "could not confirm that the permit or queue place was released; it expires with the lease";

/// Acquires the lock, or verifies the grant in the environment.
///
/// # Errors
/// The exit code, and the reason why the command is not started.
pub(crate) async fn hold(
    args: &RunArgs,
    locks: &LockClient,
    table: &str,
    signals: &mut Signals,
) -> Result<Held, EarlyExit> {
    let wrong = |why: String| (Exit::CONFIGURATION, why);
    if let Some(grant) = grant_from_env(args.lock.as_deref()).map_err(wrong)? {
        return tokio::select! {
            biased;
            signal = signals.end() => Err(interrupted(signal)),
            held = adopt(args, locks, table, grant) => held,
        };
    }
    let Some(lock) = &args.lock else {
        return Err(wrong(
            "--lock is missing, and LOCKSTEP_LOCK has no grant to adopt".into(),
        ));
    };
    let identity = tokio::select! {
        biased;
        signal = signals.end() => return Err(interrupted(signal)),
        identity = HolderIdentity::find() => identity.map_err(wrong)?,
    };
    let times = LeaseTiming::after_silence(args.lease, args.grace);
    let request = args.request(lock, identity.new_holder(), times.seconds());
    let taken = take(locks, &request, args.max_wait, signals.end()).await;
    match taken.map_err(|error| before_start(&error))? {
        Acquired::Granted(granted, sent) => {
            log_acquired(&granted.grant);
            Ok(Held::acquired(*granted, times, sent))
        }
        Acquired::Skipped(why) => Err((Exit::code(args.skip_code), why)),
        Acquired::Refused(why) => Err((Exit::NOT_ACQUIRED, why)),
        // A permit may have been granted all the same. It is released, so that the next run need
        // not wait for the end of its lease.
        Acquired::NoAnswer(why) => {
            tokio::select! {
                biased;
                _ = signals.end() => {}
                () = withdraw(locks, &request, args.lease.min(GIVE_BACK_WITHIN)) => {}
            }
            Err((Exit::UNAVAILABLE, why))
        }
        // The last request of the wait was one to leave the queue, so nothing is left to be asked.
        Acquired::NoAnswerInTime(why) => Err((Exit::UNAVAILABLE, why)),
        Acquired::Interrupted(signal) => {
            withdraw(locks, &request, FINAL_REQUEST_TIMEOUT).await;
            Err(interrupted(signal))
        }
    }
}

pub(super) fn interrupted(signal: Signal) -> EarlyExit {
    let why = format!("{signal} before the lock was acquired");
    (Exit::signal(signal), why)
}

fn log_acquired(grant: &Grant) {
    let (lock, holder, token) = (&grant.lock, &grant.holder, grant.token);
    tracing::info!(
        event = "lock_acquired",
        lock,
        holder,
        token,
        "lock acquired"
    );
}

/// Leaves the queue, and releases a permit that was granted without an answer. Either expires with
/// its lease if the table does not answer `within` this time.
async fn withdraw(locks: &LockClient, request: &AcquireRequest, within: Duration) {
    let lock = &request.lock;
    match timeout(within, give_back(locks, request, within, &Sleep)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(event = "release_unconfirmed", lock, %error, "{UNCONFIRMED}");
        }
        Err(_) => tracing::warn!(
            event = "release_unconfirmed",
            lock,
            "no answer: {UNCONFIRMED}"
        ),
    }
}

/// The grant in the environment, if it is for the `wanted` lock.
fn grant_from_env(wanted: Option<&str>) -> Result<Option<Grant>, String> {
    // All three or none: a variable that is left over from something else is no grant.
    let names = ["LOCKSTEP_LOCK", "LOCKSTEP_HOLDER", "LOCKSTEP_FENCING_TOKEN"];
    let [Some(lock), Some(holder), Some(token)] = names.map(variable) else {
        return Ok(None);
    };
    // A lock of another name is one of its own: it is acquired, and released here.
    if wanted.is_some_and(|wanted| wanted != lock) {
        return Ok(None);
    }
    let number = token.parse();
    let rule = "must be the fencing token of the workflow, a number";
    Ok(Some(Grant {
        token: number.map_err(|_| format!("LOCKSTEP_FENCING_TOKEN is {token:?}, but {rule}"))?,
        lock,
        holder,
        run_key: variable("LOCKSTEP_RUN_KEY"),
        // The workflow releases it.
        expect_every_seconds: None,
        // Unknown here: with a limit, new progress costs a second write.
        no_progress_seconds: None,
    }))
}

/// Renews once before anything is started. A redriven execution still has the token from before its
/// lock was recovered: it is refused here, before the work starts.
async fn adopt(
    args: &RunArgs,
    locks: &LockClient,
    table: &str,
    grant: Grant,
) -> Result<Held, EarlyExit> {
    let ask = || async {
        let sent = Instant::now();
        let answer = locks.renew(&grant, None, None).await?;
        Ok((answer, sent))
    };
    let (expires_at, sent) = match retry(&grant.lock, TRIES, ask).await {
        Ok((HeartbeatResponse::Renewed { expires_at, .. }, sent)) => (expires_at, sent),
        Ok((HeartbeatResponse::Ended, _)) => {
            let why = format!("lock {}: the run has already been released", grant.lock);
            return Err((Exit::LEASE_LOST, why));
        }
        Err(error) => return Err(before_start(&error)),
    };
    let ends = parse_time("expiresAt", &expires_at).ok();
    // The length of the workflow's lease is not in the environment, and grows with the age of its
    // run. What is left of it after this renewal is its length.
    let left = ends.map_or(0, |ends| ends.millis_since(locks.now()));
    let times = LeaseTiming::of_workflow(Duration::from_millis(left), args.grace);
    tracing::info!(
        event = "grant_verified",
        lock = grant.lock,
        token = grant.token,
        "the workflow's grant is verified"
    );
    // The environment already has the other variables of the grant.
    let mut environment = vec![("LOCKSTEP_TABLE".into(), table.to_owned())];
    let key = grant.run_key.clone();
    environment.extend(key.map(|key| ("LOCKSTEP_RUN_KEY".into(), key)));
    Ok(Held {
        grant,
        times,
        sent,
        environment,
        hold: Hold::Adopted,
    })
}

/// The exit for an error before the command has started.
fn before_start(error: &Error) -> EarlyExit {
    let exit = match error.name() {
        ErrorName::LeaseLost => Exit::LEASE_LOST,
        ErrorName::InvalidRequest => Exit::CONFIGURATION,
        _ => Exit::UNAVAILABLE,
    };
    (exit, error.to_string())
}
