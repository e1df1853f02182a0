//! Holders that are dead.

use super::*;

#[test]
fn a_run_whose_execution_ended_and_whose_tasks_stopped_is_recovered_at_once() {
    let stopped = WorkObservation::Tasks(vec![task("t", true)]);
    for tasks in [
        WorkObservation::NotNamed,
        WorkObservation::Tasks(vec![]),
        stopped,
    ] {
        for end in ENDS {
            let evidence = evidence(ended(end), tasks.clone());

            let words = recovered(judge(&lease(), &evidence, after(1)), RecoveryBasis::Seen);

            assert!(words.contains(end.as_str()), "{words}");
        }
    }
}

#[test]
fn an_execution_that_is_not_known_has_ended_once_its_lease_is_over() {
    let evidence = evidence(ExecutionObservation::Unknown, WorkObservation::NotNamed);

    let early = judge(&lease(), &evidence, after(60));
    let late = judge(&lease(), &evidence, after(62));

    assert_eq!(early, Action::Leave, "it may have begun a moment ago");
    let words = recovered(late, RecoveryBasis::Seen);
    assert!(words.contains("does not know"), "{words}");
}

#[test]
fn a_task_that_outlives_its_execution_is_stopped_before_the_permit_is_free() {
    let tasks = vec![task("over", true), task("alive", false)];
    for execution in [ended(ExecutionEnd::Aborted), ExecutionObservation::Unknown] {
        let evidence = evidence(execution, WorkObservation::Tasks(tasks.clone()));

        let action = judge(&lease(), &evidence, after(62));

        let Action::Stop {
            commit: Commitment::Ending,
            execution: false,
            work: tasks,
            ..
        } = action
        else {
            panic!("{action:?}");
        };
        assert_eq!(tasks, ["alive"]);
    }
}

#[test]
fn a_run_whose_container_exited_with_zero_by_itself_had_succeeded() {
    let work = |container: &str| Lease {
        work: Some(Work::Tasks(TaskSet {
            cluster: "batch".into(),
            family: None,
            container: Some(container.into()),
        })),
        ..lease()
    };
    let over = |name: &str, code, by_itself, from: u32, to: u32| Task {
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
    };
    let good = over("good", 0, true, 1, 9);
    let attempts = vec![over("before", 1, true, 0, 1), over("after", 0, true, 2, 9)];
    let beside = vec![good.clone(), over("beside", 1, true, 2, 8)];
    let cases = [
        (work("app"), vec![good.clone()], true),
        (work("app"), vec![over("failed", 1, true, 1, 9)], false),
        (work("app"), vec![over("stopped", 0, false, 1, 9)], false),
        // Of two attempts the last one counts, of two tasks at once both.
        (work("app"), attempts, true),
        (work("app"), beside, false),
        (work("other"), vec![good.clone()], false),
        // The run is more than its tasks.
        (lease(), vec![good], false),
    ];
    for (lease, tasks, expected) in cases {
        let names: Vec<_> = tasks.iter().map(|task| task.arn.clone()).collect();
        let evidence = evidence(ended(ExecutionEnd::Aborted), WorkObservation::Tasks(tasks));

        let action = judge(&lease, &evidence, after(20));

        assert!(
            matches!(action, Action::Recover { succeeded, .. } if succeeded == expected),
            "{names:?}: {action:?}"
        );
    }
}

#[test]
fn tasks_that_cannot_be_seen_keep_the_permit_and_call_somebody_once_the_lease_is_over() {
    let tasks = WorkObservation::Hidden("throttled".into());
    let evidence = evidence(ended(ExecutionEnd::Failed), tasks);

    let early = judge(&lease(), &evidence, after(10));
    let late = judge(&lease(), &evidence, after(62));

    assert_eq!(early, Action::Leave);
    let why = "throttled".into();
    assert_eq!(late, Action::Alert { why });
    let bound = 60 + 3_600;
    let still = judge(&lease(), &evidence, after(bound - 1));
    assert!(matches!(still, Action::Alert { .. }), "{still:?}");
    let frozen = judge(&lease(), &evidence, after(bound));
    assert!(
        matches!(&frozen, Action::Freeze { why } if why.contains("throttled")),
        "{frozen:?}"
    );
}

#[test]
fn a_holder_that_is_no_execution_is_dead_when_its_lease_is_over_for_longer_than_clocks_differ() {
    let evidence = evidence(ExecutionObservation::NotOne, WorkObservation::NotNamed);
    let last = Timestamp::from_millis(after(62).millis() - 1);

    let early = judge(&lease(), &evidence, last);
    let late = judge(&lease(), &evidence, after(62));

    assert_eq!(early, Action::Leave);
    recovered(late, RecoveryBasis::Expired);
}

/// Between the note and the next check the execution may have been redriven.
#[test]
fn a_task_is_stopped_under_the_lease_as_it_was_seen_although_its_end_is_noted() {
    let noted = |cause| ending(lease(), 1, cause);
    let tasks = WorkObservation::Tasks(vec![task("alive", false)]);
    let evidence = evidence(ended(ExecutionEnd::Aborted), tasks);
    let commitment = |cause| match judge(&noted(cause), &evidence, after(2)) {
        Action::Stop { commit, .. } => commit,
        other => panic!("{other:?}"),
    };

    let over = commitment(EndingCause::Over);
    let stopped = commitment(EndingCause::Stopped);

    assert_eq!(over, Commitment::Ending);
    assert_eq!(stopped, Commitment::Done, "no heartbeat renews it any more");
}

#[test]
fn an_execution_that_has_just_ended_may_have_a_task_that_is_not_listed_yet() {
    let end = |seconds| {
        ExecutionObservation::Seen(ExecutionDescription {
            stopped_at: Some(after(seconds)),
            ..ExecutionState::Ended(ExecutionEnd::Aborted).into()
        })
    };
    let none = || WorkObservation::Tasks(vec![]);
    let noted = ending(lease(), 20, EndingCause::Over);
    let early = judge(&lease(), &evidence(end(20), none()), after(29));
    let again = judge(&noted, &evidence(end(20), none()), after(29));
    let late = judge(&noted, &evidence(end(20), none()), after(30));
    let stopped = WorkObservation::Tasks(vec![task("done", true)]);
    let listed = judge(&lease(), &evidence(end(20), stopped.clone()), after(21));
    // Of the attempt before, maybe.
    let mut redriven = evidence(end(20), stopped);
    if let ExecutionObservation::Seen(seen) = &mut redriven.execution {
        seen.redrives = 1;
    }
    let of_redriven = judge(&noted, &redriven, after(29));
    let of_redriven_late = judge(&noted, &redriven, after(30));

    let note = matches!(&early, Action::Stop { commit: Commitment::Ending, execution: false, work: tasks, .. } if tasks.is_empty());
    assert!(note, "{early:?}");
    assert_eq!(again, Action::Leave);
    recovered(late, RecoveryBasis::Seen);
    recovered(listed, RecoveryBasis::Seen);
    assert_eq!(of_redriven, Action::Leave);
    recovered(of_redriven_late, RecoveryBasis::Seen);
}

#[test]
fn the_evidence_of_a_recovery_says_what_became_of_the_tasks() {
    let work = Lease {
        work: Some(Work::Tasks(TaskSet {
            container: Some("app".into()),
            ..work("batch")
        })),
        ..lease()
    };
    let succeeded = Task {
        ended_by_itself: true,
        started_at: Some(after(1)),
        stopped_at: Some(after(9)),
        containers: vec![Container {
            name: "app".into(),
            runtime_id: None,
            exit_code: Some(0),
            reason: None,
        }],
        ..task("t", true)
    };
    let failed = || task("t", true);
    let cases = [
        (vec![], "none of its tasks runs"),
        (vec![failed()], "1 task(s) stopped"),
        (vec![failed(), failed()], "2 task(s) stopped"),
        (vec![succeeded], "its work had succeeded"),
    ];
    for (tasks, expected) in cases {
        let evidence = evidence(ended(ExecutionEnd::Aborted), WorkObservation::Tasks(tasks));

        let words = recovered(judge(&work, &evidence, after(20)), RecoveryBasis::Seen);

        assert_eq!(words, format!("the execution is ABORTED; {expected}"));
    }
}
