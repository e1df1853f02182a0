//! reaper: find dead holders by the events of ECS and Step Functions and in a sweep, and free
//! their permits on evidence.

mod sweep;
mod tend;

use lockstep::clock::Clock;
use lockstep::contract::Trigger;
use lockstep::domain::Seconds;
use lockstep::error::Error;
use lockstep::events::Events;
use lockstep::executions::{ExecutionState, Executions};
use lockstep::recovery::Caretaker;
use lockstep::store::LockStore;
use lockstep::tasks::Tasks;
use lockstep::telemetry::{MetricSink, Metrics};
use serde::Serialize;
use serde_json::Value;

/// What the handler works with, built once before the first event.
#[derive(Debug)]
pub struct Deps<S, C, E, T, V, K> {
    /// The protocol, and what is done about holders.
    pub caretaker: Caretaker<S, C, E, T, V>,
    /// Where metrics go.
    pub metrics: Metrics<K>,
}

/// What an invocation came to, for whoever reads the log or calls by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Locks that were checked.
    pub locks: usize,
    /// Holders that were checked.
    pub holders: usize,
    /// Permits that were freed.
    pub freed: usize,
    /// Locks that could not be checked; the next sweep tries again.
    pub failed: usize,
    /// Whether locks are left for the next sweep.
    pub more: bool,
    /// After how long the evidence is settled, where it was not.
    #[serde(skip)]
    pub(crate) settles_in: Option<Seconds>,
    /// Why nothing was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored: Option<String>,
}

/// Handles one event.
///
/// # Errors
/// `Lockstep.InvalidRequest` for an event that is none of ours; `Contended`, `Unavailable`,
/// `Denied`, `Corrupt` where an event could not be dealt with: Lambda tries again, and the sweep
/// comes anyway.
pub async fn handle<S: LockStore, C: Clock, E: Executions, T: Tasks, V: Events, K: MetricSink>(
    deps: &Deps<S, C, E, T, V, K>,
    event: Value,
) -> Result<Report, Error> {
    let report = match Trigger::read(event)? {
        Trigger::Sweep => deps.sweep().await?,
        Trigger::TaskChanged {
            lock,
            holder_hash,
            task,
            token,
            ..
        } if task.stopped => deps.task_stopped(&lock, &holder_hash, &task, token).await?,
        Trigger::TaskChanged { .. } => ignored("the task has not stopped"),
        Trigger::ExecutionChanged {
            execution,
            seen,
            lock,
        } => match (seen.state, lock) {
            (ExecutionState::Running, _) => ignored("the execution has not ended"),
            (ExecutionState::Ended(end), Some(lock)) => {
                deps.execution_ended(&lock, &execution, end, seen).await?
            }
            (ExecutionState::Ended(_), None) => ignored(
                "the execution's input names no lock; the sweep finds what it may have held",
            ),
        },
        Trigger::HandedOver { lock } => Report {
            locks: 1,
            ..deps.tend(&lock).await?
        },
        Trigger::SentAway {
            lock,
            waiter,
            task_token,
            run_key,
        } => deps.sent_away(&lock, &waiter, &task_token, run_key).await?,
        Trigger::Ignored { reason } => ignored(&reason),
    };
    tracing::info!(?report, "done");
    Ok(report)
}

fn ignored(reason: &str) -> Report {
    Report {
        ignored: Some(reason.to_owned()),
        ..Report::default()
    }
}
