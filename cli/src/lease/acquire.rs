//! Takes a lock: at once, not at all, or after a wait in line.

use crate::lease::table::LockTable;
use crate::platform::clock::{Instant, reached, sleep};
use crate::retry::again;
use lockstep::clock::{Clock, SystemClock};
use lockstep::contract::{
    AcquireRequest, AcquireResponse, ErrorName, Granted, Queued, parse_time, rfc3339,
};
use lockstep::domain::DEAD_AFTER;
use lockstep::error::Error;
use lockstep::store::StoreError;
use nix::sys::signal::Signal;
use std::pin::pin;
use std::time::Duration;
use tokio::time::timeout;

/// Longest time between two looks while waiting. A permit that is handed to a waiter lies idle that
/// long at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often the wait is told of.
const TELL_EVERY: Duration = Duration::from_secs(60);
/// How often a table that gives no answer is asked before the first answer.
const TRIES: u32 = 5;

/// What a process that is to end has for the table: one request, tried again.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(6);

/// What came of the wish for a lock.
#[derive(Clone, Debug)]
pub(crate) enum Acquired {
    /// It is ours, by a request that was sent then.
    Granted(Box<Granted>, Instant),
    /// Nothing is to be done, and why.
    Skipped(String),
    /// It is not ours, and why.
    Refused(String),
    /// The table has given no answer, and why. A permit may have been granted all the same.
    Silent(String),
    /// The same, until the wait was over and beyond. Nothing more is to be asked.
    SilentTooLong(String),
    /// This process is to end. A place in the queue may be left, or a permit whose grant got no
    /// answer.
    Interrupted(Signal),
}

/// Takes the lock that `request` asks for, and waits for it as long as the request says, or until
/// `told` that this process is to end. That drops no request: what was granted would be lost sight of.
/// The end of `patience` cuts a request off, and the table has [`LAST_WORDS`] to answer another one.
///
/// # Errors
/// What the table or the protocol refuses for good.
pub(crate) async fn take(
    locks: &impl LockTable,
    request: &AcquireRequest,
    patience: Option<Duration>,
    told: impl Future<Output = Signal>,
) -> Result<Acquired, Error> {
    let mut told = pin!(told);
    let gives_up = patience.map(|patience| Instant::now() + patience);
    let mut news = News::default();
    let mut failures = 0;
    loop {
        let answer = tokio::select! {
            biased;
            () = reached(gives_up) => return give_up(locks, request, news.is_in_line()).await,
            answer = ask(locks, request, news.is_in_line()) => answer,
        };
        let pause = match answer {
            Ok((AcquireResponse::Queued(queued), _)) => {
                failures = 0;
                news.tell(&queued);
                let dead = queued.oldest.expires_at.as_deref().and_then(dead_in);
                let pause = dead.unwrap_or(LOOK_EVERY).min(LOOK_EVERY);
                pause.max(Duration::from_millis(20))
            }
            Ok((answer, sent)) => return Ok(taken(answer, sent)),
            Err(error) if error.name().is_retryable() => {
                failures += 1;
                // A waiter has a place to lose; one that has not begun yet gives up sooner.
                if failures >= TRIES && !news.is_in_line() {
                    return Ok(Acquired::Silent(error.to_string()));
                }
                tracing::warn!(lock = request.lock, %error, "asking again");
                LOOK_EVERY
            }
            Err(error) => return refused(error),
        };
        tokio::select! {
            biased;
            signal = &mut told => return Ok(Acquired::Interrupted(signal)),
            () = reached(gives_up) => {}
            () = sleep(pause) => {}
        }
    }
}

async fn ask(
    locks: &impl LockTable,
    request: &AcquireRequest,
    is_in_line: bool,
) -> Result<(AcquireResponse, Instant), Error> {
    if is_in_line {
        locks.acquire_again(request).await
    } else {
        locks.acquire(request).await
    }
}

/// Leaves the queue at the end of the wait, which also finds a permit that was granted unseen. Without
/// an answer within [`LAST_WORDS`], what there is ends with its lease. `has_answered` says whether the
/// table ever answered.
async fn give_up(
    locks: &impl LockTable,
    request: &AcquireRequest,
    has_answered: bool,
) -> Result<Acquired, Error> {
    let end = Instant::now() + LAST_WORDS;
    let leave = ask_to_leave(request);
    let asked = again(&request.lock, end, || locks.acquire(&leave));
    let error = match timeout(LAST_WORDS, asked).await {
        Ok(Ok((answer, sent))) => return Ok(taken(answer, sent)),
        Ok(Err(error)) if !error.name().is_retryable() => return refused(error),
        Ok(Err(error)) => error,
        Err(_) => StoreError::Unavailable(format!("no answer within {LAST_WORDS:?}")).into(),
    };
    let left = "a place in the queue or a permit may be left until its lease ends";
    Ok(if has_answered {
        Acquired::Refused(format!("--max-wait is over, and now: {error}; {left}"))
    } else {
        let why = format!("--max-wait is over, and the lock table has never answered: {error}");
        Acquired::SilentTooLong(format!("{why}; {left}"))
    })
}

/// What an answer means that is not a place in the queue.
fn taken(answer: AcquireResponse, sent: Instant) -> Acquired {
    use AcquireResponse::{AlreadyHeld, Duplicate, Finished, GaveUp, Granted, Queued, Skipped};
    match answer {
        Granted(granted) | AlreadyHeld(granted) => Acquired::Granted(Box::new(granted), sent),
        Skipped(skipped) => Acquired::Skipped(skipped.message),
        Duplicate(run) => Acquired::Skipped(run.message),
        GaveUp(gone) => Acquired::Refused(gone.message),
        Queued(queued) => Acquired::Refused(queued.message),
        Finished(run) => Acquired::Refused(run.message),
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

/// The request that gives up a place in the queue.
pub(crate) fn ask_to_leave(request: &AcquireRequest) -> AcquireRequest {
    AcquireRequest {
        wait_until: Some(rfc3339(SystemClock.now())),
        ..request.clone()
    }
}

/// What is an answer to the wish, and what is a failure.
fn refused(error: Error) -> Result<Acquired, Error> {
    use ErrorName::{LockFrozen, LockHeld, LockPaused, PermitsMismatch, QueueFull};
    match error.name() {
        LockHeld | QueueFull | LockPaused | LockFrozen | PermitsMismatch => {
            Ok(Acquired::Refused(error.message().to_owned()))
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
