//! Unconfirmed grants: permits that may have been granted although the response was lost or came too late, or
//! the request was cancelled.

use crate::lease::acquire::leave_request;
use crate::lease::client::LockClient;
use crate::platform::clock::{Instant, sleep};
use lockstep::contract::{AcquireRequest, AcquireResponse, ErrorName, Overlap, ReleaseOutcome};
use lockstep::error::Error;
use lockstep::service::Ports;
use std::time::Duration;

/// First pause between two requests; it doubles.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);
/// Longest pause between two requests.
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// The wait between two requests.
pub(crate) trait Pause: Sync {
    /// Returns after `length` at the latest.
    fn pause(&self, length: Duration) -> impl Future<Output = ()> + Send;
}

/// A pause that always takes the whole length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleep;

impl Pause for Sleep {
    async fn pause(&self, length: Duration) {
        sleep(length).await;
    }
}

/// Finds out the outcome of `request`, and releases the permit that it may have been granted: until then the
/// lock would be held although no run is at work under it. Both requests are repeated until they are answered
/// or `timeout` is over, each with `pause` in between.
///
/// The repeated request may itself be granted the permit. That permit is released at once, as failed, and
/// starts no rest (`minIntervalSeconds`). A place in the queue is given up.
///
/// # Errors
/// The last error, if it is unknown whether a permit is held. The permit then ends with its lease.
pub(crate) async fn give_back(
    table: &LockClient<impl Ports>,
    request: &AcquireRequest,
    timeout: Duration,
    pause: &impl Pause,
) -> Result<(), Error> {
    let mut request = request.clone();
    request.options.min_interval_seconds = None;
    if request.options.overlap() == Overlap::Queue {
        request = leave_request(&request, table.now());
    }
    let end = Instant::now() + timeout;
    let asked = retry_until(end, leaves_open, pause, || table.acquire_again(&request));
    let permit = match asked.await {
        Ok((AcquireResponse::Granted(permit) | AcquireResponse::AlreadyHeld(permit), _)) => permit,
        Ok(_) => return Ok(()),
        Err(error) if leaves_open(&error) => return Err(error),
        Err(_) => return Ok(()),
    };
    let end = Instant::now() + timeout;
    let failed = ReleaseOutcome::Failed;
    // The work has not begun, so the failure needs no message to people.
    let release = || table.release(&permit.grant, failed, None);
    retry_until(end, leaves_open, pause, release)
        .await
        .map(drop)
}

/// Sends a request, and repeats it until its outcome is known or `end` is reached.
///
/// # Errors
/// The last error.
pub(crate) async fn retry_until<A, E, F: Future<Output = Result<A, E>>>(
    end: Instant,
    leaves_open: impl Fn(&E) -> bool,
    pause: &impl Pause,
    mut ask: impl FnMut() -> F,
) -> Result<A, E> {
    let mut length = PAUSE;
    loop {
        let answer = ask().await;
        let is_open = answer.as_ref().is_err_and(&leaves_open);
        if !is_open || end.left().is_zero() {
            return answer;
        }
        pause.pause(length.min(end.left())).await;
        length = (length * 2).min(PAUSE_MAX);
    }
}

/// Returns whether the outcome of a request with this error is unknown.
fn leaves_open(error: &Error) -> bool {
    use ErrorName::{Contended, Corrupt, Denied, Unavailable, WorkStopped};
    matches!(
        error.name(),
        Contended | Unavailable | Denied | Corrupt | WorkStopped
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::client::twins::Fault::{AnswerLost, Silence};
    use crate::lease::client::twins::Twins;
    use lockstep::clock::{Clock, SystemClock};
    use lockstep::contract::LockOptions;
    use lockstep::domain::RunOutcome;

    const TIMEOUT: Duration = Duration::from_secs(3_600);

    fn request(overlap: Overlap) -> AcquireRequest {
        let options = LockOptions {
            min_interval_seconds: Some(60),
            overlap: Some(overlap),
            ..LockOptions::default()
        };
        AcquireRequest {
            options,
            ..AcquireRequest::new("nightly", "host:batch-1#17/a1b2")
        }
    }

    /// Returns the result of [`give_back`], and the table, for a grant whose response is lost and then
    /// `silent` requests without a response.
    async fn released_with(overlap: Overlap, silent: usize) -> (Result<(), Error>, Twins) {
        let twins = Twins::faulty([AnswerLost].into_iter().chain(vec![Silence; silent]));
        let (locks, request) = (twins.client(), request(overlap));
        locks.acquire(&request).await.unwrap_err();
        let result = give_back(&locks, &request, TIMEOUT, &Sleep).await;
        (result, twins)
    }

    #[tokio::test(start_paused = true)]
    async fn an_unconfirmed_permit_is_released_as_failed() {
        for overlap in [Overlap::Skip, Overlap::Fail, Overlap::Queue] {
            for silent in [0, 4] {
                let (result, twins) = released_with(overlap, silent).await;

                assert!(result.is_ok(), "{overlap:?} {result:?}");
                assert_eq!(twins.ends("nightly"), [RunOutcome::Failed], "{overlap:?}");
                assert!(twins.record("nightly").holders.is_empty(), "{overlap:?}");
                assert!(
                    twins.failures().is_empty(),
                    "it is no message: nothing began"
                );
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_permit_that_the_repeated_request_is_granted_starts_no_rest() {
        let twins = Twins::faulty([Silence]);

        let result = give_back(&twins.client(), &request(Overlap::Skip), TIMEOUT, &Sleep).await;

        assert!(result.is_ok(), "{result:?}");
        assert_eq!(twins.ends("nightly"), [RunOutcome::Failed]);
        assert!(twins.record("nightly").gate.not_before <= SystemClock.now());
    }

    #[tokio::test(start_paused = true)]
    async fn a_table_that_never_answers_is_not_retried_for_ever() {
        let locks = Twins::faulty(vec![Silence; 1_000]).client();
        let no_time = Duration::ZERO;

        let result = give_back(&locks, &request(Overlap::Skip), no_time, &Sleep).await;

        assert_eq!(result.unwrap_err().name(), ErrorName::Unavailable);
    }
}
