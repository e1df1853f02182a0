//! Evidence for the judge: the containers of a lock, as ECS and their own lines show them.

use super::{Event, Record, Stack, until};
use crate::judge::{Container, Expected, Stop};
use serde_json::Value;

impl Stack {
    /// Returns the containers that were started under `lock`, once each of its tasks has stopped.
    pub async fn containers(&self, lock: &str, seconds: u64) -> Vec<Container> {
        let what = format!("end of every task of {lock}");
        let stopped = async || {
            let tasks = self.tasks(lock).await;
            tasks.iter().all(|task| task["lastStatus"] == "STOPPED")
        };
        until(&what, seconds, stopped).await;
        self.containers_now(lock).await
    }

    /// Returns the containers that were started under `lock`, as they are seen now.
    pub async fn containers_now(&self, lock: &str) -> Vec<Container> {
        let (tasks, records) = (self.tasks(lock).await, self.records(lock).await);
        let containers = tasks.iter().filter_map(|task| container(task, &records));
        let mut containers: Vec<_> = containers.filter(|one| one.lock == lock).collect();
        containers.sort_by_key(|one| one.started);
        containers
    }

    /// Judges the containers of `lock` by what the test `expected`, and returns them.
    ///
    /// # Panics
    /// If they break a rule.
    pub async fn judge(&self, lock: &str, expected: &Expected) -> Vec<Container> {
        let containers = self.containers(lock, 60).await;
        let found = expected.violations(&containers);
        let lines: Vec<_> = found.iter().map(ToString::to_string).collect();
        let lines = lines.join("\n");
        assert!(found.is_empty(), "lock {lock}:\n{lines}\n{containers:#?}");
        containers
    }
}

/// Returns the container of a task; `None` if it has not run yet, or never ran.
fn container(task: &Value, records: &[Record]) -> Option<Container> {
    let arn = task["taskArn"].as_str()?;
    let id = arn.rsplit('/').next()?.to_owned();
    let variable = |name: &str| {
        let overrides = task["overrides"]["containerOverrides"].as_array()?;
        let variables = overrides
            .iter()
            .filter_map(|one| one["environment"].as_array());
        let found = variables.flatten().find(|one| one["name"] == name)?;
        found["value"].as_str().map(str::to_owned)
    };
    let mut own = records.iter().filter(|record| record.task == id);
    let line = own.find(|record| record.event == Event::Start);
    let started = line.map(|line| line.at).or(millis(&task["startedAt"]))?;
    let ended = millis(&task["executionStoppedAt"]);
    Some(Container {
        lock: variable("LOCKSTEP_LOCK")?,
        holder: variable("LOCKSTEP_HOLDER")?,
        token: variable("LOCKSTEP_FENCING_TOKEN")?.parse().ok()?,
        run_key: variable("LOCKSTEP_RUN_KEY"),
        started,
        ended,
        exit_code: task["containers"][0]["exitCode"].as_i64(),
        stopped: stop(task, ended),
        task: id,
    })
}

/// Returns the order that ended a task, if it came before the end of its container.
fn stop(task: &Value, ended: Option<u64>) -> Option<Stop> {
    let at = millis(&task["stoppingAt"])?;
    let ordered = task["stopCode"] != "EssentialContainerExited";
    let in_time = ended.is_none_or(|ended| at < ended);
    (ordered && in_time).then(|| Stop {
        at,
        reason: task["stoppedReason"].as_str().unwrap_or_default().into(),
    })
}

/// Returns a time of ECS, in epoch milliseconds.
fn millis(time: &Value) -> Option<u64> {
    let seconds = time.as_f64()?;
    Some((seconds * 1000.0).round() as u64)
}
