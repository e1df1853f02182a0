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
    /// When the lease ends unless it is renewed.
    pub expires_at: String,
    /// Whether the lease has ended.
    pub expired: bool,
    /// Seconds between heartbeats.
    pub heartbeat_seconds: u32,
    /// What happens when it is stale: `terminate`, `yield` or `hold`.
    pub stale_policy: &'static str,
    /// Its run key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// The latest progress that it reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// When it is over its time (`maxRunSeconds`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_until: Option<String>,
    /// When it counts as stalled (`noProgressSeconds`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalls_at: Option<String>,
    /// Whether it has held its permit for longer than any of the runs of `usual`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub longer_than_usual: bool,
    /// Whether the grant was handed over and its waiter has not confirmed it yet.
    pub unconfirmed: bool,
    /// Since when it is a suspect: silent while its execution runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspect_since: Option<String>,
    /// The run that replaces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
    /// Its work is being stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<EndingView>,
    /// Its execution, if the holder is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionView>,
    /// Its own task, if the holder is inside of one, and the tasks of its work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub tasks: Vec<TaskView>,
    /// The execution that does its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<ExecutionView>,
    /// Why the state of its task or work cannot be described.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<String>,
    /// What a check does about it next if it gives no further sign of life; none if no check does anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<NextView>,
}

/// What a check of a holder does: the reaper on an event or in its sweep, or acquire-lock for a run that asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NextView {
    /// `recover` frees the permit. `stop` stops the execution and the work, `markEnding` waits for what still stops.
    /// `suspect` marks a silent holder, `freeze` freezes the lock, `wake` sends the grant again, `dropReplacer` takes the
    /// run that waits to replace the holder out of the queue. `reportNotStopped` and `reportMissingEvidence` raise an
    /// alert.
    pub action: &'static str,
    /// When a check does so at the earliest.
    pub from: String,
    /// When the sweep has done so at the latest.
    pub by: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A holder whose work is being stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EndingView {
    /// Since when.
    pub since: String,
    /// Why: `over`, its execution is over; `stopped`, its stop is committed.
    pub cause: &'static str,
}

/// An execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExecutionView {
    /// Its ARN; none for work that was not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arn: Option<String>,
    /// Its status: `RUNNING`, `SUCCEEDED`, `FAILED`, `TIMED_OUT`, `ABORTED`, or `UNKNOWN` where
    /// Step Functions does not know it, or `HIDDEN` where it could not be described.
    pub status: &'static str,
    /// Its page in the AWS console; none in a partition whose console is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub console: Option<String>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<String>,
    /// Why it could not be described.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<String>,
}

/// An ECS task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// Its ARN.
    pub arn: String,
    /// Its logs in the AWS console; none in a partition whose console is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub console: Option<String>,
    /// Whether it has stopped.
    pub stopped: bool,
    /// When it stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<String>,
    /// Why it stopped, as ECS reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Once it has stopped, the exit code of the holder's container; of work, that of the first container that
    /// failed, or else of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
}

impl HolderView {
    /// The holder of `lease` at `now`, without the state of its execution and work.
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
    /// The view of `task`, with the end of its `container` where that is the holder.
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
