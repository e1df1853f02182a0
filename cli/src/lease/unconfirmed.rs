//! Permits that may have been granted although no answer said so: the answer was lost, or came too late,
//! or the request was given up.

use crate::lease::acquire::ask_to_leave;
use crate::lease::table::LockTable;
use crate::platform::clock::{Instant, sleep};
use lockstep::contract::{AcquireRequest, AcquireResponse, ErrorName, Overlap, ReleaseOutcome};
use lockstep::error::Error;
use std::time::Duration;

/// First pause before the table is asked once more; it doubles.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);
/// Longest of these pauses.
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// What passes the time between two requests.
pub(crate) trait Pause: Sync {
    /// Returns after `length` at the latest.
    fn pause(&self, length: Duration) -> impl Future<Output = ()> + Send;
}

/// A pause of the whole length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleep;

impl Pause for Sleep {
    async fn pause(&self, length: Duration) {
        sleep(length).await;
    }
}

/// Finds out what became of `request`, and releases the permit that it may have: until then its lock
/// would be held, and nothing would run under it. Each of the two is asked for until there is an answer
/// or `patience` is over, with `pause` in between.
///
/// Asking again may be what takes the permit. It is released at once then, as failed, and as if it had
/// never been taken: `minIntervalSeconds` does not count. A place in the queue is left.
///
/// # Errors
/// What leaves open whether a permit is held. It ends with its lease then.
pub(crate) async fn give_back<T: LockTable>(
    table: &T,
    request: &AcquireRequest,
    patience: Duration,
    pause: &impl Pause,
) -> Result<(), Error> {
    let mut request = AcquireRequest {
        min_interval_seconds: None,
        ..request.clone()
    };
    if request.overlap == Overlap::Queue {
        request = ask_to_leave(&request);
    }
    let end = Instant::now() + patience;
    let asked = insist(end, leaves_open, pause, || table.acquire_again(&request));
    let permit = match asked.await {
        Ok((AcquireResponse::Granted(permit) | AcquireResponse::AlreadyHeld(permit), _)) => permit,
        Ok(_) => return Ok(()),
        Err(error) if leaves_open(&error) => return Err(error),
        Err(_) => return Ok(()),
    };
    let end = Instant::now() + patience;
    let failed = ReleaseOutcome::Failed;
    let release = || table.release(&permit.grant, failed);
    insist(end, leaves_open, pause, release).await.map(drop)
}

/// Asks until an answer settles the matter, and once at least; after `end` no more.
///
/// # Errors
/// The last answer, if it is one.
pub(crate) async fn insist<A, E, F: Future<Output = Result<A, E>>>(
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

/// Whether an error leaves open what became of its request.
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
    use crate::lease::table::memory::Fault::{AnswerLost, Silence};
    use crate::lease::table::memory::{Fault, MemoryTable};
    use lockstep::contract::Stale;

    const PATIENCE: Duration = Duration::from_secs(3_600);

    fn request(overlap: Overlap) -> AcquireRequest {
        serde_json::from_value(serde_json::json!({
            "lock": "nightly",
            "holder": "host:batch-1#17/a1b2",
            "minIntervalSeconds": 60,
            "overlap": overlap,
            "stalePolicy": Stale::Terminate,
        }))
        .unwrap()
    }

    /// What is left of a permit whose answer was lost, after a table with `faults` was asked.
    async fn left(overlap: Overlap, faults: Vec<Fault>) -> (Result<(), Error>, MemoryTable) {
        let table = MemoryTable::faulty([AnswerLost].into_iter().chain(faults));
        let request = request(overlap);
        table.acquire(&request).await.unwrap_err();
        let gone = give_back(&table, &request, PATIENCE, &Sleep).await;
        (gone, table)
    }

    #[tokio::test(start_paused = true)]
    async fn a_permit_that_was_granted_unseen_is_released_as_failed_also_after_more_silence() {
        for overlap in [Overlap::Skip, Overlap::Fail, Overlap::Queue] {
            for silent in [0, 4] {
                let (gone, table) = left(overlap, vec![Silence; silent]).await;

                let failed = [("nightly".to_owned(), ReleaseOutcome::Failed)];
                assert!(gone.is_ok() && table.released() == failed, "{overlap:?}");
                let asked = table.asked();
                assert!(
                    asked[1..]
                        .iter()
                        .all(|one| one.min_interval_seconds.is_none())
                );
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_table_that_stays_silent_is_not_asked_for_ever() {
        let table = MemoryTable::faulty(vec![Silence; 1_000]);
        let never = Duration::ZERO;

        let gone = give_back(&table, &request(Overlap::Skip), never, &Sleep).await;

        assert_eq!(gone.unwrap_err().name(), ErrorName::Unavailable);
    }
}
