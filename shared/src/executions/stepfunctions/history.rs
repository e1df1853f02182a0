//! Reads the history of an execution for tasks that its states may have started.
//!
//! ```text
//!  TaskScheduled ─▶ TaskStarted ─┬▶ TaskSubmitted ─▶ …          the task is known
//!   the request                  └▶ TaskSubmitFailed, TaskFailed   RunTask returned an error
//! ```
//! Each event names the one before it, so the events of parallel branches are told apart.

use super::time;
use aws_sdk_sfn::types::{HistoryEvent, HistoryEventType};
use lockstep_core::domain::{FailedStart, TaskSet};
use serde::Deserialize;
use std::collections::HashMap;

/// The `resourceType` of a call to ECS, and the `resource` of RunTask less its integration pattern
/// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_TaskScheduledEventDetails.html>).
const RUN_TASK: (&str, &str) = ("ecs", "runTask");

/// The cluster of a request that names none
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html>).
const DEFAULT_CLUSTER: &str = "default";

/// The parameters of RunTask that tell where its task is found.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request {
    cluster: Option<String>,
    task_definition: String,
    group: Option<String>,
}

/// Whether [`failed_starts`] reads `event`. The others need not be kept: each may be a quarter of a megabyte.
pub(super) fn is_of_a_task(event: &HistoryEvent) -> bool {
    matches!(
        event.r#type(),
        HistoryEventType::TaskScheduled
            | HistoryEventType::TaskStarted
            | HistoryEventType::TaskSubmitFailed
            | HistoryEventType::TaskFailed
            | HistoryEventType::TaskTimedOut
    )
}

/// Returns the calls of RunTask that failed.
pub(super) fn failed_starts(events: &[HistoryEvent]) -> Vec<FailedStart> {
    let by_id: HashMap<_, _> = events.iter().map(|event| (event.id(), event)).collect();
    let failures = events.iter().filter(|event| {
        matches!(
            event.r#type(),
            HistoryEventType::TaskSubmitFailed
                | HistoryEventType::TaskFailed
                | HistoryEventType::TaskTimedOut
        )
    });
    let starts = failures.filter_map(|failure| {
        let before = |event: &HistoryEvent| by_id.get(&event.previous_event_id()).copied();
        let started = before(failure)?;
        let scheduled = match started.r#type() {
            HistoryEventType::TaskStarted => before(started)?,
            _ => started,
        };
        failed_start(scheduled, failure)
    });
    starts.collect()
}

/// The call that `scheduled` describes, if it is one of RunTask. After a TaskSubmitted there is none.
fn failed_start(scheduled: &HistoryEvent, failure: &HistoryEvent) -> Option<FailedStart> {
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
        failed_at: time(failure.timestamp())?,
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

    /// The starts of a call at second 1 that `kinds` follow, a second each, latest first.
    fn starts(call: HistoryEvent, kinds: &[HistoryEventType]) -> Vec<FailedStart> {
        let mut events = vec![call];
        for kind in kinds {
            let id = i64::try_from(events.len()).unwrap();
            events.push(event(id + 1, id, kind.clone()));
        }
        events.reverse();
        failed_starts(&events)
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
    fn only_a_call_of_run_task_that_was_not_submitted_counts() {
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
            ("ecs", "runTask.sync", FULL, &[TaskStarted], 0),
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
