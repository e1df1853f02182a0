//! The `detail` of an event, as EventBridge gets it.

use super::{Event, Message};
use lockstep_core::domain::rfc3339;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

/// The `detail` of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EventDetail {
    /// The lock.
    pub lock: String,
    /// The lock table, by which a rule selects the events of one stack if several stacks use one bus. Events
    /// of older versions have no table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The holder or waiter that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The fencing token of the grant that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    /// What happened, and why.
    pub reason: String,
    /// What an operator can do.
    pub advice: String,
    /// When it happened.
    pub at: String,
    /// The sealed task token of a waiting state that the reaper has to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_token: Option<String>,
    /// The run key of a failed run. In an event with `taskToken`: the run key that another run has taken, if
    /// the wait ends for that reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// The name of the error that a failed run reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The short form of the cause that a failed run reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The number of the failed attempt among those of the same caller, from the second one on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<usize>,
    /// The event as a message to people. Absent in a *Run Failed* that repeats another event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
}

/// Longest text of an event, in characters. Ten events of this length stay below the 256 KB of
/// PutEvents even if every character has to be escaped.
const TEXT_MAX: usize = 1000;

impl From<&Event> for EventDetail {
    fn from(event: &Event) -> Self {
        let state = event.state.as_ref();
        let failed = event.failed.as_ref();
        let key = state.and_then(|state| state.run_key.as_ref());
        let key = key.or_else(|| failed.and_then(|failed| failed.run_key.as_ref()));
        let cut = |text: &str| -> String { text.chars().take(TEXT_MAX).collect() };
        let (reason, advice) = (cut(&event.reason), cut(&event.advice));
        Self {
            message: Message::of(event, &reason, &advice),
            lock: event.lock.to_string(),
            table: None,
            holder: event.holder.as_ref().map(ToString::to_string),
            token: event.token.map(|token| token.number()),
            reason,
            advice,
            at: rfc3339(event.at),
            task_token: state.map(|state| state.task_token.reveal().to_owned()),
            run_key: key.map(|key| key.as_str().to_owned()),
            error: failed.and_then(|failed| failed.error.clone()),
            cause: failed.and_then(|failed| failed.cause.clone()),
            attempt: failed.and_then(|failed| failed.attempt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::EventKind;
    use lockstep_core::domain::{FencingToken, HolderId, LockKey, Timestamp};
    use serde_json::json;

    fn event(reason: &str) -> Event {
        Event {
            kind: EventKind::LeaseLost,
            lock: LockKey::new("nightly").unwrap(),
            holder: None,
            token: None,
            reason: reason.into(),
            advice: "resume it".into(),
            at: Timestamp::from_millis(1_767_225_600_000),
            state: None,
            failed: None,
        }
    }

    #[test]
    fn a_detail_is_camel_case_and_leaves_out_what_is_not_known() {
        let bare = event("late");
        let full = Event {
            holder: Some(HolderId::new("a").unwrap()),
            token: Some(FencingToken::from_number(7)),
            ..bare.clone()
        };

        let json = |event| serde_json::to_value(EventDetail::from(event)).unwrap();

        let at = "2026-01-01T00:00:00Z";
        let mut bare = json(&bare);
        let message = bare.as_object_mut().unwrap().remove("message");
        assert!(message.is_some());
        let expected =
            json!({"lock": "nightly", "reason": "late", "advice": "resume it", "at": at});
        assert_eq!(bare, expected);
        assert_eq!(json(&full)["holder"], "a");
        assert_eq!(json(&full)["token"], 7);
    }

    #[test]
    fn ten_events_of_any_text_fit_into_one_call() {
        let worst = "\u{1}".repeat(5 * TEXT_MAX);
        let event = Event {
            holder: Some(HolderId::new("\"".repeat(512)).unwrap()),
            advice: worst.clone(),
            ..event(&worst)
        };

        let detail = serde_json::to_string(&EventDetail::from(&event)).unwrap();

        // Beside its detail an event has a source, a detail type and a time of 14 bytes.
        assert!(10 * (detail.len() + 200) < 256 * 1024, "{}", detail.len());
    }
}
