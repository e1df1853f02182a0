//! The grant that a command runs under: acquired by this process, or adopted from a workflow.
//!
//! ```text
//!  LOCKSTEP_LOCK, _HOLDER, _FENCING_TOKEN   adopted: renewed once, kept, never released
//!  --lock                                   acquired: by a new holder, released here
//! ```
//! If the response of an acquire is lost, it is unknown whether a permit was granted. So a run that gives up
//! sends one more request, which leaves the queue or finds the permit, and releases the permit. A permit
//! whose release is not confirmed is free when its lease ends.

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

/// Most requests that verify an adopted grant, while the lock table does not answer.
const TRIES: u32 = 5;

/// Longest time in which a run that got no response tries to release a permit that it may hold, so that the
/// lock is free before its lease ends.
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
            "--lock is missing, and LOCKSTEP_LOCK, LOCKSTEP_HOLDER and LOCKSTEP_FENCING_TOKEN name no grant to adopt".into(),
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
    match taken.map_err(|error| exit_before_start(&error))? {
        Acquired::Granted(granted, sent) => {
            log_acquired(&granted.grant);
            Ok(Held::acquired(*granted, times, sent))
        }
        Acquired::Skipped(why) => Err((Exit::code(args.skip_code), why)),
        Acquired::Refused(why) => Err((Exit::NOT_ACQUIRED, why)),
        // A permit may have been granted nevertheless. It is released, so that the next run does not have to
        // wait for the end of its lease.
        Acquired::NoAnswer(why) => {
            tokio::select! {
                biased;
                _ = signals.end() => {}
                () = withdraw(locks, &request, args.lease.min(GIVE_BACK_WITHIN)) => {}
            }
            Err((Exit::UNAVAILABLE, why))
        }
        // `take` has already sent a last request that leaves the queue.
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

/// Leaves the queue, and releases a permit whose grant got no response. If the table does not answer `within`
/// this time, the place in the queue or the permit ends with its lease.
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

/// Returns the grant in the environment, if there is one and it is for the `wanted` lock.
fn grant_from_env(wanted: Option<&str>) -> Result<Option<Grant>, String> {
    // All three variables make a grant. A part of them may be left over from something else.
    let names = ["LOCKSTEP_LOCK", "LOCKSTEP_HOLDER", "LOCKSTEP_FENCING_TOKEN"];
    let [Some(lock), Some(holder), Some(token)] = names.map(variable) else {
        return Ok(None);
    };
    // A lock with another name than the grant's is acquired and released by this process.
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
        // Only a release uses this field, and the workflow releases the permit.
        expect_every_seconds: None,
        // The environment does not have the limit. If there is one, each new progress costs a second write.
        no_progress_seconds: None,
    }))
}

/// Renews the lease of an adopted grant once, before anything is started. A redriven execution still has the
/// token of the grant that recovery has freed: its renewal is refused here, before the work starts.
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
        Err(error) => return Err(exit_before_start(&error)),
    };
    let ends = parse_time("expiresAt", &expires_at).ok();
    // The length of the workflow's lease is not in the environment, and grows with the age of the run. The
    // time that is left of the lease after this renewal counts as its length.
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

/// Returns the exit code and the text for an error that occurs before the command has started.
fn exit_before_start(error: &Error) -> EarlyExit {
    let exit = match error.name() {
        ErrorName::LeaseLost => Exit::LEASE_LOST,
        ErrorName::InvalidRequest => Exit::CONFIGURATION,
        _ => Exit::UNAVAILABLE,
    };
    (exit, error.to_string())
}
