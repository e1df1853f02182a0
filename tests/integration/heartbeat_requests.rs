//! What heartbeats cost: in time, with progress, late, and after a redrive.

use crate::fixture::{Fixture, acquire, holder, recover, renew};
use lockstep::domain::{Outcome, Refusal};
use lockstep::protocol::ProtocolError;
use std::time::Duration;

#[tokio::test]
async fn a_heartbeat_is_one_request() {
    let fixture = Fixture::used("renew").await;
    let token = fixture.granted(acquire("a")).await;
    fixture.settle();

    let done = fixture.done(renew("a", token)).await;

    assert!(matches!(done.outcome, Outcome::Renewed { .. }), "{done:?}");
    assert_eq!(fixture.requests(), ["UpdateItem 1"]);
}

#[tokio::test]
async fn a_late_holder_learns_in_two_requests_that_its_lease_is_lost() {
    let fixture = Fixture::used("lost").await;
    let token = fixture.granted(acquire("a")).await;
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

#[tokio::test]
async fn a_heartbeat_with_progress_is_two_requests() {
    let fixture = Fixture::used("progress").await;
    let token = fixture.granted(acquire("a")).await;
    fixture.settle();
    let mut renew = renew("a", token);
    renew.progress = Some("chapter 2 of 9".into());

    fixture.done(renew).await;

    assert_eq!(fixture.requests(), ["GetItem 1", "UpdateItem 1"]);
}

#[tokio::test]
async fn a_redriven_run_has_its_grant_back_in_three_requests() {
    let fixture = Fixture::used("redrive").await;
    let token = fixture.granted(acquire("a")).await;
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
