//! DynamoDB has done the write and its answer is lost: a repetition finds out, and nothing happens
//! twice.

use crate::fixture::{Ask, Fixture, acquire, acquire_tick, beat, release, release_tick, renew};
use lockstep::domain::{Effect, Outcome};
use lockstep::protocol::ProtocolError;
use lockstep::store::StoreError;
use lockstep_tests::dynamodb_local::Retries;
use lockstep_tests::wire::Fault;

pub(crate) const UPDATE: &str = "UpdateItem";
pub(crate) const TRANSACTION: &str = "TransactWriteItems";

#[tokio::test]
async fn a_grant_whose_answer_was_lost_is_still_a_grant() {
    let fixture = Fixture::used("lost-acquire").await;
    let expected = ["TransactWriteItems 2", "UpdateItem 2"];

    fixture.wire.fail_next(UPDATE, Fault::LostResponse);
    let plain = fixture.granted(acquire("a")).await;
    fixture.wire.fail_next(TRANSACTION, Fault::LostResponse);
    fixture.done(release("a", plain)).await;

    assert_eq!(fixture.requests(), expected);
    fixture.wire.fail_next(TRANSACTION, Fault::LostResponse);
    let keyed = fixture.granted(acquire_tick("a")).await;
    assert!(keyed > plain);
    assert_eq!(fixture.requests(), ["TransactWriteItems 2"]);
}

#[tokio::test]
async fn the_first_grant_of_a_lock_is_one_grant_though_its_answer_was_lost() {
    let fixture = Fixture::new("lost-first").await;

    fixture.wire.fail_next("PutItem", Fault::LostResponse);
    let done = fixture.done(acquire("a")).await;

    let again = fixture.done(acquire("a")).await;
    assert!(done.outcome.token().is_some());
    assert_eq!(again.outcome.token(), done.outcome.token());
}

#[tokio::test]
async fn a_heartbeat_whose_answer_was_lost_is_renewed() {
    let (fixture, token) = Fixture::held("lost-renew").await;

    fixture.wire.fail_next(UPDATE, Fault::LostResponse);
    let done = fixture.done(renew("a", token)).await;

    assert!(matches!(done.outcome, Outcome::Renewed { .. }), "{done:?}");
    assert_eq!(fixture.requests(), ["UpdateItem 2"]);
}

#[tokio::test]
async fn a_release_with_a_lost_answer_still_ends_the_heartbeat_state() {
    let (fixture, token) = Fixture::held("lost-release").await;
    fixture.done(renew("a", token)).await;
    fixture.settle();

    // The first transaction fails its guard; the second one does the release.
    fixture.wire.fail_next(TRANSACTION, Fault::LostResponse);
    fixture.wire.fail_next(TRANSACTION, Fault::LostResponse);
    let done = fixture.done(release("a", token)).await;

    assert!(is_first_release(&done.outcome), "{done:?}");
    assert_eq!(done.effects, [Effect::EndHeartbeat(beat())]);
    assert_eq!(fixture.requests(), ["TransactWriteItems 4"]);
}

#[tokio::test]
async fn a_repeated_acquire_finds_the_grant_of_the_lost_answer() {
    for (command, operation) in [(acquire("a"), UPDATE), (acquire_tick("a"), TRANSACTION)] {
        let fixture = prepared("retry-acquire").await;
        lose(&fixture, operation, command.clone()).await;

        let found = fixture.done(command.clone()).await;

        let again = fixture.done(command).await;
        let held = matches!(found.outcome, Outcome::AlreadyHeld { .. });
        assert!(held, "{found:?}");
        assert_eq!(found.outcome, again.outcome);
    }
}

#[tokio::test]
async fn a_repeated_heartbeat_after_a_lost_answer_is_renewed() {
    let fixture = prepared("retry-renew").await;
    let token = fixture.granted(acquire("a")).await;
    lose(&fixture, UPDATE, renew("a", token)).await;

    let done = fixture.done(renew("a", token)).await;

    assert!(matches!(done.outcome, Outcome::Renewed { .. }), "{done:?}");
}

#[tokio::test]
async fn a_repeated_release_reports_that_it_was_already_done() {
    let fixture = prepared("retry-release").await;
    let token = fixture.granted(acquire_tick("a")).await;
    lose(&fixture, TRANSACTION, release_tick("a", token)).await;

    let done = fixture.done(release_tick("a", token)).await;

    let already = matches!(done.outcome, Outcome::Released { already: true, .. });
    assert!(already, "{done:?}");
    let late = fixture.done(renew("a", token)).await;
    assert_eq!(late.outcome, Outcome::Ended);
}

/// Returns a lock that was used before, behind a client that tries each request once.
pub(crate) async fn prepared(test: &str) -> Fixture {
    let fixture = Fixture::with(test, Retries::Off).await;
    let token = fixture.granted(acquire("earlier")).await;
    fixture.done(release("earlier", token)).await;
    fixture
}

/// Loses the answer to one request of `command`, and checks that the command fails as unavailable.
pub(crate) async fn lose(fixture: &Fixture, operation: &str, command: impl Ask) {
    fixture.wire.fail_next(operation, Fault::LostResponse);
    let lost = fixture.execute(command).await.unwrap_err();
    let unclear = matches!(lost, ProtocolError::Store(StoreError::Unavailable(_)));
    assert!(unclear, "{lost:?}");
}

pub(crate) fn is_first_release(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Released { already: false, .. })
}
