//! heartbeat: renews a lease, or fails because it is lost.
//!
//! Most calls are one request: the renewal is written without a read. What a workflow does after each answer:
//!
//! ```text
//!  LeaseLost ───────▶ the Parallel fails, and Step Functions stops the work
//!  Ended ───────────▶ the heartbeat state ends without an error, and the work continues
//!  any other error ─▶ the heartbeat is tried again, and the work continues
//! ```

use super::alerts::About;
use super::{DECISION_END, Deps, PROTECTION_END, Ports};
use crate::clock::CallTime;
use crate::contract::{CheckedHeartbeat, HeartbeatRequest, HeartbeatResponse};
use crate::error::Error;
use crate::events::Events;
use crate::executions::Executions;
use crate::telemetry::Metric;
use lockstep_core::domain::{LockKey, Outcome, Renew, TaskToken, Timestamp, rfc3339};
use lockstep_core::protocol::ProtocolError;
use serde_json::Value;

/// Checks the JSON `event` and handles it.
///
/// # Errors
/// As [`run`], and `Lockstep.InvalidRequest`.
pub async fn handle<P: Ports>(deps: &Deps<P>, event: Value) -> Result<HeartbeatResponse, Error> {
    run(deps, HeartbeatRequest::read(event, deps.retention)?).await
}

/// Handles one request.
///
/// # Errors
/// `Lockstep.LeaseLost` when the lease is gone, or the run is stale and its policy is to terminate;
/// `Contended`, `Unavailable`, `Denied`, `Corrupt`.
pub async fn run<P: Ports>(
    deps: &Deps<P>,
    mut request: CheckedHeartbeat,
) -> Result<HeartbeatResponse, Error> {
    let time = CallTime::start(deps.clock());
    if let Some(token) = &mut request.renew.beat {
        let sealed = deps.executions.seal(&request.lock, token);
        *token = time.until(DECISION_END, sealed).await??;
    }
    let CheckedHeartbeat { lock, renew, .. } = &request;
    let command = renew.clone().into();
    let result = deps.execute_in_call(&time, lock, &command).await?;
    let now = deps.now();
    let (outcome, state) = match result {
        Ok(performed) => performed,
        Err(error) => {
            let refused = matches!(error, ProtocolError::Refused(_));
            let error = Error::of_command(lock, error);
            // Only a refusal means that the lease is lost. If the table gives no answer, the lease may be
            // live.
            if refused {
                report_lost(deps, lock, renew, error.message(), now).await;
            }
            return Err(error);
        }
    };
    let (holder, token) = (&renew.holder, renew.token);
    match outcome {
        Outcome::Renewed { expires_at } => {
            Ok(renewed(deps, &request, &time, (expires_at, now)).await)
        }
        Outcome::Reinstated { expires_at } => {
            tracing::warn!(event = "reinstated", %lock, %holder, %token, "the execution was redriven: its grant is reinstated");
            Ok(renewed(deps, &request, &time, (expires_at, now)).await)
        }
        // The lock grants no permit to others. The holder keeps its permit and goes on renewing.
        Outcome::Frozen { note, expires_at } => {
            let event = about(lock, renew, now).frozen(&note);
            deps.events.publish(vec![event]).await;
            Ok(renewed(deps, &request, &time, (expires_at, now)).await)
        }
        Outcome::Yielded { evidence } => {
            report_lost(deps, lock, renew, &evidence, now).await;
            // After this error Step Functions calls again, and that call ends the heartbeat state.
            state.map_err(|_| Error::state_waits(lock, holder))?;
            Ok(HeartbeatResponse::Ended)
        }
        Outcome::Ended => {
            tracing::info!(event = "already_released", %lock, %holder, %token, "no lease left to renew");
            let ended = end_own_state(&deps.executions, lock, renew.beat.as_ref());
            // After a failure Step Functions calls again, and that call ends the heartbeat state.
            time.until(PROTECTION_END, ended).await??;
            Ok(HeartbeatResponse::Ended)
        }
        other => unreachable!("a heartbeat never results in {other:?}"),
    }
}

/// Reports the renewal, and protects the task until the lease ends.
///
/// Protection comes last and never fails the heartbeat: after an error the caller would renew again a lease
/// that is already renewed.
async fn renewed<P: Ports>(
    deps: &Deps<P>,
    request: &CheckedHeartbeat,
    time: &CallTime<'_, P::Clock>,
    (end, now): (Timestamp, Timestamp),
) -> HeartbeatResponse {
    let CheckedHeartbeat { lock, renew, .. } = request;
    let Renew { holder, token, .. } = renew;
    let expires_at = rfc3339(end);
    deps.metrics.report(lock, now, &[(Metric::Renewed, 1.0)]);
    tracing::info!(event = "renewed", %lock, %holder, %token, expires_at, "renewed");
    let protection = match &request.protect {
        Some(task) => Some(deps.protection(time, lock).renew(task, end, now).await),
        None => None,
    };
    HeartbeatResponse::Renewed {
        expires_at,
        protection,
    }
}

/// Reports that a run has lost its lease.
pub(super) async fn report_lost<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    renew: &Renew,
    reason: &str,
    now: Timestamp,
) {
    let (holder, token) = (&renew.holder, renew.token);
    deps.metrics.report(lock, now, &[(Metric::LeaseLost, 1.0)]);
    tracing::warn!(event = "lease_lost", %lock, %holder, %token, reason, "lease lost");
    let event = about(lock, renew, now).lease_lost(reason);
    deps.events.publish(vec![event]).await;
}

fn about<'a>(lock: &'a LockKey, renew: &'a Renew, at: Timestamp) -> About<'a> {
    About {
        lock,
        holder: &renew.holder,
        token: Some(renew.token),
        at,
    }
}

/// Ends the state that sent this heartbeat, if it has a task token.
///
/// A release at the same time does not have the task token of this state. If the heartbeat did not end its
/// own state, the workflow would wait for one more heartbeat's time.
async fn end_own_state<E: Executions>(
    executions: &E,
    lock: &LockKey,
    beat: Option<&TaskToken>,
) -> Result<(), Error> {
    let Some(beat) = beat else { return Ok(()) };
    executions.end_state(lock, beat, "{}").await?;
    Ok(())
}
