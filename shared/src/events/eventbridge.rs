//! Publishes events to EventBridge.
//!
//! Events are for operators and their alarms. No decision depends on an event. If an event that asks the
//! reaper for a wake-up is lost, the sweep sends the wake-up. So an event that cannot be published is logged
//! with its fields, and does not fail the caller.

use super::{Event, EventDetail, Events};
use crate::config::RunbookUrl;
use crate::contract::SOURCE;
use crate::failure::text;
use crate::lazy::LazyClient;
use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::primitives::DateTime;
use aws_sdk_eventbridge::types::{PutEventsRequestEntry, PutEventsResultEntry};
use std::time::Duration;

/// Largest number of entries of one PutEvents call
/// (<https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html>).
const BATCH: usize = 10;

/// Longest time for one publication, because the run that the events are about waits for it.
const TIME_MAX: Duration = Duration::from_secs(2);

/// An event bus of EventBridge.
#[derive(Clone, Debug)]
pub struct EventBridge {
    client: LazyClient<Client>,
    bus: String,
    table: String,
    runbook: Option<RunbookUrl>,
}

impl EventBridge {
    /// Creates a client for `bus`, a name or an ARN, with the settings of `sdk`. Its events name the lock
    /// table `table`, and their messages link to `runbook`.
    #[must_use]
    pub fn from_sdk(
        sdk: &aws_config::SdkConfig,
        bus: String,
        table: String,
        runbook: Option<RunbookUrl>,
    ) -> Self {
        Self {
            client: LazyClient::new(sdk, Client::new),
            bus,
            table,
            runbook,
        }
    }

    fn entry(&self, event: &Event) -> PutEventsRequestEntry {
        let detail = serde_json::to_string(&self.detail(event));
        let millis = i64::try_from(event.at.millis()).unwrap_or(i64::MAX);
        PutEventsRequestEntry::builder()
            .event_bus_name(&self.bus)
            .source(SOURCE)
            .detail_type(event.kind.detail_type())
            .detail(detail.expect("an event detail is JSON"))
            .time(DateTime::from_millis(millis))
            .build()
    }

    /// Returns the detail of `event`, with the lock table and the link to the runbook.
    fn detail(&self, event: &Event) -> EventDetail {
        let mut detail = EventDetail {
            table: Some(self.table.clone()),
            ..EventDetail::from(event)
        };
        if let Some(message) = &mut detail.message {
            message.name_table(&self.table);
            if let Some(runbook) = &self.runbook {
                message.link_runbook(&runbook.of(&event.lock));
            }
        }
        detail
    }

    async fn send(&self, events: &[Event]) {
        let entries = events.iter().map(|event| self.entry(event)).collect();
        let call = self.client.put_events().set_entries(Some(entries));
        match call.send().await {
            Ok(answer) if answer.failed_entry_count() == 0 => {}
            // PutEvents has HTTP status 200 also if it has rejected some of the entries.
            Ok(answer) => {
                let refused = refused(answer.entries(), events);
                refused.iter().for_each(|(event, why)| lost(event, why));
            }
            Err(error) => {
                let why = text(&error);
                events.iter().for_each(|event| lost(event, &why));
            }
        }
    }
}

impl Events for EventBridge {
    async fn publish(&self, events: Vec<Event>) {
        let mut done = 0;
        let sending = async {
            for some in events.chunks(BATCH) {
                self.send(some).await;
                done += some.len();
            }
        };
        if tokio::time::timeout(TIME_MAX, sending).await.is_err() {
            let left = events.iter().skip(done);
            left.for_each(|event| lost(event, "EventBridge did not answer within two seconds"));
        }
    }
}

/// Returns the events that PutEvents rejected, and why. The results are in the order of the request.
fn refused<'a>(results: &[PutEventsResultEntry], events: &'a [Event]) -> Vec<(&'a Event, String)> {
    let why = |result: &PutEventsResultEntry| {
        let message = result.error_message().unwrap_or_default();
        result.error_code().map(|code| format!("{code}: {message}"))
    };
    let pairs = events.iter().zip(results);
    pairs
        .filter_map(|(event, result)| Some((event, why(result)?)))
        .collect()
}

/// Logs an event that was not published, with all its fields but the task token of a waiting state.
fn lost(event: &Event, why: &str) {
    let detail = EventDetail::from(event);
    tracing::warn!(
        event = "publish_failed",
        detail_type = event.kind.detail_type(),
        lock = %detail.lock,
        holder = detail.holder,
        token = detail.token,
        reason = %detail.reason,
        advice = %detail.advice,
        at = %detail.at,
        why,
        "the event was not published"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::EventKind;
    use lockstep_core::domain::{LockKey, Timestamp};

    fn event(lock: &str) -> Event {
        Event {
            kind: EventKind::QueueFull,
            lock: LockKey::new(lock).unwrap(),
            holder: None,
            token: None,
            reason: "100 wait".into(),
            advice: "wait".into(),
            at: Timestamp::from_millis(1500),
            state: None,
            failed: None,
        }
    }

    #[test]
    fn an_entry_names_bus_source_kind_time_and_table() {
        let sdk = aws_config::SdkConfig::builder().build();
        let runbook = RunbookUrl::new("https://wiki/{lock}");
        let bus = EventBridge::from_sdk(&sdk, "alerts".into(), "locks".into(), runbook);

        let entry = bus.entry(&event("nightly"));

        assert_eq!(entry.event_bus_name(), Some("alerts"));
        assert_eq!(entry.source(), Some("lockstep"));
        assert_eq!(entry.detail_type(), Some("Lockstep Queue Full"));
        assert_eq!(entry.time(), Some(&DateTime::from_millis(1500)));
        let detail = entry.detail().unwrap();
        let detail: serde_json::Value = serde_json::from_str(detail).unwrap();
        assert_eq!(detail["lock"], "nightly");
        assert_eq!(detail["table"], "locks");
        let message = &detail["message"];
        assert_eq!(message["metadata"]["additionalContext"]["table"], "locks");
        let steps = ["wait", "Runbook: https://wiki/nightly"];
        assert_eq!(message["content"]["nextSteps"], serde_json::json!(steps));
    }

    #[test]
    fn a_rejected_event_is_found_by_its_place_in_the_request() {
        let events = [event("a"), event("b"), event("c")];
        let taken = PutEventsResultEntry::builder().event_id("1").build();
        let failed = PutEventsResultEntry::builder().error_code("InternalFailure");
        let failed = failed.error_message("try again").build();

        let refused = refused(&[taken.clone(), failed, taken], &events);

        let why = "InternalFailure: try again".to_owned();
        assert_eq!(refused, [(&events[1], why)]);
    }
}
