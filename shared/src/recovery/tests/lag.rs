//! Descriptions that lag behind events, and events that lag behind descriptions.

use super::{after, ended, evidence, lease, task};
use crate::domain::{
    Call, EndingCause, ExecutionDescription, ExecutionEnd, ExecutionState, Lease, Task, Timestamp,
};
use crate::recovery::{Action, ExecutionEvent, ExecutionObservation, Hint, WorkObservation, judge};

fn seen(
    state: ExecutionState,
    redrives: u32,
    stopped_at: Option<Timestamp>,
) -> ExecutionObservation {
    ExecutionObservation::Seen(ExecutionDescription {
        state,
        redrives,
        stopped_at,
    })
}

const ABORTED: ExecutionState = ExecutionState::Ended(ExecutionEnd::Aborted);

#[test]
fn an_event_counts_where_the_description_lags_behind_it() {
    // The end that the event reports, in seconds after the grant, and its redrives; the redrives
    // that the description shows; those that the holder has reported; when it is judged.
    let cases = [
        ((10, 0), 0, 0, 12, true, "the description lags"),
        ((10, 1), 1, 1, 12, true, "the description of a redrive lags"),
        (
            (10, 0),
            1,
            0,
            12,
            false,
            "the description shows a redrive since",
        ),
        (
            (10, 0),
            0,
            1,
            12,
            false,
            "the holder has reported a redrive since",
        ),
        ((10, 0), 0, 0, 40, false, "the event is old"),
        ((0, 0), 0, 0, 12, false, "the grant is not older"),
    ];
    for ((at, of_event), of_description, reported, now, counts, why) in cases {
        let mut lease = lease();
        lease.redrives = reported;
        let running = seen(ExecutionState::Running, of_description, None);
        let mut evidence = evidence(running, WorkObservation::NotNamed);
        let hint = Hint::Execution(ExecutionEvent {
            end: ExecutionEnd::Aborted,
            at: after(at),
            redrives: of_event,
        });

        evidence.correct(&hint, &lease, after(now));

        assert_eq!(!evidence.execution.is_running(), counts, "{why}");
        let expected = counts.then(|| after(at));
        assert_eq!(evidence.execution.stopped_at(), expected, "{why}");
    }
}

#[test]
fn an_end_from_before_a_redrive_is_none() {
    // The end of the description, in seconds after the grant, and its redrives; those that the
    // holder has reported; when it last renewed; when it is judged.
    let cases = [
        ((10, 0), 0, 0, 12, false, "it has ended"),
        ((10, 1), 1, 0, 12, false, "it has ended after its redrive"),
        (
            (10, 0),
            1,
            0,
            12,
            true,
            "the holder has reported a redrive since",
        ),
        ((10, 0), 0, 11, 12, true, "it was renewed since"),
        (
            (10, 0),
            0,
            11,
            40,
            true,
            "it was renewed since, and the description may lag",
        ),
        (
            (10, 0),
            0,
            11,
            41,
            false,
            "no description lags so long: the heartbeat was late",
        ),
    ];
    for ((at, of_description), reported, renewed, now, runs, why) in cases {
        let mut lease = lease().renewed(after(renewed), None, None);
        lease.redrives = reported;
        let end = seen(ABORTED, of_description, Some(after(at)));
        let mut evidence = evidence(end, WorkObservation::NotNamed);

        evidence.doubt(&lease, after(now));

        assert_eq!(evidence.execution.is_running(), runs, "{why}");
    }
    let cases = [
        (5, 12, false, "nothing was confirmed since the end"),
        (10, 12, false, "it registered before it ended"),
        (11, 12, true, "it has registered since the end"),
        (11, 40, true, "it may still lag"),
        (11, 41, false, "no description lags so long"),
    ];
    for (since, now, runs, why) in cases {
        let called = Lease {
            call: Some(Call {
                task_token: None,
                since: after(since),
            }),
            ..lease().renewed(after(11), None, None)
        };
        let mut unconfirmed =
            evidence(seen(ABORTED, 0, Some(after(10))), WorkObservation::NotNamed);
        unconfirmed.doubt(&called, after(now));
        assert_eq!(unconfirmed.execution.is_running(), runs, "{why}");
    }
    let mut timeless = evidence(ended(ExecutionEnd::Failed), WorkObservation::NotNamed);
    timeless.doubt(&lease(), after(1));
    assert!(!timeless.execution.is_running());
}

/// Its last attempt was being stopped, and its first heartbeat has not reached the table yet.
#[test]
fn a_redriven_run_that_has_not_reported_itself_keeps_its_permit() {
    let ending = super::ending(lease(), 5, EndingCause::Over);
    let tasks = WorkObservation::Tasks(vec![task("old", true)]);
    let at = |redrives| {
        let running = seen(ExecutionState::Running, redrives, None);
        judge(&ending, &evidence(running, tasks.clone()), after(9))
    };

    assert!(
        matches!(at(0), Action::Recover { .. }),
        "its state has cut its work off"
    );
    assert_eq!(at(1), Action::Leave);
}

#[test]
fn an_event_of_a_task_replaces_an_older_one_in_the_list_and_adds_one_that_is_missing() {
    let of = |name, version| Task {
        version,
        ..task(name, false)
    };
    let event = of("t", 2);
    let cases = [
        (vec![], vec![of("t", 2)]),
        (vec![of("t", 1)], vec![of("t", 2)]),
        (vec![of("t", 2)], vec![of("t", 2)]),
        (vec![of("t", 3)], vec![of("t", 3)]),
        (vec![of("other", 1)], vec![of("other", 1), of("t", 2)]),
        (
            vec![of("other", 1), of("t", 1)],
            vec![of("other", 1), of("t", 2)],
        ),
    ];
    for (listed, expected) in cases {
        let running = seen(ExecutionState::Running, 0, None);
        let mut evidence = evidence(running, WorkObservation::Tasks(listed.clone()));

        evidence.correct(&Hint::Task(event.clone()), &lease(), after(1));

        assert_eq!(
            evidence.work,
            WorkObservation::Tasks(expected),
            "{listed:?}"
        );
    }
}

#[test]
fn only_a_task_of_an_execution_that_has_ended_may_be_unlisted() {
    let none = || WorkObservation::Tasks(vec![]);
    let stopped = || WorkObservation::Tasks(vec![task("t", true)]);
    let runs = || WorkObservation::Tasks(vec![task("t", false)]);
    let running = || seen(ExecutionState::Running, 1, None);
    let first = || seen(ABORTED, 0, None);
    let redriven = || seen(ABORTED, 1, None);
    let hidden = || ExecutionObservation::Hidden("throttled".into());
    let cases = [
        (first(), none(), true),
        (first(), stopped(), false),
        (redriven(), none(), true),
        (redriven(), stopped(), true),
        (redriven(), runs(), false),
        (running(), none(), false),
        (running(), stopped(), false),
        (ExecutionObservation::Unknown, none(), false),
        (ExecutionObservation::NotOne, none(), false),
        (hidden(), none(), false),
        (first(), WorkObservation::NotNamed, false),
        (first(), WorkObservation::Hidden("throttled".into()), false),
    ];
    for (execution, tasks, expected) in cases {
        let evidence = evidence(execution, tasks);

        assert_eq!(evidence.is_unlisted(), expected, "{evidence:?}");
    }
}
