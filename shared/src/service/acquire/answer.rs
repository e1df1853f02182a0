//! Converts outcomes and refusals to responses.

use crate::contract::{
    AcquireResponse, CheckedAcquire, Duplicate, GaveUp, Granted, Overlap, Queued, Skipped,
};
use crate::error::Error;
use lockstep_core::domain::{HolderId, Outcome, Refusal};

/// Returns the response to a caller that has a permit, waits in the queue, or gave up waiting.
pub(super) fn held(
    request: &CheckedAcquire,
    table: &str,
    outcome: Outcome,
    freed: Option<HolderId>,
) -> AcquireResponse {
    let (lock, holder) = (&request.lock, &request.acquire.terms.holder);
    match outcome {
        Outcome::Granted { lease } => AcquireResponse::Granted(Granted {
            taken_from: freed.map(|holder| holder.to_string()),
            ..Granted::of(lock, holder, &lease, table)
        }),
        Outcome::AlreadyHeld { lease } => {
            AcquireResponse::AlreadyHeld(Granted::of(lock, holder, &lease, table))
        }
        Outcome::Queued {
            position,
            length,
            holders,
        } => AcquireResponse::Queued(Queued::of(lock, position, length, &holders)),
        Outcome::GaveUp { waiting, holders } => {
            AcquireResponse::GaveUp(GaveUp::of(lock, waiting, &holders))
        }
        other => unreachable!("an acquire never results in {other:?}"),
    }
}

/// Returns whether the answer at a paused lock is `skipped`.
///
/// Returns false while an earlier attempt at the same run may hold a permit, because `skipped` would end a
/// caller's retry without a run.
pub(super) fn is_skipped_paused(request: &CheckedAcquire, refusal: &Refusal) -> bool {
    let Refusal::Paused { holders, .. } = refusal else {
        return false;
    };
    let terms = &request.acquire.terms;
    let mut holders = holders.iter();
    let is_retry =
        holders.any(|(holder, lease)| *holder == terms.holder || terms.may_be_retry_of(lease));
    request.skips_paused && !is_retry
}

/// Returns the refusal of a request with `mayWait`, which a request from a waiting state follows. Other
/// `permits` than those of the lock do not refuse it, because the second request waits until the lock has no
/// holder.
fn held_if_permits_mismatch(request: &CheckedAcquire, refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::PermitsMismatch { has, holders, .. } if request.may_wait => Refusal::Held {
            holders,
            permits: has,
            waiting: 0,
        },
        refusal => refusal,
    }
}

/// Returns whether the caller's workflow enters its waiting state after this refusal. The response to the refusal
/// is then `skipped`.
pub(super) fn goes_on_to_wait(request: &CheckedAcquire, refusal: &Refusal) -> bool {
    let is_skipped = request.overlap == Overlap::Skip;
    match refusal {
        Refusal::PermitsMismatch { .. } | Refusal::TooSoon { .. } => request.may_wait,
        Refusal::Held { .. } => {
            let ending = refusal.should_wait_for_ending_holder(&request.acquire.terms);
            request.may_wait || is_skipped && request.wait_for_ending && ending
        }
        _ => false,
    }
}

/// Returns the response to a caller that is refused: a response or an error, by the policies of the request.
pub(super) fn refused(
    request: &CheckedAcquire,
    refusal: Refusal,
) -> Result<AcquireResponse, Error> {
    let lock = &request.lock;
    let refusal = held_if_permits_mismatch(request, refusal);
    let is_skipped = is_skipped_paused(request, &refusal);
    let ending = refusal.should_wait_for_ending_holder(&request.acquire.terms);
    match (refusal, request.overlap) {
        // With every overlap policy: the tick is done or under way, so this start has not failed.
        (Refusal::Duplicate { run_key, run }, _) => Ok(AcquireResponse::Duplicate(Duplicate::of(
            lock, &run_key, &run,
        ))),
        (
            Refusal::Held {
                holders, waiting, ..
            },
            Overlap::Skip,
        ) => Ok(AcquireResponse::Skipped(Skipped::full(
            lock, waiting, &holders, ending,
        ))),
        (
            Refusal::Paused {
                note,
                until,
                waiting,
                holders,
            },
            _,
        ) if is_skipped => Ok(AcquireResponse::Skipped(Skipped::paused(
            lock, waiting, &holders, &note, until,
        ))),
        (
            Refusal::QueueFull {
                most,
                waiting,
                holders,
            },
            _,
        ) if request.skips_full_queue => Ok(AcquireResponse::Skipped(Skipped::queue_full(
            lock, most, waiting, &holders,
        ))),
        (Refusal::TooSoon { not_before }, Overlap::Skip) => {
            Ok(AcquireResponse::Skipped(Skipped::resting(lock, not_before)))
        }
        (refusal, _) => Err(Error::of_refusal(lock, refusal)),
    }
}
