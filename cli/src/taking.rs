//! Takes a lock: at once, not at all, or after a wait in line.

use crate::locks::Locks;
use crate::sys::clock::{Instant, sleep};
use lockstep::clock::{Clock, SystemClock};
use lockstep::contract::{
    AcquireRequest, AcquireResponse, ErrorName, Granted, Queued, parse_time, rfc3339,
};
use lockstep::domain::DEAD_AFTER;
use lockstep::error::Error;
use nix::sys::signal::Signal;
use std::pin::pin;
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
    /// This process is to end. A place in the queue may be left, or a permit whose grant got no
    /// answer.
    Told(Signal),
}

/// Takes the lock that `request` asks for, and waits for it as long as the request says, or until
/// `told` that this process is to end. That drops no request: what was granted would be nobody's.
///
/// # Errors
/// What the table or the protocol refuses for good.
pub(crate) async fn take(
    locks: &Locks,
    request: &AcquireRequest,
    patience: Option<Duration>,
    told: impl Future<Output = Signal>,
) -> Result<Taken, Error> {
    let mut told = pin!(told);
    let gives_up = patience.map(|patience| Instant::now() + patience);
    let mut news = News::default();
    let mut failures = 0;
    loop {
        let over = gives_up.is_some_and(|end| end.left().is_zero());
        let answer = if over {
            leave(locks, request).await
        } else if news.is_in_line() {
            locks.acquire_again(request).await
        } else {
            locks.acquire(request).await
        };
        let pause = match answer {
            Ok((AcquireResponse::Queued(queued), _)) => {
                failures = 0;
                news.tell(&queued);
                let dead = queued.oldest.expires_at.as_deref().and_then(dead_in);
                let left = gives_up.map_or(LOOK_EVERY, Instant::left);
                let pause = dead.unwrap_or(LOOK_EVERY).min(LOOK_EVERY).min(left);
                pause.max(Duration::from_millis(20))
            }
            Ok((answer, sent)) => return Ok(taken(answer, sent)),
            Err(error) if error.name().is_retryable() => {
                failures += 1;
                if failures >= TRIES && over {
                    let why = format!("waited long enough, and now: {error}");
                    return Ok(Taken::Refused(why));
                }
                // A waiter has a place to lose; whoever has not begun yet gives up sooner.
                if failures >= TRIES && !news.is_in_line() {
                    return Err(error);
                }
                tracing::warn!(lock = request.lock, %error, "asking again");
                LOOK_EVERY
            }
            Err(error) => return refused(error),
        };
        tokio::select! {
            biased;
            signal = &mut told => return Ok(Taken::Told(signal)),
            () = sleep(pause) => {}
        }
    }
}

/// What an answer means that is not a place in the queue.
fn taken(answer: AcquireResponse, sent: Instant) -> Taken {
    use AcquireResponse::{AlreadyHeld, Duplicate, GaveUp, Granted, Queued, Skipped};
    match answer {
        Granted(granted) | AlreadyHeld(granted) => Taken::Granted(Box::new(granted), sent),
        Skipped(skipped) => Taken::Skipped(skipped.message),
        Duplicate(run) => Taken::Skipped(run.message),
        GaveUp(gone) => Taken::Refused(gone.message),
        Queued(queued) => Taken::Refused(queued.message),
    }
}

/// What was told of a wait, and when.
#[derive(Debug, Default)]
struct News(Option<Instant>);

impl News {
    fn is_in_line(&self) -> bool {
        self.0.is_some()
    }

    fn tell(&mut self, queued: &Queued) {
        let now = Instant::now();
        if self.0.is_none_or(|at| at + TELL_EVERY <= now) {
            tracing::info!(lock = queued.lock, "{}", queued.message);
            self.0 = Some(now);
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
