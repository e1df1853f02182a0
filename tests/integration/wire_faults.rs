//! The client of the functions on a wire that fails three requests in ten, in every way that a wire
//! fails. No run is granted twice, and no lock is left held.

mod microburst;
mod runs;
mod worker;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::{LockKey, RunId, RunOutcome};
use lockstep::protocol::Protocol;
use lockstep::store::LockStore;
use lockstep::store::dynamodb::DynamoStore;
use lockstep_tests::dynamodb_local::{Retries, Table, client};
use microburst::Microburst;
use runs::{Journal, Runs};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use worker::Worker;

const CLIENTS: u64 = 16;
const CYCLES: u64 = 125;
const LOCKS: usize = 4;

/// How long a delayed request is under way. Its client has given up by then.
const LATE: Duration = Duration::from_millis(900);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_wire_grants_no_lock_twice_and_leaves_none_behind() {
    let table = Table::new("faults").await;
    let wire = Microburst::before(table.endpoint).await;
    let through = impatient(&client(wire.endpoint(), Retries::AsDeployed).await);
    let lock = |n| LockKey::new(format!("lock-{n}")).unwrap();
    let locks: Vec<_> = (0..LOCKS).map(lock).collect();
    let journal = Arc::new(Journal::of(&locks));
    let runs = Arc::new(Runs::default());
    let worker = |seed, client: &Client| Worker {
        number: seed,
        protocol: Protocol::new(
            DynamoStore::new(client.clone(), table.name.clone()),
            SystemClock,
            seed,
        ),
        journal: Arc::clone(&journal),
        runs: Arc::clone(&runs),
    };
    let begin = SystemClock.now();

    wire.fail().await;
    let mut running = JoinSet::new();
    for number in 0..CLIENTS {
        let (worker, locks) = (worker(number, &through), locks.clone());
        running.spawn(async move { worker.work(&locks, CYCLES).await });
    }
    running.join_all().await;
    let faults = wire.heal().await;
    SystemClock.sleep(LATE).await;

    let healthy = worker(CLIENTS, &client(table.endpoint, Retries::AsDeployed).await);
    let mut left = 0;
    for lock in &locks {
        left += healthy.clear(lock).await;
        every_grant_is_in_the_history(healthy.protocol.store(), &journal, lock).await;
    }
    let took = SystemClock.now().millis_since(begin);
    println!(
        "{} cycles, {} grants, {took} ms",
        CLIENTS * CYCLES,
        journal.grants()
    );
    println!("{faults}");
    println!(
        "{left} permits and places left at the end, all freed; {}",
        runs.figures()
    );
    faults.assert_enough();
    assert!(journal.grants() > CYCLES, "most cycles are skipped");
}

/// Returns a client with the retries of the functions and shorter times: an attempt that is late
/// counts as lost.
fn impatient(client: &Client) -> Client {
    let retries = RetryConfig::standard()
        .with_max_attempts(3)
        .with_initial_backoff(Duration::from_millis(20));
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(5))
        .operation_attempt_timeout(LATE / 2)
        .operation_timeout(2 * LATE);
    let config = client.config().to_builder();
    let config = config
        .retry_config(retries)
        .timeout_config(timeouts.build());
    Client::from_conf(config.build())
}

async fn every_grant_is_in_the_history(store: &DynamoStore, journal: &Journal, lock: &LockKey) {
    let record = store.load(lock).await.unwrap().unwrap();
    assert!(
        record.is_idle() && record.due.is_none(),
        "{lock}: {record:?}"
    );
    for (holder, token) in journal.of_lock(lock) {
        let run = store.load_run(lock, &RunId::Token(token)).await.unwrap();
        let run = run.unwrap_or_else(|| panic!("{lock}: {holder} under {token} left no entry"));
        assert_eq!(run.holder, holder);
        assert_eq!(run.outcome(), Some(RunOutcome::Succeeded), "{run:?}");
    }
}
