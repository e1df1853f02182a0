//! The grant that a command runs under: taken here, or handed down by a workflow.

use super::EarlyExit;
use crate::args::run::RunArgs;
use crate::exit::Exit;
use crate::lease::acquire::{Acquired, LAST_WORDS, take};
use crate::lease::client::LockClient;
use crate::lease::timing::LeaseTiming;
use crate::lease::unconfirmed::{Sleep, give_back};
use crate::platform::clock::Instant;
use crate::platform::env::filled;
use crate::platform::identity::HolderIdentity;
use crate::platform::signals::Signals;
use crate::retry::again;
use lockstep::clock::{Clock, SystemClock};
use lockstep::contract::{
    AcquireRequest, ErrorName, Grant, Granted, HeartbeatResponse, parse_time,
};
use lockstep::error::Error;
use nix::sys::signal::Signal;
use std::time::Duration;
use tokio::time::timeout;

/// How often a table that gives no answer is asked whether a grant is still good.
const TRIES: u32 = 5;

/// Longest time that a run which has got no answer asks for what it may have been granted, so that the
/// lock is free before its lease ends.
const GIVE_BACK_WITHIN: Duration = Duration::from_secs(15);
const MAY_BE_LEFT: &str =
    "could not confirm that the permit or queue place was released; it ends with its lease";

/// Who has to give the permit back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// This process.
    Acquired,
    /// The workflow that it was adopted from.
    Adopted,
}

/// A permit at work.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// The receipt.
    pub(crate) grant: Grant,
    /// The times of its lease.
    pub(crate) times: LeaseTiming,
    /// When the request was sent that the lease is counted from.
    pub(crate) sent: Instant,
    /// What the command finds in its environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Who has to give it back.
    pub(crate) hold: Hold,
}

/// Takes the lock, or verifies the grant that the environment has.
///
/// # Errors
/// Why the command is not to be started, and the code to exit with.
pub(crate) async fn hold(
    args: &RunArgs,
    locks: &LockClient,
    table: &str,
    signals: &mut Signals,
) -> Result<Held, EarlyExit> {
    let wrong = |why: String| (Exit::CONFIGURATION, why);
    if let Some(grant) = handed_down(args.lock.as_deref()).map_err(wrong)? {
        return tokio::select! {
            biased;
            signal = signals.end() => Err(told(signal)),
            held = adopt(args, locks, table, grant) => held,
        };
    }
    let Some(lock) = &args.lock else {
        return Err(wrong(
            "--lock is missing, and LOCKSTEP_LOCK has no grant to adopt".into(),
        ));
    };
    let site = tokio::select! {
        biased;
        signal = signals.end() => return Err(told(signal)),
        site = HolderIdentity::find() => site.map_err(wrong)?,
    };
    let times = LeaseTiming::after_silence(args.lease, args.grace);
    let request = args.request(lock, site.new_holder(), times.seconds());
    let taken = take(locks, &request, args.max_wait, signals.end()).await;
    match taken.map_err(|error| before_start(&error))? {
        Acquired::Granted(granted, sent) => Ok(ours(*granted, times, sent)),
        Acquired::Skipped(why) => Err((Exit::code(args.skip_code), why)),
        Acquired::Refused(why) => Err((Exit::NOT_ACQUIRED, why)),
        Acquired::Silent(why) => {
            tokio::select! {
                biased;
                _ = signals.end() => {}
                () = step_back(locks, &request, args.lease.min(GIVE_BACK_WITHIN)) => {}
            }
            Err((Exit::UNAVAILABLE, why))
        }
        Acquired::SilentTooLong(why) => Err((Exit::UNAVAILABLE, why)),
        Acquired::Interrupted(signal) => {
            step_back(locks, &request, LAST_WORDS).await;
            Err(told(signal))
        }
    }
}

pub(super) fn told(signal: Signal) -> EarlyExit {
    let why = format!("{signal} came before the lock");
    (Exit::signal(signal), why)
}

fn ours(granted: Granted, times: LeaseTiming, sent: Instant) -> Held {
    let Granted {
        grant, environment, ..
    } = granted;
    let (lock, holder, token) = (&grant.lock, &grant.holder, grant.token);
    tracing::info!(lock, holder, token, "the lock is ours");
    let pairs = environment.into_iter();
    Held {
        environment: pairs.map(|pair| (pair.name, pair.value)).collect(),
        grant,
        times,
        sent,
        hold: Hold::Acquired,
    }
}

/// Leaves nothing behind: no place in the queue, and no permit that was granted meanwhile or unseen. It
/// ends with its lease if the table does not answer `within` this time.
async fn step_back(locks: &LockClient, request: &AcquireRequest, within: Duration) {
    let lock = &request.lock;
    match timeout(within, give_back(locks, request, within, &Sleep)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(lock, %error, "{MAY_BE_LEFT}"),
        Err(_) => tracing::warn!(lock, "no answer: {MAY_BE_LEFT}"),
    }
}

/// The grant in the environment, if it is the one that is wanted.
fn handed_down(wanted: Option<&str>) -> Result<Option<Grant>, String> {
    let names = ["LOCKSTEP_LOCK", "LOCKSTEP_HOLDER", "LOCKSTEP_FENCING_TOKEN"];
    let [Some(lock), Some(holder), Some(token)] = names.map(filled) else {
        return Ok(None);
    };
    if wanted.is_some_and(|wanted| wanted != lock) {
        return Ok(None);
    }
    let number = token.parse();
    let rule = "must be the number that the workflow was given";
    Ok(Some(Grant {
        token: number.map_err(|_| format!("LOCKSTEP_FENCING_TOKEN is {token:?}, but {rule}"))?,
        lock,
        holder,
        run_key: filled("LOCKSTEP_RUN_KEY"),
    }))
}

/// Renews once before anything is started. A redriven execution comes with the token that it had
/// before its lock was recovered: that is found out here, and not by the work.
async fn adopt(
    args: &RunArgs,
    locks: &LockClient,
    table: &str,
    grant: Grant,
) -> Result<Held, EarlyExit> {
    let ask = || async {
        let sent = Instant::now();
        let answer = locks.renew(&grant, None).await?;
        Ok((answer, sent))
    };
    let (expires_at, sent) = match again(&grant.lock, TRIES, ask).await {
        Ok((HeartbeatResponse::Renewed { expires_at, .. }, sent)) => (expires_at, sent),
        Ok((HeartbeatResponse::Ended, _)) => {
            let why = format!("lock {}: the run has been released", grant.lock);
            return Err((Exit::LEASE_LOST, why));
        }
        Err(error) => return Err(before_start(&error)),
    };
    let ends = parse_time("expiresAt", &expires_at).ok();
    let left = ends.map_or(0, |ends| ends.millis_since(SystemClock.now()));
    let times = LeaseTiming::of_record(Duration::from_millis(left), args.grace);
    tracing::info!(
        lock = grant.lock,
        token = grant.token,
        "the workflow's grant is good"
    );
    // The rest of the grant is in the environment already.
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

/// What an error means before the command has begun.
fn before_start(error: &Error) -> EarlyExit {
    let exit = match error.name() {
        ErrorName::LeaseLost => Exit::LEASE_LOST,
        ErrorName::InvalidRequest => Exit::CONFIGURATION,
        _ => Exit::UNAVAILABLE,
    };
    (exit, error.to_string())
}
