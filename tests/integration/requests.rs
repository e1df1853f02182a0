//! The requests to DynamoDB of each command.

use crate::fixture::{
    Fixture, acquire, acquire_tick, beat, holder, paced, recover, release, release_tick, renew,
    wait, woken,
};
use lockstep::domain::{Effect, FencingToken, Outcome, Refusal, RunOutcome, Seconds};
use lockstep::protocol::ProtocolError;
use std::time::Duration;

/// Makes a test of each row, named by its rule, on a lock that was used before. A row has the commands
/// before, whose requests are not counted; the command, its answer and its requests. The token is that
/// of the latest grant.
macro_rules! costs {
    ($(fn $rule:ident($token:ident): [$($before:expr),*], $command:expr
       => $answer:pat $(if $and:expr)?, [$($requests:literal),+];)+) => {$(
        #[tokio::test]
        async fn $rule() {
            let fixture = Fixture::used(stringify!($rule)).await;
            let $token = FencingToken::NONE;
            $(
                let granted = fixture.outcome($before).await.token();
                let $token = granted.unwrap_or($token);
            )*
            fixture.settle();

            let answer = fixture.execute($command).await;

            let answer = answer.map(|done| (done.outcome, done.effects));
            assert!(matches!(&answer, $answer $(if $and)?), "{answer:?}");
            assert_eq!(fixture.requests(), [$($requests),+]);
        }
    )+};
}

costs! {
    fn an_acquire_of_a_free_lock_is_one_request(_token):
        [], acquire("a") => Ok((Outcome::Granted { .. }, _)), ["UpdateItem 1"];

    fn an_acquire_with_a_run_key_is_one_request(_token):
        [], acquire_tick("a") => Ok((Outcome::Granted { .. }, _)), ["TransactWriteItems 1"];

    fn a_repeated_acquire_by_the_holder_is_one_request_and_the_same_grant(token):
        [acquire("a")], acquire("a")
        => Ok((Outcome::AlreadyHeld { lease }, _)) if lease.token == token, ["UpdateItem 1"];

    fn a_heartbeat_is_one_request(token):
        [acquire("a")], renew("a", token) => Ok((Outcome::Renewed { .. }, _)), ["UpdateItem 1"];

    fn a_heartbeat_at_another_pace_is_one_request(token):
        [acquire("a")], paced("a", token) => Ok((Outcome::Renewed { .. }, _)), ["UpdateItem 1"];

    fn a_release_without_a_heartbeat_state_is_one_request(token):
        [acquire_tick("a")], release_tick("a", token)
        => Ok((Outcome::Released { already: false, .. }, _)), ["TransactWriteItems 1"];

    fn a_release_that_ends_a_heartbeat_state_is_two_requests(token):
        [acquire("a"), renew("a", token)], release("a", token)
        => Ok((_, effects)) if *effects == [Effect::EndHeartbeat(beat())], ["TransactWriteItems 2"];

    fn a_repeated_release_is_one_request(token):
        [acquire("a"), release("a", token)], release("a", token)
        => Ok((Outcome::Released { already: true, .. }, _)), ["TransactWriteItems 1"];

    fn a_second_delivery_of_a_done_tick_is_one_request(token):
        [acquire_tick("a"), release_tick("a", token)], acquire_tick("b")
        => Err(ProtocolError::Refused(Refusal::Duplicate { run, .. })) if run.token == token,
        ["TransactWriteItems 1"];

    fn a_recovery_is_two_requests(token):
        [acquire("a")], recover("a", token)
        => Ok((Outcome::Freed { outcome: Some(RunOutcome::Recovered) }, _)),
        ["GetItem 1", "TransactWriteItems 1"];

    fn a_recovery_that_lets_a_waiter_in_is_three_requests(token):
        [acquire_tick("a"), wait("b")], recover("a", token)
        => Ok((_, effects)) if woken(effects)[0].0 == holder("b"),
        ["GetItem 2", "TransactWriteItems 1"];

    // Confirm Grant sends a plain acquire of the holder to which a release has handed the lock.
    fn a_woken_run_confirms_its_grant_in_two_requests(token):
        [acquire("a"), wait("b"), release("a", token)], acquire("b")
        => Ok((Outcome::AlreadyHeld { lease }, _)) if lease.token > token, ["UpdateItem 2"];
}

#[tokio::test]
async fn the_first_acquire_of_a_lock_is_three_requests() {
    let fixture = Fixture::new("first").await;

    fixture.granted(acquire("a")).await;

    let expected = ["GetItem 1", "PutItem 1", "UpdateItem 1"];
    assert_eq!(fixture.requests(), expected);
}

#[tokio::test]
async fn a_new_expectation_and_a_failed_run_cost_one_request_more() {
    let fixture = Fixture::used("expected").await;
    let expected = Some(Seconds::of(3600));
    for (case, outcome, asked, ended) in [
        ("new", RunOutcome::Succeeded, "UpdateItem 2", vec![]),
        ("known", RunOutcome::Succeeded, "UpdateItem 1", vec![]),
        (
            "failed",
            RunOutcome::Failed,
            "UpdateItem 1",
            vec!["GetItem 1"],
        ),
    ] {
        let mut command = acquire("a");
        command.terms.expect_every = expected;
        let token = fixture.granted(command).await;
        assert_eq!(fixture.requests(), [asked], "{case}");
        let mut command = release("a", token);
        command.expect_every = expected;
        command.outcome = outcome;
        fixture.done(command).await;
        let ended = [ended, vec!["TransactWriteItems 1"]].concat();
        assert_eq!(fixture.requests(), ended, "{case}");
    }
}

#[tokio::test]
async fn a_refusal_by_the_present_holder_is_one_request() {
    let (fixture, _) = Fixture::held("held").await;

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
async fn a_refusal_by_an_expired_holder_is_one_request_and_frees_nothing() {
    let (fixture, token) = Fixture::held("expired").await;
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
async fn a_late_holder_learns_in_two_requests_that_its_lease_is_lost() {
    let (fixture, token) = Fixture::held("lost").await;
    fixture.outcome(recover("a", token)).await;
    fixture.granted(acquire("b")).await;
    fixture.settle();

    let refused = fixture.execute(renew("a", token)).await.unwrap_err();

    let ProtocolError::Refused(Refusal::LeaseLost { holders, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(holders[0].0, holder("b"));
    assert_eq!(fixture.requests(), ["GetItem 1", "UpdateItem 1"]);
}

/// With a limit, the guard of the first write fails on repeated progress, which must not restart
/// the time.
#[tokio::test]
async fn a_heartbeat_with_progress_is_one_request() {
    for limit in [None, Some(Seconds::of(600))] {
        let fixture = Fixture::used("progress").await;
        let mut ask = acquire("a");
        ask.terms.no_progress = limit;
        let token = fixture.granted(ask).await;
        fixture.settle();
        let mut renew = renew("a", token);
        renew.progress = Some("chapter 2 of 9".into());
        renew.no_progress = limit;

        fixture.advance(Duration::from_secs(10));
        let reported = fixture.now();
        fixture.done(renew.clone()).await;

        assert_eq!(fixture.requests(), ["UpdateItem 1"], "{limit:?}");
        let stalls_at = limit.map(|most| reported.plus(most));
        let lease = fixture.record().await.holders[&holder("a")].clone();
        assert_eq!(lease.progress.as_deref(), Some("chapter 2 of 9"));
        assert_eq!(lease.stalls_at, stalls_at);

        fixture.settle();
        fixture.done(renew.clone()).await;
        let again = match limit {
            None => vec!["UpdateItem 1"],
            Some(_) => vec!["UpdateItem 2"],
        };
        assert_eq!(fixture.requests(), again, "{limit:?}");
        assert_eq!(
            fixture.record().await.holders[&holder("a")].stalls_at,
            stalls_at
        );
    }
}

#[tokio::test]
async fn a_redriven_run_has_its_grant_back_in_three_requests() {
    let (fixture, token) = Fixture::held("redrive").await;
    fixture.done(renew("a", token)).await;
    let recovery = fixture.recovery("a", token).await;
    fixture.outcome(recovery).await;
    fixture.advance(Duration::from_secs(15));
    fixture.settle();

    let outcome = fixture.outcome(renew("a", token)).await;

    assert!(matches!(outcome, Outcome::Reinstated { .. }), "{outcome:?}");
    let expected = ["GetItem 1", "TransactWriteItems 1", "UpdateItem 1"];
    assert_eq!(fixture.requests(), expected);
}
