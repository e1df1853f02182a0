//! What the demo reads from the deployed stack: the fate of an execution, the lease, the log lines.

use super::{Fate, Millis};
use crate::stack::{Ended, Item, Stack};
use std::collections::HashMap;

/// The lease in the record of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it.
    pub holder: String,
    /// Its fencing token.
    pub token: u64,
    /// When it ends unless it is renewed.
    pub expires_at: Millis,
}

/// The lease in a record, none while the lock is free, and how many wait for it.
#[must_use]
pub fn lock(item: &Item) -> (Option<Lease>, usize) {
    let map = |name: &str| item.get(name).and_then(|map| map.as_m().ok());
    let lease = map("holders").and_then(|holders| {
        let (holder, lease) = holders.iter().next()?;
        let number = |name: &str| lease.as_m().ok()?.get(name)?.as_n().ok()?.parse().ok();
        Some(Lease {
            holder: holder.clone(),
            token: number("token")?,
            expires_at: number("expiresAt")?,
        })
    });
    (lease, map("queue").map_or(0, HashMap::len))
}

/// What became of an execution.
///
/// # Panics
/// With an output that no execution of exclusive-run has.
#[must_use]
pub fn fate(ended: Ended) -> Fate {
    let text = |name: &str| ended.output[name].as_str().unwrap_or_default().to_owned();
    let (holder, message) = (text("holder"), text("message"));
    match (ended.status.as_str(), ended.answer()) {
        ("SUCCEEDED", "") => Fate::Succeeded,
        ("SUCCEEDED", "skipped") => Fate::Skipped { holder, message },
        ("SUCCEEDED", "duplicate") => Fate::Duplicate { holder, message },
        ("SUCCEEDED", other) => panic!("an execution answered with status {other}"),
        (status, _) => Fate::Failed {
            error: match ended.error.is_empty() {
                true => status.to_owned(),
                false => ended.error,
            },
            cause: ended.cause,
        },
    }
}

impl Stack {
    /// What the containers of the fixture have written since `since`.
    pub async fn container_lines(&self, since: Millis) -> Vec<String> {
        self.lines(self.fixture("BatchLogGroupName"), since).await
    }

    /// What the lock functions have written since `since`.
    pub async fn function_lines(&self, since: Millis) -> Vec<String> {
        let mut lines = Vec::new();
        for function in ["acquire-lock", "heartbeat", "release-lock", "reaper"] {
            let group = format!("/aws/lambda/lockstep-{function}");
            lines.extend(self.lines(&group, since).await);
        }
        lines
    }

    async fn lines(&self, group: &str, since: Millis) -> Vec<String> {
        let events = self.log_events(group, since).await;
        let messages = events.iter().filter_map(|event| event["message"].as_str());
        messages.map(|text| text.trim_end().to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn ended(status: &str, output: Value) -> Ended {
        Ended {
            arn: String::new(),
            status: status.into(),
            output,
            error: String::new(),
            cause: String::new(),
            started: 0,
            stopped: 0,
        }
    }

    #[test]
    fn the_output_of_a_success_says_what_it_was() {
        let output = json!({ "status": "skipped", "holder": "h", "message": "held" });
        let skipped = Fate::Skipped {
            holder: "h".into(),
            message: "held".into(),
        };
        assert_eq!(fate(ended("SUCCEEDED", output)), skipped);
        let task = json!({ "TaskArn": "t" });
        assert_eq!(fate(ended("SUCCEEDED", task)), Fate::Succeeded);
        let (error, cause) = ("ABORTED".into(), String::new());
        let aborted = Fate::Failed { error, cause };
        assert_eq!(fate(ended("ABORTED", Value::Null)), aborted);
    }

    #[test]
    #[should_panic(expected = "queued")]
    fn an_output_of_another_status_is_none() {
        let _none = fate(ended("SUCCEEDED", json!({ "status": "queued" })));
    }
}
