//! release-lock: give a permit back, end the state that kept its lease, let the next waiter in.

use lockstep::clock::Clock;
use lockstep::contract::{CheckedRelease, ReleaseRequest, ReleaseResponse};
use lockstep::domain::Outcome;
use lockstep::error::Error;
use lockstep::events::Events;
use lockstep::executions::Executions;
use lockstep::followup::FollowUp;
use lockstep::protection;
use lockstep::store::LockStore;
use lockstep::tasks::Tasks;
use lockstep::telemetry::{Metric, MetricSink, Metrics};
use serde_json::Value;
use std::time::Duration;

/// What the handler works with, built once before the first event.
#[derive(Debug)]
pub struct Deps<S, C, E, T, V, K> {
    /// The protocol, and what is done after a commit.
    pub follow: FollowUp<S, C, E, V>,
    /// Where a task is protected no longer.
    pub tasks: T,
    /// Where metrics go.
    pub metrics: Metrics<K>,
}

/// Answers one request. Releasing twice is harmless.
///
/// The permit is free by the time that states are ended, waiters woken and a task protected no
/// longer, so what fails there is no reason to fail the release.
///
/// # Errors
/// `Lockstep.InvalidRequest`, `Contended`, `Unavailable`, `Denied`, `Corrupt`.
pub async fn handle<S: LockStore, C: Clock, E: Executions, T: Tasks, V: Events, K: MetricSink>(
    deps: &Deps<S, C, E, T, V, K>,
    event: Value,
) -> Result<ReleaseResponse, Error> {
    let CheckedRelease {
        lock,
        holder,
        token,
        command,
        protect,
    } = ReleaseRequest::read(event, deps.follow.retention)?;
    let done = deps.follow.protocol.execute(&lock, &command).await;
    let done = done.map_err(|error| Error::of_command(&lock, error))?;
    deps.follow.perform(&lock, done.effects).await;
    // Also of a run that had lost its permit: its work is over.
    let protection = match &protect {
        Some(task) => Some(protection::unprotect(&deps.tasks, &lock, task).await),
        None => None,
    };
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
                protection,
            })
        }
        Outcome::Done => {
            tracing::info!(%lock, %holder, %token, "ending");
            Ok(ReleaseResponse::Ending { protection })
        }
        Outcome::Lost { holders } => {
            tracing::warn!(%lock, %holder, %token, "lease already lost at release");
            let holders = holders
                .iter()
                .map(|(holder, _)| holder.to_string())
                .collect();
            Ok(ReleaseResponse::Lost {
                holders,
                protection,
            })
        }
        other => unreachable!("a release never comes to {other:?}"),
    }
}
