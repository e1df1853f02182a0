//! Work that begins: what it waits for, and when it is refused.

use super::*;

#[tokio::test(start_paused = true)]
async fn required_work_is_refused_at_once_for_a_reason_that_does_not_pass() {
    for reason in [
        Reason::TaskNotValid,
        Reason::AccessDenied,
        Reason::Rejected,
        Reason::Gone,
    ] {
        let twin = MemoryTable::refusing([reason]);
        let start = Instant::now();

        let refused = twin.keep(Mode::Required).begin().await.unwrap_err();

        assert_eq!(refused.reason, reason);
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn required_work_waits_out_refusals_that_pass() {
    let twin = MemoryTable::refusing([
        Reason::Throttled,
        Reason::ServerError,
        Reason::DeploymentBlocked,
    ]);

    let work = twin.keep(Mode::Required).begin().await;

    assert!(work.is_ok());
    assert_eq!(twin.asked(), [SET; 4]);
}

#[tokio::test(start_paused = true)]
async fn required_work_waits_30_seconds_or_a_quarter_of_its_lease_and_then_nothing_is_asked() {
    // Blocked deployments are asked again after 5, 15 and 25 s.
    for (lease, waits, calls) in [(3_600, 30, 4), (80, 20, 3), (8, 2, 1)] {
        let twin = MemoryTable::refusing([Reason::DeploymentBlocked; 99]);
        let protection = twin.keep_for(Mode::Required, seconds(lease));
        let start = Instant::now();

        let refused = protection.begin().await.unwrap_err();
        let waited = start.elapsed();
        pass(seconds(60)).await;

        assert_eq!(refused.reason, Reason::DeploymentBlocked);
        assert_eq!(waited, seconds(waits));
        assert_eq!(twin.asked().len(), calls, "under {lease} s");
    }
}

#[tokio::test(start_paused = true)]
async fn required_work_is_refused_when_no_answer_comes() {
    let twin = MemoryTable::slow(seconds(3_600));

    let refused = twin.keep(Mode::Required).begin().await.unwrap_err();

    assert_eq!(refused.reason, Reason::NoAnswer);
}

#[tokio::test(start_paused = true)]
async fn best_effort_work_starts_after_the_first_answer_whatever_it_is() {
    for reason in [
        Reason::TaskNotValid,
        Reason::AccessDenied,
        Reason::DeploymentBlocked,
    ] {
        let twin = MemoryTable::refusing([reason; 9]);
        let start = Instant::now();

        let work = twin.keep(Mode::BestEffort).begin().await;

        assert!(work.is_ok(), "{reason}");
        assert_eq!(start.elapsed(), Duration::ZERO, "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn best_effort_work_waits_three_seconds_for_an_answer_and_clears_what_came_late() {
    let twin = MemoryTable::slow(seconds(5));
    let start = Instant::now();

    let work = twin.keep(Mode::BestEffort).begin().await.unwrap();
    let waited = start.elapsed();
    drop(work);
    pass(seconds(30)).await;

    assert_eq!(waited, seconds(3));
    assert_eq!(twin.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn a_begin_that_is_given_up_counts_out() {
    let twin = MemoryTable::slow(seconds(5));
    let protection = twin.keep(Mode::Required);

    let given_up = timeout(seconds(1), protection.begin()).await;
    pass(seconds(30)).await;

    assert!(given_up.is_err());
    assert_eq!(twin.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn without_an_agent_or_without_a_wish_work_starts_in_every_mode() {
    let cases = [
        (Mode::Required, None),
        (Mode::Required, Some(" ".to_owned())),
        (Mode::BestEffort, None),
        (Mode::Off, Some("http://127.0.0.1:1".to_owned())),
    ];
    for (mode, agent_uri) in cases {
        let protection = Protection::start(mode, agent_uri, seconds(60));

        let work = protection.begin().await.unwrap();

        work.end().await;
        protection.idle().await;
    }
}
