//! One task: the lines that it wrote, and how it ended.

use super::Fleet;
use lockstep_tests::stack::{Stack, deadline, now, pause};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A task that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    /// Its ARN.
    pub(super) arn: String,
    /// The last part of its ARN.
    pub(super) id: String,
}

/// How a task ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    /// Exit code of the container `batch`.
    pub(super) code: i64,
    /// When its containers had ended, in epoch milliseconds.
    pub(super) at: u64,
    /// The description of the task.
    pub(super) task: Value,
}

impl Task {
    /// Returns the task of this ARN.
    pub(super) fn of(arn: &str) -> Self {
        let id = arn.rsplit('/').next().unwrap_or_default();
        Self {
            arn: arn.to_owned(),
            id: id.to_owned(),
        }
    }

    /// Returns the id of its container, as the engine and the metadata endpoint show it.
    pub(super) async fn runtime_id(&self, stack: &Stack) -> String {
        let response = stack.task(&self.arn).await;
        let id = response["containers"][0]["runtimeId"].as_str();
        id.unwrap_or_else(|| panic!("{} has no container yet: {response}", self.arn))
            .to_owned()
    }
}

impl Fleet {
    /// Returns how a task ended, or `None` while it runs.
    pub(super) async fn end_of(&self, task: &Task) -> Option<Ended> {
        let at = self.stack().stopped_at(&task.arn).await?;
        let response = self.stack().task(&task.arn).await;
        let code = response["containers"][0]["exitCode"].as_i64();
        Some(Ended {
            code: code.unwrap_or_else(|| panic!("no exit code: {response}")),
            at,
            task: response,
        })
    }

    /// Waits for the end of a task.
    pub(super) async fn ended(&self, task: &Task, seconds: u64) -> Ended {
        let deadline = deadline(seconds);
        loop {
            if let Some(ended) = self.end_of(task).await {
                return ended;
            }
            assert!(
                now() < deadline,
                "{task:?} runs after {seconds} s: {:#?}",
                self.lines(task).await
            );
            pause(100).await;
        }
    }
}

/// A line of the guarded command. The lines of `lockstep` are JSON too, with a `level`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Logged {
    /// When, in epoch milliseconds.
    #[serde(default)]
    pub(super) at: u64,
    /// What happened.
    pub(super) event: String,
    /// The variables that a batch reports at its start, or what a script reports.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
}

impl Logged {
    /// Returns the lines of the command among `lines`.
    pub(super) fn all(lines: &[String]) -> Vec<Self> {
        let own = lines.iter().filter(|line| !line.contains("\"level\":"));
        let logged = own.map(|line| serde_json::from_str(line));
        logged.filter_map(Result::ok).collect()
    }

    /// Returns the value under a name, or an empty text.
    pub(super) fn value(&self, name: &str) -> &str {
        self.env.get(name).map_or("", String::as_str)
    }

    /// Returns the fencing token that a batch was given.
    pub(super) fn token(&self) -> u64 {
        let token = self.value("LOCKSTEP_FENCING_TOKEN").parse();
        token.unwrap_or_else(|_| panic!("no token in {self:?}"))
    }
}
