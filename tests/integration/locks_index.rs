//! The index of all locks: what a page costs, and how records of before come into it.

use crate::fixture::{Fixture, acquire, release, renew};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
use lockstep::store::LockIndex;
use std::collections::HashMap;

fn key(fixture: &Fixture) -> HashMap<String, AttributeValue> {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let pairs = [("pk", text(fixture.lock.as_str())), ("sk", text("lock"))];
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}

async fn is_listed(fixture: &Fixture) -> bool {
    let page = fixture.store().locks("", None, 10).await.unwrap();
    page.locks.contains(&fixture.lock)
}

/// Makes the record one of a version without the index.
async fn take_out(fixture: &Fixture) {
    let client = fixture.table.client().await;
    let update = client.update_item().table_name(&fixture.table.name);
    let update = update.set_key(Some(key(fixture)));
    let update = update.update_expression("REMOVE lockShard");
    update.send().await.unwrap();
    assert!(!is_listed(fixture).await);
}

#[tokio::test]
async fn a_page_of_all_locks_is_a_request_for_each_shard() {
    let fixture = Fixture::used("locks-page").await;

    assert!(is_listed(&fixture).await, "idle as it is");

    assert_eq!(fixture.requests(), ["Query 8"]);
}

#[tokio::test]
async fn a_record_of_before_the_index_comes_into_it_with_its_next_write() {
    let fixture = Fixture::used("locks-before").await;
    take_out(&fixture).await;

    let token = fixture.granted(acquire("a")).await;
    assert!(
        is_listed(&fixture).await,
        "by a grant, which is one UpdateItem"
    );
    take_out(&fixture).await;
    fixture.done(renew("a", token)).await;
    assert!(
        is_listed(&fixture).await,
        "by a heartbeat, which is one UpdateItem"
    );
    take_out(&fixture).await;
    fixture.done(release("a", token)).await;
    assert!(
        is_listed(&fixture).await,
        "by a release, which is a transaction"
    );
}

/// A write that sets the attribute to what it is, as every write of a record does.
#[tokio::test]
async fn a_write_of_a_record_in_the_index_writes_nothing_to_the_index() {
    let fixture = Fixture::used("locks-units").await;
    let client = fixture.table.client().await;
    let units = async |expression: &str| {
        let shard = lockstep::store::shard(&fixture.lock).to_string();
        let update = client.update_item().table_name(&fixture.table.name);
        let update = update.set_key(Some(key(&fixture)));
        let update = update.update_expression(expression);
        let update = update.expression_attribute_values(":one", AttributeValue::N("1".into()));
        let update = match expression.contains(":shard") {
            true => update.expression_attribute_values(":shard", AttributeValue::S(shard)),
            false => update,
        };
        let done = update.return_consumed_capacity(ReturnConsumedCapacity::Indexes);
        let used = done.send().await.unwrap().consumed_capacity.unwrap();
        let of_index = used.global_secondary_indexes.unwrap_or_default();
        let of_index = of_index.get("locks").and_then(|index| index.capacity_units);
        (used.capacity_units, of_index.unwrap_or_default())
    };

    let without = units("SET version = version + :one").await;
    let with = units("SET version = version + :one, lockShard = :shard").await;
    take_out(&fixture).await;
    let first = units("SET version = version + :one, lockShard = :shard").await;

    assert_eq!(with, without);
    assert_eq!(
        (with.1, first.1),
        (0.0, 1.0),
        "only the first write is one to the index"
    );
}
