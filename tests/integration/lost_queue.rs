//! Lost answers around the queue: a repetition finds out what happened, and nothing happens twice.

use crate::fixture::{Ask, Fixture, acquire, holder, place, recover, release, turn, wait, woken};
use crate::lost_responses::{TRANSACTION, UPDATE, is_first_release, lose, prepared};
use lockstep::domain::{FencingToken, Outcome, Ticket};
use lockstep::store::LockStore;
use lockstep_tests::wire::Fault;

#[tokio::test]
async fn a_place_whose_answer_was_lost_is_one_place() {
    let (fixture, _) = Fixture::held("lost-enqueue").await;

    // The answer to the registration is lost and, after the repetition, the answer to the ticket.
    fixture.wire.fail_next(UPDATE, Fault::LostResponse);
    fixture.wire.let_pass(UPDATE);
    fixture.wire.fail_next(UPDATE, Fault::LostResponse);
    let outcome = fixture.outcome(wait("b")).await;

    assert_eq!(place(&outcome), (1, 1));
    assert_eq!(fixture.requests(), ["UpdateItem 4"]);
    assert_one_place(&fixture).await;
}

#[tokio::test]
async fn a_repeated_registration_finds_the_place_of_the_lost_answer() {
    for passes in [0, 1] {
        let fixture = prepared("retry-enqueue").await;
        fixture.granted(acquire("a")).await;
        (0..passes).for_each(|_| fixture.wire.let_pass(UPDATE));
        lose(&fixture, UPDATE, wait("b")).await;

        let outcome = fixture.outcome(wait("b")).await;

        assert_eq!(place(&outcome), (1, 1), "{passes}");
        assert_one_place(&fixture).await;
    }
}

#[tokio::test]
async fn a_hand_over_whose_answer_was_lost_lets_one_waiter_in_and_wakes_it() {
    let (fixture, token) = Fixture::held("lost-hand-over").await;
    fixture.queued(&["b", "c"]).await;

    // The first transaction fails its guard; the second one hands over.
    fixture.wire.fail_next(TRANSACTION, Fault::LostResponse);
    fixture.wire.fail_next(TRANSACTION, Fault::LostResponse);
    let done = fixture.done(release("a", token)).await;

    assert!(is_first_release(&done.outcome), "{done:?}");
    let woken = woken(&done.effects);
    assert_eq!((woken.len(), &woken[0].0), (1, &holder("b")));
    assert_eq!(fixture.requests(), ["GetItem 1", "TransactWriteItems 4"]);
    assert_only_holder(&fixture, "b", 1).await;
}

#[tokio::test]
async fn a_repeated_release_wakes_the_waiter_of_the_lost_hand_over() {
    let fixture = prepared("retry-hand-over").await;
    let token = fixture.granted(acquire("a")).await;
    fixture.queued(&["b", "c"]).await;
    // The first transaction fails its guard; the second one does the release.
    fixture.wire.let_pass(TRANSACTION);
    lose(&fixture, TRANSACTION, release("a", token)).await;

    let done = fixture.done(release("a", token)).await;

    let already = matches!(done.outcome, Outcome::Released { already: true, .. });
    assert!(already, "{done:?}");
    let woken = woken(&done.effects);
    assert_eq!((woken.len(), &woken[0].0), (1, &holder("b")));
    let record = assert_only_holder(&fixture, "b", 1).await;
    assert_eq!(record, woken[0].1.token);
}

#[tokio::test]
async fn after_a_lost_recovery_the_waiter_finds_its_grant() {
    let fixture = prepared("retry-recover").await;
    let token = fixture.granted(acquire("a")).await;
    fixture.queued(&["b", "c"]).await;
    lose(&fixture, TRANSACTION, recover("a", token)).await;

    let again = fixture.done(recover("a", token)).await;

    assert_eq!(again.outcome, Outcome::Unchanged);
    assert_eq!(again.effects, []);
    let granted = assert_only_holder(&fixture, "b", 1).await;
    let found = fixture.outcome(wait("b")).await;
    assert!(matches!(found, Outcome::AlreadyHeld { .. }), "{found:?}");
    assert_eq!(found.token(), Some(granted));
}

#[tokio::test]
async fn a_recovery_whose_answer_was_lost_wakes_the_waiter_that_it_let_in() {
    let (fixture, token) = Fixture::held("lost-recover").await;
    fixture.queued(&["b"]).await;

    fixture.wire.fail_next("GetItem", Fault::LostResponse);
    fixture.wire.fail_next(TRANSACTION, Fault::LostResponse);
    let done = fixture.done(recover("a", token)).await;

    assert_eq!(woken(&done.effects)[0].0, holder("b"));
    assert_only_holder(&fixture, "b", 0).await;
}

#[tokio::test]
async fn a_late_delivery_of_an_older_registration_keeps_the_newer_state() {
    let (fixture, _) = Fixture::held("late-registration").await;
    let old = wait("b").waiter(fixture.now());
    fixture.queued(&["b"]).await;
    let mut newer = wait("b");
    newer.task_token = Some(turn("b-2"));
    fixture.done(newer.ask()).await;

    fixture.store().register(&fixture.lock, &old).await.unwrap();

    let waiter = fixture.waiter("b").await.unwrap();
    assert_eq!(waiter.task_token, Some(turn("b-2")));
}

async fn assert_one_place(fixture: &Fixture) {
    let record = fixture.record().await;
    let tickets: Vec<_> = record.queue.values().copied().collect();
    assert_eq!(tickets, [Ticket::from_number(1)]);
    assert_eq!(record.last_ticket, Ticket::from_number(1));
}

/// Asserts who holds the lock, and returns the token of the grant.
async fn assert_only_holder(fixture: &Fixture, name: &str, waiting: usize) -> FencingToken {
    let record = fixture.record().await;
    let holders: Vec<_> = record.holders.keys().collect();
    assert_eq!(holders, [&holder(name)]);
    assert_eq!(record.queue.len(), waiting);
    record.last_token
}
