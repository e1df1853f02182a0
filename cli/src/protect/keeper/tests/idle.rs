//! The end of the last work, and of the process.

use super::*;

#[tokio::test(start_paused = true)]
async fn the_end_of_the_last_work_waits_three_seconds_at_most() {
    let agent = FakeAgent::default();
    let work = agent.keep(Mode::Required).begin().await.unwrap();
    agent.0.lock().unwrap().delay = seconds(14);
    let start = Instant::now();

    work.end().await;

    assert_eq!(start.elapsed(), seconds(3));
    assert_eq!(agent.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn idle_clears_while_work_is_in_flight_and_refuses_new_work() {
    let agent = FakeAgent::default();
    let protection = agent.keep(Mode::Required);
    let _work = protection.begin().await.unwrap();

    protection.idle().await;
    let refused = protection.begin().await.unwrap_err();

    assert_eq!(agent.asked(), [SET, CLEAR]);
    assert_eq!(refused.reason, Reason::ShuttingDown);
}

#[tokio::test(start_paused = true)]
async fn idle_refuses_work_that_waits_for_protection() {
    let agent = FakeAgent::slow(seconds(10));
    let protection = agent.keep(Mode::Required);
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
async fn idle_makes_no_call_when_protection_is_cleared() {
    let agent = FakeAgent::default();
    let protection = agent.keep(Mode::Required);
    protection.begin().await.unwrap().end().await;

    protection.idle().await;

    assert_eq!(agent.asked(), [SET, CLEAR]);
}
