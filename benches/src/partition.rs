//! What DynamoDB admits of one partition key, and what it consumes.

use crate::guarded::key;
use lockstep::store::shard;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;

/// Write units that one partition takes in a second
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html>, 2026-11-24).
const UNITS_A_SECOND: f64 = 1000.0;

/// How much too high DynamoDB Local reports a transaction, the table's part and that of an index: of an item of 1 KB
/// and its index entry four units each. DynamoDB writes an item of a transaction twice
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html>, 2026-11-24), and its
/// index entry once.
const EXCESS: (f64, f64) = (2.0, 4.0);

/// What was sent and consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Requests, those that were throttled included.
    pub requests: u32,
    /// Requests that were throttled.
    pub throttled: u32,
    /// Write units, of the table and its indexes.
    pub units: f64,
}

/// Throttles the writes of a table by partition key.
///
/// Each partition key of the table and of an index is a bucket of a second's units that refills steadily: how DynamoDB
/// keeps unused units for a burst, and when it splits a hot partition, is not documented as a promise. A write whose
/// index entry has no units left is throttled too, as DynamoDB does when an index cannot follow its table.
#[derive(Debug, Default)]
pub struct Partitions {
    limited: bool,
    locks: HashMap<String, Bucket>,
    /// By shard, which is an index's partition key, and index.
    indexes: HashMap<(u8, String), Bucket>,
    /// Units of the last write to an item.
    sizes: HashMap<(String, String), f64>,
    counts: Counts,
}

/// Units that were consumed and have not been refilled yet, at a time.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket(f64, Duration);

impl Bucket {
    fn at(self, now: Duration) -> f64 {
        let refilled = UNITS_A_SECOND * now.saturating_sub(self.1).as_secs_f64();
        (self.0 - refilled).max(0.0)
    }

    fn take(&mut self, units: f64, now: Duration) {
        *self = Self(self.at(now) + units, now);
    }
}

/// A write, as far as its units depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    lock: String,
    /// Sort keys of its items, more than one in a transaction.
    items: Vec<String>,
    transaction: bool,
}

impl Write {
    /// The write that `operation` does with `body`; none when it is a read.
    #[must_use]
    pub fn of(operation: &str, body: &Value) -> Option<Self> {
        let actions = match operation {
            "PutItem" | "UpdateItem" | "DeleteItem" => vec![body],
            "TransactWriteItems" => {
                let actions = body["TransactItems"].as_array()?;
                let inner = actions.iter().filter_map(|action| action.as_object());
                inner.filter_map(|action| action.values().next()).collect()
            }
            _ => return None,
        };
        let part = |action: &Value, name: &str| {
            let key = action.get("Key").or(action.get("Item"))?;
            key[name]["S"].as_str().map(str::to_owned)
        };
        Some(Self {
            lock: part(actions.first()?, "pk")?,
            items: actions.iter().filter_map(|one| part(one, "sk")).collect(),
            transaction: operation == "TransactWriteItems",
        })
    }

    /// The answer to this write when it is throttled, on a table that is billed by request
    /// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html>, 2026-11-24).
    #[must_use]
    pub fn throttling(&self) -> Value {
        const MESSAGE: &str = "Throughput exceeds the current capacity of your table or index.";
        let kind = |name: &str| format!("com.amazonaws.dynamodb.v20120810#{name}");
        if !self.transaction {
            return json!({ "__type": kind("ThrottlingException"), "message": MESSAGE });
        }
        let reason = json!({ "Code": "ThrottlingError", "Message": MESSAGE });
        json!({
            "__type": kind("TransactionCanceledException"),
            "message": "Transaction cancelled",
            "CancellationReasons": vec![reason; self.items.len()],
        })
    }
}

impl Partitions {
    /// Partitions with DynamoDB's limit, or without any.
    #[must_use]
    pub fn new(limited: bool) -> Self {
        Self {
            limited,
            ..Self::default()
        }
    }

    /// Counts a request that comes at `now`. Returns whether it is admitted.
    pub fn admit(&mut self, write: Option<&Write>, now: Duration) -> bool {
        self.counts.requests += 1;
        let Some(write) = write.filter(|_| self.limited) else {
            return true;
        };
        let mine = shard_of(&write.lock);
        let indexes = self.indexes.iter().filter(|((shard, _), _)| *shard == mine);
        let buckets = indexes.map(|(_, bucket)| bucket);
        let mut buckets = buckets.chain(self.locks.get(&write.lock));
        let admitted = buckets.all(|bucket| bucket.at(now) + 1.0 <= UNITS_A_SECOND);
        self.counts.throttled += u32::from(!admitted);
        admitted
    }

    /// Takes the units of an admitted `write`: those in its `answer`, or, when its condition was false, what DynamoDB
    /// consumes for the items as they are
    /// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>, 2026-11-24).
    pub fn consume(&mut self, write: &Write, answer: &Value, now: Duration) {
        let (excess, index_excess) = if write.transaction {
            EXCESS
        } else {
            (1.0, 1.0)
        };
        let consumed = match &answer["ConsumedCapacity"] {
            Value::Array(tables) => tables.first(),
            Value::Null => None,
            table => Some(table),
        };
        let units = match consumed {
            Some(consumed) => {
                let indexes = consumed["GlobalSecondaryIndexes"].as_object();
                for (index, of) in indexes.into_iter().flatten() {
                    let key = (shard_of(&write.lock), index.clone());
                    let units = units_of(of) / index_excess;
                    self.counts.units += units;
                    self.indexes.entry(key).or_default().take(units, now);
                }
                units_of(&consumed["Table"]) / excess
            }
            None => self.units_of_items(write),
        };
        if let ([item], false, Some(_)) = (&write.items[..], write.transaction, consumed) {
            self.sizes.insert((write.lock.clone(), item.clone()), units);
        }
        self.counts.units += units;
        let bucket = self.locks.entry(write.lock.clone()).or_default();
        bucket.take(units, now);
    }

    fn units_of_items(&self, write: &Write) -> f64 {
        let known = |item: &String| self.sizes.get(&(write.lock.clone(), item.clone()));
        let units = write
            .items
            .iter()
            .map(|item| known(item).copied().unwrap_or(1.0));
        units.sum::<f64>() * if write.transaction { 2.0 } else { 1.0 }
    }

    /// The counts since the last call.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }
}

fn shard_of(lock: &str) -> u8 {
    shard(&key(lock))
}

fn units_of(capacity: &Value) -> f64 {
    capacity["CapacityUnits"].as_f64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(9);

    fn update(lock: &str) -> Write {
        let body = json!({ "Key": { "pk": { "S": lock }, "sk": { "S": "lock" } } });
        Write::of("UpdateItem", &body).unwrap()
    }

    fn consumed(table: f64, index: f64) -> Value {
        let index = json!({ "due": { "CapacityUnits": index } });
        json!({ "ConsumedCapacity": { "Table": { "CapacityUnits": table }, "GlobalSecondaryIndexes": index } })
    }

    #[test]
    fn a_key_takes_a_thousand_units_and_a_thousand_more_each_second() {
        let (mut partitions, write) = (Partitions::new(true), update("a"));
        let mut admitted = |now| {
            let mut count = 0;
            while partitions.admit(Some(&write), now) {
                partitions.consume(
                    &write,
                    &json!({ "__type": "ConditionalCheckFailedException" }),
                    now,
                );
                count += 1;
            }
            count
        };

        assert_eq!(admitted(NOW), 1000);
        assert_eq!(admitted(NOW + Duration::from_millis(250)), 250);
    }

    #[test]
    fn a_condition_that_is_false_consumes_the_units_of_the_item() {
        let (mut partitions, write) = (Partitions::new(true), update("a"));

        partitions.consume(&write, &consumed(10.0, 0.0), NOW);
        partitions.consume(
            &write,
            &json!({ "__type": "ConditionalCheckFailedException" }),
            NOW,
        );

        assert_eq!(partitions.take_counts().units, 20.0);
    }

    #[test]
    fn a_transaction_costs_two_units_an_item_and_one_an_index_entry() {
        let mut partitions = Partitions::new(true);
        let key = |sort: &str| json!({ "Key": { "pk": { "S": "a" }, "sk": { "S": sort } } });
        let body = json!({ "TransactItems": [{ "Update": key("lock") }, { "Put": key("run") }] });
        let write = Write::of("TransactWriteItems", &body).unwrap();
        let reported = consumed(8.0, 4.0)["ConsumedCapacity"].take();

        partitions.consume(&write, &json!({ "ConsumedCapacity": [reported] }), NOW);

        assert_eq!(partitions.take_counts().units, 5.0);
    }

    #[test]
    fn a_hot_index_key_throttles_the_writes_of_its_locks_alone() {
        let mut partitions = Partitions::new(true);
        let other = (0..)
            .map(|n| format!("b{n}"))
            .find(|name| shard_of(name) != shard_of("a"));

        partitions.consume(&update("a"), &consumed(1.0, 1000.0), NOW);

        assert!(!partitions.admit(Some(&update("a")), NOW));
        assert!(partitions.admit(Some(&update(&other.unwrap())), NOW));
        assert!(partitions.admit(None, NOW), "a read");
    }

    #[test]
    fn a_throttled_transaction_is_cancelled_with_a_reason_for_each_action() {
        let key = |sort: &str| json!({ "Key": { "pk": { "S": "a" }, "sk": { "S": sort } } });
        let body = json!({ "TransactItems": [{ "Update": key("lock") }, { "Put": key("run") }] });
        let write = Write::of("TransactWriteItems", &body).unwrap();

        let answer = write.throttling();

        assert_eq!(
            answer["CancellationReasons"].as_array().map(Vec::len),
            Some(2)
        );
        assert_eq!(write.items, ["lock", "run"]);
    }
}
