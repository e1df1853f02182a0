//! release-lock: give a permit back and end the state that kept its lease.

use lockstep::clock::Clock;
use lockstep::contract::{ReleaseRequest, ReleaseResponse};
use lockstep::domain::{Effect, LockKey, Outcome, Seconds};
use lockstep::error::Error;
use lockstep::executions::Executions;
use lockstep::protocol::Protocol;
use lockstep::store::LockStore;
use lockstep::telemetry::{Metric, MetricSink, Metrics};
use serde_json::Value;
use std::time::Duration;

/// What the handler works with, built once before the first event.
#[derive(Debug)]
pub struct Deps<S, C, E, K> {
    /// The protocol on the lock table.
    pub protocol: Protocol<S, C>,
    /// Where the heartbeat state is ended.
    pub executions: E,
    /// Where metrics go.
    pub metrics: Metrics<K>,
    /// How long an ended run is remembered.
    pub run_retention: Seconds,
}

/// Answers one request. Releasing twice is harmless.
///
/// # Errors
/// `Lockstep.InvalidRequest`, `Contended`, `Unavailable`, `Denied`, `Corrupt`.
pub async fn handle<S: LockStore, C: Clock, E: Executions, K: MetricSink>(
    deps: &Deps<S, C, E, K>,
    event: Value,
) -> Result<ReleaseResponse, Error> {
    let (lock, release) = ReleaseRequest::read(event, deps.run_retention)?;
    let (holder, token) = (release.holder.clone(), release.token);
    let done = deps.protocol.execute(&lock, &release.into()).await;
    let done = done.map_err(|error| Error::of_command(&lock, error))?;
    for effect in &done.effects {
        perform(&deps.executions, &lock, effect).await;
    }
    match done.outcome {
        Outcome::Released { since, at, already } => {
            let held_seconds = Duration::from_millis(at.millis_since(since)).as_secs_f64();
            if !already {
                let values = [(Metric::Released, 1.0), (Metric::HeldSeconds, held_seconds)];
                deps.metrics.report(&lock, at, &values);
            }
            tracing::info!(%lock, %holder, %token, held_seconds, already, "released");
            Ok(ReleaseResponse::Released {
                held_seconds,
                already_released: already,
            })
        }
        Outcome::Lost { holders } => {
            tracing::warn!(%lock, %holder, %token, "not the holder any more; nothing changed");
            let holders = holders
                .iter()
                .map(|(holder, _)| holder.to_string())
                .collect();
            Ok(ReleaseResponse::Lost { holders })
        }
        other => unreachable!("a release never comes to {other:?}"),
    }
}

/// The permit is free by now, so an effect that fails is no reason to fail the release: the
/// heartbeat state ends itself at its next beat.
async fn perform<E: Executions>(executions: &E, lock: &LockKey, effect: &Effect) {
    let Effect::EndHeartbeat(beat) = effect;
    match executions.end_state(beat).await {
        Ok(true) => {}
        Ok(false) => tracing::info!(%lock, "the heartbeat state had ended before"),
        Err(error) => tracing::warn!(%lock, %error, "the heartbeat state could not be ended"),
    }
}
