//! The adapter to EventBridge: its requests, and how it takes the answers.

use super::scripted::{Asked, on, refusal, sdk};
use lockstep::config::RunbookUrl;
use lockstep::contract::EventKind;
use lockstep::domain::{LockKey, Timestamp};
use lockstep::events::eventbridge::EventBridge;
use lockstep::events::{Event, Events};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::{Instant, timeout};

fn event(number: usize) -> Event {
    Event {
        kind: EventKind::RunRecovered,
        lock: LockKey::new(format!("lock-{number}")).unwrap(),
        holder: None,
        token: None,
        reason: "its execution ended".into(),
        advice: "nothing to do".into(),
        at: Timestamp::from_millis(1_767_225_600_000),
        state: None,
        failed: None,
    }
}

fn events(count: usize) -> Vec<Event> {
    (0..count).map(event).collect()
}

/// Publishes `count` events to a bus that gives `answers`. Returns the requests.
async fn publish(answers: Vec<(u16, Value)>, count: usize) -> Vec<Asked> {
    let publish = on(answers, async |sdk| {
        let runbook = RunbookUrl::new("https://wiki/{lock}");
        let bus = EventBridge::from_sdk(sdk, "alerts".into(), "locks".into(), runbook);
        bus.publish(events(count)).await;
    });
    publish.await.1
}

fn taken(count: usize) -> (u16, Value) {
    let entries: Vec<_> = (0..count)
        .map(|n| json!({ "EventId": n.to_string() }))
        .collect();
    (200, json!({ "FailedEntryCount": 0, "Entries": entries }))
}

#[tokio::test]
async fn an_event_says_what_happened_on_the_wire() {
    let asked = publish(vec![taken(1)], 1).await;

    assert_eq!(asked[0].0, "PutEvents");
    let entry = &asked[0].1["Entries"][0];
    assert_eq!(entry["EventBusName"], "alerts");
    assert_eq!(entry["Source"], "lockstep");
    assert_eq!(entry["DetailType"], "Lockstep Run Recovered");
    assert_eq!(entry["Time"].as_f64(), Some(1_767_225_600.0));
    let mut detail: Value = serde_json::from_str(entry["Detail"].as_str().unwrap()).unwrap();
    let message = detail
        .as_object_mut()
        .and_then(|detail| detail.remove("message"));
    let message = message.expect("a message");
    assert_eq!(message["source"], "custom");
    assert_eq!(message["metadata"]["additionalContext"]["table"], "locks");
    assert_eq!(
        message["content"]["nextSteps"],
        json!(["nothing to do", "Runbook: https://wiki/lock-0"])
    );
    let expected = json!({
        "lock": "lock-0", "table": "locks", "reason": "its execution ended", "advice": "nothing to do",
        "at": "2026-01-01T00:00:00Z"
    });
    assert_eq!(detail, expected);
}

#[tokio::test]
async fn events_go_out_by_ten_and_a_refused_batch_does_not_stop_the_rest() {
    let refused = refusal("AccessDeniedException", "no");

    let asked = publish(vec![refused, taken(10), taken(3)], 23).await;

    let entries = |(_, body): &(String, Value)| body["Entries"].as_array().unwrap().len();
    assert_eq!(asked.iter().map(entries).collect::<Vec<_>>(), [10, 10, 3]);
}

#[tokio::test]
async fn publish_ignores_a_refused_entry() {
    let half = json!({
        "FailedEntryCount": 1,
        "Entries": [
            { "ErrorCode": "InternalFailure", "ErrorMessage": "try again" },
            { "EventId": "1" }
        ]
    });

    let asked = publish(vec![(200, half)], 2).await;

    assert_eq!(asked.len(), 1);
}

#[tokio::test]
async fn without_events_no_request_is_sent() {
    // No server listens at this address.
    let bus = EventBridge::from_sdk(
        &sdk("http://127.0.0.1:9").await,
        "alerts".into(),
        "locks".into(),
        None,
    );

    let done = timeout(Duration::from_millis(100), bus.publish(Vec::new())).await;

    assert_eq!(done, Ok(()));
}

#[tokio::test]
async fn a_bus_that_does_not_answer_costs_two_seconds_and_no_more() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let bus = EventBridge::from_sdk(&sdk(&endpoint).await, "alerts".into(), "locks".into(), None);
    let start = Instant::now();

    bus.publish(events(25)).await;

    let took = start.elapsed().as_millis();
    assert!((1900..3000).contains(&took), "{took} ms");
}
