//! Unconfirmed grants.

use super::*;
use crate::lease::table::memory::Fault::{AnswerLost, Hangs, Late, Silence};
use crate::lease::unconfirmed::retry_until;

/// A table that grants a permit without an answer, then fails two retries and `more` requests.
fn lost<const N: usize>(more: [Fault; N]) -> MemoryTable {
    MemoryTable::faulty([AnswerLost, Silence, Silence].into_iter().chain(more))
}

#[tokio::test(start_paused = true)]
async fn a_permit_without_a_timely_answer_is_released_as_failed_and_starts_no_min_interval() {
    let plain = json!({ "name": "export", "lock": "exports" });
    let mut spaced = plain.clone();
    spaced["minIntervalSeconds"] = 3600.into();
    for (case, table, lost_releases, request) in [
        ("lost answers", lost([Silence; 7]), 0, &plain),
        ("lost releases", lost([]), 5, &plain),
        ("a late answer", MemoryTable::faulty([Late]), 0, &plain),
        (
            "lost requests",
            MemoryTable::faulty([Silence; 3]),
            0,
            &spaced,
        ),
    ] {
        table.lose_releases(lost_releases);
        let service = service(&table).await;

        let begun = begin_for(&service, request.clone()).await;

        assert_eq!(error(&begun), "Lockstep.Unavailable", "{case}");
        released(&table).await;
        confirmed(&service).await;
        assert_eq!(service.registry().open(), 0, "{case}");
        let asked = table.asked();
        let same = asked.iter().all(|one| one.holder == asked[0].holder);
        let interval = asked.last().unwrap().min_interval_seconds;
        assert!(same && interval.is_none(), "{case}: {asked:?}");
    }
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
