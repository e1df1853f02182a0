//! Descriptions that lag behind an event or a redrive, and events that are older than a description.

use super::{
    ABORTED, RUNNING, UNNAMED, after, called, ended, evidence, hidden, hidden_work, judged, lease,
    recovered, seen, task, tasks,
};
use crate::domain::{EndingCause, ExecutionEnd, ExecutionState, Lease, RecoveryBasis, Task};
use crate::recovery::{Action, ExecutionEvent, ExecutionObservation, Hint, WorkObservation};

#[test]
fn an_event_counts_where_the_description_lags_behind_it() {
    // The end that the event reports, in seconds after the grant, and its redrives; the redrives in the
    // description; the redrives that the holder reported; the second of the check; whether the event
    // counts.
    let cases = [
        ((10, 0), 0, 0, 12, true, "the description lags"),
        ((10, 1), 1, 1, 12, true, "the description of a redrive lags"),
        ((10, 0), 1, 0, 12, false, "a redrive since is described"),
        ((10, 0), 0, 1, 12, false, "a redrive since is reported"),
        (
            (35, 0),
            0,
            1,
            36,
            true,
            "what was reported shows itself by then",
        ),
        ((28, 0), 0, 1, 29, false, "a redrive may lag so long"),
        ((29, 0), 0, 1, 30, true, "and no longer"),
        ((10, 0), 0, 0, 40, false, "the event is old"),
        ((0, 0), 0, 0, 12, false, "the grant is not older"),
    ];
    for ((at, redrives), of_description, reported, now, counts, why) in cases {
        let mut lease = lease();
        lease.redrives = reported;
        let running = seen(ExecutionState::Running, of_description, None);
        let mut evidence = evidence(running, UNNAMED);
        let hint = Hint::Execution(ExecutionEvent {
            end: ExecutionEnd::Aborted,
            at: after(at),
            redrives,
        });

        evidence.correct(&hint, &lease, after(now));

        assert_eq!(!evidence.execution.is_running(), counts, "{why}");
        let expected = counts.then(|| after(at));
        let ExecutionObservation::Seen(seen) = &evidence.execution else {
            panic!("{why}: {evidence:?}");
        };
        assert_eq!(seen.stopped_at, expected, "{why}");
    }
}

#[test]
fn an_end_older_than_the_last_sign_of_life_is_doubted_for_30_s() {
    let renewed = |second, redrives| Lease {
        redrives,
        ..lease().renewed(after(second), None, None)
    };
    let registered = |second| called(renewed(11, 0), second);
    let end = || seen(ABORTED, 0, Some(10));
    let timeless = ended(ExecutionEnd::Failed);
    // The lease, the description of the execution that ended at 10 s, the second of the check, and
    // whether it counts as running.
    for (lease, end, now, runs, why) in [
        (renewed(0, 0), end(), 12, false, "it has ended"),
        (
            renewed(0, 0),
            seen(ABORTED, 1, Some(10)),
            12,
            false,
            "of its redrive",
        ),
        (
            renewed(0, 1),
            end(),
            12,
            true,
            "a redrive is reported since",
        ),
        (renewed(0, 1), end(), 29, true, "that may lag as long"),
        (renewed(0, 1), end(), 30, false, "the report was wrong"),
        (
            renewed(20, 1000),
            end(),
            49,
            true,
            "from the last report on",
        ),
        (
            renewed(20, 1000),
            end(),
            50,
            false,
            "nor does that count forever",
        ),
        (renewed(11, 0), end(), 12, true, "it was renewed since"),
        (renewed(11, 0), end(), 40, true, "that may lag"),
        // After LAG_MAX the heartbeat counts as late.
        (renewed(11, 0), end(), 41, false, "none lags so long"),
        (
            registered(5),
            end(),
            12,
            false,
            "nothing is confirmed since",
        ),
        (registered(10), end(), 12, false, "it registered before"),
        (registered(11), end(), 12, true, "it has registered since"),
        (registered(11), end(), 40, true, "that may lag, too"),
        (registered(11), end(), 41, false, "nor does this"),
        (renewed(0, 0), timeless, 1, false, "its time is not known"),
    ] {
        let mut evidence = evidence(end, UNNAMED);

        evidence.doubt(&lease, after(now));

        assert_eq!(evidence.execution.is_running(), runs, "{why}");
    }
}

/// The last attempt of the run was being stopped, and its first heartbeat after the redrive has not
/// reached the table yet.
#[test]
fn a_redriven_run_that_has_not_reported_itself_keeps_its_permit() {
    let ending = super::ending(lease(), 5, EndingCause::Over);

    let [cut_off, redriven] = [0, 1].map(|redrives| {
        let running = seen(ExecutionState::Running, redrives, None);
        judged(&ending, running, tasks(&[("old", true)]), 9)
    });

    let is_over = matches!(cut_off, Action::Recover { .. });
    assert!(is_over, "it reported that its work is stopping");
    assert_eq!(redriven, Action::Leave);
}

/// After the redrive, RunTask returned an error, and may have started a task. ListTasks returns only the stopped task of the
/// first attempt.
#[test]
fn a_redriven_run_that_is_ending_is_judged_by_a_list_of_ten_seconds() {
    let ending = super::ending(lease(), 50, EndingCause::Over);
    for redrives in [0, 1] {
        let lease = Lease {
            redrives,
            ..ending.clone()
        };
        let running = || seen(ExecutionState::Running, redrives, None);

        let [early, late] =
            [51, 60].map(|now| judged(&lease, running(), tasks(&[("old", true)]), now));

        let is_over = matches!(early, Action::Recover { .. });
        assert_eq!(is_over, redrives == 0, "{early:?}");
        recovered(late, RecoveryBasis::Seen);
    }
}

#[test]
fn a_task_event_updates_an_older_task_and_adds_a_missing_one() {
    let of = |name, version| Task {
        version,
        ..task(name, false)
    };
    let (event, other) = (of("t", 2), || of("other", 1));
    let cases = [
        (vec![], vec![of("t", 2)]),
        (vec![of("t", 1)], vec![of("t", 2)]),
        (vec![of("t", 2)], vec![of("t", 2)]),
        (vec![of("t", 3)], vec![of("t", 3)]),
        (vec![other()], vec![other(), of("t", 2)]),
        (vec![other(), of("t", 1)], vec![other(), of("t", 2)]),
    ];
    for (listed, expected) in cases {
        let mut evidence = evidence(RUNNING, WorkObservation::Tasks(listed.clone()));

        evidence.correct(&Hint::Task(event.clone()), &lease(), after(1));

        let expected = WorkObservation::Tasks(expected);
        assert_eq!(evidence.work, expected, "{listed:?}");
    }
}

#[test]
fn only_a_task_of_an_execution_that_has_ended_may_be_unlisted() {
    let [none, stopped, runs] = [&[][..], &[("t", true)], &[("t", false)]].map(tasks);
    let running = seen(ExecutionState::Running, 1, None);
    let (first, redriven) = (seen(ABORTED, 0, None), seen(ABORTED, 1, None));
    let cases = [
        (&first, &none, true),
        (&first, &stopped, false),
        (&redriven, &none, true),
        (&redriven, &stopped, true),
        (&redriven, &runs, false),
        (&running, &none, false),
        (&running, &stopped, false),
        (&ExecutionObservation::Unknown, &none, false),
        (&ExecutionObservation::NotOne, &none, false),
        (&hidden(), &none, false),
        (&first, &UNNAMED, false),
        (&first, &hidden_work(), false),
    ];
    for (execution, work, expected) in cases {
        let evidence = evidence(execution.clone(), work.clone());

        assert_eq!(evidence.is_unlisted(), expected, "{evidence:?}");
    }
}
