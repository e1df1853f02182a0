//! Dead holders.

use super::*;

/// Returns a lease whose work is tasks with the container `container`.
fn of_container(container: &str) -> Lease {
    let tasks = TaskSet {
        container: Some(container.into()),
        ..work("batch")
    };
    Lease {
        work: Some(Work::Tasks(tasks)),
        ..lease()
    }
}

/// Returns a task that ran from second `from` to second `to`, and whose container `app` exited with
/// `code`.
fn exited(name: &str, code: i64, by_itself: bool, from: u32, to: u32) -> Task {
    Task {
        ended_by_itself: by_itself,
        started_at: Some(after(from)),
        stopped_at: Some(after(to)),
        containers: vec![Container {
            name: "app".into(),
            runtime_id: None,
            exit_code: Some(code),
            reason: None,
        }],
        ..task(name, true)
    }
}

#[test]
fn a_run_is_recovered_once_its_execution_and_tasks_have_ended() {
    for work in [UNNAMED, tasks(&[]), tasks(&[("t", true)])] {
        for end in ENDS {
            let action = judged(&lease(), ended(end), work.clone(), 1);

            let words = recovered(action, RecoveryBasis::Seen);
            assert!(words.contains(end.as_str()), "{words}");
        }
    }
}

#[test]
fn an_execution_that_is_not_known_has_ended_once_its_lease_is_over() {
    let [early, late] =
        [60, 62].map(|second| judged(&lease(), ExecutionObservation::Unknown, UNNAMED, second));

    assert_eq!(early, Action::Leave, "it may have begun a moment ago");
    let words = recovered(late, RecoveryBasis::Seen);
    assert!(words.contains("does not know"), "{words}");
}

#[test]
fn a_task_that_outlives_its_execution_is_stopped_first() {
    for execution in [ended(ExecutionEnd::Aborted), ExecutionObservation::Unknown] {
        let work = tasks(&[("over", true), ("alive", false)]);

        let (commit, execution, work, _) = stopped(judged(&lease(), execution, work, 62));

        assert_eq!((commit, execution), (Commitment::Ending, false));
        assert_eq!(work, ["alive"]);
    }
}

#[test]
fn a_run_whose_container_exited_with_zero_by_itself_had_succeeded() {
    let good = exited("good", 0, true, 1, 9);
    let attempts = vec![
        exited("before", 1, true, 0, 1),
        exited("after", 0, true, 2, 9),
    ];
    let beside = vec![good.clone(), exited("beside", 1, true, 2, 8)];
    let app = || of_container("app");
    let cases = [
        (app(), vec![good.clone()], true),
        (app(), vec![exited("failed", 1, true, 1, 9)], false),
        (app(), vec![exited("stopped", 0, false, 1, 9)], false),
        // Of two attempts the last one counts; of two tasks that ran at the same time, both count.
        (app(), attempts, true),
        (app(), beside, false),
        (of_container("other"), vec![good.clone()], false),
        // The run names no container, so its success does not follow from its tasks.
        (lease(), vec![good], false),
    ];
    for (lease, tasks, expected) in cases {
        let work = WorkObservation::Tasks(tasks.clone());

        let action = judged(&lease, ended(ExecutionEnd::Aborted), work, 20);

        let Action::Recover { succeeded, .. } = action else {
            panic!("{tasks:?}: {action:?}");
        };
        assert_eq!(succeeded, expected, "{tasks:?}");
    }
}

#[test]
fn hidden_tasks_keep_the_permit_with_an_alert_and_freeze_after_an_hour() {
    let execution = || ended(ExecutionEnd::Failed);
    let at = |second| judged(&lease(), execution(), hidden_work(), second);
    let bound = 60 + 3_600;

    let [early, late, still, frozen] = [10, 62, bound - 1, bound].map(at);

    assert_eq!(early, Action::Leave);
    let why = "throttled".into();
    let alert = Action::Alert { why };
    assert_eq!([&late, &still], [&alert; 2]);
    let Action::Freeze { why } = frozen else {
        panic!("{frozen:?}");
    };
    assert!(why.contains("throttled"), "{why}");
}

#[test]
fn a_holder_without_an_execution_is_dead_2_s_after_its_lease_end() {
    let evidence = evidence(ExecutionObservation::NotOne, UNNAMED);
    let last = Timestamp::from_millis(after(62).millis() - 1);

    let early = judge(&lease(), &evidence, last);
    let late = judge(&lease(), &evidence, after(62));

    assert_eq!(early, Action::Leave);
    recovered(late, RecoveryBasis::Expired);
}

/// Between the mark as ending and the next check, the execution may have been redriven.
#[test]
fn a_task_is_stopped_only_under_the_lease_that_was_judged() {
    for (cause, expected) in [
        (EndingCause::Over, Commitment::Ending),
        // A heartbeat no longer renews the lease.
        (EndingCause::Stopped, Commitment::Done),
    ] {
        let work = tasks(&[("alive", false)]);
        let noted = ending(lease(), 1, cause);

        let action = judged(&noted, ended(ExecutionEnd::Aborted), work, 2);

        assert_eq!(stopped(action).0, expected);
    }
}

#[test]
fn a_permit_is_kept_for_10_s_while_a_task_may_be_unlisted() {
    let at = |lease: &Lease, redrives, work, second| {
        judged(lease, seen(ABORTED, redrives, Some(20)), work, second)
    };
    let noted = ending(lease(), 20, EndingCause::Over);
    let done = || tasks(&[("done", true)]);

    let (commit, execution, work, _) = stopped(at(&lease(), 0, tasks(&[]), 29));

    assert_eq!((commit, execution), (Commitment::Ending, false));
    assert_eq!(work, [""; 0]);
    for (case, lease, redrives, work, second, recovers) in [
        ("again", &noted, 0, tasks(&[]), 29, false),
        ("late", &noted, 0, tasks(&[]), 30, true),
        ("listed", &lease(), 0, done(), 21, true),
        // The task may belong to the previous attempt.
        ("redriven", &noted, 1, done(), 29, false),
        ("redriven, late", &noted, 1, done(), 30, true),
    ] {
        match at(lease, redrives, work, second) {
            action if recovers => drop(recovered(action, RecoveryBasis::Seen)),
            action => assert_eq!(action, Action::Leave, "{case}"),
        }
    }
}

#[test]
fn the_evidence_of_a_recovery_says_what_became_of_the_tasks() {
    let failed = || task("t", true);
    let cases = [
        (vec![], "none of its tasks runs"),
        (vec![failed()], "1 task(s) stopped"),
        (vec![failed(), failed()], "2 task(s) stopped"),
        (vec![exited("t", 0, true, 1, 9)], "its work had succeeded"),
    ];
    for (tasks, expected) in cases {
        let work = WorkObservation::Tasks(tasks);

        let action = judged(&of_container("app"), ended(ExecutionEnd::Aborted), work, 20);

        let words = recovered(action, RecoveryBasis::Seen);
        assert_eq!(words, format!("the execution is ABORTED; {expected}"));
    }
}
