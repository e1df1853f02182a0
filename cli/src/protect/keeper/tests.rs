//! The keeper against a fake agent in memory, on tokio's paused clock: it jumps to the next
//! deadline when all tasks wait, so that no test waits and every duration is exact.

mod begin;
mod idle;

use super::super::endpoint::State;
use super::super::reason::Reason;
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

    fn slow(delay: Duration) -> Self {
        let agent = Self::default();
        agent.0.lock().unwrap().delay = delay;
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
async fn pass(length: Duration) {
    sleep_until(Instant::now() + length).await;
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

    assert_eq!(before, [SET]);
    assert_eq!(agent.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_piece_of_work_counts_out() {
    let agent = FakeAgent::default();
    let protection = agent.keep(Mode::Required);

    drop(protection.begin().await.unwrap());
    pass(seconds(1)).await;

    assert_eq!(agent.asked(), [SET, CLEAR]);
}

#[tokio::test(start_paused = true)]
async fn long_work_is_renewed_every_48_seconds_of_a_minute() {
    let agent = FakeAgent::default();
    let protection = agent.keep(Mode::BestEffort);
    let _work = protection.begin().await.unwrap();

    pass(seconds(47)).await;
    let before = agent.asked();
    pass(seconds(2 + 48)).await;

    assert_eq!(before, [SET]);
    assert_eq!(agent.asked(), [SET, SET, SET]);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_refused_does_not_end_the_work_and_is_tried_again() {
    let agent = FakeAgent::default();
    let protection = agent.keep(Mode::Required);
    let work = protection.begin().await.unwrap();
    agent.0.lock().unwrap().refusals = [Reason::DeploymentBlocked; 2].into();

    pass(seconds(48 + 15)).await;
    pass(seconds(1)).await;
    let asked = agent.asked();
    work.end().await;

    assert_eq!(asked, [SET; 4], "at 0, 48, 53 and 63 s");
    assert_eq!(agent.asked().last(), Some(&CLEAR));
}

#[test]
fn handles_go_between_threads() {
    fn go_between_threads<T: Send + Sync>() {}

    go_between_threads::<Protection>();
    go_between_threads::<InFlight>();
}
