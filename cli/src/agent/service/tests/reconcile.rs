//! Unconfirmed grants.

use super::*;
use crate::lease::table::memory::Fault::{AnswerLost, Hangs, Late, Silence};
use crate::lease::unconfirmed::retry_until;

/// A table that grants a permit without an answer, then fails two retries and `more` requests.
fn lost<const N: usize>(more: [Fault; N]) -> MemoryTable {
    MemoryTable::faulty([AnswerLost, Silence, Silence].into_iter().chain(more))
}

#[tokio::test(start_paused = true)]
async fn a_permit_whose_answers_were_lost_is_found_and_released_as_failed() {
    let table = lost([Silence; 7]);
    let service = service(&table).await;

    let begun = begin(&service).await;

    assert_eq!(error(&begun), "Lockstep.Unavailable");
    released(&table).await;
    confirmed(&service).await;
    let asked = table.asked();
    assert!(asked.iter().all(|one| one.holder == asked[0].holder));
}

#[tokio::test(start_paused = true)]
async fn a_release_that_gets_no_answer_is_retried() {
    let table = lost([]);
    table.lose_releases(5);
    let service = service(&table).await;

    begin(&service).await.unwrap_err();

    released(&table).await;
}

#[tokio::test(start_paused = true)]
async fn a_permit_acquired_only_by_the_repeated_request_starts_no_min_interval() {
    let table = MemoryTable::faulty([Silence; 3]);
    let service = service(&table).await;
    let request = json!({ "name": "export", "lock": "exports", "minIntervalSeconds": 3600 });

    begin_for(&service, request).await.unwrap_err();
    released(&table).await;

    let asked = table.asked();
    assert_eq!(asked.last().unwrap().min_interval_seconds, None);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_arrives_after_its_lease_begins_no_job_and_is_released() {
    let table = MemoryTable::faulty([Late]);
    let service = service(&table).await;

    let begun = begin(&service).await;

    assert_eq!(error(&begun), "Lockstep.Unavailable");
    released(&table).await;
    assert_eq!(service.registry().open(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_unconfirmed_grant_is_reported_as_unavailable_and_not_as_held() {
    let table = lost([Silence]);
    let service = service(&table).await;
    begin(&service).await.unwrap_err();
    until("a silent repetition", || table.faults() == 0).await;

    let meanwhile = begin(&service).await;
    let or_fail = json!({ "name": "export", "lock": "exports", "overlap": "fail" });
    let failed_meanwhile = begin_for(&service, or_fail).await;
    confirmed(&service).await;
    let after = begin(&service).await;

    assert_eq!(error(&meanwhile), "Lockstep.Unavailable");
    assert_eq!(error(&failed_meanwhile), "Lockstep.Unavailable");
    assert!(matches!(after, Ok(Begun::Granted(_))), "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stopping_agent_repeats_the_request_at_once_and_waits_a_few_seconds_at_most() {
    for (answers, unconfirmed) in [(vec![Silence; 2], 0), (vec![Silence, Hangs], 1)] {
        let table = MemoryTable::faulty([Silence; 3].into_iter().chain(answers));
        let service = service(&table).await;
        begin(&service).await.unwrap_err();

        assert!(timeout(LONG, service.stop()).await.is_ok());
        assert!(timeout(LONG, service.reconciled()).await.is_ok());

        assert_eq!(service.registry().capacity.unconfirmed_count(), unconfirmed);
    }
}

#[tokio::test]
async fn no_request_is_repeated_after_its_lease() {
    let service = service(&MemoryTable::default()).await;
    let silence = || async { Err::<(), _>(ApiError::unavailable("no answer")) };

    let asking = retry_until(Instant::now(), ApiError::leaves_open, &*service, silence);
    let asked = timeout(LONG, asking).await;

    assert!(matches!(asked, Ok(Err(_))), "{asked:?}");
}
