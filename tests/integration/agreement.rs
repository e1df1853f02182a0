//! The DynamoDB store and the memory store keep the promises of the trait, and answer every history
//! alike.

use crate::fixture::woken;
use lockstep::clock::ManualClock;
use lockstep::domain::{Command, HolderId, Lease, LockKey, Outcome, Timestamp, WaiterId};
use lockstep::protocol::{Done, Protocol};
use lockstep::store::dynamodb::DynamoStore;
use lockstep::store::memory::MemoryStore;
use lockstep::store::{LockStore, conformance};
use lockstep_tests::dynamodb_local::Table;
use lockstep_tests::generate::{BASE, HOLDERS, holder};
use lockstep_tests::history::{Grants, Step, history};
use lockstep_tests::seeds::check;
use proptest::prelude::prop_assert_eq;
use proptest::test_runner::TestCaseError;
use std::cell::Cell;

/// How many histories are compared. Each takes some milliseconds, with a check of the record after
/// every step.
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
    let mut grants = Grants::default();
    let mut time = BASE;
    for (step, pause, slow) in steps {
        time += pause;
        reference.clock().set(Timestamp::from_millis(time - slow));
        real.clock().set(Timestamp::from_millis(time - slow));
        let seen = memory.items(lock).record;
        let command = grants.command(step, seen.as_ref());

        let expected = reference.execute(lock, &command).await;
        let answer = real.execute(lock, &command).await;

        prop_assert_eq!(&answer, &expected, "{:?}", command);
        let (record, wanted) = (dynamodb.load(lock).await, memory.load(lock).await);
        prop_assert_eq!(record, wanted, "{:?}", command);
        for (holder, lease) in expected.iter().flat_map(|done| granted(&command, done)) {
            grants.add(holder, lease.token, lease.run_key);
        }
    }
    compare_side_items(dynamodb, &memory, lock).await
}

/// Checks that every side item in memory is also in DynamoDB, and that no waiter left one behind.
async fn compare_side_items(
    dynamodb: &DynamoStore,
    memory: &MemoryStore,
    lock: &LockKey,
) -> Result<(), TestCaseError> {
    let items = memory.items(lock);
    for (id, run) in items.runs {
        prop_assert_eq!(
            dynamodb.load_run(lock, &id).await,
            Ok(Some(run)),
            "{:?}",
            id
        );
    }
    for id in (0..HOLDERS).map(|index| WaiterId::of(&holder(index))) {
        let wanted = items.waiters.get(&id).cloned();
        prop_assert_eq!(
            dynamodb.load_waiter(lock, &id).await,
            Ok(wanted),
            "{:?}",
            id
        );
    }
    Ok(())
}

/// Returns the grants that an answer reports.
fn granted(command: &Command, done: &Done) -> Vec<(HolderId, Lease)> {
    let own = match (command, &done.outcome) {
        (Command::Acquire(acquire), Outcome::Granted { lease }) => {
            Some((acquire.terms.holder.clone(), lease.clone()))
        }
        _ => None,
    };
    woken(&done.effects).into_iter().chain(own).collect()
}

#[tokio::test]
async fn the_memory_store_keeps_the_promises() {
    conformance::run_all(&MemoryStore::default(), "memory").await;
}

#[tokio::test]
async fn the_dynamodb_store_keeps_the_promises() {
    let table = Table::new("conformance").await;
    let store = DynamoStore::new(table.client().await, table.name);

    conformance::run_all(&store, "dynamodb").await;
}
