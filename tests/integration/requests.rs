//! What each command costs: the requests that reach DynamoDB.

use crate::fixture::{
    Fixture, acquire, acquire_tick, beat, holder, recover, release, release_tick, renew,
};
use lockstep::domain::{Effect, Outcome, Refusal, RunOutcome, Seconds};
use lockstep::protocol::ProtocolError;
use std::time::Duration;

#[tokio::test]
async fn an_acquire_of_a_free_lock_is_one_request() {
    let fixture = Fixture::used("acquire").await;

    fixture.granted(acquire("a")).await;

    assert_eq!(fixture.requests(), ["UpdateItem 1"]);
}

#[tokio::test]
async fn an_acquire_with_a_run_key_is_one_request() {
    let fixture = Fixture::used("acquire-tick").await;

    fixture.granted(acquire_tick("a")).await;

    assert_eq!(fixture.requests(), ["TransactWriteItems 1"]);
}

#[tokio::test]
async fn the_first_acquire_of_a_lock_is_two_requests() {
    let fixture = Fixture::new("first").await;

    fixture.granted(acquire("a")).await;

    assert_eq!(fixture.requests(), ["PutItem 1", "UpdateItem 1"]);
}

#[tokio::test]
async fn a_release_without_a_heartbeat_state_is_one_request() {
    let fixture = Fixture::used("release").await;
    let token = fixture.granted(acquire_tick("a")).await;
    fixture.settle();

    let done = fixture.done(release_tick("a", token)).await;

    assert!(
        matches!(done.outcome, Outcome::Released { already: false, .. }),
        "{done:?}"
    );
    assert_eq!(fixture.requests(), ["TransactWriteItems 1"]);
}

#[tokio::test]
async fn a_release_that_ends_a_heartbeat_state_is_two_requests() {
    let fixture = Fixture::used("release-beat").await;
    let token = fixture.granted(acquire("a")).await;
    fixture.done(renew("a", token)).await;
    fixture.settle();

    let done = fixture.done(release("a", token)).await;

    assert_eq!(done.effects, [Effect::EndHeartbeat(beat())]);
    assert_eq!(fixture.requests(), ["TransactWriteItems 2"]);
}

#[tokio::test]
async fn an_expectation_costs_one_request_more_where_it_is_new_and_where_the_run_failed() {
    let fixture = Fixture::used("expected").await;
    let expected = Some(Seconds::of(3600));
    let cycle = async |outcome| {
        fixture.settle();
        let mut command = acquire("a");
        command.terms.expect_every = expected;
        let token = fixture.granted(command).await;
        let asked = fixture.requests();
        fixture.settle();
        let mut command = release("a", token);
        command.expect_every = expected;
        command.outcome = outcome;
        fixture.done(command).await;
        (asked, fixture.requests())
    };

    let first = cycle(RunOutcome::Succeeded).await;
    let second = cycle(RunOutcome::Succeeded).await;
    let failed = cycle(RunOutcome::Failed).await;

    assert_eq!(first.0, ["UpdateItem 2"], "the lock has no expectation yet");
    assert_eq!(first.1, ["TransactWriteItems 1"]);
    assert_eq!(second.0, ["UpdateItem 1"]);
    assert_eq!(second.1, ["TransactWriteItems 1"]);
    assert_eq!(failed.0, ["UpdateItem 1"]);
    assert_eq!(failed.1, ["GetItem 1", "TransactWriteItems 1"]);
}

#[tokio::test]
async fn a_refusal_by_the_present_holder_is_one_request() {
    let fixture = Fixture::used("held").await;
    fixture.granted(acquire("a")).await;
    fixture.settle();

    for command in [acquire("b"), acquire_tick("b")] {
        let refused = fixture.execute(command).await.unwrap_err();

        let ProtocolError::Refused(Refusal::Held { holders, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(holders[0].0, holder("a"));
    }
    assert_eq!(fixture.requests(), ["TransactWriteItems 1", "UpdateItem 1"]);
}

#[tokio::test]
async fn a_second_delivery_of_a_done_tick_is_one_request() {
    let fixture = Fixture::used("duplicate").await;
    let token = fixture.granted(acquire_tick("a")).await;
    fixture.done(release_tick("a", token)).await;
    fixture.settle();

    let refused = fixture.execute(acquire_tick("b")).await.unwrap_err();

    let ProtocolError::Refused(Refusal::Duplicate { run, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(run.token, token);
    assert_eq!(fixture.requests(), ["TransactWriteItems 1"]);
}

#[tokio::test]
async fn a_refusal_by_an_expired_holder_is_one_request_and_frees_nothing() {
    let fixture = Fixture::used("expired").await;
    let token = fixture.granted(acquire("a")).await;
    fixture.advance(Duration::from_secs(3600));
    fixture.settle();

    let refused = fixture.execute(acquire("b")).await.unwrap_err();

    assert!(matches!(
        refused,
        ProtocolError::Refused(Refusal::Held { .. })
    ));
    assert_eq!(fixture.requests(), ["UpdateItem 1"]);
    assert!(fixture.record().await.lease(&holder("a"), token).is_some());
}

#[tokio::test]
async fn a_recovery_is_two_requests() {
    let fixture = Fixture::used("recover").await;
    let token = fixture.granted(acquire("a")).await;
    fixture.settle();

    let outcome = fixture.outcome(recover("a", token)).await;

    let recovered = Some(RunOutcome::Recovered);
    assert_eq!(outcome, Outcome::Freed { outcome: recovered });
    assert_eq!(fixture.requests(), ["GetItem 1", "TransactWriteItems 1"]);
}

#[tokio::test]
async fn a_repeated_acquire_by_the_holder_is_one_request_and_the_same_grant() {
    let fixture = Fixture::used("again").await;
    let token = fixture.granted(acquire("a")).await;
    fixture.settle();

    let done = fixture.done(acquire("a")).await;

    assert!(
        matches!(done.outcome, Outcome::AlreadyHeld { .. }),
        "{done:?}"
    );
    assert_eq!(done.outcome.token(), Some(token));
    assert_eq!(fixture.requests(), ["UpdateItem 1"]);
}

#[tokio::test]
async fn a_repeated_release_is_one_request() {
    let fixture = Fixture::used("release-again").await;
    let token = fixture.granted(acquire("a")).await;
    fixture.done(release("a", token)).await;
    fixture.settle();

    let done = fixture.done(release("a", token)).await;

    assert!(
        matches!(done.outcome, Outcome::Released { already: true, .. }),
        "{done:?}"
    );
    assert_eq!(fixture.requests(), ["TransactWriteItems 1"]);
}
