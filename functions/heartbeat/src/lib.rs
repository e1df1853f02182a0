//! heartbeat: move the end of a lease forward, or say that it is lost.

use lockstep::clock::Clock;
use lockstep::contract::{HeartbeatRequest, HeartbeatResponse, rfc3339};
use lockstep::domain::{Outcome, TaskToken};
use lockstep::error::Error;
use lockstep::executions::Executions;
use lockstep::protocol::{Protocol, ProtocolError};
use lockstep::store::LockStore;
use lockstep::telemetry::{Metric, MetricSink, Metrics};
use serde_json::Value;

/// What the handler works with, built once before the first event.
#[derive(Debug)]
pub struct Deps<S, C, E, K> {
    /// The protocol on the lock table.
    pub protocol: Protocol<S, C>,
    /// Where the heartbeat state is ended.
    pub executions: E,
    /// Where metrics go.
    pub metrics: Metrics<K>,
}

/// Answers one request.
///
/// # Errors
/// `Lockstep.LeaseLost` when the lease is gone or the run is over time; `InvalidRequest`,
/// `Contended`, `Unavailable`, `Denied`, `Corrupt`.
pub async fn handle<S: LockStore, C: Clock, E: Executions, K: MetricSink>(
    deps: &Deps<S, C, E, K>,
    event: Value,
) -> Result<HeartbeatResponse, Error> {
    let (lock, renew) = HeartbeatRequest::read(event)?;
    let (holder, token, beat) = (renew.holder.clone(), renew.token, renew.beat.clone());
    let result = deps.protocol.execute(&lock, &renew.into()).await;
    let report = |metric| {
        deps.metrics
            .report(&lock, deps.protocol.clock().now(), &[(metric, 1.0)])
    };
    match result {
        Ok(done) => match done.outcome {
            Outcome::Renewed { expires_at } => {
                report(Metric::Renewed);
                let expires_at = rfc3339(expires_at);
                tracing::info!(%lock, %holder, %token, expires_at, "renewed");
                Ok(HeartbeatResponse::Renewed { expires_at })
            }
            _ => {
                tracing::info!(%lock, %holder, %token, "already released");
                end_own_state(&deps.executions, beat.as_ref()).await?;
                Ok(HeartbeatResponse::Ended)
            }
        },
        Err(error) => {
            if matches!(error, ProtocolError::Refused(_)) {
                report(Metric::LeaseLost);
                tracing::warn!(%lock, %holder, %token, "lease lost");
            }
            Err(Error::of_command(&lock, error))
        }
    }
}

/// A beat that was under way while the run was released began a state that the release could not
/// know of. It ends that state itself, or the workflow would wait for one more interval.
async fn end_own_state<E: Executions>(
    executions: &E,
    beat: Option<&TaskToken>,
) -> Result<(), Error> {
    let Some(beat) = beat else { return Ok(()) };
    executions.end_state(beat).await?;
    Ok(())
}
