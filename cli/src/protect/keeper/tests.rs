//! The keeper against a fake agent in memory, on tokio's paused clock. That clock jumps to the next deadline
//! when all tasks wait, so no test takes time, and every duration is exact.

use super::super::reason::Reason;
use super::super::state::State;
use super::*;
use std::collections::VecDeque;
use std::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout};

/// An agent that grants every request after the first `refusals`.
#[derive(Clone, Default)]
struct FakeAgent(Arc<Mutex<Inside>>);

#[derive(Default)]
struct Inside {
    refusals: VecDeque<Reason>,
    /// How long each answer takes.
    delay: Duration,
    /// The minutes of each call.
    asked: Vec<Option<u64>>,
}

impl FakeAgent {
    fn refusing(reasons: impl IntoIterator<Item = Reason>) -> Self {
        let agent = Self::default();
        agent.0.lock().unwrap().refusals = reasons.into_iter().collect();
        agent
    }

    fn slow(seconds: u64) -> Self {
        let agent = Self::default();
        agent.0.lock().unwrap().delay = Duration::from_secs(seconds);
        agent
    }

    fn asked(&self) -> Vec<Option<u64>> {
        self.0.lock().unwrap().asked.clone()
    }

    fn keep(&self, mode: Mode) -> Protection {
        self.keep_for(mode, seconds(60))
    }

    fn keep_for(&self, mode: Mode, lease: Duration) -> Protection {
        Protection::with(mode, self.clone(), lease)
    }

    /// Begins work, and returns how long that takes.
    async fn begin(&self, mode: Mode) -> (Result<InFlight, Refused>, Duration) {
        let start = Instant::now();
        let work = self.keep(mode).begin().await;
        (work, start.elapsed())
    }
}

impl Agent for FakeAgent {
    async fn put(&self, minutes: Option<u64>) -> Result<State, Refused> {
        let (refusal, delay) = {
            let mut inside = self.0.lock().unwrap();
            inside.asked.push(minutes);
            (inside.refusals.pop_front(), inside.delay)
        };
        sleep_until(Instant::now() + delay).await;
        match refusal {
            Some(reason) => Err(Refused::new(reason, "injected")),
            None => Ok(State {
                enabled: minutes.is_some(),
                left: minutes.map(|minutes| seconds(minutes * 60)),
                until: None,
            }),
        }
    }

    async fn get(&self) -> Result<State, Refused> {
        Err(Refused::new(Reason::AccessDenied, "injected"))
    }
}

const SET: Option<u64> = Some(1);
const CLEAR: Option<u64> = None;

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

/// Lets this time pass on the paused clock.
async fn pass(length: u64) {
    sleep_until(Instant::now() + seconds(length)).await;
}

#[tokio::test(start_paused = true)]
async fn two_pieces_of_work_are_protected_once_and_cleared_once() {
    let agent = FakeAgent::default();
    let protection = agent.keep(Mode::Required);

    let first = protection.begin().await.unwrap();
    let second = protection.clone().begin().await.unwrap();
    first.end().await;
    let before = agent.asked();
    second.end().await;

    assert_eq!((before, agent.asked()), (vec![SET], vec![SET, CLEAR]));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_piece_of_work_counts_out() {
    let agent = FakeAgent::default();

    drop(agent.begin(Mode::Required).await);
    pass(1).await;

    assert_eq!(agent.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn long_work_is_renewed_every_48_seconds_of_a_minute() {
    let agent = FakeAgent::default();
    let _work = agent.begin(Mode::BestEffort).await;

    pass(47).await;
    let before = agent.asked();
    pass(2 + 48).await;

    assert_eq!((before, agent.asked()), (vec![SET], vec![SET; 3]));
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_refused_does_not_end_the_work_and_is_tried_again() {
    let agent = FakeAgent::default();
    let (work, _) = agent.begin(Mode::Required).await;
    agent.0.lock().unwrap().refusals = [Reason::DeploymentBlocked; 2].into();

    pass(48 + 15 + 1).await;
    let asked = agent.asked();
    work.unwrap().end().await;

    assert_eq!(asked, [SET; 4], "at 0, 48, 53 and 63 s");
    assert_eq!(agent.asked().last(), Some(&CLEAR));
}

#[test]
fn protection_can_be_shared_between_threads() {
    fn go_between_threads<T: Send + Sync>() {}

    go_between_threads::<Protection>();
    go_between_threads::<InFlight>();
}

#[tokio::test(start_paused = true)]
async fn required_work_is_refused_at_once_for_a_permanent_reason() {
    use Reason::{AccessDenied, Gone, Rejected, TaskNotValid};
    for reason in [TaskNotValid, AccessDenied, Rejected, Gone] {
        let (work, waited) = FakeAgent::refusing([reason]).begin(Mode::Required).await;

        assert_eq!((work.unwrap_err().reason, waited), (reason, Duration::ZERO));
    }
}

#[tokio::test(start_paused = true)]
async fn required_work_waits_while_refusals_are_temporary() {
    use Reason::{DeploymentBlocked, ServerError, Throttled};
    let agent = FakeAgent::refusing([Throttled, ServerError, DeploymentBlocked]);

    let (work, _) = agent.begin(Mode::Required).await;

    assert!(work.is_ok());
    assert_eq!(agent.asked(), [SET; 4]);
}

#[tokio::test(start_paused = true)]
async fn required_work_is_refused_after_30_seconds_or_a_quarter_of_its_lease() {
    // A call during a blocked deployment is repeated after 5, 15 and 25 s.
    for (lease, waits, calls) in [(3_600, 30, 4), (80, 20, 3), (8, 2, 1)] {
        let agent = FakeAgent::refusing([Reason::DeploymentBlocked; 99]);
        let protection = agent.keep_for(Mode::Required, seconds(lease));
        let start = Instant::now();

        let refused = protection.begin().await.unwrap_err();
        let waited = start.elapsed();
        pass(60).await;

        assert_eq!(refused.reason, Reason::DeploymentBlocked);
        let actual = (waited, agent.asked().len());
        assert_eq!(actual, (seconds(waits), calls), "under {lease} s");
    }
}

#[tokio::test(start_paused = true)]
async fn required_work_is_refused_when_no_answer_comes() {
    let (work, _) = FakeAgent::slow(3_600).begin(Mode::Required).await;

    assert_eq!(work.unwrap_err().reason, Reason::NoAnswer);
}

#[tokio::test(start_paused = true)]
async fn best_effort_work_starts_although_protection_is_refused() {
    use Reason::{AccessDenied, DeploymentBlocked, TaskNotValid};
    for reason in [TaskNotValid, AccessDenied, DeploymentBlocked] {
        let (work, waited) = FakeAgent::refusing([reason; 9])
            .begin(Mode::BestEffort)
            .await;

        assert_eq!((work.is_ok(), waited), (true, Duration::ZERO), "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn best_effort_work_waits_three_seconds_and_clears_late_protection() {
    let agent = FakeAgent::slow(5);

    let (work, waited) = agent.begin(Mode::BestEffort).await;
    drop(work.unwrap());
    pass(30).await;

    assert_eq!((waited, agent.asked()), (seconds(3), vec![SET, CLEAR]));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_begin_counts_out() {
    let agent = FakeAgent::slow(5);

    let cancelled = timeout(seconds(1), agent.begin(Mode::Required)).await;
    pass(30).await;

    assert!(cancelled.is_err());
    assert_eq!(agent.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn without_an_agent_or_with_mode_off_work_starts() {
    for (mode, agent_uri) in [
        (Mode::Required, None),
        (Mode::Required, Some(" ".to_owned())),
        (Mode::BestEffort, None),
        (Mode::Off, Some("http://127.0.0.1:1".to_owned())),
    ] {
        let protection = Protection::start(mode, agent_uri, seconds(60));

        protection.begin().await.unwrap().end().await;
        protection.idle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_last_work_waits_three_seconds_at_most() {
    let agent = FakeAgent::default();
    let (work, _) = agent.begin(Mode::Required).await;
    agent.0.lock().unwrap().delay = seconds(14);
    let start = Instant::now();

    work.unwrap().end().await;

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
    let protection = FakeAgent::slow(10).keep(Mode::Required);
    let own = protection.clone();
    let waiting = tokio::spawn(async move { own.begin().await.map(drop) });
    pass(1).await;

    protection.idle().await;

    let refused = waiting.await.unwrap().unwrap_err();
    assert_eq!(refused.reason, Reason::ShuttingDown);
}

#[tokio::test(start_paused = true)]
async fn idle_makes_no_call_when_protection_is_cleared() {
    let agent = FakeAgent::default();
    let protection = agent.keep(Mode::Required);
    protection.begin().await.unwrap().end().await;

    protection.idle().await;

    assert_eq!(agent.asked(), [SET, CLEAR]);
}
