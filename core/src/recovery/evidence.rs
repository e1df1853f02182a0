//! The evidence about a holder, and its sources.
//!
//! Every source may be late. Descriptions and lists of AWS are eventually consistent, events may be
//! lost, come twice or out of order, and a redriven execution runs again under the same ARN. So
//! each observation is weighed with what else is known of its time: the last renewal of the lease,
//! and the number of redrives.
//!
//! ```text
//!  shown as ended    but the lease was renewed since, or the    may be redriven: runs, for LAG_MAX
//!                    holder has reported more redrives          after the last sign of life
//!  shown as running  but an event has its end, newer than the
//!                    last renewal and without a later redrive   has ended, as the event reports
//! ```

use super::ABORT_SETTLES;
use crate::domain::{
    ExecutionArn, ExecutionDescription, ExecutionEnd, ExecutionState, Lease, Seconds, Task,
    Timestamp, Waiter, Work,
};

/// How long a described state may lag behind an event.
///
/// AWS gives no bound; a description that lags longer only makes a check later, because the sweep
/// checks again.
pub const LAG_MAX: Seconds = Seconds::of(30);

/// The evidence of a holder's execution.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExecutionObservation {
    /// The holder is no execution.
    NotOne,
    /// The description of the execution.
    Seen(ExecutionDescription),
    /// Step Functions does not know it: it ended long ago, or began a moment ago.
    Unknown,
    /// The call failed, and why.
    Hidden(String),
}

/// The evidence of a run's work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WorkObservation {
    /// The run named neither a cluster nor a state machine.
    NotNamed,
    /// The tasks that ECS lists.
    Tasks(Vec<Task>),
    /// The execution that does the work, with its description; `None` if Step Functions knows none
    /// of any attempt.
    Execution(Option<(ExecutionArn, ExecutionDescription)>),
    /// It is the states of the holder's own execution, which end with it. A call of RunTask that failed, or
    /// whose state did not wait for the end, may have started a task that does not: contains the tasks that may be of
    /// such a call; `None` before the history was read. Also what the execution that did the work has left running.
    States(Option<Vec<Task>>),
    /// The call failed, and why.
    Hidden(String),
}

/// The evidence of a holder that is a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TaskObservation {
    /// The holder is no task.
    NotOne,
    /// The description of the task.
    Seen(Task),
    /// ECS does not know it: it stopped long ago, or began a moment ago.
    Unknown,
    /// The call failed, and why.
    Hidden(String),
}

/// Whether the execution of a holder belongs to the lock, by its own input or definition. The name of
/// a holder proves nothing: a caller of acquire-lock chooses it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ownership {
    /// Not checked: the check comes only before the execution is stopped.
    NotAsked,
    /// Its input or its definition names the lock.
    Proven,
    /// Neither names the lock.
    Unproven,
    /// The call failed, and why.
    Hidden(String),
}

/// The evidence about a holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Evidence {
    /// The observation of its execution.
    pub execution: ExecutionObservation,
    /// The observation of the holder itself, if it is a task and not an execution.
    pub task: TaskObservation,
    /// The observation of its work.
    pub work: WorkObservation,
    /// The observation of the execution that waits to replace it, if there is one.
    pub replacer: ExecutionObservation,
    /// Whether that run's time to wait is over. It stays in the queue until its next request or a
    /// hand-over.
    pub gave_up: bool,
    /// Whether its execution may be stopped for this lock.
    pub ownership: Ownership,
}

/// What an event reports. DescribeExecution and DescribeTasks are eventually consistent and may
/// lag behind it
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
    /// How it ended.
    pub end: ExecutionEnd,
    /// When it ended.
    pub at: Timestamp,
    /// How often it had been redriven.
    pub redrives: u32,
}

impl WorkObservation {
    /// Returns the evidence that needs no request.
    pub(super) fn before_requests(lease: &Lease) -> Self {
        match lease.work {
            Some(Work::States) => Self::States(None),
            Some(Work::Tasks(_) | Work::Workflow(_)) | None => Self::NotNamed,
        }
    }
}

impl ExecutionObservation {
    /// Returns whether Step Functions shows that it runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Seen(seen) if seen.state == ExecutionState::Running)
    }
}

impl Evidence {
    /// No evidence yet.
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

    /// Returns whether the execution has ended and its last work may not be shown yet: none is, or after
    /// a redrive none that runs, for what has stopped may be of the attempt before.
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

    /// Returns whether the execution that did the work ended without success a moment ago
    /// ([`is_settling`]): where the work is the execution's own states, that execution.
    pub(super) fn is_settling(&self, now: Timestamp) -> bool {
        match (&self.work, &self.execution) {
            (WorkObservation::Execution(Some((_, seen))), _)
            | (WorkObservation::States(_), ExecutionObservation::Seen(seen)) => {
                is_settling(seen, now)
            }
            _ => false,
        }
    }

    /// Applies what `hint` reports where the described states lag behind it.
    ///
    /// The described state counts where the event is old, where it shows a later redrive, and where
    /// the holder was granted or has renewed `lease` since the end that the event reports.
    pub(super) fn correct(&mut self, hint: &Hint, lease: &Lease, now: Timestamp) {
        match hint {
            Hint::Execution(event) => {
                let ExecutionObservation::Seen(seen) = &mut self.execution else {
                    return;
                };
                let reported = match now < lease.last_sign().plus(LAG_MAX) {
                    true => lease.redrives,
                    false => 0,
                };
                let redriven = event.redrives < seen.redrives.max(reported);
                let fresh = now < event.at.plus(LAG_MAX);
                let lags = seen.state == ExecutionState::Running;
                // A heartbeat after the end that the event reports can only come from a redrive, or
                // was under way at the end. Both leave the description to decide.
                if lags && fresh && !redriven && lease.renewed_at() < event.at {
                    seen.state = ExecutionState::Ended(event.end);
                    seen.stopped_at = Some(event.at);
                }
            }
            Hint::Task(event) => {
                if let WorkObservation::Tasks(tasks) = &mut self.work {
                    // ListTasks lags too: the event may be the first that shows the task.
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

    /// Takes the end of the execution back where its description may lag behind a redrive, as `lease` shows.
    /// Returns whether it may.
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

/// Returns whether an end of the execution may have been overtaken by a redrive that its description
/// does not show yet: it is older than the last sign of life in `lease`, or has fewer redrives than the
/// holder has reported, and that sign is younger than [`LAG_MAX`].
///
/// A caller chooses the number that it reports. Without that bound one wrong number would keep the permit of a dead
/// run for ever.
#[must_use]
pub fn lags_behind(seen: &ExecutionDescription, lease: &Lease, now: Timestamp) -> bool {
    lags(seen, lease.last_sign(), lease.redrives, now)
}

/// Returns the same of a waiter, whose sign of life is its registration.
#[must_use]
pub fn lags_behind_waiter(seen: &ExecutionDescription, waiter: &Waiter, now: Timestamp) -> bool {
    lags(seen, waiter.since, waiter.terms.redrives, now)
}

fn lags(seen: &ExecutionDescription, sign: Timestamp, redrives: u32, now: Timestamp) -> bool {
    let older = seen.stopped_at.is_some_and(|end| end < sign);
    let has_ended = seen.state != ExecutionState::Running;
    (older || has_ended && seen.redrives < redrives) && now < sign.plus(LAG_MAX)
}

/// Returns whether an execution ended without success so recently that what it had started may not have
/// stopped yet: Step Functions stops what is left on a best-effort basis, after an abort as beside a
/// state that fails.
#[must_use]
pub fn is_settling(seen: &ExecutionDescription, now: Timestamp) -> bool {
    let failed = matches!(seen.state, ExecutionState::Ended(end) if end != ExecutionEnd::Succeeded);
    let recent = |at: Timestamp| now < at.plus(ABORT_SETTLES);
    failed && seen.stopped_at.is_some_and(recent)
}

/// Returns the ARNs of the work that runs.
///
/// A task counts as running until it is STOPPED: one on its way down still has containers.
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
