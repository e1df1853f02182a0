//! Each refusal and each failure of DynamoDB is tried again, or becomes an error of the store.

use crate::fixture::{Fixture, acquire, acquire_tick, beat, release, renew};
use lockstep::domain::LockKey;
use lockstep::protocol::ProtocolError;
use lockstep::store::dynamodb::DynamoStore;
use lockstep::store::{LockStore, StoreError};
use lockstep_tests::dynamodb_local::{Retries, Table, client};
use lockstep_tests::wire::Fault;

/// Returns whether an error is of a class.
type Class = fn(&StoreError) -> bool;

/// How often a client with the settings of the functions tries a request.
const ATTEMPTS: usize = 3;

#[tokio::test]
async fn a_conflict_with_another_transaction_is_tried_again() {
    let fixture = Fixture::used("busy").await;
    let busy = Fault::cancelled(&["None", "TransactionConflict"]);

    fixture.wire.fail_next(
        "UpdateItem",
        Fault::error(400, "TransactionConflictException"),
    );
    let token = fixture.granted(acquire("a")).await;
    fixture.wire.fail_next("TransactWriteItems", busy.clone());
    fixture.wire.fail_next("TransactWriteItems", busy);
    fixture.done(release("a", token)).await;

    assert_eq!(fixture.requests(), ["TransactWriteItems 3", "UpdateItem 2"]);
}

#[tokio::test]
async fn a_new_lock_that_another_transaction_creates_is_tried_again() {
    let fixture = Fixture::new("busy-new").await;
    let busy = Fault::error(400, "TransactionConflictException");
    fixture.wire.fail_next("PutItem", busy);

    fixture.granted(acquire("a")).await;

    let requests = fixture.requests();
    assert!(requests.contains(&"PutItem 2".to_owned()), "{requests:?}");
}

#[tokio::test]
async fn endless_conflicts_end_as_contended() {
    let fixture = Fixture::used("contended").await;
    for _ in 0..20 {
        let busy = Fault::error(400, "TransactionConflictException");
        fixture.wire.fail_next("UpdateItem", busy);
    }

    let error = fixture.execute(acquire("a")).await.unwrap_err();

    assert_eq!(error, ProtocolError::Contended);
    assert_eq!(fixture.requests(), ["UpdateItem 9"]);
}

#[tokio::test]
async fn one_failure_of_dynamodb_is_ridden_out() {
    let fixture = Fixture::used("one-failure").await;
    let faults = [
        Fault::error(500, "InternalServerError"),
        Fault::error(400, "ProvisionedThroughputExceededException"),
    ];

    for (fault, name) in faults.into_iter().zip(["a", "b"]) {
        fixture.wire.fail_next("UpdateItem", fault);
        let token = fixture.granted(acquire(name)).await;
        fixture.done(release(name, token)).await;
    }

    assert_eq!(fixture.requests(), ["TransactWriteItems 2", "UpdateItem 4"]);
}

#[tokio::test]
async fn each_failure_has_its_class() {
    let fixture = Fixture::used("classes").await;
    let throttled = |error: &StoreError| matches!(error, StoreError::Throttled(_));
    let denied = |error: &StoreError| matches!(error, StoreError::Denied(_));
    let unavailable = |error: &StoreError| matches!(error, StoreError::Unavailable(_));
    let cases: [(u16, &str, usize, Class); 5] = [
        (400, "ThrottlingException", ATTEMPTS, throttled),
        (400, "RequestLimitExceeded", ATTEMPTS, throttled),
        (400, "AccessDeniedException", 1, denied),
        (500, "InternalServerError", ATTEMPTS, unavailable),
        (400, "ValidationException", 1, unavailable),
    ];

    for (status, name, attempts, class) in cases {
        for _ in 0..attempts {
            let fault = Fault::error(status, name);
            fixture.wire.fail_next("UpdateItem", fault);
        }
        let error = store_error(fixture.execute(acquire("a")).await.unwrap_err());

        assert!(class(&error), "{name}: {error:?}");
        assert_eq!(fixture.requests(), [format!("UpdateItem {attempts}")]);
    }
}

#[tokio::test]
async fn throttling_inside_a_transaction_is_throttling() {
    let fixture = Fixture::used("cancelled").await;
    let fault = Fault::cancelled(&["ThrottlingError", "None"]);
    fixture.wire.fail_next("TransactWriteItems", fault);

    let error = store_error(fixture.execute(acquire_tick("a")).await.unwrap_err());

    assert!(matches!(error, StoreError::Throttled(_)), "{error:?}");
}

#[tokio::test]
async fn a_table_that_is_not_there_is_denied() {
    let table = Table::new("there").await;
    let store = DynamoStore::new(table.client().await, "not-there".into());
    let lock = LockKey::new("nightly").unwrap();

    let error = store.load(&lock).await.unwrap_err();

    assert!(matches!(error, StoreError::Denied(_)), "{error:?}");
}

#[tokio::test]
async fn a_dynamodb_out_of_reach_is_unavailable() {
    let unreachable = client("http://127.0.0.1:1", Retries::Off).await;
    let store = DynamoStore::new(unreachable, "locks".into());
    let lock = LockKey::new("nightly").unwrap();

    let error = store.load(&lock).await.unwrap_err();

    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
}

#[tokio::test]
async fn an_error_never_shows_a_task_token() {
    let (fixture, token) = Fixture::held("secret").await;
    fixture.done(renew("a", token)).await;
    let item = format!(r#"{{"taskToken":{{"S":"{}"}}}}"#, beat().reveal());
    let cancelled = format!(
        r#"{{"__type":"x#TransactionCanceledException","CancellationReasons":[
            {{"Code":"ConditionalCheckFailed","Item":{item}}},
            {{"Code":"ValidationError","Item":{item}}}]}}"#
    );
    let torn = format!(r#"{{"Attributes":{item}"#);

    fixture
        .wire
        .fail_next("TransactWriteItems", answer(400, cancelled));
    let cancelled = fixture.execute(release("a", token)).await.unwrap_err();
    fixture.wire.fail_next("UpdateItem", answer(200, torn));
    let torn = fixture.execute(renew("a", token)).await.unwrap_err();

    for error in [cancelled, torn] {
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("Unavailable"), "{shown}");
        assert!(!shown.contains(beat().reveal()), "{shown}");
    }
}

fn answer(status: u16, body: String) -> Fault {
    Fault::Answer { status, body }
}

fn store_error(error: ProtocolError) -> StoreError {
    match error {
        ProtocolError::Store(error) => error,
        other => panic!("{other:?}"),
    }
}
