//! Unconfirmed grants.

use super::*;
use crate::lease::client::twins::Fault::{AnswerLost, Hangs, Late, Silence};
use crate::lease::unconfirmed::retry_until;
use lockstep::clock::{Clock, SystemClock};

/// Returns a table that grants a permit without a response, then fails two retries and `more` requests.
fn lost<const N: usize>(more: [Fault; N]) -> Twins {
    Twins::faulty([AnswerLost, Silence, Silence].into_iter().chain(more))
}

#[tokio::test(start_paused = true)]
async fn an_unconfirmed_permit_is_released_as_failed_and_starts_no_rest() {
    let plain = json!({ "name": "export", "lock": LOCK });
    let (mut spaced, mut short) = (plain.clone(), plain.clone());
    spaced["minIntervalSeconds"] = 3600.into();
    // The record's lease is three seconds long, and a response within its last 1.3 seconds is too late to
    // begin.
    short["leaseSeconds"] = 5.into();
    let late = Late(Duration::from_millis(1_750));
    for (case, twins, lost_releases, request) in [
        ("lost answers", lost([Silence; 7]), 0, &plain),
        ("lost releases", lost([]), 5, &plain),
        ("a late answer", Twins::faulty([late]), 0, &short),
        ("lost requests", Twins::faulty([Silence; 3]), 0, &spaced),
    ] {
        twins.lose_releases(lost_releases);
        let service = service(&twins).await;

        let begun = begin_for(&service, request.clone()).await;

        assert_eq!(error(&begun), "Lockstep.Unavailable", "{case}");
        released(&twins).await;
        confirmed(&service).await;
        assert_eq!(service.registry().open(), 0, "{case}");
        let record = twins.record(LOCK);
        assert!(record.holders.is_empty(), "{case}");
        assert!(record.gate.not_before <= SystemClock.now(), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unconfirmed_grant_is_reported_as_unavailable_and_not_as_held() {
    let twins = lost([Silence]);
    let service = service(&twins).await;
    begin(&service).await.unwrap_err();
    until("a silent repetition", || twins.faults() == 0).await;

    let meanwhile = begin(&service).await;
    let or_fail = json!({ "name": "export", "lock": LOCK, "overlap": "fail" });
    let failed_meanwhile = begin_for(&service, or_fail).await;
    confirmed(&service).await;
    let after = begin(&service).await;

    assert_eq!(error(&meanwhile), "Lockstep.Unavailable");
    assert_eq!(error(&failed_meanwhile), "Lockstep.Unavailable");
    assert!(matches!(after, Ok(Begun::Granted(_))), "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stopping_agent_repeats_requests_at_once_and_waits_three_seconds() {
    for (answers, unconfirmed) in [(vec![Silence; 2], 0), (vec![Silence, Hangs], 1)] {
        let twins = Twins::faulty([Silence; 3].into_iter().chain(answers));
        let service = service(&twins).await;
        begin(&service).await.unwrap_err();

        assert!(timeout(LONG, service.stop()).await.is_ok());
        assert!(timeout(LONG, service.reconciled()).await.is_ok());

        assert_eq!(service.registry().capacity.unconfirmed_count(), unconfirmed);
    }
}

#[tokio::test]
async fn no_request_is_repeated_after_its_lease() {
    let service = service(&Twins::default()).await;
    let silence = || async { Err::<(), _>(ApiError::unavailable("no answer")) };

    let asking = retry_until(Instant::now(), ApiError::leaves_open, &*service, silence);
    let asked = timeout(LONG, asking).await;

    assert!(matches!(asked, Ok(Err(_))), "{asked:?}");
}
