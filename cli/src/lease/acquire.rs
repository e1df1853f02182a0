//! Acquires a lock: at once, not at all, or after a wait in the queue.
//!
//! A process has no task token, so nothing can wake it: it repeats its request while it waits. It waits in
//! the same queue as a workflow. Its next request confirms a permit that was handed over to it.
//!
//! ```text
//!  ask ── granted ──────────────────────▶ Granted
//!   ▲  ── queued: after 1 s, later 15 s ─┐
//!   ├────────────────────────────────────┘   or as soon as the oldest lease may be judged dead
//!   └── no answer: 4 times, or for as long as it has a place in the queue
//! ```

use crate::lease::client::LockClient;
use crate::platform::clock::{Instant, reached, sleep};
use crate::platform::env::random_fraction;
use crate::retry::{may_succeed_later, retry};
use lockstep::contract::{AcquireRequest, AcquireResponse, ErrorName, Granted, Queued, parse_time};
use lockstep::domain::{DEAD_AFTER, Timestamp, rfc3339};
use lockstep::error::Error;
use lockstep::service::Ports;
use lockstep::store::StoreError;
use nix::sys::signal::Signal;
use std::pin::pin;
use std::time::Duration;
use tokio::time::timeout;

/// Time between two requests at the beginning of a wait, and after a request that got no response.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Longest time between two requests. A permit that is handed over to a waiter is idle for at most this time.
const POLL_INTERVAL_MAX: Duration = Duration::from_secs(15);
/// Divisor of the time that the run has waited: the quotient is the time between two requests.
const POLL_SHARE: u32 = 30;
/// Time between two log lines about the same wait.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Number of requests without a response after which a run that is not queued fails.
const TRIES: u32 = 4;

/// Time for the last request to the table, including its retries, when the wait ends or the process has to
/// end.
pub(crate) const FINAL_REQUEST_TIMEOUT: Duration = Duration::from_secs(6);

/// The result of [`take`].
#[derive(Clone, Debug)]
pub(crate) enum Acquired {
    /// The permit is granted, by a request that was sent at this time.
    Granted(Box<Granted>, Instant),
    /// There is nothing to do, for this reason.
    Skipped(String),
    /// The permit is not granted, for this reason.
    Refused(String),
    /// The table has not answered, for this reason. A permit may have been granted nevertheless.
    NoAnswer(String),
    /// The table has not answered by the end of the wait, for this reason. The last request was sent, so the
    /// caller must not send another one.
    NoAnswerInTime(String),
    /// This process received this signal. A place in the queue may be left, or a permit whose grant got no
    /// response.
    Interrupted(Signal),
}

/// Acquires the lock of `request`, and waits for it until `max_wait` is over or `shutdown` resolves:
/// - A shutdown does not cancel a request under way, because a grant would then go unnoticed.
/// - The end of `max_wait` cancels it. The table then has [`FINAL_REQUEST_TIMEOUT`] to answer a last request.
///
/// # Errors
/// An error of the table or the protocol that is not retryable.
pub(crate) async fn take(
    locks: &LockClient<impl Ports>,
    request: &AcquireRequest,
    max_wait: Option<Duration>,
    shutdown: impl Future<Output = Signal>,
) -> Result<Acquired, Error> {
    let mut shutdown = pin!(shutdown);
    let wait_end = max_wait.map(|max_wait| Instant::now() + max_wait);
    let mut wait_log = WaitLog::default();
    let mut failures = 0;
    loop {
        let answer = tokio::select! {
            biased;
            () = reached(wait_end) => return give_up(locks, request, wait_log.is_queued()).await,
            answer = send(locks, request, wait_log.is_queued()) => answer,
        };
        let pause = match answer {
            Ok((AcquireResponse::Queued(queued), _)) => {
                failures = 0;
                wait_log.log(&queued);
                let dead = queued.oldest.expires_at.as_deref();
                let dead = dead.and_then(|at| time_until_dead(at, locks.now()));
                let lease = request.options.lease_seconds;
                let lease = lease.and_then(|seconds| u64::try_from(seconds).ok());
                let lease = lease.map_or(POLL_INTERVAL_MAX, Duration::from_secs);
                let interval = poll_interval(wait_log.waited(), lease, random_fraction());
                // The request at that moment also recovers the dead holder.
                let pause = dead.unwrap_or(interval).min(interval);
                pause.max(Duration::from_millis(20))
            }
            Ok((answer, sent)) => return Ok(taken(answer, sent)),
            Err(error) if may_succeed_later(&error) => {
                failures += 1;
                // A waiter that gives up loses its place in the queue, so it retries until the wait is over.
                if failures >= TRIES && !wait_log.is_queued() {
                    return Ok(Acquired::NoAnswer(error.to_string()));
                }
                tracing::warn!(
                    event = "request_retried",
                    lock = request.lock,
                    %error,
                    "the lock table gave no answer, or a temporary error; retrying"
                );
                POLL_INTERVAL
            }
            Err(error) => return refused(error),
        };
        tokio::select! {
            biased;
            signal = &mut shutdown => return Ok(Acquired::Interrupted(signal)),
            () = reached(wait_end) => {}
            () = sleep(pause) => {}
        }
    }
}

/// Sends the request once. Only the first request of a run that waits counts as a run in the metrics.
async fn send(
    locks: &LockClient<impl Ports>,
    request: &AcquireRequest,
    is_queued: bool,
) -> Result<(AcquireResponse, Instant), Error> {
    if is_queued {
        locks.acquire_again(request).await
    } else {
        locks.acquire(request).await
    }
}

/// Leaves the queue at the end of the wait. The response also has the permit of a grant whose response was
/// lost. If there is no response within [`FINAL_REQUEST_TIMEOUT`], the place in the queue or the permit ends
/// with its lease. `has_answered` says whether the table has answered an earlier request.
async fn give_up(
    locks: &LockClient<impl Ports>,
    request: &AcquireRequest,
    has_answered: bool,
) -> Result<Acquired, Error> {
    let end = Instant::now() + FINAL_REQUEST_TIMEOUT;
    let leave = leave_request(request, locks.now());
    let asked = retry(&request.lock, end, || locks.acquire(&leave));
    let error = match timeout(FINAL_REQUEST_TIMEOUT, asked).await {
        Ok(Ok((answer, sent))) => return Ok(taken(answer, sent)),
        Ok(Err(error)) if !error.name().is_retryable() => return refused(error),
        Ok(Err(error)) => error,
        Err(_) => {
            StoreError::Unavailable(format!("no answer within {FINAL_REQUEST_TIMEOUT:?}")).into()
        }
    };
    let left = "its place in the queue, or a permit, may last until the lease ends";
    Ok(if has_answered {
        Acquired::Refused(format!(
            "--max-wait is over, and the lock table did not confirm that the run has left the queue: {error}; {left}"
        ))
    } else {
        let why =
            format!("--max-wait is over, and the lock table has not answered any request: {error}");
        Acquired::NoAnswerInTime(format!("{why}; {left}"))
    })
}

/// Returns the result that `answer` stands for. A place in the queue stands for a refusal, because [`take`]
/// handles the response to a run that goes on waiting.
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

/// Returns the time to the next request of a run that has waited for `waited`. `jitter`, from 0 to 1, makes
/// it up to a quarter shorter, so that runs that began to wait together do not send their requests together.
///
/// The lease of a permit that is handed over begins at the hand-over. So the next request comes within a
/// quarter of `lease`, but at least a second after the last one.
fn poll_interval(waited: Duration, lease: Duration, jitter: f64) -> Duration {
    let longest = POLL_INTERVAL_MAX.min(lease / 4).max(POLL_INTERVAL);
    let interval = (waited / POLL_SHARE).clamp(POLL_INTERVAL, longest);
    interval.mul_f64(1.0 - jitter / 4.0)
}

/// Records when the wait began, and when it was last logged.
#[derive(Debug, Default)]
struct WaitLog {
    began: Option<Instant>,
    logged: Option<Instant>,
}

impl WaitLog {
    fn is_queued(&self) -> bool {
        self.began.is_some()
    }

    fn waited(&self) -> Duration {
        let now = Instant::now().millis();
        let began = self.began.map_or(now, Instant::millis);
        Duration::from_millis(now.saturating_sub(began))
    }

    fn log(&mut self, queued: &Queued) {
        let now = Instant::now();
        self.began.get_or_insert(now);
        if self.logged.is_none_or(|at| at + LOG_INTERVAL <= now) {
            tracing::info!(
                event = "lock_queued",
                lock = queued.lock,
                "{}",
                queued.message
            );
            self.logged = Some(now);
        }
    }
}

/// Returns the request that gives up a place in the queue: the end of its wait is a day before `now`, which
/// is past on any clock.
pub(crate) fn leave_request(request: &AcquireRequest, now: Timestamp) -> AcquireRequest {
    let over = now.millis().saturating_sub(86_400_000);
    AcquireRequest {
        wait_until: Some(rfc3339(Timestamp::from_millis(over))),
        ..request.clone()
    }
}

/// Separates refusals of the lock, which are results of [`take`], from errors.
fn refused(error: Error) -> Result<Acquired, Error> {
    use ErrorName::{LockFrozen, LockHeld, LockPaused, PermitsMismatch, QueueFull};
    match error.name() {
        LockHeld | QueueFull | LockPaused | LockFrozen | PermitsMismatch => {
            Ok(Acquired::Refused(error.message().to_owned()))
        }
        _ => Err(error),
    }
}

/// Returns the time until a lease that ends `at` counts as dead; `None` if that time has passed.
fn time_until_dead(at: &str, now: Timestamp) -> Option<Duration> {
    let dead = parse_time("expiresAt", at).ok()?.plus(DEAD_AFTER);
    let left = dead.millis_since(now);
    (left > 0).then(|| Duration::from_millis(left + 5))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_run_asks_less_often_the_longer_it_waits_within_its_lease() {
        let lease = seconds(60);
        for (waited, lease, jitter, expected) in [
            (seconds(0), lease, 0.0, 1_000),
            (seconds(0), lease, 1.0, 750),
            (seconds(60), lease, 0.0, 2_000),
            (seconds(300), lease, 0.0, 10_000),
            (seconds(3_600), lease, 0.0, 15_000),
            (seconds(3_600), lease, 1.0, 11_250),
            (seconds(3_600), seconds(86_400), 0.0, 15_000),
            (seconds(3_600), seconds(20), 0.0, 5_000),
            (seconds(3_600), seconds(3), 0.0, 1_000),
        ] {
            let interval = poll_interval(waited, lease, jitter);

            assert_eq!(interval.as_millis(), expected, "{waited:?}, {lease:?}");
        }
    }

    #[test]
    fn an_hour_in_the_queue_takes_fewer_than_400_requests() {
        let (mut waited, mut requests) = (Duration::ZERO, 0);
        while waited < seconds(3_600) {
            // The mean of the jitter.
            waited += poll_interval(waited, seconds(60), 0.5);
            requests += 1;
        }

        assert!((300..400).contains(&requests), "{requests}");
    }
}
