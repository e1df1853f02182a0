//! A holder in the response to show.

use lockstep::events::console;
use lockstep_core::domain::{
    EndingCause, HolderId, Lease, StalePolicy, Task, TaskArn, Timestamp, rfc3339,
};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

/// A holder: its lease, and the state of its execution and work as the services describe it now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HolderView {
    /// The holder.
    pub holder: String,
    /// The fencing token of its grant.
    pub token: u64,
    /// When the grant was made.
    pub since: String,
    /// When the lease ends if it is not renewed.
    pub expires_at: String,
    /// Whether the lease has ended.
    pub expired: bool,
    /// Seconds between heartbeats.
    pub heartbeat_seconds: u32,
    /// What happens to the holder when it is stale: `terminate`, `yield` or `hold`.
    pub stale_policy: &'static str,
    /// The run key of the holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// The latest progress that the holder reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// When the holder exceeds its time limit (`maxRunSeconds`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_until: Option<String>,
    /// When the holder counts as stalled, if it makes no progress before (`noProgressSeconds`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalls_at: Option<String>,
    /// Whether the holder has held its permit for longer than the longest run of `usual`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub longer_than_usual: bool,
    /// Whether the permit was handed over to the holder, and the holder has not confirmed it yet.
    pub unconfirmed: bool,
    /// When the holder was marked as a suspect: its lease has ended while its execution runs or cannot be
    /// described.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspect_since: Option<String>,
    /// The run that replaces the holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
    /// Present while the work of the holder is being stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<EndingView>,
    /// The execution of the holder, if the holder is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionView>,
    /// The task that the holder runs in, if it runs in one, and the tasks that are its work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub tasks: Vec<TaskView>,
    /// The execution that does the work of the holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<ExecutionView>,
    /// Why the task or the work of the holder cannot be described.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<String>,
    /// What a check does to the holder next if the holder gives no further sign of life; absent if no check
    /// does anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<NextView>,
}

/// The next action of a check of a holder. The reaper checks holders on events and in its sweep, and
/// acquire-lock checks them for a run that asks for the lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NextView {
    /// The action:
    /// - `recover` frees the permit.
    /// - `stop` stops the execution and the work.
    /// - `markEnding` marks the holder as ending, because its work may still be stopping.
    /// - `suspect` marks a silent holder as a suspect.
    /// - `freeze` freezes the lock.
    /// - `wake` sends the grant again.
    /// - `dropReplacer` removes from the queue the run that waits to replace the holder.
    /// - `reportNotStopped` and `reportMissingEvidence` publish an alert.
    pub action: &'static str,
    /// The earliest time at which a check takes the action.
    pub from: String,
    /// The time by which the sweep has taken the action, if no other check takes it before.
    pub by: String,
    /// Why the action is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A holder whose work is being stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EndingView {
    /// When the holder was marked as ending.
    pub since: String,
    /// Why: `over` if its execution has ended, `stopped` if a stop of the holder is committed.
    pub cause: &'static str,
}

/// An execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExecutionView {
    /// The ARN of the execution; absent for work that was not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arn: Option<String>,
    /// The status of the execution: `RUNNING`, `SUCCEEDED`, `FAILED`, `TIMED_OUT` or `ABORTED`; `UNKNOWN` if
    /// Step Functions does not know the execution, and `HIDDEN` if it could not be described.
    pub status: &'static str,
    /// URL of the execution in the AWS console; absent in a partition whose console is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub console: Option<String>,
    /// When the execution ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<String>,
    /// Why the execution could not be described.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<String>,
}

/// An ECS task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// The ARN of the task.
    pub arn: String,
    /// URL of the logs of the task in the AWS console; absent in a partition whose console is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub console: Option<String>,
    /// Whether the task has stopped.
    pub stopped: bool,
    /// When the task stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<String>,
    /// Why the task stopped, as ECS reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The exit code, once the task has stopped. If the holder runs in the task, this is the exit code of its
    /// container. For a task that is work, it is that of the first container that failed, or else of the
    /// first container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
}

impl HolderView {
    /// Returns the view of the holder of `lease` at `now`, without the state of its execution and work.
    #[must_use]
    pub fn of(holder: &HolderId, lease: &Lease, now: Timestamp) -> Self {
        let time = |time: Option<Timestamp>| time.map(rfc3339);
        Self {
            holder: holder.to_string(),
            token: lease.token.number(),
            since: rfc3339(lease.token.granted_at()),
            expires_at: rfc3339(lease.expires_at),
            expired: !lease.is_live(now),
            heartbeat_seconds: lease.pace.heartbeat.get(),
            stale_policy: match lease.stale {
                StalePolicy::Terminate => "terminate",
                StalePolicy::Yield => "yield",
                StalePolicy::Hold => "hold",
            },
            run_key: lease.run_key.as_ref().map(|key| key.as_str().to_owned()),
            progress: lease.progress.clone(),
            run_until: time(lease.run_until),
            stalls_at: time(lease.stalls_at),
            longer_than_usual: false,
            unconfirmed: lease.call.is_some(),
            suspect_since: time(lease.exit.suspect),
            replaced_by: lease.exit.replaced_by.as_ref().map(ToString::to_string),
            ending: lease.exit.ending.as_ref().map(|ending| EndingView {
                since: rfc3339(ending.since),
                cause: match ending.cause {
                    EndingCause::Over => "over",
                    EndingCause::Stopped | EndingCause::Evicted(_) => "stopped",
                },
            }),
            execution: None,
            tasks: Vec::new(),
            workflow: None,
            hidden: None,
            next: None,
        }
    }
}

impl TaskView {
    /// Returns the view of `task`. If the holder runs in its `container`, the exit code is that of the
    /// container.
    #[must_use]
    pub fn of(task: &Task, container: Option<&str>) -> Self {
        Self {
            console: TaskArn::new(task.arn.as_str())
                .ok()
                .and_then(|arn| console::task_logs(&arn)),
            arn: task.arn.clone(),
            stopped: task.stopped,
            stopped_at: task.stopped_at.map(rfc3339),
            reason: task.stopped_reason.clone(),
            exit_code: task
                .stopped
                .then(|| task.end_of(container).exit_code)
                .flatten(),
        }
    }
}
