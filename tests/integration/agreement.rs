//! The DynamoDB store and the memory store give every history the same answers.

use lockstep::clock::ManualClock;
use lockstep::domain::{FencingToken, LockKey, Timestamp};
use lockstep::protocol::Protocol;
use lockstep::store::LockStore;
use lockstep::store::dynamodb::DynamoStore;
use lockstep::store::memory::MemoryStore;
use lockstep_tests::dynamodb_local::Table;
use lockstep_tests::generate::BASE;
use lockstep_tests::history::{Grants, Step, history, run_ids};
use lockstep_tests::seeds::check;
use proptest::prelude::prop_assert_eq;
use proptest::test_runner::TestCaseError;
use std::cell::Cell;

/// A history and a check of every record after it take some milliseconds each.
const HISTORIES: u32 = 60;

#[test]
fn both_stores_give_every_history_the_same_answers_and_records() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.unwrap();
    let dynamodb = runtime.block_on(async {
        let table = Table::new("agreement").await;
        DynamoStore::new(table.client().await, table.name)
    });
    let next = Cell::new(0);

    check(HISTORIES, &history(30), |steps| {
        next.set(next.get() + 1);
        let lock = LockKey::new(format!("history-{}", next.get())).unwrap();
        runtime.block_on(compare(&dynamodb, &lock, &steps))
    });
}

async fn compare(
    dynamodb: &DynamoStore,
    lock: &LockKey,
    steps: &[(Step, u64, u64)],
) -> Result<(), TestCaseError> {
    let memory = MemoryStore::default();
    let start = Timestamp::from_millis(BASE);
    let reference = Protocol::new(&memory, ManualClock::at(start), 1);
    let real = Protocol::new(dynamodb, ManualClock::at(start), 1);
    let (mut grants, mut tokens) = (Grants::default(), Vec::<FencingToken>::new());
    let mut time = BASE;
    for (step, pause, slow) in steps {
        time += pause;
        reference.clock().set(Timestamp::from_millis(time - slow));
        real.clock().set(Timestamp::from_millis(time - slow));
        let command = grants.command(step);

        let expected = reference.execute(lock, &command).await;
        let answer = real.execute(lock, &command).await;

        prop_assert_eq!(&answer, &expected, "{:?}", command);
        let (record, wanted) = (dynamodb.load(lock).await, memory.load(lock).await);
        prop_assert_eq!(record, wanted, "{:?}", command);
        let token = expected.ok().and_then(|done| done.outcome.token());
        if let (Some(token), Step::Acquire(acquire)) = (token, step) {
            grants.add(acquire.holder.clone(), token, acquire.run_key.clone());
            tokens.push(token);
        }
    }
    for id in run_ids(&tokens) {
        let (run, wanted) = (
            dynamodb.load_run(lock, &id).await,
            memory.load_run(lock, &id).await,
        );
        prop_assert_eq!(run, wanted, "{:?}", id);
    }
    Ok(())
}
