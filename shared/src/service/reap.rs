//! reaper: finds dead holders by the events of ECS and Step Functions and in a sweep, and frees their
//! permits on evidence.
//!
//! ```text
//!  ECS: task STOPPED ──────────▶ the holder that its group names
//!  Step Functions: ended ──────▶ the lock in the execution's input; the lock whose work it was
//!  Lockstep, from containers ──▶ a waiter to be woken, or to be sent away
//!  every minute ───────────────▶ the sweep: all locks that are due
//! ```
//! Events make a recovery fast. Any event may be lost, so the sweep makes the recovery certain. An event is a
//! reason to check. It is evidence only where DescribeExecution or DescribeTasks still lags behind it.

mod lock;
mod sweep;

use self::lock::LockReaper;
use super::{Deps, Ports};
use crate::contract::Trigger;
use crate::error::Error;
use lockstep_core::domain::{
    ExecutionArn, ExecutionDescription, ExecutionEnd, ExecutionState, FencingToken, LockKey,
    Seconds,
};
use lockstep_core::recovery::ExecutionEvent;
use serde::Serialize;
use serde_json::Value;
use std::ops::AddAssign;
use std::pin::Pin;

/// How many locks, and how many holders of a lock, are checked at once, so that a slow answer does not
/// delay the others.
const AT_ONCE: usize = 8;

/// A check that has not begun yet.
type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The result of an invocation, for the log and for a call by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReapReport {
    /// Locks that were checked.
    pub locks: usize,
    /// Holders that were checked.
    pub holders: usize,
    /// Permits that were freed.
    pub freed: usize,
    /// Locks that could not be checked. The next sweep tries again.
    pub failed: usize,
    /// Whether the sweep ran out of time and left locks for the next sweep.
    pub more: bool,
    /// Time until the evidence about a holder is final, if it is not final yet.
    #[serde(skip)]
    pub(super) settles_in: Option<Seconds>,
    /// Why the event was ignored; `None` if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored: Option<String>,
}

impl AddAssign for ReapReport {
    fn add_assign(&mut self, other: Self) {
        self.locks += other.locks;
        self.holders += other.holders;
        self.freed += other.freed;
        self.failed += other.failed;
        self.more |= other.more;
        self.settles_in = self.settles_in.max(other.settles_in);
    }
}

/// Checks the JSON `event` and handles it.
///
/// # Errors
/// As [`run`], and `Lockstep.InvalidRequest` for an event that is not for the reaper.
pub async fn handle<P: Ports>(deps: &Deps<P>, event: Value) -> Result<ReapReport, Error> {
    run(deps, Trigger::read(event)?).await
}

/// Handles one event.
///
/// # Errors
/// `Lockstep.Contended`, `Unavailable`, `Denied`, `Corrupt` if a request to the table failed. Lambda retries
/// the event, and the sweep checks the lock too.
pub async fn run<P: Ports>(deps: &Deps<P>, trigger: Trigger) -> Result<ReapReport, Error> {
    let of = |lock: LockKey| LockReaper { deps, lock };
    let report = match trigger {
        Trigger::Sweep => sweep::run(deps).await?,
        Trigger::TaskChanged {
            lock,
            holder_hash,
            task,
            token,
            ..
        } if task.stopped => of(lock).task_stopped(&holder_hash, &task, token).await?,
        Trigger::TaskChanged { .. } => ignored("the task has not stopped"),
        Trigger::ExecutionChanged {
            execution,
            seen,
            lock,
            work_of,
        } => match seen.state {
            ExecutionState::Running => ignored("the execution has not ended"),
            ExecutionState::Ended(end) => {
                let ended = ExecutionEnded {
                    execution,
                    end,
                    seen,
                };
                execution_ended(deps, ended, lock, work_of).await?
            }
        },
        // Only the lock is read from the event. The waiter to wake is read from the table, so a forged event
        // leads to a check that the sweep would make anyway.
        Trigger::HandedOver { lock } => ReapReport {
            locks: 1,
            ..of(lock).check_all().await?
        },
        Trigger::SentAway {
            lock,
            waiter,
            task_token,
            run_key,
        } => of(lock).sent_away(&waiter, &task_token, run_key).await?,
        Trigger::Ignored { reason } => ignored(&reason),
    };
    tracing::info!(event = "reaped", ?report, "done");
    Ok(report)
}

/// An execution that has ended.
struct ExecutionEnded {
    execution: ExecutionArn,
    end: ExecutionEnd,
    seen: ExecutionDescription,
}

impl ExecutionEnded {
    /// Returns the end of the execution, if the event has a readable time.
    fn event(&self) -> Option<ExecutionEvent> {
        Some(ExecutionEvent {
            end: self.end,
            at: self.seen.stopped_at?,
            redrives: self.seen.redrives,
        })
    }
}

/// Checks the lock that the execution may hold, and the lock whose work the execution may be.
async fn execution_ended<P: Ports>(
    deps: &Deps<P>,
    ended: ExecutionEnded,
    lock: Option<LockKey>,
    work_of: Option<(LockKey, FencingToken)>,
) -> Result<ReapReport, Error> {
    if lock.is_none() && work_of.is_none() {
        return Ok(ignored(
            "the execution's input names no lock; the sweep checks what it may have held",
        ));
    }
    let mut report = ReapReport::default();
    if let Some((lock, token)) = work_of {
        report += LockReaper { deps, lock }.work_ended(token, &ended).await?;
    }
    if let Some(lock) = lock {
        report += LockReaper { deps, lock }.execution_ended(&ended).await?;
    }
    Ok(report)
}

fn ignored(reason: &str) -> ReapReport {
    ReapReport {
        ignored: Some(reason.to_owned()),
        ..ReapReport::default()
    }
}
