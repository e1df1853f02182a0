//! The begin of work: waiting for protection, and refusals.

use super::*;

#[tokio::test(start_paused = true)]
async fn required_work_is_refused_at_once_for_a_permanent_reason() {
    for reason in [
        Reason::TaskNotValid,
        Reason::AccessDenied,
        Reason::Rejected,
        Reason::Gone,
    ] {
        let agent = FakeAgent::refusing([reason]);
        let start = Instant::now();

        let refused = agent.keep(Mode::Required).begin().await.unwrap_err();

        assert_eq!(refused.reason, reason);
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn required_work_waits_while_refusals_are_temporary() {
    let agent = FakeAgent::refusing([
        Reason::Throttled,
        Reason::ServerError,
        Reason::DeploymentBlocked,
    ]);

    let work = agent.keep(Mode::Required).begin().await;

    assert!(work.is_ok());
    assert_eq!(agent.asked(), [SET; 4]);
}

#[tokio::test(start_paused = true)]
async fn required_work_waits_30_seconds_or_a_quarter_of_its_lease_and_then_makes_no_call() {
    // A call during a blocked deployment is repeated after 5, 15 and 25 s.
    for (lease, waits, calls) in [(3_600, 30, 4), (80, 20, 3), (8, 2, 1)] {
        let agent = FakeAgent::refusing([Reason::DeploymentBlocked; 99]);
        let protection = agent.keep_for(Mode::Required, seconds(lease));
        let start = Instant::now();

        let refused = protection.begin().await.unwrap_err();
        let waited = start.elapsed();
        pass(seconds(60)).await;

        assert_eq!(refused.reason, Reason::DeploymentBlocked);
        assert_eq!(waited, seconds(waits));
        assert_eq!(agent.asked().len(), calls, "under {lease} s");
    }
}

#[tokio::test(start_paused = true)]
async fn required_work_is_refused_when_no_answer_comes() {
    let agent = FakeAgent::slow(seconds(3_600));

    let refused = agent.keep(Mode::Required).begin().await.unwrap_err();

    assert_eq!(refused.reason, Reason::NoAnswer);
}

#[tokio::test(start_paused = true)]
async fn best_effort_work_starts_after_the_first_answer_even_if_it_is_a_refusal() {
    for reason in [
        Reason::TaskNotValid,
        Reason::AccessDenied,
        Reason::DeploymentBlocked,
    ] {
        let agent = FakeAgent::refusing([reason; 9]);
        let start = Instant::now();

        let work = agent.keep(Mode::BestEffort).begin().await;

        assert!(work.is_ok(), "{reason}");
        assert_eq!(start.elapsed(), Duration::ZERO, "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn best_effort_work_waits_three_seconds_for_an_answer_and_clears_late_protection() {
    let agent = FakeAgent::slow(seconds(5));
    let start = Instant::now();

    let work = agent.keep(Mode::BestEffort).begin().await.unwrap();
    let waited = start.elapsed();
    drop(work);
    pass(seconds(30)).await;

    assert_eq!(waited, seconds(3));
    assert_eq!(agent.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_begin_counts_out() {
    let agent = FakeAgent::slow(seconds(5));
    let protection = agent.keep(Mode::Required);

    let cancelled = timeout(seconds(1), protection.begin()).await;
    pass(seconds(30)).await;

    assert!(cancelled.is_err());
    assert_eq!(agent.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn without_an_agent_or_with_mode_off_work_starts() {
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
