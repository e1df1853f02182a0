//! Faults on order: what may happen on AWS at any time, caused by a test.
//!
//! The emulator of the local stack takes the orders; see `tests/stack/README.md`. All tests share
//! the functions, so an order can be narrowed to what mentions a text, such as the test's own lock.

use super::{Stack, deadline, json_api, now, pause};
use serde::Deserialize;
use serde_json::{Value, json};

const PATH: &str = "/_lockstack/faults";

/// How an invocation fails on order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Lambda refuses the invocation: `TooManyRequestsException`.
    Throttle,
    /// Lambda itself fails: `ServiceException`.
    Service,
    /// The function panics: its error type is a type of Rust.
    Panic,
    /// The state sees this name, such as `Lambda.ResourceConflictException`.
    Named(&'static str),
}

impl Failure {
    const fn name(self) -> &'static str {
        match self {
            Self::Throttle => "throttle",
            Self::Service => "service",
            Self::Panic => "panic",
            Self::Named(name) => name,
        }
    }
}

/// A fault that happened.
#[derive(Clone, Debug, Deserialize)]
pub struct Fired {
    /// `kill`, `fail`, `events`, or the name of a habit.
    pub fault: String,
    /// The function that the fault struck; empty for events.
    #[serde(default)]
    pub function: String,
    /// What the order was narrowed to.
    #[serde(default)]
    pub mentioning: String,
    /// The resources of a dropped event.
    #[serde(default)]
    pub resources: Vec<String>,
}

impl Stack {
    /// Kills `function`, by its ARN, right after its next committed `operation` whose request
    /// mentions `text`, before the function gets the answer. An operation is for example
    /// `TransactWriteItems`; `write` is any that writes. The invocation fails with
    /// `Runtime.ExitError`.
    pub async fn kill_after(&self, function: &str, operation: &str, text: &str) {
        let order = json!({ "kill": function, "after": operation, "mentioning": text });
        self.order(order).await;
    }

    /// Fails the next `times` invocations of `function` whose event mentions `text`.
    pub async fn fail_next(&self, function: &str, times: u32, failure: Failure, text: &str) {
        let with = failure.name();
        let order = json!({ "fail": function, "times": times, "with": with, "mentioning": text });
        self.order(order).await;
    }

    /// Fails all invocations of `function` whose event mentions `text`, for `seconds` seconds.
    pub async fn fail_for(&self, function: &str, seconds: u32, failure: Failure, text: &str) {
        let with = failure.name();
        let order =
            json!({ "fail": function, "seconds": seconds, "with": with, "mentioning": text });
        self.order(order).await;
    }

    /// Drops the events of ECS and Step Functions that mention `text`, until `deliver_events`.
    /// Schedules still fire.
    pub async fn drop_events(&self, text: &str) {
        let order = json!({ "events": "off", "mentioning": text });
        self.order(order).await;
    }

    /// Ends `drop_events` for the same text.
    pub async fn deliver_events(&self, text: &str) {
        let order = json!({ "events": "on", "mentioning": text });
        self.order(order).await;
    }

    /// Fires the `rate` rules that have this name, or this function (by its ARN) as a target,
    /// within a second instead of within their interval.
    pub async fn fire_schedule(&self, rule_or_function: &str) {
        self.order(json!({ "fire": rule_or_function })).await;
    }

    /// Returns the faults that happened, oldest first.
    pub async fn fired(&self) -> Vec<Fired> {
        let response = self.faults("GET", Value::Null).await;
        serde_json::from_value(response["fired"].clone()).expect("a list of faults")
    }

    /// Waits until `count` faults struck that were narrowed to `text`.
    pub async fn wait_fired(&self, text: &str, count: usize, seconds: u64) {
        let deadline = deadline(seconds);
        loop {
            let fired = self.fired().await;
            let own = fired.iter().filter(|fault| fault.mentioning == text);
            if own.count() >= count {
                return;
            }
            assert!(now() < deadline, "no {count} faults for {text}: {fired:?}");
            pause(100).await;
        }
    }

    /// Removes all orders and the record of what happened, also those of other tests.
    pub async fn clear_faults(&self) {
        self.faults("DELETE", Value::Null).await;
    }

    pub(super) async fn order(&self, order: Value) {
        self.faults("POST", order).await;
    }

    async fn faults(&self, method: &str, body: Value) -> Value {
        let reply = json_api::send(&self.endpoint, "faults", method, PATH, &[], &body).await;
        assert_eq!(reply.status, 200, "{method} {PATH} {body}: {}", reply.body);
        reply.body
    }
}
