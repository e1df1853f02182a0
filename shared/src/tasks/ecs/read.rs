//! Converts tasks of the SDK to [`Task`].
//!
//! A missing field never counts as a success. A task without a `stopCode` or without its times did not end by
//! itself, and a container without an exit code did not succeed.

use crate::tasks::TasksError;
use aws_sdk_ecs::primitives::DateTime;
use lockstep_core::domain::{Container, Task, Timestamp};

pub(super) fn task(seen: &aws_sdk_ecs::types::Task) -> Result<Task, TasksError> {
    let (Some(arn), Some(status)) = (seen.task_arn(), seen.last_status()) else {
        let text = "a task has no ARN or no status".to_owned();
        return Err(TasksError::Unavailable(text));
    };
    Ok(Task {
        arn: arn.to_owned(),
        version: u64::try_from(seen.version()).unwrap_or(0),
        stopped: Task::is_over(status),
        containers: seen.containers().iter().map(container).collect(),
        stopped_reason: seen.stopped_reason().map(str::to_owned),
        ended_by_itself: Task::is_own_end(
            seen.stop_code().map(|code| code.as_str()),
            seen.execution_stopped_at().and_then(time),
            seen.stopping_at().and_then(time),
        ),
        created_at: seen.created_at().and_then(time),
        started_at: seen.started_at().and_then(time),
        stopped_at: seen.stopped_at().and_then(time),
    })
}

fn container(seen: &aws_sdk_ecs::types::Container) -> Container {
    Container {
        name: seen.name().unwrap_or_default().to_owned(),
        runtime_id: seen.runtime_id().map(str::to_owned),
        exit_code: seen.exit_code().map(i64::from),
        reason: seen.reason().map(str::to_owned),
    }
}

pub(super) fn time(time: &DateTime) -> Option<Timestamp> {
    let millis = u64::try_from(time.to_millis().ok()?).ok()?;
    Some(Timestamp::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_ecs::types as seen;

    #[test]
    fn a_task_that_is_stopping_has_not_stopped() {
        let seen = |status| {
            let seen = seen::Task::builder().task_arn("a");
            let seen = seen.desired_status("STOPPED").last_status(status);
            task(&seen.build()).unwrap().stopped
        };

        for status in ["RUNNING", "DEACTIVATING", "STOPPING", "DEPROVISIONING"] {
            assert!(!seen(status), "{status}");
        }
        assert!(seen("STOPPED"));
    }

    #[test]
    fn a_task_keeps_its_attributes() {
        let container = seen::Container::builder();
        let container = container.name("report").runtime_id("c0ffee").exit_code(137);
        let container = container.reason("OutOfMemoryError: Container killed");
        let seen = seen::Task::builder().task_arn("a").last_status("STOPPED");
        let seen = seen.stopped_reason("Essential container in task exited");
        let seen = seen.version(4).started_at(DateTime::from_millis(1500));

        let task = task(&seen.containers(container.build()).build()).unwrap();

        assert_eq!((task.arn.as_str(), task.version), ("a", 4));
        assert_eq!(task.started_at, Some(Timestamp::from_millis(1500)));
        assert_eq!(task.stopped_at, None);
        let [container] = &task.containers[..] else {
            panic!("{task:?}")
        };
        assert_eq!(container.exit_code, Some(137));
        assert_eq!(container.runtime_id.as_deref(), Some("c0ffee"));
    }

    #[test]
    fn a_task_without_a_status_is_an_error() {
        let seen = seen::Task::builder().task_arn("a").build();

        assert!(matches!(task(&seen), Err(TasksError::Unavailable(_))));
    }
}
