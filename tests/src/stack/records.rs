//! What containers recorded of themselves.

use super::{Stack, deadline, now, pause};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};

/// What a batch tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// It begins to work.
    Start,
    /// It was asked to stop.
    Sigterm,
    /// Its work is done, or has failed.
    End,
}

/// One line that a container wrote.
#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    /// When, in epoch milliseconds.
    pub at: u64,
    /// What.
    pub event: Event,
    /// The container.
    pub id: String,
    /// The variables that it reports; only in the line of its start.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The id of its ECS task.
    #[serde(skip)]
    pub task: String,
}

/// One run of a container.
#[derive(Clone, Debug)]
pub struct Run {
    /// The id of its ECS task.
    pub task: String,
    /// When it began, in epoch milliseconds.
    pub start: u64,
    /// When it was asked to stop.
    pub sigterm: Option<u64>,
    /// Its last sign of life; none while it has not ended.
    pub end: Option<u64>,
    /// The variables that it reports.
    pub env: BTreeMap<String, String>,
}

/// The runs that `records` tell of, in the order of their starts.
#[must_use]
pub fn runs(records: &[Record]) -> Vec<Run> {
    let starts = records.iter().filter(|r| r.event == Event::Start);
    let mut runs: Vec<_> = starts
        .map(|start| {
            let at = |event| {
                let mut own = records.iter().filter(|r| r.task == start.task);
                own.find(|r| r.event == event).map(|r| r.at)
            };
            Run {
                task: start.task.clone(),
                start: start.at,
                sigterm: at(Event::Sigterm),
                end: at(Event::End).or(at(Event::Sigterm)),
                env: start.env.clone(),
            }
        })
        .collect();
    runs.sort_by_key(|run| run.start);
    runs
}

/// How many overlaps `records` of one lock show: for each start, the runs that were under way
/// beyond what `permits` allow. With one permit these are the pairs of runs that overlap.
#[must_use]
pub fn overlaps(records: &[Record], permits: usize) -> usize {
    let runs = runs(records);
    let under_way = runs.iter().enumerate().map(|(index, run)| {
        let earlier = runs[..index].iter();
        earlier
            .filter(|other| other.end.is_none_or(|end| end > run.start))
            .count()
    });
    under_way
        .map(|count| (count + 1).saturating_sub(permits))
        .sum()
}

impl Run {
    /// The fencing token that the container was given.
    #[must_use]
    pub fn token(&self) -> u64 {
        let token = self.env.get("LOCKSTEP_FENCING_TOKEN");
        token.and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}

impl Stack {
    /// What the containers of `lock` recorded, in the order of time.
    pub async fn records(&self, lock: &str) -> Vec<Record> {
        let mut records = self.all_records().await;
        let of_lock = |r: &&Record| r.env.get("LOCKSTEP_LOCK").is_some_and(|name| name == lock);
        let tasks = records.iter().filter(of_lock).map(|r| r.task.clone());
        let tasks: HashSet<_> = tasks.collect();
        records.retain(|record| tasks.contains(&record.task));
        records
    }

    /// What the container of one task recorded.
    pub async fn records_of_task(&self, task_arn: &str) -> Vec<Record> {
        let mut own = self.all_records().await;
        own.retain(|record| task_arn.ends_with(&record.task));
        own
    }

    /// Waits until the containers of `lock` have recorded `count` times `event`.
    pub async fn wait_for(
        &self,
        lock: &str,
        event: Event,
        count: usize,
        seconds: u64,
    ) -> Vec<Record> {
        let deadline = deadline(seconds);
        loop {
            let records = self.records(lock).await;
            let seen = records.iter().filter(|r| r.event == event).count();
            if seen >= count {
                return records;
            }
            assert!(
                now() < deadline,
                "lock {lock}: {seen} of {count} {event:?} after {seconds} s"
            );
            pause(100).await;
        }
    }

    async fn all_records(&self) -> Vec<Record> {
        let events = self.log_events(self.fixture("BatchLogGroupName"), 0).await;
        let mut records: Vec<_> = events.iter().map(record).collect();
        records.sort_by_key(|record| record.at);
        records
    }

    /// The events of a log group since `since`, in epoch milliseconds.
    pub async fn log_events(&self, group: &str, since: u64) -> Vec<Value> {
        let mut ask = json!({ "logGroupName": group, "startTime": since });
        let mut events = Vec::new();
        loop {
            let target = "Logs_20140328.FilterLogEvents";
            let mut page = self.call("logs", target, ask.clone()).await;
            if let Value::Array(found) = page["events"].take() {
                events.extend(found);
            }
            match page["nextToken"].take() {
                Value::Null => return events,
                next => ask["nextToken"] = next,
            }
        }
    }
}

fn record(event: &Value) -> Record {
    let line = event["message"].as_str().unwrap_or_default();
    let stream = event["logStreamName"].as_str().unwrap_or_default();
    let mut record: Record = serde_json::from_str(line)
        .unwrap_or_else(|error| panic!("a container of {stream} wrote {line}: {error}"));
    record.task = stream.rsplit('/').next().unwrap_or_default().to_owned();
    record
}

#[cfg(test)]
mod tests {
    use super::{Event, Record, overlaps};

    fn of(task: &str, from: u64, to: Option<u64>) -> Vec<Record> {
        let record = |at, event| Record {
            at,
            event,
            id: task.into(),
            env: [].into(),
            task: task.into(),
        };
        let end = to.map(|at| record(at, Event::End));
        std::iter::once(record(from, Event::Start))
            .chain(end)
            .collect()
    }

    #[test]
    fn overlaps_are_counted_beyond_the_permits() {
        let after = [of("a", 0, Some(10)), of("b", 10, Some(20))].concat();
        assert_eq!(overlaps(&after, 1), 0);
        let nested = [of("a", 0, Some(30)), of("b", 5, Some(9)), of("c", 8, None)].concat();
        assert_eq!((overlaps(&nested, 1), overlaps(&nested, 2)), (3, 1));
        let unended = [of("a", 0, None), of("b", 99, None)].concat();
        assert_eq!(overlaps(&unended, 1), 1);
    }
}
