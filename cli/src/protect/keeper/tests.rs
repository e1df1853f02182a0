//! The keeper against a twin of the agent in memory, on tokio's paused clock: it jumps to the next
//! deadline whenever all tasks wait, so that no test waits and every length is exact.

use super::super::endpoint::State;
use super::super::reason::Reason;
use super::*;
use std::collections::VecDeque;
use std::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout};

/// An agent that grants what it is asked for, but for the refusals it is told to make first.
#[derive(Clone, Default)]
struct Twin(Arc<Mutex<Inside>>);

#[derive(Default)]
struct Inside {
    refusals: VecDeque<Reason>,
    /// How long each answer takes.
    delay: Duration,
    /// The minutes of each call.
    asked: Vec<Option<u64>>,
}

impl Twin {
    fn refusing(reasons: impl IntoIterator<Item = Reason>) -> Self {
        let twin = Self::default();
        twin.0.lock().unwrap().refusals = reasons.into_iter().collect();
        twin
    }

    fn slow(delay: Duration) -> Self {
        let twin = Self::default();
        twin.0.lock().unwrap().delay = delay;
        twin
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
}

impl Agent for Twin {
    async fn put(&self, minutes: Option<u64>) -> Result<State, Refused> {
        let (refusal, delay) = {
            let mut inside = self.0.lock().unwrap();
            inside.asked.push(minutes);
            (inside.refusals.pop_front(), inside.delay)
        };
        sleep_until(Instant::now() + delay).await;
        match refusal {
            Some(reason) => Err(Refused::new(reason, "as told")),
            None => Ok(State {
                enabled: minutes.is_some(),
                left: minutes.map(|minutes| seconds(minutes * 60)),
                until: None,
            }),
        }
    }

    async fn get(&self) -> Result<State, Refused> {
        Err(Refused::new(Reason::AccessDenied, "as told"))
    }
}

const SET: Option<u64> = Some(1);
const CLEAR: Option<u64> = None;

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

/// Lets everything happen that happens in this time.
async fn pass(length: Duration) {
    sleep_until(Instant::now() + length).await;
}

#[tokio::test(start_paused = true)]
async fn two_pieces_of_work_are_protected_once_and_cleared_once() {
    let twin = Twin::default();
    let protection = twin.keep(Mode::Required);

    let first = protection.begin().await.unwrap();
    let second = protection.clone().begin().await.unwrap();
    first.end().await;
    let before = twin.asked();
    second.end().await;

    assert_eq!(before, [SET]);
    assert_eq!(twin.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_piece_of_work_counts_down() {
    let twin = Twin::default();
    let protection = twin.keep(Mode::Required);

    drop(protection.begin().await.unwrap());
    pass(seconds(1)).await;

    assert_eq!(twin.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn long_work_is_renewed_every_48_seconds_of_a_minute() {
    let twin = Twin::default();
    let protection = twin.keep(Mode::BestEffort);
    let _work = protection.begin().await.unwrap();

    pass(seconds(47)).await;
    let before = twin.asked();
    pass(seconds(2 + 48)).await;

    assert_eq!(before, [SET]);
    assert_eq!(twin.asked(), [SET, SET, SET]);
}

#[tokio::test(start_paused = true)]
async fn required_work_is_refused_at_once_for_a_reason_that_does_not_pass() {
    for reason in [
        Reason::TaskNotValid,
        Reason::AccessDenied,
        Reason::Rejected,
        Reason::Gone,
    ] {
        let twin = Twin::refusing([reason]);
        let start = Instant::now();

        let refused = twin.keep(Mode::Required).begin().await.unwrap_err();

        assert_eq!(refused.reason, reason);
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn required_work_waits_out_refusals_that_pass() {
    let twin = Twin::refusing([
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
        let twin = Twin::refusing([Reason::DeploymentBlocked; 99]);
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
    let twin = Twin::slow(seconds(3_600));

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
        let twin = Twin::refusing([reason; 9]);
        let start = Instant::now();

        let work = twin.keep(Mode::BestEffort).begin().await;

        assert!(work.is_ok(), "{reason}");
        assert_eq!(start.elapsed(), Duration::ZERO, "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn best_effort_work_waits_three_seconds_for_an_answer_and_clears_what_came_late() {
    let twin = Twin::slow(seconds(5));
    let start = Instant::now();

    let work = twin.keep(Mode::BestEffort).begin().await.unwrap();
    let waited = start.elapsed();
    drop(work);
    pass(seconds(30)).await;

    assert_eq!(waited, seconds(3));
    assert_eq!(twin.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_refused_does_not_end_the_work_and_is_tried_again() {
    let twin = Twin::default();
    let protection = twin.keep(Mode::Required);
    let work = protection.begin().await.unwrap();
    twin.0.lock().unwrap().refusals = [Reason::DeploymentBlocked; 2].into();

    pass(seconds(48 + 15)).await;
    pass(seconds(1)).await;
    let asked = twin.asked();
    work.end().await;

    assert_eq!(asked, [SET; 4], "at 0, 48, 53 and 63 s");
    assert_eq!(twin.asked().last(), Some(&CLEAR));
}

#[tokio::test(start_paused = true)]
async fn a_begin_that_is_given_up_counts_out() {
    let twin = Twin::slow(seconds(5));
    let protection = twin.keep(Mode::Required);

    let given_up = timeout(seconds(1), protection.begin()).await;
    pass(seconds(30)).await;

    assert!(given_up.is_err());
    assert_eq!(twin.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_last_work_waits_three_seconds_at_most() {
    let twin = Twin::default();
    let work = twin.keep(Mode::Required).begin().await.unwrap();
    twin.0.lock().unwrap().delay = seconds(14);
    let start = Instant::now();

    work.end().await;

    assert_eq!(start.elapsed(), seconds(3));
    assert_eq!(twin.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn idle_clears_although_work_is_in_flight_and_lets_no_other_in() {
    let twin = Twin::default();
    let protection = twin.keep(Mode::Required);
    let _work = protection.begin().await.unwrap();

    protection.idle().await;
    let refused = protection.begin().await.unwrap_err();

    assert_eq!(twin.asked(), [SET, CLEAR]);
    assert_eq!(refused.reason, Reason::ShuttingDown);
}

#[tokio::test(start_paused = true)]
async fn idle_tells_those_who_wait_for_protection() {
    let twin = Twin::slow(seconds(10));
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
    let twin = Twin::default();
    let protection = twin.keep(Mode::Required);
    protection.begin().await.unwrap().end().await;

    protection.idle().await;

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

#[test]
fn handles_go_between_threads() {
    fn go_between_threads<T: Send + Sync>() {}

    go_between_threads::<Protection>();
    go_between_threads::<InFlight>();
}
