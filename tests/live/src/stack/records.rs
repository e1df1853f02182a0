//! The lines in which containers report what they do.

use super::{Stack, deadline, now, pause};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};

/// What a batch reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// It begins to work.
    Start,
    /// It was asked to stop.
    Sigterm,
    /// Its work ended, with success or without.
    End,
}

/// One line that a container wrote.
#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    /// When, in epoch milliseconds.
    pub at: u64,
    /// What happened.
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
    /// The container.
    pub id: String,
    /// The id of its ECS task.
    pub task: String,
    /// When it began, in epoch milliseconds.
    pub start: u64,
    /// When it was asked to stop.
    pub sigterm: Option<u64>,
    /// When its work ended, or else when it was asked to stop; `None` before.
    pub end: Option<u64>,
    /// The variables that it reports.
    pub env: BTreeMap<String, String>,
}

/// Returns the runs that `records` show, in the order of their starts.
pub fn runs(records: &[Record]) -> Vec<Run> {
    let starts = records.iter().filter(|r| r.event == Event::Start);
    let mut runs: Vec<_> = starts
        .map(|start| {
            let at = |event| {
                let mut own = records.iter().filter(|r| r.task == start.task);
                own.find(|r| r.event == event).map(|r| r.at)
            };
            Run {
                id: start.id.clone(),
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

/// Counts the overlaps of `runs`, which are those of one lock in the order of their starts: for
/// each start, the runs under way beyond `permits`. With one permit these are the pairs of runs
/// that overlap.
pub fn overlaps(runs: &[Run], permits: usize) -> usize {
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
    /// Returns the fencing token that the container was given.
    pub fn token(&self) -> u64 {
        let token = self.env.get("LOCKSTEP_FENCING_TOKEN");
        token.and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// Returns the holder that the container was given.
    pub fn holder(&self) -> &str {
        let holder = self.env.get("LOCKSTEP_HOLDER");
        holder.map_or("", String::as_str)
    }

    /// Returns when its work was done, without a signal to stop.
    pub fn done(&self) -> Option<u64> {
        self.end.filter(|_| self.sigterm.is_none())
    }
}

/// Returns the records of the containers that were started under `lock`.
fn of_lock(mut records: Vec<Record>, lock: &str) -> Vec<Record> {
    let own = |r: &&Record| r.env.get("LOCKSTEP_LOCK").is_some_and(|name| name == lock);
    let tasks: HashSet<_> = records.iter().filter(own).map(|r| r.task.clone()).collect();
    records.retain(|record| tasks.contains(&record.task));
    records
}

impl Stack {
    /// Returns what the containers of `lock` recorded, in the order of time.
    pub async fn records(&self, lock: &str) -> Vec<Record> {
        of_lock(self.all_records().await, lock)
    }

    /// Returns what the container of one task recorded.
    pub async fn records_of_task(&self, task_arn: &str) -> Vec<Record> {
        let mut own = self.all_records().await;
        own.retain(|record| task_arn.ends_with(&record.task));
        own
    }

    /// Waits until the containers of `lock` have recorded `event` `count` times.
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
        let ask = json!({ "logGroupName": self.fixture("BatchLogGroupName") });
        let events = self.log_events(ask).await;
        let mut records: Vec<_> = events.iter().map(record).collect();
        records.sort_by_key(|record| record.at);
        records
    }

    /// Returns all events that FilterLogEvents gives for `ask`, page by page.
    pub async fn log_events(&self, mut ask: Value) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let target = "Logs_20140328.FilterLogEvents";
            let page = self.call("logs", target, ask.clone()).await;
            events.extend(page["events"].as_array().into_iter().flatten().cloned());
            match page["nextToken"].as_str() {
                Some(next) => ask["nextToken"] = next.into(),
                None => return events,
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
    use super::{Event, Record, of_lock, overlaps, runs};

    fn record(task: &str, at: u64, event: Event) -> Record {
        Record {
            at,
            event,
            id: task.into(),
            env: [("LOCKSTEP_LOCK".into(), "nightly".into())].into(),
            task: task.into(),
        }
    }

    #[test]
    fn overlaps_are_counted_beyond_the_permits() {
        let endless = None;
        for (intervals, one_permit, two_permits) in [
            (&[(0, Some(10)), (10, Some(20))][..], 0, 0),
            (&[(10, Some(20)), (20, endless)], 0, 0),
            (&[(10, Some(21)), (20, endless)], 1, 0),
            (&[(0, Some(30)), (5, Some(9)), (8, endless)], 3, 1),
            (&[(0, endless), (99, endless)], 1, 0),
            (&[(10, endless), (99, Some(100))], 1, 0),
        ] {
            let records = intervals.iter().enumerate().flat_map(|(task, (from, to))| {
                let task = task.to_string();
                let end = to.map(|at| record(&task, at, Event::End));
                [Some(record(&task, *from, Event::Start)), end]
            });
            let runs = runs(&records.flatten().collect::<Vec<_>>());
            let found = (overlaps(&runs, 1), overlaps(&runs, 2));
            assert_eq!(found, (one_permit, two_permits), "{intervals:?}");
        }
    }

    #[test]
    fn the_records_of_one_container_are_one_run_whatever_their_order() {
        let records = [
            record("c1", 30, Event::End),
            record("c1", 10, Event::Start),
            record("c2", 40, Event::Start),
            record("c2", 45, Event::Sigterm),
        ];
        let runs = runs(&records);
        let seen: Vec<_> = runs
            .iter()
            .map(|run| (run.start, run.end, run.done()))
            .collect();
        assert_eq!(seen, [(10, Some(30), Some(30)), (40, Some(45), None)]);
        assert!(of_lock(records.into(), "other").is_empty());
    }
}
