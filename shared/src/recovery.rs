//! From evidence to action: what to do about a holder whose heartbeat is overdue.
//!
//! [`judge`] is a pure function. [`caretaker`] gathers the evidence for it and does what it says.
//!
//! May depend on: domain, the states of executions and tasks.

mod caretaker;
#[cfg(test)]
mod tests;

pub use caretaker::{Caretaker, Looked};

use crate::contract::stale_since;
use crate::domain::{Death, Lease, Seconds, StalePolicy, Staleness, Timestamp};
use crate::executions::{ExecutionEnd, ExecutionState};
use crate::tasks::Task;

/// How long a waiter may leave the permit that it was handed before it goes to the next.
///
/// Its waiting state registers again every few minutes and finds the grant. A run that has gone on
/// without its waiting state never will.
const UNCALLED_MAX: Seconds = Seconds::of(3900);

/// What was learnt of a holder's execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutionSight {
    /// The holder is no execution: there is nobody to ask.
    NotOne,
    /// Step Functions says so.
    Seen(ExecutionState),
    /// Step Functions does not know it: it ended long ago.
    Unknown,
    /// It could not be learnt, and why.
    Hidden(String),
}

/// What was learnt of a holder's tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TasksSight {
    /// The run named no place to look at.
    NotNamed,
    /// ECS lists these.
    Seen(Vec<Task>),
    /// It could not be learnt, and why.
    Hidden(String),
}

/// What was learnt of the task that a holder is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskSight {
    /// The holder is no task: there is nobody to ask.
    NotOne,
    /// ECS says so.
    Seen(Task),
    /// ECS does not know it: it stopped long ago, or began a moment ago.
    Unknown,
    /// It could not be learnt, and why.
    Hidden(String),
}

/// What is known of a holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Of its execution.
    pub execution: ExecutionSight,
    /// Of itself, where it is a task and not an execution.
    pub task: TaskSight,
    /// Of the tasks of its execution.
    pub tasks: TasksSight,
}

/// What to do about a holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing: it is well, or it is being stopped.
    Leave,
    /// Tell it once more that its turn has come.
    Wake,
    /// Free its permit.
    Recover {
        /// What shows that it may be freed.
        death: Death,
        /// The same in words.
        evidence: String,
    },
    /// Stop what still runs of it; its permit is free once that is seen to have stopped.
    Stop {
        /// Whether its execution runs.
        execution: bool,
        /// The tasks that run.
        tasks: Vec<String>,
        /// Why.
        why: String,
    },
    /// Freeze the lock.
    Freeze {
        /// Why.
        why: String,
    },
    /// Tell somebody that nothing could be learnt, and try again.
    Alert {
        /// Why not.
        why: String,
    },
}

/// What to do about the holder of `lease`.
///
/// ```text
///  execution   tasks      lease                    action
///  ended       none run                            recover
///  ended       some run                            stop the tasks
///  unknown                expired                  as if it had ended
///  runs                   another replaces it      stop both
///  runs                   its turn was not taken   wake it; after an hour the next
///  runs                   expired                  by stale policy: stop both, recover, freeze
///  hidden                 expired                  alert
///
///  not one, but a task:
///             stopped                             recover
///             unknown    expired                  recover
///             runs       expired                  recover: it has stopped its work by then
///             hidden     expired                  recover
///  neither               expired                  recover
///
///  anything else                                   leave it
/// ```
#[must_use]
pub fn judge(lease: &Lease, evidence: &Evidence, now: Timestamp) -> Action {
    match &evidence.execution {
        ExecutionSight::Seen(ExecutionState::Ended(end)) => {
            ended(lease, &evidence.tasks, &in_words(*end), now)
        }
        // One that began a moment ago may not be known yet: DescribeExecution is eventually
        // consistent (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html>).
        ExecutionSight::Unknown if !lease.is_dead(now) => Action::Leave,
        ExecutionSight::Unknown => {
            let words = "Step Functions does not know the execution any more";
            ended(lease, &evidence.tasks, words, now)
        }
        ExecutionSight::Seen(ExecutionState::Running) => running(lease, &evidence.tasks, now),
        ExecutionSight::Hidden(why) if lease.is_dead(now) => Action::Alert { why: why.clone() },
        ExecutionSight::Hidden(_) => Action::Leave,
        ExecutionSight::NotOne => not_an_execution(&evidence.task, lease.is_dead(now)),
    }
}

/// A holder inside a container kills its own work before its lease ends. So the end of the lease is
/// enough to free its permit, and what is seen of its task only makes it free sooner.
fn not_an_execution(task: &TaskSight, dead: bool) -> Action {
    let (death, evidence) = match task {
        TaskSight::Seen(task) if task.stopped => {
            let why = task.stopped_reason.as_ref();
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            (Death::Seen, format!("its task has stopped{why}"))
        }
        _ if !dead => return Action::Leave,
        // One that began a moment ago may not be known yet.
        TaskSight::Unknown => {
            let words = "the lease ran out, and ECS does not know the task any more";
            (Death::Seen, words.into())
        }
        TaskSight::Seen(_) => {
            let words = "the lease ran out, though the task still runs";
            (Death::Expired, words.into())
        }
        TaskSight::Hidden(why) => {
            let words = format!("the lease ran out, and the task could not be looked at: {why}");
            (Death::Expired, words)
        }
        TaskSight::NotOne => {
            let words = "the lease ran out, and the holder is no execution that could be asked";
            (Death::Expired, words.into())
        }
    };
    Action::Recover { death, evidence }
}

fn ended(lease: &Lease, tasks: &TasksSight, execution: &str, now: Timestamp) -> Action {
    let tasks = match tasks {
        TasksSight::NotNamed => {
            return Action::Recover {
                death: Death::Seen,
                evidence: execution.to_owned(),
            };
        }
        TasksSight::Hidden(why) if lease.is_dead(now) => {
            return Action::Alert { why: why.clone() };
        }
        TasksSight::Hidden(_) => return Action::Leave,
        TasksSight::Seen(tasks) => tasks,
    };
    let alive = at_work(tasks);
    if alive.is_empty() {
        let count = tasks.len();
        let tasks = if count == 0 {
            "none of its tasks runs".into()
        } else {
            format!("{count} task(s) stopped")
        };
        return Action::Recover {
            death: Death::Seen,
            evidence: format!("{execution}; {tasks}"),
        };
    }
    Action::Stop {
        execution: false,
        tasks: alive,
        why: format!("{execution}, but its task still runs"),
    }
}

fn running(lease: &Lease, tasks: &TasksSight, now: Timestamp) -> Action {
    let tasks = match tasks {
        TasksSight::Seen(tasks) => at_work(tasks),
        TasksSight::NotNamed | TasksSight::Hidden(_) => Vec::new(),
    };
    let stop = |why| Action::Stop {
        execution: true,
        tasks: tasks.clone(),
        why,
    };
    if let Some(by) = &lease.replaced_by {
        return stop(format!("replaced by {by}"));
    }
    if lease.call.is_some() {
        let granted = lease.token.granted_at();
        return if lease.is_dead(now) && now >= granted.plus(UNCALLED_MAX) {
            Action::Recover {
                death: Death::Expired,
                evidence: "its turn came, and it did not take it up for an hour".into(),
            }
        } else {
            Action::Wake
        };
    }
    if !lease.is_dead(now) {
        return Action::Leave;
    }
    let why = stale_since(Staleness::Expired(lease.expires_at));
    match lease.stale {
        StalePolicy::Terminate => stop(why),
        StalePolicy::Yield => Action::Recover {
            death: Death::Expired,
            evidence: format!("{why}; it runs on without its permit"),
        },
        StalePolicy::Hold => Action::Freeze { why },
    }
}

fn at_work(tasks: &[Task]) -> Vec<String> {
    let alive = tasks.iter().filter(|task| !task.stopped);
    alive.map(|task| task.arn.clone()).collect()
}

fn in_words(end: ExecutionEnd) -> String {
    format!("the execution is {}", end.as_str())
}
