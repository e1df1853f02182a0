//! An ECS task as evidence.

use super::time::Timestamp;
use super::work::TaskEnd;

/// The fields of an ECS task that are evidence
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html>).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Task {
    /// The ARN of the task.
    pub arn: String,
    /// The `version` of the task. ECS increments it with every change of the task.
    pub version: u64,
    /// Whether the task is STOPPED. A task that is still stopping may have running containers.
    pub stopped: bool,
    /// The containers of the task.
    pub containers: Vec<Container>,
    /// The `stoppedReason` of the task.
    pub stopped_reason: Option<String>,
    /// Whether the task stopped because an essential container exited, and not because of StopTask or a
    /// failed start ([`Task::is_own_end`]).
    pub ended_by_itself: bool,
    /// When RunTask created the task.
    pub created_at: Option<Timestamp>,
    /// When the containers of the task began to run.
    pub started_at: Option<Timestamp>,
    /// When the task stopped.
    pub stopped_at: Option<Timestamp>,
}

impl Task {
    /// Returns the end of the task for the history: of its first container that did not exit with 0, or
    /// else of its first container.
    #[must_use]
    pub fn end(&self) -> TaskEnd {
        self.end_of(None)
    }

    /// Returns the end of the task for the history: of the container with the id `runtime_id` in the
    /// container runtime, or else as [`Self::end`] does.
    #[must_use]
    pub fn end_of(&self, runtime_id: Option<&str>) -> TaskEnd {
        let named = |container: &&Container| {
            runtime_id.is_some() && container.runtime_id.as_deref() == runtime_id
        };
        let failed = |container: &&Container| container.exit_code.is_none_or(|code| code != 0);
        let container = self.containers.iter().find(named);
        let container = container.or(self.containers.iter().find(failed));
        let container = container.or(self.containers.first());
        let reason = container.and_then(|container| container.reason.clone());
        TaskEnd {
            arn: self.arn.clone(),
            version: self.version,
            runtime_id: container.and_then(|container| container.runtime_id.clone()),
            exit_code: container.and_then(|container| container.exit_code),
            reason: reason.or_else(|| self.stopped_reason.clone()),
        }
    }

    /// Returns whether the task ended by itself and its `container` exited with 0. A container that is
    /// told to stop may exit with 0 as well, so a task that was stopped by a call did not succeed.
    #[must_use]
    pub fn succeeded(&self, container: &str) -> bool {
        let mut named = self.containers.iter().filter(|of| of.name == container);
        let code = named.next().and_then(|container| container.exit_code);
        self.stopped && self.ended_by_itself && code == Some(0)
    }

    /// Returns whether a task with this `stopCode`, `executionStoppedAt` and `stoppingAt` ended by
    /// itself (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html>).
    ///
    /// StopTask may reach ECS after the container has exited and before that exit is reported. Then the
    /// code is `UserInitiated`, and the times show that the container exited first.
    #[must_use]
    pub fn is_own_end(
        stop_code: Option<&str>,
        exited: Option<Timestamp>,
        stopping: Option<Timestamp>,
    ) -> bool {
        let exited_first =
            matches!((exited, stopping), (Some(exited), Some(stopping)) if exited < stopping);
        stop_code == Some("EssentialContainerExited") || exited_first
    }

    /// Returns whether a task with this `lastStatus` has stopped. A task that is still stopping has not
    /// stopped, and an unknown status does not show an end
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-lifecycle-explanation.html>).
    #[must_use]
    pub fn is_over(last_status: &str) -> bool {
        last_status == "STOPPED"
    }
}

/// A container of a task
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Container.html>).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Container {
    /// The name of the container in the task definition.
    pub name: String,
    /// The id of the container in the container runtime; `None` before the container is created.
    pub runtime_id: Option<String>,
    /// The exit code; `None` while the container runs, and if it never ran.
    pub exit_code: Option<i64>,
    /// Why the container could not run or was killed, such as `OutOfMemoryError: …`.
    pub reason: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(runtime_id: &str, exit_code: Option<i64>) -> Container {
        Container {
            name: runtime_id.into(),
            runtime_id: Some(runtime_id.into()),
            exit_code,
            reason: None,
        }
    }

    fn stopped(containers: Vec<Container>) -> Task {
        Task {
            containers,
            ended_by_itself: true,
            ..crate::testing::task("a", true)
        }
    }

    #[test]
    fn the_end_is_of_the_holders_container_or_of_one_that_failed() {
        let (good, bad) = (container("job", Some(0)), container("other", Some(137)));
        for (containers, held, id, exit_code) in [
            ([&good, &bad], None, "other", 137),
            ([&bad, &good], Some("job"), "job", 0),
            ([&bad, &good], Some("not-listed"), "other", 137),
        ] {
            let task = stopped(containers.map(Container::clone).to_vec());

            let end = held.map_or_else(|| task.end(), |id| task.end_of(Some(id)));

            let remembered = (end.runtime_id.as_deref(), end.exit_code);
            assert_eq!(remembered, (Some(id), Some(exit_code)), "{held:?}");
        }
    }

    #[test]
    fn a_task_succeeds_only_if_it_ends_by_itself_with_exit_code_0() {
        let ended = |code| stopped(vec![container("log", Some(137)), container("app", code)]);
        let told_to_stop = Task {
            ended_by_itself: false,
            ..ended(Some(0))
        };
        let at_work = Task {
            stopped: false,
            ..ended(Some(0))
        };

        assert!(ended(Some(0)).succeeded("app"));
        for (task, why) in [
            (ended(Some(1)), "it failed"),
            (ended(None), "it never ran"),
            (told_to_stop, "it was stopped"),
            (at_work, "it runs"),
        ] {
            assert!(!task.succeeded("app"), "{why}");
        }
        assert!(!ended(Some(0)).succeeded("other"));
    }

    #[test]
    fn a_task_whose_container_exited_before_it_was_stopped_ended_by_itself() {
        let at = |second: u64| Some(Timestamp::from_millis(second * 1000));
        let cases = [
            (Some("EssentialContainerExited"), at(5), at(6), true),
            (Some("EssentialContainerExited"), None, None, true),
            (Some("UserInitiated"), at(5), at(6), true),
            (Some("UserInitiated"), at(6), at(5), false),
            (Some("UserInitiated"), at(5), at(5), false),
            (Some("UserInitiated"), None, at(5), false),
            (Some("TaskFailedToStart"), None, at(5), false),
            (None, None, None, false),
        ];
        for (code, exited, stopping, own) in cases {
            let seen = Task::is_own_end(code, exited, stopping);
            assert_eq!(seen, own, "{code:?} {exited:?} {stopping:?}");
        }
    }
}
