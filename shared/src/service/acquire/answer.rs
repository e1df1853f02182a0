//! Outcomes and refusals as responses.

use crate::contract::{
    AcquireResponse, CheckedAcquire, Duplicate, GaveUp, Granted, Overlap, Queued, Skipped,
};
use crate::error::Error;
use lockstep_core::domain::{HolderId, Outcome, Refusal};

/// The response to a caller that has a permit or a place in the queue.
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

/// Whether the refusal of a paused lock is answered with `skipped`. While an earlier attempt at the same run
/// may hold a permit, it is not: a caller's retry would end without a run.
pub(super) fn is_skipped_paused(request: &CheckedAcquire, refusal: &Refusal) -> bool {
    let Refusal::Paused { holders, .. } = refusal else {
        return false;
    };
    let terms = &request.acquire.terms;
    let mut holders = holders.iter();
    let is_retry =
        holders.any(|(holder, lease)| *holder == terms.holder || terms.may_repeat(lease));
    request.skips_paused && !is_retry
}

/// The refusal of a request that a waiting one follows (`mayWait`): a run that waits for another capacity is not
/// refused.
fn first_step(request: &CheckedAcquire, refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::PermitsMismatch { has, holders, .. } if request.may_wait => Refusal::Held {
            holders,
            permits: has,
            waiting: 0,
        },
        refusal => refusal,
    }
}

/// The response to a caller that is refused: data or an error, according to the overlap policy.
pub(super) fn refused(
    request: &CheckedAcquire,
    refusal: Refusal,
) -> Result<AcquireResponse, Error> {
    let lock = &request.lock;
    let refusal = first_step(request, refusal);
    let is_skipped = is_skipped_paused(request, &refusal);
    let ending = refusal.frees_a_permit(&request.acquire.terms);
    match (refusal, request.overlap) {
        // Whatever the overlap policy: the tick is done or under way, which is no failure of this
        // start.
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
