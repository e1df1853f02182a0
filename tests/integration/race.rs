//! Many clients at once on one lock, with the machine's own clock.

use crate::fixture::{Ask, acquire, acquire_tick, release};
use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::{Acquire, FencingToken, HolderId, LockKey, Outcome, Refusal};
use lockstep::protocol::{Done, Protocol, ProtocolError};
use lockstep::store::dynamodb::DynamoStore;
use lockstep_tests::dynamodb_local::Table;
use std::sync::Arc;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

const CLIENTS: u64 = 64;
const ROUNDS: u64 = 200;
const TICKS: u64 = 20;

type Answer = (Acquire, Result<Done, ProtocolError>);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_clients_one_wins_each_round_and_tokens_grow() {
    let clients = clients("race").await;
    let lock = LockKey::new("race").unwrap();
    let begin = SystemClock.now();
    let mut last = FencingToken::NONE;
    let mut refused = 0;

    for round in 0..ROUNDS {
        let wanted = |client| acquire(&format!("{round}-{client}"));
        let answers = race(&clients, &lock, wanted).await;

        let (holder, token) = only_winner(&answers);
        for (_, answer) in &answers {
            refused += u64::from(names(answer, &holder));
        }
        assert!(token > last, "{token} after {last}");
        last = token;
        let release = release(winner_name(&holder), token).ask();
        clients[0].execute(&lock, &release).await.unwrap();
    }

    assert_eq!(refused, ROUNDS * (CLIENTS - 1));
    let took = SystemClock.now().millis_since(begin);
    println!("{CLIENTS} clients, {ROUNDS} rounds: {ROUNDS} grants, {refused} refusals, {took} ms");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_deliveries_of_one_tick_one_runs() {
    let clients = clients("ticks").await;
    let begin = SystemClock.now();

    for round in 0..TICKS {
        let lock = LockKey::new(format!("tick-{round}")).unwrap();
        let wanted = |client| acquire_tick(&format!("{round}-{client}"));
        let answers = race(&clients, &lock, wanted).await;

        let (holder, _) = only_winner(&answers);
        let refused = answers.iter().filter(|(_, answer)| names(answer, &holder));
        assert_eq!(refused.count() as u64, CLIENTS - 1);
    }

    let took = SystemClock.now().millis_since(begin);
    println!("{CLIENTS} deliveries of each of {TICKS} ticks: {TICKS} runs, {took} ms");
}

async fn clients(test: &str) -> Vec<Arc<Protocol<DynamoStore, SystemClock>>> {
    let table = Table::new(test).await;
    let client = table.client().await;
    let protocol = |seed| {
        let store = DynamoStore::new(client.clone(), table.name.clone());
        Arc::new(Protocol::new(store, SystemClock, seed))
    };
    (0..CLIENTS).map(protocol).collect()
}

/// Lets all clients ask at the same moment. Returns their answers.
async fn race(
    clients: &[Arc<Protocol<DynamoStore, SystemClock>>],
    lock: &LockKey,
    wanted: impl Fn(usize) -> Acquire,
) -> Vec<Answer> {
    let start = Arc::new(Barrier::new(clients.len()));
    let mut running = JoinSet::new();
    for (number, client) in clients.iter().enumerate() {
        let (client, lock, start) = (Arc::clone(client), lock.clone(), Arc::clone(&start));
        let acquire = wanted(number);
        running.spawn(async move {
            start.wait().await;
            let answer = client.execute(&lock, &acquire.clone().ask()).await;
            (acquire, answer)
        });
    }
    running.join_all().await
}

/// Returns the one client that was granted the lock. Asserts that there is no second one.
fn only_winner(answers: &[Answer]) -> (HolderId, FencingToken) {
    let mut winners = answers.iter().filter_map(|(acquire, answer)| {
        let outcome = &answer.as_ref().ok()?.outcome;
        let granted = matches!(outcome, Outcome::Granted { .. });
        assert!(granted, "{outcome:?}");
        Some((acquire.terms.holder.clone(), outcome.token()?))
    });
    let winner = winners.next().expect("somebody wins");
    assert_eq!(winners.next(), None, "a second winner");
    winner
}

/// Returns whether this is a refusal. Asserts that a refusal names `winner`.
fn names(answer: &Result<Done, ProtocolError>, winner: &HolderId) -> bool {
    match answer {
        Ok(_) => false,
        Err(ProtocolError::Refused(Refusal::Held { holders, .. })) => {
            let named: Vec<_> = holders.iter().map(|(holder, _)| holder).collect();
            assert_eq!(named, [winner]);
            true
        }
        Err(ProtocolError::Refused(Refusal::Duplicate { run, .. })) => {
            assert_eq!(run.holder, *winner);
            true
        }
        Err(other) => panic!("{other:?}"),
    }
}

fn winner_name(holder: &HolderId) -> &str {
    holder.as_str().rsplit(':').next().unwrap()
}
