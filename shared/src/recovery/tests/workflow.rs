//! Holders whose work is an execution of a workflow.

use super::*;
use crate::domain::{ExecutionArn, ExecutionDescription, StateMachineArn};
use crate::recovery::{ExecutionEvent, Hint, over};

fn arn(name: &str) -> ExecutionArn {
    ExecutionArn::new(format!("arn:aws:states:eu-west-1:1:execution:etl:{name}")).unwrap()
}

fn of_workflow(lease: Lease) -> Lease {
    let machine = StateMachineArn::new("arn:aws:states:eu-west-1:1:stateMachine:etl").unwrap();
    Lease {
        work: Some(Work::Workflow(machine)),
        ..lease
    }
}

fn child(state: ExecutionState) -> WorkObservation {
    WorkObservation::Execution(Some((arn("child"), state.into())))
}

#[test]
fn a_dead_run_is_recovered_by_how_the_execution_of_its_work_ended() {
    let ended_as = |end| child(ExecutionState::Ended(end));
    let cases = [
        (
            ended_as(ExecutionEnd::Succeeded),
            true,
            "its work had succeeded",
        ),
        (ended_as(ExecutionEnd::Failed), false, "its work is FAILED"),
        (
            ended_as(ExecutionEnd::Aborted),
            false,
            "its work is ABORTED",
        ),
        (
            ended_as(ExecutionEnd::TimedOut),
            false,
            "its work is TIMED_OUT",
        ),
        (
            WorkObservation::Execution(None),
            false,
            "its work was not started",
        ),
    ];
    for (work, expected, words) in cases {
        let dead = evidence(ended(ExecutionEnd::Aborted), work);

        let action = judge(&of_workflow(lease()), &dead, after(20));

        let Action::Recover {
            succeeded,
            evidence,
            basis: RecoveryBasis::Seen,
        } = action
        else {
            panic!("{action:?}");
        };
        assert_eq!(
            (succeeded, evidence.contains(words)),
            (expected, true),
            "{evidence}"
        );
    }
}

#[test]
fn work_that_outlives_its_run_is_stopped_and_keeps_the_permit() {
    let dead = evidence(ended(ExecutionEnd::Aborted), child(ExecutionState::Running));

    let action = judge(&of_workflow(lease()), &dead, after(20));

    let Action::Stop {
        commit: Commitment::Ending,
        execution: false,
        work,
        why,
    } = action
    else {
        panic!("{action:?}");
    };
    assert_eq!(work, [arn("child").to_string()]);
    assert!(why.contains("its work still runs"), "{why}");
}

#[test]
fn a_run_that_has_cut_its_work_off_is_recovered_once_the_execution_has_ended() {
    let cut = of_workflow(ending(lease(), 1, EndingCause::Over));
    let cases = [
        (child(ExecutionState::Running), false),
        (WorkObservation::Execution(None), false),
        (child(ExecutionState::Ended(ExecutionEnd::Aborted)), true),
    ];
    for (work, freed) in cases {
        let action = judge(&cut, &evidence(RUNNING, work.clone()), after(20));

        assert_eq!(matches!(action, Action::Recover { .. }), freed, "{work:?}");
    }
}

#[test]
fn work_that_is_not_known_yet_keeps_the_permit_of_a_run_that_has_just_ended() {
    let end = ExecutionDescription {
        state: ExecutionState::Ended(ExecutionEnd::Aborted),
        redrives: 0,
        stopped_at: Some(after(20)),
    };
    let redriven = ExecutionDescription { redrives: 1, ..end };
    let over_before = child(ExecutionState::Ended(ExecutionEnd::Failed));
    let cases = [
        (end, WorkObservation::Execution(None), false),
        (end, over_before.clone(), true),
        (redriven, over_before, false),
    ];
    for (end, work, freed) in cases {
        let seen = evidence(ExecutionObservation::Seen(end), work);

        let early = judge(&of_workflow(lease()), &seen, after(21));
        let late = judge(&of_workflow(lease()), &seen, after(31));

        assert_eq!(matches!(early, Action::Recover { .. }), freed, "{seen:?}");
        assert!(matches!(late, Action::Recover { .. }), "{late:?}");
    }
}

#[test]
fn work_that_was_cut_off_keeps_the_permit_for_the_time_that_a_task_may_take_to_stop() {
    let cut_off = |end| {
        let seen = ExecutionDescription {
            state: ExecutionState::Ended(end),
            redrives: 0,
            stopped_at: Some(after(20)),
        };
        WorkObservation::Execution(Some((arn("child"), seen)))
    };
    let cut = of_workflow(ending(lease(), 1, EndingCause::Over));
    for (end, settles) in [
        (ExecutionEnd::Aborted, true),
        (ExecutionEnd::TimedOut, true),
        (ExecutionEnd::Failed, false),
        (ExecutionEnd::Succeeded, false),
    ] {
        for execution in [ended(ExecutionEnd::Failed), RUNNING] {
            let seen = evidence(execution, cut_off(end));

            let frees =
                |second| matches!(judge(&cut, &seen, after(second)), Action::Recover { .. });

            assert_eq!((frees(21), frees(49)), (!settles, !settles), "{end:?}");
            assert!(frees(50), "{end:?}");
        }
    }
}

#[test]
fn states_that_ended_without_a_release_keep_the_permit_as_long() {
    let own = Lease {
        work: Some(Work::States),
        ..lease()
    };
    for (end, settles) in [
        (ExecutionEnd::Aborted, true),
        (ExecutionEnd::TimedOut, true),
        (ExecutionEnd::Failed, true),
        (ExecutionEnd::Succeeded, false),
    ] {
        let seen = ExecutionDescription {
            state: ExecutionState::Ended(end),
            redrives: 0,
            stopped_at: Some(after(20)),
        };
        let seen = evidence(ExecutionObservation::Seen(seen), WorkObservation::States);

        let first = judge(&own, &seen, after(21));
        let cut = ending(own.clone(), 21, EndingCause::Over);
        let frees = |second| matches!(judge(&cut, &seen, after(second)), Action::Recover { .. });

        let keeps = Commitment::Ending;
        let stopped_nothing = matches!(
            &first,
            Action::Stop { commit, execution: false, work, .. } if *commit == keeps && work.is_empty()
        );
        assert_eq!(stopped_nothing, settles, "{end:?}: {first:?}");
        assert_eq!((frees(21), frees(49)), (!settles, !settles), "{end:?}");
        assert!(frees(50), "{end:?}");
    }
    let alive = evidence(RUNNING, WorkObservation::States);
    assert_eq!(judge(&own, &alive, after(21)), Action::Leave);
}

#[test]
fn a_hidden_end_of_the_work_calls_an_operator_once_the_lease_is_over() {
    let work = WorkObservation::Hidden("throttled".into());
    let dead = evidence(ended(ExecutionEnd::Failed), work);

    let early = judge(&of_workflow(lease()), &dead, after(10));
    let late = judge(&of_workflow(lease()), &dead, after(62));

    assert_eq!(early, Action::Leave);
    assert!(matches!(late, Action::Alert { .. }), "{late:?}");
}

#[test]
fn the_end_of_the_work_in_an_event_counts_where_its_description_lags_behind() {
    let event = |name: &str, at, redrives| {
        let end = ExecutionEnd::Failed;
        Hint::Work(
            arn(name),
            ExecutionEvent {
                end,
                at: after(at),
                redrives,
            },
        )
    };
    let cases = [
        (event("child", 20, 0), 21, true),
        (event("child", 20, 0), 49, true),
        (event("child", 20, 0), 50, false),
        (event("other", 20, 0), 21, false),
    ];
    for (hint, now, ended_by_event) in cases {
        let mut dead = evidence(ended(ExecutionEnd::Aborted), child(ExecutionState::Running));

        dead.correct(&hint, &of_workflow(lease()), after(now));

        let shows = !matches!(
            &dead.work,
            WorkObservation::Execution(Some((_, seen))) if seen.state == ExecutionState::Running
        );
        assert_eq!(shows, ended_by_event, "{hint:?} at {now}");
    }
}

#[test]
fn an_event_from_before_a_redrive_of_the_work_does_not_count() {
    let redriven = ExecutionDescription {
        state: ExecutionState::Running,
        redrives: 1,
        stopped_at: None,
    };
    let mut dead = evidence(
        ended(ExecutionEnd::Aborted),
        WorkObservation::Execution(Some((arn("child"), redriven))),
    );
    let before = dead.clone();
    let end = ExecutionEnd::Failed;
    let event = ExecutionEvent {
        end,
        at: after(20),
        redrives: 0,
    };

    dead.correct(
        &Hint::Work(arn("child"), event),
        &of_workflow(lease()),
        after(21),
    );

    assert_eq!(dead, before);
}

#[test]
fn the_end_of_a_run_without_a_permit_is_that_of_its_work() {
    let succeeded = child(ExecutionState::Ended(ExecutionEnd::Succeeded));
    let execution = ended(ExecutionEnd::Aborted);

    let end = over(&of_workflow(lease()), &execution, &succeeded, after(20)).unwrap();

    assert!(end.succeeded, "{}", end.evidence);
}
