//! Reads the history of an execution for tasks that its states may have started and left running.
//!
//! ```text
//!  TaskScheduled ─▶ TaskStarted ─┬▶ TaskSubmitted ─┬▶ TaskSucceeded, TaskFailed   the state saw the end
//!   the request                  │                 ├▶ TaskTimedOut                the task may still run
//!                                │                 └▶ nothing                     the state was stopped
//!                                ├▶ TaskSubmitFailed, TaskFailed, TaskTimedOut    RunTask returned an error
//!                                └▶ nothing                                       the state was stopped
//! ```
//! Each event has the id of the event before it, so the events of parallel branches are kept apart.

use super::time;
use aws_sdk_sfn::types::{HistoryEvent, HistoryEventType};
use lockstep_core::domain::{FailedStart, TaskSet, Timestamp};
use serde::Deserialize;
use std::collections::HashMap;

/// The `resourceType` of a call to ECS, and the `resource` of RunTask without its integration pattern
/// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_TaskScheduledEventDetails.html>).
const RUN_TASK: (&str, &str) = ("ecs", "runTask");

/// The cluster of a request that names none
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html>).
const DEFAULT_CLUSTER: &str = "default";

/// The parameters of RunTask that say where its task is found.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request {
    cluster: Option<String>,
    task_definition: String,
    group: Option<String>,
}

/// Returns the part of `event` that [`failed_starts`] reads, or `None` if it does not read such an event.
/// Details with outputs and errors are left out, because each may be a quarter of a megabyte.
pub(super) fn trim_task_event(event: HistoryEvent) -> Option<HistoryEvent> {
    use HistoryEventType::{
        TaskFailed, TaskScheduled, TaskStartFailed, TaskStarted, TaskSubmitFailed, TaskSubmitted,
        TaskSucceeded, TaskTimedOut,
    };
    let kind = event.r#type();
    if *kind == TaskScheduled {
        return Some(event);
    }
    let is_read = [
        TaskStarted,
        TaskStartFailed,
        TaskSubmitted,
        TaskSubmitFailed,
        TaskSucceeded,
        TaskFailed,
        TaskTimedOut,
    ]
    .contains(kind);
    is_read.then(|| {
        let mut event = event;
        event.task_submitted_event_details = None;
        event.task_submit_failed_event_details = None;
        event.task_succeeded_event_details = None;
        event.task_failed_event_details = None;
        event
    })
}

/// Returns the calls of RunTask whose task may run although no state waits for it. `latest` is the time of
/// the newest event of the history.
pub(super) fn failed_starts(events: &[HistoryEvent], latest: Timestamp) -> Vec<FailedStart> {
    let (calls, later): (Vec<_>, Vec<_>) = events
        .iter()
        .partition(|event| *event.r#type() == HistoryEventType::TaskScheduled);
    let after: HashMap<_, _> = later
        .into_iter()
        .map(|event| (event.previous_event_id(), event))
        .collect();
    let starts = calls.into_iter().filter_map(|call| {
        let failed_at = answered_at(call, &after, latest)?;
        failed_start(call, failed_at)
    });
    starts.collect()
}

/// Returns when RunTask had answered the call, at the latest, or `None` if its state saw the end of the task.
fn answered_at(
    call: &HistoryEvent,
    after: &HashMap<i64, &HistoryEvent>,
    latest: Timestamp,
) -> Option<Timestamp> {
    let mut submitted = None;
    let mut last = call;
    while let Some(next) = after.get(&last.id()) {
        last = next;
        if *last.r#type() == HistoryEventType::TaskSubmitted {
            submitted = Some(last);
        }
    }
    let kind = last.r#type();
    match submitted {
        Some(submitted) => {
            let ended = [
                HistoryEventType::TaskSucceeded,
                HistoryEventType::TaskFailed,
            ];
            let timed_out_or_open = !ended.contains(kind);
            timed_out_or_open.then(|| time(submitted.timestamp()))?
        }
        // A call without an integration pattern succeeds without a TaskSubmitted. Its state does not wait for
        // the task.
        None if *kind == HistoryEventType::TaskSucceeded => None,
        None if [
            HistoryEventType::TaskScheduled,
            HistoryEventType::TaskStarted,
        ]
        .contains(kind) =>
        {
            Some(latest)
        }
        None => time(last.timestamp()),
    }
}

/// Returns the call that `scheduled` describes, if it is a call of RunTask.
fn failed_start(scheduled: &HistoryEvent, failed_at: Timestamp) -> Option<FailedStart> {
    let call = scheduled.task_scheduled_event_details()?;
    let resource = call.resource().split('.').next();
    if (call.resource_type(), resource) != (RUN_TASK.0, Some(RUN_TASK.1)) {
        return None;
    }
    let request: Request = serde_json::from_str(call.parameters()).ok()?;
    let family = request.task_definition.rsplit('/').next()?;
    let family = family.split(':').next()?.to_owned();
    Some(FailedStart {
        group: request.group.unwrap_or_else(|| format!("family:{family}")),
        tasks: TaskSet {
            cluster: request.cluster.unwrap_or_else(|| DEFAULT_CLUSTER.into()),
            family: Some(family),
            container: None,
        },
        called_at: time(scheduled.timestamp())?,
        failed_at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_sfn::primitives::DateTime;
    use aws_sdk_sfn::types::TaskScheduledEventDetails;
    use lockstep_core::domain::Timestamp;

    fn event(id: i64, previous: i64, kind: HistoryEventType) -> HistoryEvent {
        let event = HistoryEvent::builder().id(id).previous_event_id(previous);
        let event = event.r#type(kind).timestamp(DateTime::from_secs(id));
        event.build().unwrap()
    }

    fn scheduled(id: i64, kind: &str, resource: &str, parameters: &str) -> HistoryEvent {
        let details = TaskScheduledEventDetails::builder().resource_type(kind);
        let details = details.resource(resource).region("eu-west-1");
        let mut event = event(id, 0, HistoryEventType::TaskScheduled);
        let details = details.parameters(parameters).build().unwrap();
        event.task_scheduled_event_details = Some(details);
        event
    }

    /// Returns the failed starts in a history of a call at second 1 and one event of each of `kinds`, one
    /// second apart. The history is in reverse order.
    fn starts(call: HistoryEvent, kinds: &[HistoryEventType]) -> Vec<FailedStart> {
        let mut events = vec![call];
        for kind in kinds {
            let id = i64::try_from(events.len()).unwrap();
            events.push(event(id + 1, id, kind.clone()));
        }
        events.reverse();
        let events: Vec<_> = events.into_iter().filter_map(trim_task_event).collect();
        failed_starts(&events, Timestamp::from_millis(60_000))
    }

    const FULL: &str = r#"{"Cluster":"jobs","TaskDefinition":"arn:aws:ecs:eu-west-1:1:task-definition/report:3","Group":"nightly"}"#;

    #[test]
    fn a_failed_call_of_run_task_says_where_its_task_would_be() {
        use HistoryEventType::{TaskStarted, TaskSubmitFailed};
        for (parameters, cluster, group) in [
            (FULL, "jobs", "nightly"),
            (r#"{"TaskDefinition":"report"}"#, "default", "family:report"),
        ] {
            let call = scheduled(1, "ecs", "runTask.sync", parameters);

            let found = starts(call, &[TaskStarted, TaskSubmitFailed]);

            let expected = FailedStart {
                tasks: TaskSet {
                    cluster: cluster.into(),
                    family: Some("report".into()),
                    container: None,
                },
                group: group.into(),
                called_at: Timestamp::from_millis(1_000),
                failed_at: Timestamp::from_millis(3_000),
            };
            assert_eq!(found, [expected], "{parameters}");
        }
    }

    #[test]
    fn a_failed_start_has_the_latest_time_of_the_answer_of_run_task() {
        use HistoryEventType::{TaskStarted, TaskSubmitted, TaskTimedOut};
        for (kinds, answered) in [
            (&[TaskStarted, TaskSubmitted, TaskTimedOut][..], 3_000),
            (&[TaskStarted, TaskSubmitted], 3_000),
            // The state was stopped before the answer: the end of the history bounds the call.
            (&[TaskStarted], 60_000),
        ] {
            let call = scheduled(1, "ecs", "runTask.sync", FULL);

            let found = starts(call, kinds);

            let times: Vec<_> = found.iter().map(|start| start.failed_at.millis()).collect();
            assert_eq!(times, [answered], "{kinds:?}");
        }
    }

    #[test]
    fn only_a_call_of_run_task_whose_state_saw_no_end_counts() {
        use HistoryEventType::{
            TaskFailed, TaskStarted, TaskSubmitted, TaskSucceeded, TaskTimedOut,
        };
        for (kind, resource, parameters, events, count) in [
            (
                "ecs",
                "runTask.sync",
                FULL,
                &[TaskStarted, TaskFailed][..],
                1,
            ),
            ("ecs", "runTask", FULL, &[TaskFailed], 1),
            (
                "ecs",
                "runTask.waitForTaskToken",
                FULL,
                &[TaskStarted, TaskTimedOut],
                1,
            ),
            (
                "ecs",
                "runTask.sync",
                FULL,
                &[TaskStarted, TaskSubmitted, TaskFailed],
                0,
            ),
            (
                "ecs",
                "runTask.sync",
                FULL,
                &[TaskStarted, TaskSubmitted, TaskSucceeded],
                0,
            ),
            ("ecs", "runTask", FULL, &[TaskStarted, TaskSucceeded], 0),
            (
                "ecs",
                "runTask.waitForTaskToken",
                FULL,
                &[TaskStarted, TaskSubmitted, TaskTimedOut],
                1,
            ),
            (
                "ecs",
                "runTask.sync",
                FULL,
                &[TaskStarted, TaskSubmitted],
                1,
            ),
            ("ecs", "runTask.sync", FULL, &[TaskStarted], 1),
            (
                "glue",
                "startJobRun.sync",
                FULL,
                &[TaskStarted, TaskFailed],
                0,
            ),
            ("ecs", "runTask.sync", "{}", &[TaskStarted, TaskFailed], 0),
        ] {
            let call = scheduled(1, kind, resource, parameters);

            let found = starts(call, events);

            assert_eq!(found.len(), count, "{resource} {events:?}");
        }
    }
}
