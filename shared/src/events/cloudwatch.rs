//! An event bus of EventBridge, with a log group to which a rule writes the events of the bus.
//!
//! A start that got no permit writes nothing to the table. The history reads such starts from this log group.
//! The reading is limited in time and in the number of events. If it ends early, the result names the reason.

use super::eventbridge::EventBridge;
use super::log::HistoryScope;
use super::{Event, EventQuery, Events, LoggedEvent, LoggedEvents};
use crate::contract::{EventKind, parse_time};
use crate::failure::text;
use crate::lazy::LazyClient;
use aws_sdk_cloudwatchlogs::Client;
use lockstep_core::domain::{LockKey, Timestamp};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::time::Duration;

/// Longest time to read events, because a page of the history waits for them.
const TIME_MAX: Duration = Duration::from_secs(4);

/// Largest number of events that one query reads. A lock whose runs are skipped once a minute has 1,440
/// events a day.
const EVENTS_MAX: usize = 20_000;

/// How long after its time an event may arrive in the log. EventBridge delivers an event at once, and retries
/// for a day. An event that arrives later than this is missing in the history.
const LATE_MAX: Duration = Duration::from_mins(10);

/// An event bus, and the log group that keeps its events.
#[derive(Clone, Debug)]
pub struct LoggedBus {
    bus: EventBridge,
    log: Option<(LazyClient<Client>, String)>,
}

impl LoggedBus {
    /// Creates a bus that publishes to `bus`, and reads the log group `group` with the settings of `sdk`.
    #[must_use]
    pub fn new(bus: EventBridge, sdk: &aws_config::SdkConfig, group: Option<String>) -> Self {
        Self {
            bus,
            log: group.map(|group| (LazyClient::new(sdk, Client::new), group)),
        }
    }
}

impl Events for LoggedBus {
    async fn publish(&self, events: Vec<Event>) {
        self.bus.publish(events).await;
    }

    async fn logged(&self, query: &EventQuery<'_>) -> Option<LoggedEvents> {
        let (client, group) = self.log.as_ref()?;
        let mut found = Found::default();
        let reading = read(client, group, query, &mut found);
        let problem = match tokio::time::timeout(TIME_MAX, reading).await {
            Ok(read) => read.err(),
            Err(_) => Some("the log of events was not read within four seconds".to_owned()),
        };
        if let Some(why) = &problem {
            tracing::warn!(
                event = "events_unread",
                group,
                why,
                "the log of events was not read to its end"
            );
        }
        let advice = "ask for a shorter time";
        Some(LoggedEvents {
            events: found.events,
            problem: problem.map(|why| format!("starts may be missing: {why}; {advice}")),
        })
    }
}

/// The events that were read, each once, because EventBridge may deliver an event twice.
#[derive(Default)]
struct Found {
    events: Vec<LoggedEvent>,
    known: BTreeSet<(Timestamp, EventKind, LockKey, Option<String>)>,
}

impl Found {
    fn add(&mut self, event: LoggedEvent) {
        let identity = (
            event.at,
            event.kind,
            event.lock.clone(),
            event.holder.clone(),
        );
        if self.known.insert(identity) {
            self.events.push(event);
        }
    }
}

/// Reads pages of FilterLogEvents, oldest first, into `found`.
async fn read(
    client: &Client,
    group: &str,
    query: &EventQuery<'_>,
    found: &mut Found,
) -> Result<(), String> {
    let millis = |time: Timestamp| i64::try_from(time.millis()).unwrap_or(i64::MAX);
    let late = Timestamp::from_millis(u64::try_from(LATE_MAX.as_millis()).unwrap_or(u64::MAX));
    let end = query.before.millis().saturating_add(late.millis());
    let mut pages = client
        .filter_log_events()
        .log_group_name(group)
        .filter_pattern(pattern(query))
        .start_time(millis(query.from))
        // FilterLogEvents compares the time of the delivery. The time of the event itself is compared below.
        .end_time(i64::try_from(end).unwrap_or(i64::MAX))
        .into_paginator()
        .send();
    while let Some(page) = pages.next().await {
        let page = page.map_err(|failure| text(&failure))?;
        let lines = page.events().iter().filter_map(|line| line.message());
        for event in lines
            .filter_map(parse)
            .filter(|event| query.asks_for(event))
        {
            found.add(event);
        }
        if found.events.len() > EVENTS_MAX {
            return Err(format!("there are more than {EVENTS_MAX} events"));
        }
    }
    Ok(())
}

/// Returns the filter pattern of the events that `query` asks for. The name of a lock has no character with a
/// meaning in a pattern
/// (<https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntaxForMetricFilters.html>).
fn pattern(query: &EventQuery<'_>) -> String {
    let kinds = query.kinds.iter();
    let kinds = kinds.map(|kind| format!("($.detail-type = \"{kind}\")"));
    let kinds = kinds.collect::<Vec<_>>().join(" || ");
    match query.scope {
        HistoryScope::Lock(lock) => format!("{{ ($.detail.lock = \"{lock}\") && ({kinds}) }}"),
        HistoryScope::Prefix(prefix) if prefix.is_empty() => format!("{{ {kinds} }}"),
        HistoryScope::Prefix(prefix) => {
            format!("{{ ($.detail.lock = \"{prefix}*\") && ({kinds}) }}")
        }
    }
}

/// An event as EventBridge writes it to the log. Fields that are not needed are left out.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "detail-type")]
    detail_type: String,
    detail: Detail,
}

#[derive(Deserialize)]
struct Detail {
    lock: String,
    holder: Option<String>,
    reason: String,
    at: String,
}

/// Returns the event of a line, or `None` for a line that is not an event of Lockstep. Anyone who may write
/// to the log group can add such a line.
fn parse(line: &str) -> Option<LoggedEvent> {
    let Line {
        detail_type,
        detail,
    } = serde_json::from_str(line).ok()?;
    let mut kinds = EventKind::ALL.into_iter();
    Some(LoggedEvent {
        kind: kinds.find(|kind| kind.detail_type() == detail_type)?,
        lock: LockKey::new(detail.lock).ok()?,
        holder: detail.holder,
        reason: detail.reason,
        at: parse_time("at", &detail.at).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_the_kinds_and_the_lock_or_its_prefix() {
        let skipped = r#"($.detail-type = "Lockstep Run Skipped")"#;
        let two = r#"($.detail-type = "Lockstep Run Skipped") || ($.detail-type = "Lockstep Queue Full")"#;
        let lock = HistoryScope::Lock(LockKey::new("a/b").unwrap());
        let prefix = |prefix: &str| HistoryScope::Prefix(prefix.into());
        let of_lock = format!(r#"{{ ($.detail.lock = "a/b") && ({skipped}) }}"#);
        let of_prefix = format!(r#"{{ ($.detail.lock = "a*") && ({two}) }}"#);
        for (scope, kinds, expected) in [
            (lock, 1, of_lock),
            (prefix("a"), 2, of_prefix),
            (prefix(""), 1, format!("{{ {skipped} }}")),
        ] {
            let query = EventQuery {
                scope: &scope,
                kinds: &[EventKind::RunSkipped, EventKind::QueueFull][..kinds],
                from: Timestamp::default(),
                before: Timestamp::MAX,
            };

            assert_eq!(pattern(&query), expected);
        }
    }

    #[test]
    fn a_log_line_of_another_source_is_skipped() {
        let line = |kind: &str, lock: &str, at: &str| {
            let detail =
                format!(r#"{{"lock": "{lock}", "holder": "h", "reason": "r", "at": "{at}"}}"#);
            format!(r#"{{"detail-type": "{kind}", "source": "lockstep", "detail": {detail}}}"#)
        };
        let at = "2026-03-01T06:00:00Z";

        let event = parse(&line("Lockstep Run Skipped", "nightly", at)).unwrap();

        assert_eq!(event.kind, EventKind::RunSkipped);
        assert_eq!(event.lock.as_str(), "nightly");
        assert_eq!(event.at, parse_time("at", at).unwrap());
        for other in [
            line("Lockstep Run Eaten", "nightly", at),
            line("Lockstep Run Skipped", "a lock", at),
            line("Lockstep Run Skipped", "nightly", "today"),
            "START RequestId: 1".to_owned(),
        ] {
            assert_eq!(parse(&other), None, "{other}");
        }
    }

    #[test]
    fn an_event_that_was_delivered_twice_counts_once() {
        let event = |second: u64| LoggedEvent {
            kind: EventKind::RunSkipped,
            lock: LockKey::new("nightly").unwrap(),
            holder: Some("h".into()),
            reason: "held".into(),
            at: Timestamp::from_millis(second * 1000),
        };
        let mut found = Found::default();

        for second in [1, 2, 1] {
            found.add(event(second));
        }

        assert_eq!(found.events, [event(1), event(2)]);
    }
}
