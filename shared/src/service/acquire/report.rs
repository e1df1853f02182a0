//! Logs, metrics and events of a call of acquire-lock.
//!
//! A start is counted once, with its final answer. A run that is refused and then waits is neither skipped
//! nor failed yet: its definition asks a second time (`mayWait`).
//!
//! Nothing in this module can fail a call. The decision is written already, and a caller that got no answer
//! because of a metric would only ask again.

use super::answer::{goes_on_to_wait, is_skipped_paused};
use crate::contract::{AcquireResponse, CheckedAcquire, Overlap};
use crate::events::Events;
use crate::service::alerts::About;
use crate::service::{Deps, Ports};
use crate::telemetry::Metric;
use lockstep_core::domain::{FencingToken, LockKey, Refusal, Timestamp};

/// Reports a refusal.
///
/// A refusal that skips the run, or fails it at a full queue, becomes an event. Any other refusal that fails
/// the run is seen in its execution, by the alarms on failed executions.
pub(super) async fn refusal<P: Ports>(
    deps: &Deps<P>,
    request: &CheckedAcquire,
    refusal: &Refusal,
    now: Timestamp,
) {
    let skips_full_queue = request.skips_full_queue;
    if matches!(refusal, Refusal::QueueFull { .. }) && !skips_full_queue {
        let full = [(Metric::QueueFull, 1.0)];
        deps.metrics.report(&request.lock, now, &full);
    }
    // A run that waits is not skipped. A run that fails is reported by its workflow.
    let waits = request.acquire.task_token.is_some() || goes_on_to_wait(request, refusal);
    let fails = request.overlap == Overlap::Fail;
    let goes_on = match refusal {
        Refusal::Held { .. } | Refusal::TooSoon { .. } => waits || fails,
        Refusal::Paused { .. } => !is_skipped_paused(request, refusal),
        _ => false,
    };
    if goes_on {
        return;
    }
    if let Some(event) = about(request, now).skipped_or_queue_full(refusal, skips_full_queue) {
        deps.events.publish(vec![event]).await;
    }
}

/// Reports a response.
///
/// A skip at a paused lock counts even with `mayWait`, because the definition does not wait after it.
pub(super) async fn response<P: Ports>(
    deps: &Deps<P>,
    request: &CheckedAcquire,
    response: &AcquireResponse,
    now: Timestamp,
) {
    let (lock, holder) = (&request.lock, &request.acquire.terms.holder);
    let goes_on = match response {
        AcquireResponse::Skipped(skipped) if skipped.paused => false,
        AcquireResponse::Skipped(skipped) => {
            request.may_wait || request.wait_for_ending && skipped.ending
        }
        _ => false,
    };
    if !goes_on {
        deps.metrics.report(lock, now, &metrics(response));
    }
    log(lock, holder.as_str(), response);
    if let AcquireResponse::Granted(granted) = response {
        let token = u64::try_from(granted.grant.token).ok();
        let about = About {
            token: token.map(FencingToken::from_number),
            ..about(request, now)
        };
        deps.publish_run(Some(about.started())).await;
    }
    if let AcquireResponse::GaveUp(answer) = response {
        let event = about(request, now).wait_given_up(&answer.message);
        deps.events.publish(vec![event]).await;
    }
}

/// Returns the subject of an event about the caller, without a fencing token.
fn about(request: &CheckedAcquire, at: Timestamp) -> About<'_> {
    About {
        lock: &request.lock,
        holder: &request.acquire.terms.holder,
        token: None,
        at,
    }
}

/// Returns the metrics of `response`. There are none for an earlier grant, because the call that made the
/// grant has counted it.
fn metrics(response: &AcquireResponse) -> Vec<(Metric, f64)> {
    let one = |metric| vec![(metric, 1.0)];
    match response {
        AcquireResponse::Granted(granted) => {
            let freed = granted.taken_from.iter().map(|_| (Metric::Recovered, 1.0));
            one(Metric::Acquired).into_iter().chain(freed).collect()
        }
        AcquireResponse::AlreadyHeld(_) | AcquireResponse::Finished(_) => vec![],
        AcquireResponse::Skipped(_) => one(Metric::Skipped),
        AcquireResponse::Duplicate(_) => one(Metric::Duplicate),
        AcquireResponse::Queued(queued) => {
            let length = u32::try_from(queued.queue_length).map_or(f64::MAX, f64::from);
            vec![(Metric::Queued, 1.0), (Metric::QueueLength, length)]
        }
        AcquireResponse::GaveUp(_) => one(Metric::GaveUp),
    }
}

fn log(lock: &LockKey, holder: &str, response: &AcquireResponse) {
    match response {
        AcquireResponse::Granted(granted) => {
            let taken_from = granted.taken_from.as_deref();
            tracing::info!(event = "granted", %lock, holder, token = granted.grant.token, taken_from, "granted");
        }
        AcquireResponse::AlreadyHeld(granted) => {
            tracing::info!(event = "already_held", %lock, holder, token = granted.grant.token, "already held");
        }
        AcquireResponse::Skipped(skipped) => {
            let held_by = skipped.oldest.holder.as_deref();
            tracing::info!(event = "skipped", %lock, holder, held_by, reason = skipped.message, "skipped");
        }
        AcquireResponse::Duplicate(duplicate) => {
            let (run_key, by) = (&duplicate.run_key, &duplicate.holder);
            tracing::info!(event = "duplicate", %lock, holder, run_key, by, token = duplicate.token, "duplicate");
        }
        AcquireResponse::Queued(queued) => {
            let (position, queue_length) = (queued.position, queued.queue_length);
            tracing::info!(event = "queued", %lock, holder, position, queue_length, "queued");
        }
        AcquireResponse::GaveUp(answer) => {
            tracing::info!(event = "wait_given_up", %lock, holder, reason = answer.message, "gave up");
        }
        AcquireResponse::Finished(answer) => {
            tracing::info!(event = "finished", %lock, holder, reason = answer.message, "finished");
        }
    }
}
