//! The adapter to DynamoDB, with answers that DynamoDB Local never gives.

use super::scripted::{self, Asked, refusal};
use lockstep::domain::{
    Assign, Change, Clause, FencingToken, Guard, HolderId, LockKey, LockRecord, Mode, Permits,
    RunId, Timestamp, Update, WaiterDrop, WaiterId,
};
use lockstep::store::dynamodb::DynamoStore;
use lockstep::store::{Commit, LockIndex, LockStore, StoreError};
use serde_json::{Value, json};

const IN_PROGRESS: &str = "TransactionInProgressException";

fn lock() -> LockKey {
    LockKey::new("nightly").unwrap()
}

async fn on<T>(
    answers: Vec<(u16, Value)>,
    ask: impl AsyncFnOnce(DynamoStore) -> T,
) -> (T, Vec<Asked>) {
    scripted::on(answers, async |sdk| {
        ask(DynamoStore::from_sdk(sdk, "locks".into())).await
    })
    .await
}

/// Returns a write of the record. With `waiter`, it also deletes a side item.
fn change(clause: Clause, update: Update, waiter: bool) -> Change {
    let holder = HolderId::new("a").unwrap();
    let waiter = waiter.then(|| WaiterDrop {
        id: WaiterId::of(&holder),
        task_token: None,
    });
    Change {
        guard: Guard(vec![clause]),
        update,
        runs: Vec::new(),
        act: None,
        waiter,
        read_back: false,
    }
}

async fn committed(error: &str, change: Change) -> Result<Commit, StoreError> {
    // The SDK itself retries TransactionInProgressException.
    let attempts = match error {
        IN_PROGRESS => 3,
        _ => 1,
    };
    let answers = vec![refusal(error, "another transaction"); attempts];
    on(answers, async |store| store.commit(&lock(), &change).await)
        .await
        .0
}

#[tokio::test]
async fn a_write_that_meets_a_transaction_is_busy_and_not_a_failure() {
    let conflict = "TransactionConflictException";
    let create = Update::Create(LockRecord::new(Permits::ONE));
    let open = Update::Assign(vec![Assign::Mode(Mode::Open)]);
    for (error, clause, update, waiter) in [
        (conflict, Clause::Absent, create.clone(), false),
        (conflict, Clause::VersionIs(1), open, false),
        (IN_PROGRESS, Clause::Absent, create, true),
    ] {
        let done = committed(error, change(clause, update, waiter)).await;

        assert_eq!(done, Ok(Commit::Busy), "{error} {waiter}");
    }
}

#[tokio::test]
async fn an_empty_item_is_no_item() {
    let empty = || vec![(200, json!({ "Item": {} }))];
    let id = WaiterId::of(&HolderId::new("a").unwrap());

    let (record, _) = on(empty(), async |store| store.load(&lock()).await).await;
    let (waiter, _) = on(empty(), async |store| store.load_waiter(&lock(), &id).await).await;
    let run = RunId::Token(FencingToken::from_number(7));
    let (run, _) = on(empty(), async |store| store.load_run(&lock(), &run).await).await;

    assert_eq!(record, Ok(None));
    assert_eq!(run, Ok(None));
    assert_eq!(waiter, Ok(None));
}

/// An empty LastEvaluatedKey marks the last page
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html>).
#[tokio::test]
async fn an_empty_key_ends_a_list() {
    let last = json!({ "Items": [], "Count": 0, "LastEvaluatedKey": {} });
    let page = || vec![(200, last.clone())];
    let now = Timestamp::from_millis(1);

    let (history, _) = on(page(), async |store| store.history(&lock(), None, 5).await).await;
    let (due, _) = on(page(), async |store| store.due(0, now, None).await).await;
    let (acts, _) = on(page(), async |store| store.acts(&lock()).await).await;

    assert_eq!(history.unwrap().next, None);
    assert_eq!(due.unwrap().next, None);
    assert_eq!(acts, Ok(Vec::new()));
}
