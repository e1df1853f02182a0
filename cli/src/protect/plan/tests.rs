//! The plan at chosen times.

mod clearing;
mod refusals;
mod setting;

use super::*;

const LEASE: Duration = Duration::from_secs(60);
const MINUTE: Option<Duration> = Some(Duration::from_secs(60));

fn at(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// The call that the plan makes at this time; anything else fails the test.
fn put(plan: &mut Plan, seconds: f64) -> Put {
    match plan.next(at(seconds)) {
        Next::Put(put) => put,
        other => panic!("no call at {seconds} s but {other:?}"),
    }
}

/// Makes the call that is due, and answers it at the same time.
fn answer(plan: &mut Plan, seconds: f64, answer: Answer) -> Event {
    let put = put(plan, seconds);
    plan.answered(put.number, answer, at(seconds))
}

fn refused(reason: Reason) -> Answer {
    Answer::Refused(Refused::new(reason, "why"))
}

/// One piece of work since 0 s, protected at 0 s for a minute.
fn protected() -> Plan {
    let mut plan = Plan::new(LEASE);
    plan.began(at(0.0));
    assert_eq!(
        answer(&mut plan, 0.0, Answer::Protected(MINUTE)),
        Event::Protected
    );
    plan
}
