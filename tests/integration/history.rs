//! What it takes to list: the history of a lock, and all locks in use.

use crate::fixture::{Fixture, acquire, release};
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep::domain::{
    Change, Clause, FencingToken, Guard, LockKey, LockRecord, Permits, RunOutcome, Timestamp,
    Update,
};
use lockstep::store::{LockStore, SHARDS};
use std::collections::BTreeSet;
use std::time::Duration;

/// A lock of which so many runs were released, one a second. Their tokens, newest first.
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
    let text = |text: &str| AttributeValue::S(text.into());
    let damaged = fixture.table.client().await.put_item();
    let damaged = damaged
        .table_name(&fixture.table.name)
        .item("pk", text(fixture.lock.as_str()))
        .item("sk", text(&format!("run#token/{}", tokens[1])))
        .item("schema", AttributeValue::N("2".into()));
    damaged.send().await.unwrap();

    let page = fixture.store().history(&fixture.lock, None, 100).await;

    let seen: Vec<_> = page.unwrap().runs.iter().map(|run| run.token).collect();
    assert_eq!(seen, [tokens[0], tokens[2]]);
}

#[tokio::test]
async fn five_hundred_locks_in_use_are_found_in_some_two_requests_a_shard() {
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
            waiter: None,
            read_back: false,
        };
        fixture.store().commit(&lock, &create).await.unwrap();
        locks.insert(lock);
    }
    fixture.settle();

    let mut found = BTreeSet::new();
    for shard in 0..SHARDS {
        let mut after = None;
        loop {
            let page = fixture
                .store()
                .due(shard, Timestamp::MAX, after.as_ref())
                .await
                .unwrap();
            found.extend(page.locks.into_iter().map(|due| due.lock));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }

    assert_eq!(found, locks);
    let requests = fixture.requests();
    let [queries] = &requests[..] else {
        panic!("{requests:?}");
    };
    let queries: u32 = queries.strip_prefix("Query ").unwrap().parse().unwrap();
    assert!(queries <= 3 * u32::from(SHARDS), "{queries}");
}
