//! The evidence about a holder, and its sources.
//!
//! Every source may be late. Descriptions and lists of AWS are eventually consistent. Events may be
//! lost, and may arrive twice or out of order. A redriven execution runs again under the same ARN. So
//! each observation is compared with the last renewal of the lease and the number of redrives.
//!
//! ```text
//!  shown as ended    but the lease was renewed since, or the    counts as running, for LAG_MAX
//!                    holder has reported more redrives          after the last sign of life
//!  shown as running  but an event reports its end, newer than the
//!                    last renewal and without a later redrive   counts as ended
//! ```

use super::STOP_SETTLES;
use crate::domain::{
    ExecutionArn, ExecutionDescription, ExecutionEnd, ExecutionState, Lease, Seconds, Task,
    Timestamp, Waiter, Work,
};

/// How long a described state may lag behind an event or a redrive. AWS states no bound.
///
/// - A description that lags longer behind the event of an end delays recovery until the next sweep.
/// - A description that lags longer behind a redrive shows the end of the earlier attempt, and is taken for the end of the
///   run: its permit is freed although the redriven run works.
pub const LAG_MAX: Seconds = Seconds::of(30);

/// The observation of an execution: the holder's own, or that of its replacer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExecutionObservation {
    /// The holder, or its replacer, is not an execution.
    NotOne,
    /// The description of the execution.
    Seen(ExecutionDescription),
    /// Step Functions does not know the execution: it ended long ago, or has just started.
    Unknown,
    /// DescribeExecution was denied, or its answer is not reliable yet. Contains why.
    Hidden(String),
    /// DescribeExecution failed, and may succeed soon. Contains why.
    Unanswered(String),
}

/// The observation of a run's work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WorkObservation {
    /// The run named neither a cluster nor a state machine.
    NotNamed,
    /// The tasks that ECS lists.
    Tasks(Vec<Task>),
    /// The execution that does the work, with its description; `None` if Step Functions knows none
    /// of any attempt.
    Execution(Option<(ExecutionArn, ExecutionDescription)>),
    /// The work is the states of the holder's own execution, which end with the execution. Contains the
    /// tasks that a failed call of RunTask, or a state that did not wait for the end of its task, may
    /// have left; `None` before the history was read. Also used for the tasks that the execution that
    /// did the work has left running.
    States(Option<Vec<Task>>),
    /// A call for the work failed. Contains why.
    Hidden(String),
}

/// The observation of a holder that is a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TaskObservation {
    /// The holder is not a task.
    NotOne,
    /// The description of the task.
    Seen(Task),
    /// ECS does not know the task: it stopped long ago, or has just started.
    Unknown,
    /// DescribeTasks failed. Contains why.
    Hidden(String),
}

/// Whether the input or the definition of the holder's execution proves that it belongs to the lock. The
/// name of a holder proves nothing, because a caller of acquire-lock chooses it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ownership {
    /// Not checked. The check is made only before the execution is stopped.
    NotAsked,
    /// The input or the definition of the execution names the lock.
    Proven,
    /// Neither names the lock.
    Unproven,
    /// The call failed. Contains why.
    Hidden(String),
}

/// The evidence about a holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Evidence {
    /// The observation of the holder's execution.
    pub execution: ExecutionObservation,
    /// The observation of the holder itself, if it is a task and not an execution.
    pub task: TaskObservation,
    /// The observation of the holder's work.
    pub work: WorkObservation,
    /// The observation of the execution that waits to replace the holder, if there is one.
    pub replacer: ExecutionObservation,
    /// Whether the replacer's time to wait is over. It stays in the queue until its next request or a
    /// hand-over.
    pub gave_up: bool,
    /// Whether the holder's execution may be stopped for this lock.
    pub ownership: Ownership,
}

/// The content of the event that caused a check. DescribeExecution and DescribeTasks are eventually
/// consistent and may lag behind the event
/// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html>).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// The execution of the holder has ended.
    Execution(ExecutionEvent),
    /// A task of the work has changed.
    Task(Task),
    /// The execution that does the work has ended.
    Work(ExecutionArn, ExecutionEvent),
}

/// The end of an execution, as an event reports it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExecutionEvent {
    /// How the execution ended.
    pub end: ExecutionEnd,
    /// When the execution ended.
    pub at: Timestamp,
    /// How often the execution had been redriven before this end.
    pub redrives: u32,
}

impl WorkObservation {
    /// Returns the observation before any request.
    pub(super) fn before_requests(lease: &Lease) -> Self {
        match lease.work {
            Some(Work::States) => Self::States(None),
            Some(Work::Tasks(_) | Work::Workflow(_)) | None => Self::NotNamed,
        }
    }
}

impl ExecutionObservation {
    /// Returns whether Step Functions shows the execution as running.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Seen(seen) if seen.state == ExecutionState::Running)
    }
}

impl Evidence {
    /// Returns evidence in which nothing is observed yet.
    pub(super) const fn none() -> Self {
        Self {
            execution: ExecutionObservation::NotOne,
            task: TaskObservation::NotOne,
            work: WorkObservation::NotNamed,
            replacer: ExecutionObservation::NotOne,
            gave_up: false,
            ownership: Ownership::NotAsked,
        }
    }

    /// Returns whether the execution has ended and its last work may not be shown yet:
    ///
    /// - no work is shown, or
    /// - the execution was redriven, and no running work is shown: the work that is shown may belong to
    ///   an earlier attempt.
    pub(super) fn is_unlisted(&self) -> bool {
        let ExecutionObservation::Seen(seen) = &self.execution else {
            return false;
        };
        let (none, none_runs) = match &self.work {
            WorkObservation::Tasks(tasks) => {
                (tasks.is_empty(), tasks.iter().all(|task| task.stopped))
            }
            WorkObservation::Execution(None) => (true, true),
            WorkObservation::Execution(Some((_, work))) => {
                (false, work.state != ExecutionState::Running)
            }
            WorkObservation::NotNamed | WorkObservation::States(_) | WorkObservation::Hidden(_) => {
                return false;
            }
        };
        seen.state != ExecutionState::Running && (none || (seen.redrives > 0 && none_runs))
    }

    /// Returns whether the execution that did the work has just ended without success ([`is_settling`]).
    /// If the work is the states of the holder's execution, that execution did the work.
    pub(super) fn is_settling(&self, now: Timestamp) -> bool {
        match (&self.work, &self.execution) {
            (WorkObservation::Execution(Some((_, seen))), _)
            | (WorkObservation::States(_), ExecutionObservation::Seen(seen)) => {
                is_settling(seen, now)
            }
            _ => false,
        }
    }

    /// Applies the registration of the waiter that is to replace the holder:
    ///
    /// - If it reported more redrives than the description has, it was redriven, and runs.
    /// - If it registered after the described end, it was redriven or its request was late. Until the
    ///   description shows which, no holder is stopped for it.
    /// - Otherwise the description counts.
    pub(super) fn register(&mut self, waiter: &Waiter, now: Timestamp) {
        self.gave_up = waiter.has_given_up(now);
        let ExecutionObservation::Seen(seen) = self.replacer else {
            return;
        };
        if lags_behind_waiter(&seen, waiter, now) {
            self.replacer = match seen.redrives < waiter.terms.redrives {
                true => ExecutionObservation::Seen(ExecutionState::Running.into()),
                false => {
                    ExecutionObservation::Hidden("it may have been redriven a moment ago".into())
                }
            };
        }
    }

    /// Applies the content of `hint` if the described states lag behind it.
    ///
    /// The described state of the holder's execution counts if
    ///
    /// - the reported end is older than [`LAG_MAX`],
    /// - the description or the holder shows a later redrive, or
    /// - `lease` was granted or renewed after the reported end.
    pub(super) fn correct(&mut self, hint: &Hint, lease: &Lease, now: Timestamp) {
        match hint {
            Hint::Execution(event) => {
                let ExecutionObservation::Seen(seen) = &mut self.execution else {
                    return;
                };
                let reported = match now < lease.last_sign_of_life().plus(LAG_MAX) {
                    true => lease.redrives,
                    false => 0,
                };
                let redriven = event.redrives < seen.redrives.max(reported);
                let fresh = now < event.at.plus(LAG_MAX);
                let lags = seen.state == ExecutionState::Running;
                // A heartbeat after the reported end comes from a redrive, or was sent before the end.
                // In both cases the description counts.
                if lags && fresh && !redriven && lease.renewed_at() < event.at {
                    seen.state = ExecutionState::Ended(event.end);
                    seen.stopped_at = Some(event.at);
                }
            }
            Hint::Task(event) => {
                if let WorkObservation::Tasks(tasks) = &mut self.work {
                    // ListTasks is eventually consistent too: the event may be the first to show the
                    // task.
                    if tasks.iter().all(|task| task.arn != event.arn) {
                        tasks.push(event.clone());
                    }
                    let mut older = tasks
                        .iter_mut()
                        .filter(|task| task.arn == event.arn && task.version < event.version);
                    older.by_ref().for_each(|task| *task = event.clone());
                }
            }
            Hint::Work(arn, event) => {
                if let WorkObservation::Execution(Some((seen_arn, seen))) = &mut self.work
                    && seen_arn == arn
                    && seen.state == ExecutionState::Running
                    && seen.redrives <= event.redrives
                    && now < event.at.plus(LAG_MAX)
                {
                    seen.state = ExecutionState::Ended(event.end);
                    seen.stopped_at = Some(event.at);
                }
            }
        }
    }

    /// Counts an ended execution as running if its description may lag behind a redrive
    /// ([`lags_behind`]). Returns whether it may.
    pub(super) fn doubt(&mut self, lease: &Lease, now: Timestamp) -> bool {
        let ExecutionObservation::Seen(seen) = &mut self.execution else {
            return false;
        };
        let lags = lags_behind(seen, lease, now);
        if lags {
            seen.state = ExecutionState::Running;
        }
        lags
    }
}

/// Returns whether the description `seen` of an ended execution may lag behind a redrive. That is so if
/// both are true:
///
/// - the end is older than the last sign of life in `lease`, or the description has fewer redrives than
///   the holder reported, and
/// - the last sign of life is younger than [`LAG_MAX`].
///
/// The caller chooses the number of redrives that it reports. Without the second condition, one wrong
/// number would keep the permit of a dead run forever.
#[must_use]
pub fn lags_behind(seen: &ExecutionDescription, lease: &Lease, now: Timestamp) -> bool {
    lags(seen, lease.last_sign_of_life(), lease.redrives, now)
}

/// Returns whether the description `seen` of a waiter's ended execution may lag behind a redrive, as
/// [`lags_behind`] does for a holder. The last sign of life of a waiter is its registration.
#[must_use]
pub fn lags_behind_waiter(seen: &ExecutionDescription, waiter: &Waiter, now: Timestamp) -> bool {
    lags(seen, waiter.since, waiter.terms.redrives, now)
}

fn lags(seen: &ExecutionDescription, sign: Timestamp, redrives: u32, now: Timestamp) -> bool {
    let older = seen.stopped_at.is_some_and(|end| end < sign);
    let has_ended = seen.state != ExecutionState::Running;
    (older || has_ended && seen.redrives < redrives) && now < sign.plus(LAG_MAX)
}

/// Returns whether an execution ended without success less than [`STOP_SETTLES`] ago, so that its tasks
/// may still be stopping. Step Functions stops them on a best-effort basis, after an abort and after the
/// failure of a parallel state.
#[must_use]
pub fn is_settling(seen: &ExecutionDescription, now: Timestamp) -> bool {
    let failed = matches!(seen.state, ExecutionState::Ended(end) if end != ExecutionEnd::Succeeded);
    let recent = |at: Timestamp| now < at.plus(STOP_SETTLES);
    failed && seen.stopped_at.is_some_and(recent)
}

/// Returns the ARNs of the tasks, or of the execution, that still run.
///
/// A task counts as running until it is STOPPED, because a task that is stopping still has containers.
pub(super) fn at_work(work: &WorkObservation) -> Vec<String> {
    match work {
        WorkObservation::Tasks(tasks) | WorkObservation::States(Some(tasks)) => {
            let alive = tasks.iter().filter(|task| !task.stopped);
            alive.map(|task| task.arn.clone()).collect()
        }
        WorkObservation::Execution(seen) => {
            let alive = seen
                .iter()
                .filter(|(_, seen)| seen.state == ExecutionState::Running);
            alive.map(|(arn, _)| arn.to_string()).collect()
        }
        WorkObservation::NotNamed | WorkObservation::States(None) | WorkObservation::Hidden(_) => {
            Vec::new()
        }
    }
}
