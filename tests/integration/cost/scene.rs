//! The functions on a table, and what they cost there.

use super::{LOCK, execution};
use crate::fixture::{NoLines, START};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep::clock::{Clock, ManualClock, SystemClock};
use lockstep::domain::{Execution, ExecutionArn, Timestamp};
use lockstep::events::memory::MemoryEvents;
use lockstep::executions::memory::MemoryExecutions;
use lockstep::protocol::Protocol;
use lockstep::service::{Deps, acquire, heartbeat, reap, release};
use lockstep::store::dynamodb::DynamoStore;
use lockstep::tasks::memory::MemoryTasks;
use lockstep::telemetry::Metrics;
use lockstep::testing::RETENTION;
use lockstep_tests::dynamodb_local::{Retries, Table, client};
use lockstep_tests::units::{Items, largest, of_indexes, read, size};
use lockstep_tests::wire::{Sent, Wire};
use serde_json::{Value, from_slice, to_value};
use std::collections::BTreeMap;
use std::time::Duration;

/// Characters of a sealed task token, an assumption: AWS documents only that a token has at most
/// 2,048, and sealing makes it a third longer. The length decides how many KB the record of a
/// workflow's lock takes.
const SEALED: usize = 1100;

type LocalPorts = (
    DynamoStore,
    SetClock,
    MemoryExecutions,
    MemoryTasks,
    MemoryEvents,
    NoLines,
);

/// A clock that shows a set time and waits in real time, because a request to DynamoDB Local takes
/// some.
#[derive(Debug)]
struct SetClock(ManualClock);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    async fn sleep(&self, length: Duration) {
        SystemClock.sleep(length).await;
    }
}

/// The requests of a step by operation, and their units.
pub(super) type Cost = BTreeMap<String, u64>;

/// The functions on a table, behind a wire that records their requests.
pub(super) struct Scene {
    deps: Deps<LocalPorts>,
    client: Client,
    table: String,
    wire: Wire,
    tokens: u32,
}

impl Scene {
    pub(super) async fn new() -> Self {
        let table = Table::new("cost").await;
        let wire = Wire::to(table.endpoint).await;
        let store = DynamoStore::new(
            client(wire.endpoint(), Retries::AsDeployed).await,
            table.name.clone(),
        );
        let executions = MemoryExecutions::default();
        executions.seal_tokens();
        for name in ["earlier", "a", "b"] {
            executions.start(Execution {
                arn: ExecutionArn::new(execution(name)).unwrap(),
                started_at: START,
            });
        }
        Self {
            client: table.client().await,
            table: table.name,
            wire,
            tokens: 0,
            deps: Deps {
                protocol: Protocol::new(store, SetClock(ManualClock::at(START)), 1),
                executions,
                tasks: MemoryTasks::default(),
                events: MemoryEvents::default(),
                metrics: Metrics::new(NoLines, "locks", false),
                table: "locks".into(),
                retention: RETENTION,
                run_events: false,
            },
        }
    }

    /// Sends an acquire. Returns its grant and its cost.
    pub(super) async fn acquires(&mut self, event: Value) -> (Value, Cost) {
        let (answer, cost) = self.step("acquire", event).await;
        (answer["grant"].clone(), cost)
    }

    /// Calls a function, and returns what the call costs.
    pub(super) async fn cost(&mut self, function: &str, event: Value) -> Cost {
        self.step(function, event).await.1
    }

    /// Calls a function, twenty seconds after the call before. A `taskToken` in the event becomes a
    /// new one each time.
    pub(super) async fn step(&mut self, function: &str, mut event: Value) -> (Value, Cost) {
        self.deps.clock().0.advance(Duration::from_secs(20));
        if let Some(token) = event.get_mut("taskToken") {
            self.tokens += 1;
            *token = format!("{:A>SEALED$}", self.tokens).into();
        }
        let lock = [&event["lock"], &event["grant"]["lock"]];
        let lock = lock
            .into_iter()
            .find_map(Value::as_str)
            .unwrap_or(LOCK)
            .to_owned();
        let before = self.items(&lock).await;
        drop(self.wire.take_sent());
        let answer = match function {
            "acquire" => acquire::handle(&self.deps, event).await.map(to_value),
            "heartbeat" => heartbeat::handle(&self.deps, event).await.map(to_value),
            "release" => release::handle(&self.deps, event).await.map(to_value),
            _ => reap::handle(&self.deps, event).await.map(to_value),
        };
        let answer = answer.unwrap_or_else(|error| panic!("{function}: {error}"));
        let sent = self.wire.take_sent();
        let cost = cost(&sent, &before, &self.items(&lock).await);
        (answer.expect("an answer is JSON"), cost)
    }

    /// Returns the items of a lock by sort key.
    pub(super) async fn items(&self, lock: &str) -> Items {
        let query = self.client.query().table_name(&self.table);
        let query = query.key_condition_expression("pk = :lock");
        let query = query.expression_attribute_values(":lock", AttributeValue::S(lock.into()));
        let items = query.consistent_read(true).send().await;
        let items = items
            .expect("the items of a lock")
            .items
            .unwrap_or_default();
        let name = |value: &AttributeValue| value.as_s().expect("a text").clone();
        let items = items.into_iter();
        items.map(|item| (name(&item["sk"]), item)).collect()
    }
}

/// Returns the number of requests by operation, and their units.
fn cost(sent: &[Sent], before: &Items, after: &Items) -> Cost {
    let mut cost = Cost::new();
    let mut add = |what: &str, count| *cost.entry(what.to_owned()).or_default() += count;
    for request in sent {
        add(&request.operation, 1);
        let body: Value = from_slice(&request.body).expect("JSON");
        // DynamoDB bills a refused write by the item that exists.
        let units = |key: &String| {
            let written = after.get(key).filter(|_| request.done);
            largest(before.get(key), written)
        };
        match request.operation.as_str() {
            "GetItem" => {
                assert_eq!(
                    body["ConsistentRead"], true,
                    "another read has half the units"
                );
                add("read units", read(before.get(&key_of(&body))));
            }
            // One page, rounded up as a whole. The Query comes after the writes of the call.
            "Query" => {
                assert_eq!(body["ConsistentRead"], true);
                let values = body["ExpressionAttributeValues"]
                    .as_object()
                    .expect("values");
                let starts = |key: &str| {
                    let mut values = values.values().filter_map(|value| value["S"].as_str());
                    values.any(|prefix| key.starts_with(prefix))
                };
                let items = after.iter().filter(|(key, _)| starts(key));
                let bytes: usize = items.map(|(_, item)| size(item)).sum();
                add("read units", bytes.div_ceil(4096).max(1) as u64);
            }
            "UpdateItem" | "PutItem" | "DeleteItem" => add("write units", units(&key_of(&body))),
            "TransactWriteItems" => {
                let actions = body["TransactItems"].as_array().expect("actions");
                let actions = actions.iter().filter_map(Value::as_object).flatten();
                let units = actions.map(|(_, action)| 2 * units(&key_of(action)));
                add("write units", units.sum());
            }
            other => panic!("{other} has no rule here"),
        }
    }
    match of_indexes(before, after) {
        0 => {}
        units => add("write units", units),
    }
    cost
}

/// Returns the sort key of the item that an action names or writes.
fn key_of(action: &Value) -> String {
    let key = action.get("Key").unwrap_or(&action["Item"]);
    key["sk"]["S"].as_str().expect("a sort key").to_owned()
}
