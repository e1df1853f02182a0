//! The requests of the lists: the history of a lock, all locks in use, and the index of all locks.

use crate::fixture::{Fixture, acquire, holder, release, renew};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
use lockstep::domain::{
    Change, Clause, FencingToken, Guard, LockKey, LockRecord, Permits, RunOutcome, Update, WaiterId,
};
use lockstep::store::{LockIndex, LockStore, SHARDS, StoreError};
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// Returns a lock of which `count` runs were released, one a second, and their tokens, newest
/// first.
async fn with_runs(test: &str, count: u32) -> (Fixture, Vec<FencingToken>) {
    let fixture = Fixture::new(test).await;
    let mut tokens = Vec::new();
    for _ in 0..count {
        let token = fixture.granted(acquire("a")).await;
        fixture.done(release("a", token)).await;
        fixture.advance(Duration::from_secs(1));
        tokens.insert(0, token);
    }
    fixture.settle();
    (fixture, tokens)
}

#[tokio::test]
async fn a_page_of_a_history_is_one_request_and_tells_how_its_runs_ended() {
    let (fixture, tokens) = with_runs("history", 7).await;

    let page = fixture.store().history(&fixture.lock, None, 3).await;
    let page = page.unwrap();
    assert_eq!(fixture.requests(), ["Query 1"]);
    let rest = fixture.store().history(&fixture.lock, page.next, 100).await;

    let runs: Vec<_> = page.runs.into_iter().chain(rest.unwrap().runs).collect();
    let seen: Vec<_> = runs.iter().map(|run| run.token).collect();
    assert_eq!(seen, tokens);
    let succeeded = Some(RunOutcome::Succeeded);
    assert!(
        runs.iter().all(|run| run.outcome() == succeeded),
        "{runs:?}"
    );
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_does_not_hide_the_others() {
    let (fixture, tokens) = with_runs("history-damaged", 3).await;
    let mut damaged = fixture.key(&format!("run#token/{}", tokens[1]));
    damaged.insert("schema".into(), AttributeValue::N("2".into()));
    fixture.put(damaged).await;

    let page = fixture.store().history(&fixture.lock, None, 100).await;

    let page = page.unwrap();
    let seen: Vec<_> = page.runs.iter().map(|run| run.token).collect();
    assert_eq!((seen, page.unreadable), (vec![tokens[0], tokens[2]], 1));
}

#[tokio::test]
async fn five_hundred_due_locks_take_at_most_three_queries_a_shard() {
    let fixture = Fixture::new("in-use").await;
    let mut locks = BTreeSet::new();
    for number in 0..500 {
        let lock = LockKey::new(format!("lock-{number}")).unwrap();
        let mut record = LockRecord::new(Permits::ONE);
        let granted = FencingToken::next(FencingToken::NONE, fixture.now());
        let terms = acquire("a").terms;
        let lease = terms.lease(granted, fixture.now());
        record.version = 1;
        record.last_token = granted;
        record.due = Some(lease.expires_at);
        record.holders.insert(terms.holder, lease);
        let create = Change {
            guard: Guard(vec![Clause::Absent]),
            update: Update::Create(record),
            runs: Vec::new(),
            act: None,
            waiter: None,
            read_back: false,
        };
        fixture.store().commit(&lock, &create).await.unwrap();
        locks.insert(lock);
    }
    fixture.settle();

    let mut found = BTreeSet::new();
    for shard in 0..SHARDS {
        found.extend(fixture.all_due(shard).await.0);
    }

    assert_eq!(found, locks);
    let requests = fixture.requests();
    let [queries] = &requests[..] else {
        panic!("{requests:?}");
    };
    let queries: u32 = queries.strip_prefix("Query ").unwrap().parse().unwrap();
    assert!(queries <= 3 * u32::from(SHARDS), "{queries}");
}

/// Only TTL deletes these items. Each contains the time from which it may, in whole seconds, and
/// never before the run or the registration is no longer needed.
#[tokio::test]
async fn an_ended_run_and_a_waiter_say_when_ttl_may_delete_them() {
    let fixture = Fixture::new("ttl").await;
    let token = fixture.granted(acquire("a")).await;
    let since = fixture.now().millis() / 1000;
    fixture.queued(&["b"]).await;
    let retention = u64::from(release("a", token).retention.history.get());
    let ended = fixture.now().millis() / 1000;
    let id = WaiterId::of(&holder("b"));
    let waiter = fixture.item(&format!("waiter#{id}")).await;
    fixture.done(release("a", token)).await;
    let run = fixture.item(&format!("run#token/{token}")).await;

    let ttl = |item: &HashMap<String, AttributeValue>| item["ttl"].as_n().unwrap().parse::<u64>();
    let day = 86_400;
    let waits = ttl(&waiter).unwrap();
    assert!(
        (since + day..=since + day + 60).contains(&waits),
        "{waits}, not {since} + a day"
    );
    let kept = ttl(&run).unwrap();
    assert!(
        (ended + retention..=ended + retention + 60).contains(&kept),
        "{kept}"
    );
    assert!(
        !waiter.contains_key("redrives"),
        "no redrives are a missing attribute"
    );
}

#[tokio::test]
async fn the_first_token_key_that_is_offered_stays() {
    let fixture = Fixture::new("token-key").await;
    let store = fixture.store();

    let (a, b) = tokio::join!(store.token_key([1; 32]), store.token_key([2; 32]));
    let later = store.token_key([3; 32]).await;
    let short = store.token_key([4; 16]).await;

    let key = a.unwrap();
    assert!([[1; 32], [2; 32]].contains(&key), "{key:?}");
    assert_eq!((b.unwrap(), later.unwrap()), (key, key));
    assert!(
        matches!(short, Err(StoreError::Corrupt { .. })),
        "{short:?}"
    );
}

async fn is_listed(fixture: &Fixture) -> bool {
    let page = fixture.store().locks("", None, 10).await.unwrap();
    page.locks.contains(&fixture.lock)
}

/// Makes the record one of a version without the index of all locks.
async fn take_out(fixture: &Fixture) {
    let update = fixture.client.update_item();
    let update = update.table_name(&fixture.table.name);
    let update = update.set_key(Some(fixture.key("lock")));
    let update = update.update_expression("REMOVE lockShard");
    update.send().await.unwrap();
    assert!(!is_listed(fixture).await);
}

#[tokio::test]
async fn a_page_of_all_locks_is_a_request_for_each_shard() {
    let fixture = Fixture::used("locks-page").await;

    assert!(is_listed(&fixture).await, "an idle lock is listed");

    assert_eq!(fixture.requests(), ["Query 8"]);
}

#[tokio::test]
async fn a_record_without_the_index_enters_it_with_its_next_write() {
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

/// Every write of a record sets the attribute of the index to the value that it has.
#[tokio::test]
async fn a_write_of_a_record_in_the_index_writes_nothing_to_the_index() {
    let fixture = Fixture::used("locks-units").await;
    let units = async |expression: &str| {
        let shard = lockstep::store::shard(&fixture.lock).to_string();
        let update = fixture.client.update_item();
        let update = update.table_name(&fixture.table.name);
        let update = update.set_key(Some(fixture.key("lock")));
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
        "only the first write reaches the index"
    );
}
