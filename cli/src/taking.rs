//! Takes a lock: at once, not at all, or after a wait in line.

use crate::locks::Locks;
use crate::sys::clock::{Instant, sleep};
use lockstep::clock::{Clock, SystemClock};
use lockstep::contract::{
    AcquireRequest, AcquireResponse, ErrorName, Granted, parse_time, rfc3339,
};
use lockstep::domain::DEAD_AFTER;
use lockstep::error::Error;
use std::time::Duration;

/// Longest time between two looks while waiting. A permit that is handed to a waiter lies idle that
/// long at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often the wait is told of.
const TELL_EVERY: Duration = Duration::from_secs(60);
/// How often a table that gives no answer is asked before the first answer.
const TRIES: u32 = 5;

/// What came of the wish for a lock.
#[derive(Clone, Debug)]
pub(crate) enum Taken {
    /// It is ours, by a request that was sent then.
    Granted(Box<Granted>, Instant),
    /// Nothing is to be done, and why.
    Skipped(String),
    /// It is not ours, and why.
    Refused(String),
}

/// Takes the lock that `request` asks for, and waits for it as long as the request says.
///
/// # Errors
/// What the table or the protocol refuses for good.
pub(crate) async fn take(
    locks: &Locks,
    request: &AcquireRequest,
    patience: Option<Duration>,
) -> Result<Taken, Error> {
    use AcquireResponse::{AlreadyHeld, Duplicate, GaveUp, Granted, Queued, Skipped};
    let begun = Instant::now();
    let gives_up = patience.map(|patience| begun + patience);
    let mut told = None;
    let mut failures = 0;
    loop {
        let now = Instant::now();
        let over = gives_up.is_some_and(|end| end <= now);
        let answer = match (over, told) {
            (true, _) => leave(locks, request).await,
            (false, None) => locks.acquire(request).await,
            (false, Some(_)) => locks.acquire_again(request).await,
        };
        match answer {
            Ok((Granted(granted) | AlreadyHeld(granted), sent)) => {
                return Ok(Taken::Granted(Box::new(granted), sent));
            }
            Ok((Skipped(skipped), _)) => return Ok(Taken::Skipped(skipped.message)),
            Ok((Duplicate(run), _)) => return Ok(Taken::Skipped(run.message)),
            Ok((GaveUp(gone), _)) => return Ok(Taken::Refused(gone.message)),
            Ok((Queued(queued), _)) => {
                failures = 0;
                if told.is_none_or(|at| at + TELL_EVERY <= now) {
                    tracing::info!(lock = queued.lock, "{}", queued.message);
                    told = Some(now);
                }
                let dead = queued.oldest.expires_at.as_deref().and_then(dead_in);
                let left = gives_up.map_or(LOOK_EVERY, Instant::left);
                let pause = dead.unwrap_or(LOOK_EVERY).min(LOOK_EVERY).min(left);
                sleep(pause.max(Duration::from_millis(20))).await;
            }
            Err(error) if error.name().is_retryable() => {
                failures += 1;
                // A waiter has a place to lose; whoever has not begun yet gives up sooner.
                if told.is_none() && failures == TRIES {
                    return Err(error);
                }
                tracing::warn!(lock = request.lock, %error, "asking again");
                sleep(LOOK_EVERY).await;
            }
            Err(error) => return refused(error),
        }
    }
}

/// Gives up a place in the queue.
///
/// # Errors
/// As acquire-lock.
pub(crate) async fn leave(
    locks: &Locks,
    request: &AcquireRequest,
) -> Result<(AcquireResponse, Instant), Error> {
    let leave = AcquireRequest {
        wait_until: Some(rfc3339(SystemClock.now())),
        ..request.clone()
    };
    locks.acquire(&leave).await
}

/// What is an answer to the wish, and what is a failure.
fn refused(error: Error) -> Result<Taken, Error> {
    use ErrorName::{LockFrozen, LockHeld, LockPaused, PermitsMismatch, QueueFull};
    match error.name() {
        LockHeld | QueueFull | LockPaused | LockFrozen | PermitsMismatch => {
            Ok(Taken::Refused(error.message().to_owned()))
        }
        _ => Err(error),
    }
}

/// How long until a lease that ends `at` may be judged dead; nothing if that is past.
fn dead_in(at: &str) -> Option<Duration> {
    let dead = parse_time("expiresAt", at).ok()?.plus(DEAD_AFTER);
    let left = dead.millis_since(SystemClock.now());
    (left > 0).then(|| Duration::from_millis(left + 5))
}
