//! The end of the last work, and of the process.

use super::*;

#[tokio::test(start_paused = true)]
async fn the_end_of_the_last_work_waits_three_seconds_at_most() {
    let twin = MemoryTable::default();
    let work = twin.keep(Mode::Required).begin().await.unwrap();
    twin.0.lock().unwrap().delay = seconds(14);
    let start = Instant::now();

    work.end().await;

    assert_eq!(start.elapsed(), seconds(3));
    assert_eq!(twin.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn idle_clears_although_work_is_in_flight_and_lets_no_other_in() {
    let twin = MemoryTable::default();
    let protection = twin.keep(Mode::Required);
    let _work = protection.begin().await.unwrap();

    protection.idle().await;
    let refused = protection.begin().await.unwrap_err();

    assert_eq!(twin.asked(), [SET, CLEAR]);
    assert_eq!(refused.reason, Reason::ShuttingDown);
}

#[tokio::test(start_paused = true)]
async fn idle_tells_those_who_wait_for_protection() {
    let twin = MemoryTable::slow(seconds(10));
    let protection = twin.keep(Mode::Required);
    let waiting = tokio::spawn({
        let protection = protection.clone();
        async move { protection.begin().await.map(drop) }
    });
    pass(seconds(1)).await;

    protection.idle().await;

    assert_eq!(
        waiting.await.unwrap().unwrap_err().reason,
        Reason::ShuttingDown
    );
}

#[tokio::test(start_paused = true)]
async fn idle_asks_nothing_when_nothing_is_set() {
    let twin = MemoryTable::default();
    let protection = twin.keep(Mode::Required);
    protection.begin().await.unwrap().end().await;

    protection.idle().await;

    assert_eq!(twin.asked(), [SET, CLEAR]);
}
