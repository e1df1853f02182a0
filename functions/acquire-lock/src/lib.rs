//! acquire-lock: take a permit, or say who has it.

mod answer;

use lockstep::clock::Clock;
use lockstep::contract::{AcquireRequest, AcquireResponse};
use lockstep::domain::{LockKey, Seconds};
use lockstep::error::Error;
use lockstep::protocol::{Protocol, ProtocolError};
use lockstep::store::LockStore;
use lockstep::telemetry::{Metric, MetricSink, Metrics};
use serde_json::Value;

/// What the handler works with, built once before the first event.
#[derive(Debug)]
pub struct Deps<S, C, K> {
    /// The protocol on the lock table.
    pub protocol: Protocol<S, C>,
    /// Where metrics go.
    pub metrics: Metrics<K>,
    /// Name of the lock table, for the container that wants to check its lease.
    pub table: String,
    /// How long an ended run is remembered.
    pub run_retention: Seconds,
}

/// Answers one request.
///
/// # Errors
/// `Lockstep.InvalidRequest`, `LockHeld`, `PermitsMismatch`, `LockPaused`, `LockFrozen`,
/// `Contended`, `Unavailable`, `Denied`, `Corrupt`.
pub async fn handle<S: LockStore, C: Clock, K: MetricSink>(
    deps: &Deps<S, C, K>,
    event: Value,
) -> Result<AcquireResponse, Error> {
    let request = AcquireRequest::read(event, deps.run_retention)?;
    let response = match deps
        .protocol
        .execute(&request.lock, &request.command())
        .await
    {
        Ok(done) => answer::held(&request, &deps.table, done.outcome),
        Err(ProtocolError::Refused(refusal)) => answer::refused(&request, refusal)?,
        Err(error) => return Err(Error::of_command(&request.lock, error)),
    };
    let now = deps.protocol.clock().now();
    deps.metrics.report(&request.lock, now, &metrics(&response));
    log(&request.lock, request.acquire.holder.as_str(), &response);
    Ok(response)
}

fn metrics(response: &AcquireResponse) -> Vec<(Metric, f64)> {
    match response {
        AcquireResponse::Granted(granted) => {
            let taken = granted.taken_from.iter().map(|_| (Metric::TakenOver, 1.0));
            std::iter::once((Metric::Acquired, 1.0))
                .chain(taken)
                .collect()
        }
        AcquireResponse::AlreadyHeld(_) => vec![],
        AcquireResponse::Skipped(_) => vec![(Metric::Skipped, 1.0)],
        AcquireResponse::Duplicate(_) => vec![(Metric::Duplicate, 1.0)],
    }
}

fn log(lock: &LockKey, holder: &str, response: &AcquireResponse) {
    match response {
        AcquireResponse::Granted(granted) => {
            let taken_from = granted.taken_from.as_deref();
            tracing::info!(%lock, holder, token = granted.grant.token, taken_from, "granted");
        }
        AcquireResponse::AlreadyHeld(granted) => {
            tracing::info!(%lock, holder, token = granted.grant.token, "already held");
        }
        AcquireResponse::Skipped(skipped) => {
            let held_by = skipped.holder.as_deref();
            tracing::info!(%lock, holder, held_by, reason = skipped.message, "skipped");
        }
        AcquireResponse::Duplicate(duplicate) => {
            let (run_key, by) = (&duplicate.run_key, &duplicate.holder);
            tracing::info!(%lock, holder, run_key, by, token = duplicate.token, "duplicate");
        }
    }
}
