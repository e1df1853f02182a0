//! Permits that nobody works under.

use super::*;
use crate::lease::table::memory::Fault::{AnswerLost, Hangs, Late, Silence};
use crate::lease::unconfirmed::insist;

/// A table that has granted what nobody hears of. The answers to these requests are lost too.
fn lost<const N: usize>(more: [Fault; N]) -> MemoryTable {
    MemoryTable::faulty([AnswerLost, Silence, Silence].into_iter().chain(more))
}

#[tokio::test(start_paused = true)]
async fn a_permit_whose_answers_were_lost_is_found_and_released_as_failed() {
    let table = lost([Silence; 7]);
    let service = service(&table).await;

    let begun = begin(&service).await;

    assert_eq!(error(&begun), "Lockstep.Unavailable");
    until("its end", || table.released() == failed()).await;
    until("no doubt", || service.book().places.doubts() == 0).await;
    let asked = table.asked();
    assert!(asked.iter().all(|one| one.holder == asked[0].holder));
}

#[tokio::test(start_paused = true)]
async fn a_release_that_gets_no_answer_is_asked_for_again() {
    let table = lost([]);
    table.deaf_to_releases(5);
    let service = service(&table).await;

    begin(&service).await.unwrap_err();

    until("its end", || table.released() == failed()).await;
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_is_taken_only_by_asking_again_makes_no_lock_rest() {
    let table = MemoryTable::faulty([Silence; 3]);
    let service = service(&table).await;
    let wish = json!({ "name": "export", "lock": "exports", "minIntervalSeconds": 3600 });

    begin_for(&service, wish).await.unwrap_err();
    until("its end", || table.released() == failed()).await;

    let asked = table.asked();
    assert_eq!(asked.last().unwrap().min_interval_seconds, None);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_comes_when_its_lease_is_over_begins_no_job_and_is_released() {
    let table = MemoryTable::faulty([Late]);
    let service = service(&table).await;

    let begun = begin(&service).await;

    assert_eq!(error(&begun), "Lockstep.Unavailable");
    until("its end", || table.released() == failed()).await;
    assert_eq!(service.book().open(), 0);
}

#[tokio::test(start_paused = true)]
async fn who_asks_again_is_not_told_that_somebody_is_at_work_when_nobody_is() {
    let table = lost([Silence]);
    let service = service(&table).await;
    begin(&service).await.unwrap_err();
    until("a look that gets no answer", || table.faults() == 0).await;

    let meanwhile = begin(&service).await;
    let or_fail = json!({ "name": "export", "lock": "exports", "overlap": "fail" });
    let failed_meanwhile = begin_for(&service, or_fail).await;
    until("no doubt", || service.book().places.doubts() == 0).await;
    let after = begin(&service).await;

    assert_eq!(error(&meanwhile), "Lockstep.Unavailable");
    assert_eq!(error(&failed_meanwhile), "Lockstep.Unavailable");
    assert!(matches!(after, Ok(Begun::Granted(_))), "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_ends_asks_once_more_at_once_and_waits_for_no_answer_for_long() {
    for (answers, doubts) in [(vec![Silence; 2], 0), (vec![Silence, Hangs], 1)] {
        let table = MemoryTable::faulty([Silence; 3].into_iter().chain(answers));
        let service = service(&table).await;
        begin(&service).await.unwrap_err();

        assert!(timeout(LONG, service.stop()).await.is_ok());
        assert!(timeout(LONG, service.certain()).await.is_ok());

        assert_eq!(service.book().places.doubts(), doubts);
    }
}

#[tokio::test]
async fn nothing_is_asked_for_longer_than_its_lease() {
    let service = service(&MemoryTable::default()).await;
    let silence = || async { Err::<(), _>(ApiError::unavailable("as told")) };

    let asked = timeout(
        LONG,
        insist(Instant::now(), ApiError::leaves_open, &*service, silence),
    )
    .await;

    assert!(matches!(asked, Ok(Err(_))), "{asked:?}");
}
