//! release-lock: releases a permit, ends the state that renewed its lease, and hands the permit over to the
//! next waiter.
//!
//! Nothing after the write undoes it. A step that fails after the write is repeated by a second release or by
//! the sweep. Only one such step fails the call: if a success cannot end its heartbeat state, because the
//! workflow ends only when its heartbeat state ends. Step Functions then retries the call, and the history
//! keeps the task token that the retry needs. A repeated release is counted once, with its first call.
//!
//! ```text
//!  Released   the permit is free, or has passed to the next waiter
//!  Ending     the work is being stopped (`stopping`): the permit stays held until the work has stopped
//!  Lost       the caller no longer held the permit: no error, because its work has ended anyway
//! ```

use super::alerts::About;
use super::failed::Ended;
use super::{Deps, Ports};
use crate::clock::CallTime;
use crate::contract::{CheckedRelease, ReleaseRequest, ReleaseResponse};
use crate::error::Error;
use crate::events::Events;
use crate::telemetry::Metric;
use lockstep_core::domain::{Command, Outcome, RunOutcome, Seconds, Timestamp};
use serde_json::Value;
use std::time::Duration;

/// How long after a success a release fails if the heartbeat state still waits. After that, Step Functions
/// has given no answer for two minutes: the release succeeds, and the state ends at its own next heartbeat.
const STATE_RETRY_TIME: Seconds = Seconds::of(120);

/// Checks the JSON `event` and handles it.
///
/// # Errors
/// As [`run`], and `Lockstep.InvalidRequest`.
pub async fn handle<P: Ports>(deps: &Deps<P>, event: Value) -> Result<ReleaseResponse, Error> {
    run(deps, ReleaseRequest::read(event, deps.retention)?).await
}

/// Handles one request. A second release of the same grant changes nothing.
///
/// The permit becomes free first. Then the heartbeat state ends, waiters are woken, and the task's protection
/// ends.
///
/// # Errors
/// `Lockstep.Contended`, `Unavailable`, `Denied`, `Corrupt`. `Unavailable` also if the permit is free, but
/// SendTaskSuccess for the heartbeat state gave no answer, in the first two minutes after a success.
pub async fn run<P: Ports>(
    deps: &Deps<P>,
    request: CheckedRelease,
) -> Result<ReleaseResponse, Error> {
    let CheckedRelease {
        lock,
        holder,
        token,
        command,
        protect,
        run_key,
        failure,
    } = request;
    let time = CallTime::start(deps.clock());
    let ended = match &command {
        Command::Release(release) => release.outcome,
        _ => RunOutcome::Failed,
    };
    let outcome = deps.execute_in_call(&time, &lock, &command).await?;
    let (outcome, state) = outcome.map_err(|error| Error::of_command(&lock, error))?;
    // The protection also ends for a run that had lost its permit, because its work has ended.
    let protection = match &protect {
        Some(task) => Some(deps.protection(&time, &lock).end(task).await),
        None => None,
    };
    match outcome {
        Outcome::Released {
            since,
            at,
            already,
            evicted,
        } => {
            let held_seconds = Duration::from_millis(at.millis_since(since)).as_secs_f64();
            if !already {
                let run = Ended {
                    lock: &lock,
                    holder: &holder,
                    token,
                    run_key,
                    failure,
                    took_ms: at.millis_since(since),
                };
                report_end(deps, &time, ended, &run, at).await;
                publish_eviction(deps, &run, evicted, at).await;
            }
            tracing::info!(event = "released", %lock, %holder, %token, held_seconds, already, "released");
            if state.is_err() && waits_for_state(ended, at, deps.now()) {
                return Err(Error::state_waits(&lock, &holder));
            }
            Ok(ReleaseResponse::Released {
                held_seconds,
                already_released: already,
                protection,
            })
        }
        Outcome::Done => {
            tracing::info!(event = "ending", %lock, %holder, %token, "ending");
            Ok(ReleaseResponse::Ending { protection })
        }
        Outcome::Lost { holders } => {
            tracing::warn!(event = "lease_already_lost", %lock, %holder, %token, "lease already lost at release");
            let holders = holders
                .iter()
                .map(|(holder, _)| holder.to_string())
                .collect();
            Ok(ReleaseResponse::Lost {
                holders,
                protection,
            })
        }
        other => unreachable!("a release never results in {other:?}"),
    }
}

/// Returns whether the caller must repeat the release of a run that ended with `outcome` at `at`, until its
/// heartbeat state has ended. After a failure the execution fails, and that ends its heartbeat state.
fn waits_for_state(outcome: RunOutcome, at: Timestamp, now: Timestamp) -> bool {
    outcome == RunOutcome::Succeeded && now < at.plus(STATE_RETRY_TIME)
}

/// Returns the metrics of a run that ended with `outcome` after `held_seconds`.
fn measured(outcome: RunOutcome, held_seconds: f64) -> Vec<(Metric, f64)> {
    let mut values = vec![(Metric::Released, 1.0), (Metric::HeldSeconds, held_seconds)];
    match outcome {
        RunOutcome::Succeeded => {
            values.extend([(Metric::Succeeded, 1.0), (Metric::RunSeconds, held_seconds)]);
        }
        _ => values.push((Metric::Failed, 1.0)),
    }
    values
}

/// Publishes the eviction of a holder that released its permit before Lockstep saw its end. `reason` is the
/// reason of the eviction; without one the holder was not evicted.
async fn publish_eviction<P: Ports>(
    deps: &Deps<P>,
    run: &Ended<'_>,
    reason: Option<String>,
    at: Timestamp,
) {
    if let Some(reason) = reason {
        let event = about(run, at).freed(RunOutcome::Evicted, &reason);
        deps.events.publish(vec![event]).await;
    }
}

/// Counts the end of a run, and publishes its event.
async fn report_end<P: Ports>(
    deps: &Deps<P>,
    time: &CallTime<'_, P::Clock>,
    outcome: RunOutcome,
    run: &Ended<'_>,
    at: Timestamp,
) {
    let held_seconds = Duration::from_millis(run.took_ms).as_secs_f64();
    let values = measured(outcome, held_seconds);
    deps.metrics.report(run.lock, at, &values);
    let about = about(run, at);
    let failed = match outcome {
        RunOutcome::Failed => deps.describe_failed(time, run).await,
        _ => None,
    };
    let event = match failed {
        Some(failed) => Some(about.failed(failed)),
        None => about.ended(outcome, "the run reported its end"),
    };
    deps.publish_run(event).await;
}

fn about<'a>(run: &'a Ended<'_>, at: Timestamp) -> About<'a> {
    About {
        lock: run.lock,
        holder: run.holder,
        token: Some(run.token),
        at,
    }
}
