//! Runs in the history, the guards of their writes, and the markers of run keys.

use super::{at, holder, terms};
use crate::domain::history::end_run;
use crate::domain::{
    Ending, EndingCause, Exit, FencingToken, Lease, Permits, Refusal, Retention, Run, RunEnd,
    RunGuard, RunId, RunOutcome, Seconds, Terms,
};
use crate::testing::{self, run_key};

const TOKEN: FencingToken = FencingToken::from_number(7);
const OTHER: FencingToken = FencingToken::from_number(8);
const RETENTION: Retention = Retention {
    history: Seconds::of(1),
    run_keys: Seconds::of(50),
};

fn run(token: FencingToken, outcome: Option<RunOutcome>) -> Run {
    let end = outcome.map(|outcome| RunEnd {
        outcome,
        at: at(200),
        retain_until: at(300),
        evidence: None,
    });
    Run {
        end,
        ..Run::started(holder("a"), token, Some(run_key("tick")))
    }
}

#[test]
fn a_guard_of_a_run_names_its_grant_and_whether_it_has_ended() {
    use RunOutcome::{Failed, Succeeded};
    let runs = [
        None,
        Some(run(TOKEN, None)),
        Some(run(TOKEN, Some(Failed))),
        Some(run(OTHER, None)),
        Some(run(OTHER, Some(Succeeded))),
        Some(Run {
            lease: Some(Box::new(terms("a").lease(TOKEN, at(0)))),
            ..run(TOKEN, None)
        }),
    ];
    // Each guard, and the indexes of the runs on which it holds.
    let cases = [
        (RunGuard::NotTaken(at(299)), &[0, 2][..]),
        (RunGuard::NotTaken(at(300)), &[0, 2, 4]),
        (RunGuard::RunningUnder(TOKEN), &[1, 5]),
        (RunGuard::LeftUnder(TOKEN), &[1]),
        (RunGuard::OpenFor(TOKEN), &[0, 1, 5]),
        (RunGuard::EndedUnder(TOKEN), &[2]),
        (RunGuard::EndedAt(TOKEN, at(200)), &[2]),
        (RunGuard::EndedAt(TOKEN, at(201)), &[]),
    ];
    for (guard, expected) in cases {
        let holds = (0..runs.len()).filter(|place| guard.holds(runs[*place].as_ref()));

        assert_eq!(holds.collect::<Vec<_>>(), expected, "{guard:?}");
    }
}

#[test]
fn only_a_run_that_reported_its_end_was_released() {
    use RunOutcome::{Evicted, Failed, Lost, Recovered, Replaced, Succeeded};
    let of = |outcome| run(TOKEN, outcome).was_released();

    let released = [Succeeded, Failed].map(|outcome| of(Some(outcome)));
    let taken = [Lost, Recovered, Evicted, Replaced].map(|outcome| of(Some(outcome)));

    assert_eq!(released, [true; 2]);
    assert_eq!(taken, [false; 4]);
    assert!(!of(None), "it runs");
}

#[test]
fn a_marker_keeps_the_end_or_the_lease_and_never_what_is_of_the_task() {
    let ended = Run {
        task: Some(testing::task_end(1)),
        beat: Some(testing::task_token("beat")),
        lease: Some(Box::new(terms("a").lease(TOKEN, at(100)))),
        ..run(TOKEN, Some(RunOutcome::Lost))
    };
    for runs_on in [false, true] {
        let writes = end_run(&ended, runs_on, RETENTION);

        let (guards, writes): (Vec<_>, Vec<_>) = writes.into_iter().unzip();
        assert_eq!(guards, [RunGuard::OpenFor(TOKEN); 2]);
        let [entry, marker] = &writes[..] else {
            panic!("{writes:?}");
        };
        assert_eq!((&entry.id, &entry.run), (&RunId::Token(TOKEN), &ended));
        assert_eq!(marker.id, RunId::Key(run_key("tick")));
        assert_eq!((&marker.run.task, &marker.run.beat), (&None, &None));
        let kept = marker.run.end.as_ref().map(|end| end.retain_until);
        let until = (!runs_on).then(|| at(200).plus(RETENTION.run_keys));
        assert_eq!(kept, until);
        assert_eq!(marker.run.lease.is_some(), runs_on);
    }
}

#[test]
fn a_caller_waits_if_more_holders_end_than_wait_or_one_is_its_own_run() {
    let held = |ending: u64, waiting| {
        let lease = |number| Lease {
            exit: Exit {
                ending: (number < ending).then_some(Ending {
                    since: at(150),
                    cause: EndingCause::Over,
                }),
                ..Exit::default()
            },
            parent: Some(holder("caller")),
            ..terms("a").lease(FencingToken::from_number(number), at(100))
        };
        let holders = (0..2).map(|number| (holder(&format!("a{number}")), lease(number)));
        Refusal::Held {
            holders: holders.collect(),
            permits: Permits::new(2).unwrap(),
            waiting,
        }
    };
    let resting = Refusal::TooSoon { not_before: at(1) };
    let cases = [
        (held(0, 0), false),
        (held(1, 0), true),
        (held(1, 1), false),
        (held(2, 1), true),
        (held(2, 2), false),
        (resting, false),
    ];
    for (refusal, expected) in cases {
        assert_eq!(
            refusal.should_wait_for_ending_holder(&terms("b")),
            expected,
            "{refusal:?}"
        );
    }
    let retry = Terms {
        parent: Some(holder("caller")),
        ..terms("b")
    };
    for (refusal, expected) in [(held(0, 0), false), (held(1, 1), true), (held(2, 2), true)] {
        assert_eq!(
            refusal.should_wait_for_ending_holder(&retry),
            expected,
            "{refusal:?}"
        );
    }
}

/// The retention of run keys, 50 s, counts from the end of the lease, 60 s after the grant at 100 s.
#[test]
fn a_yielded_run_keeps_its_key_until_its_end_or_the_retention() {
    let lease = terms("a").lease(TOKEN, at(100));
    let open = Run {
        lease: Some(Box::new(lease)),
        ..run(TOKEN, None)
    };
    let ended = Run {
        end: run(TOKEN, Some(RunOutcome::Failed)).end,
        ..open.clone()
    };
    for (run, now, runs_on) in [
        (&open, 209, true),
        (&open, 210, false),
        (&ended, 150, false),
        (&run(TOKEN, None), 150, false),
    ] {
        assert_eq!(run.runs_on(RETENTION, at(now)), runs_on, "{run:?} at {now}");
    }
}
