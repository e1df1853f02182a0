//! Holders whose work is an execution of a workflow.

use super::*;
use crate::domain::{ExecutionArn, StateMachineArn};
use crate::recovery::{ExecutionEvent, Hint};

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

/// Returns the observation of the execution that does the work.
fn work_seen(seen: ExecutionDescription) -> WorkObservation {
    WorkObservation::Execution(Some((arn("child"), seen)))
}

fn child(state: ExecutionState) -> WorkObservation {
    work_seen(state.into())
}

fn is_recovered(action: &Action) -> bool {
    matches!(action, Action::Recover { .. })
}

#[test]
fn a_dead_run_is_recovered_by_how_the_execution_of_its_work_ended() {
    let ended_as = |end| child(ExecutionState::Ended(end));
    let [succeeded, failed, timed_out, aborted] = ENDS.map(ended_as);
    let cases = [
        (succeeded, true, "its work had succeeded"),
        (failed, false, "its work is FAILED"),
        (aborted, false, "its work is ABORTED"),
        (timed_out, false, "its work is TIMED_OUT"),
        (
            WorkObservation::Execution(None),
            false,
            "its work was not started",
        ),
    ];
    for (work, succeeded, words) in cases {
        let action = judged(
            &of_workflow(lease()),
            ended(ExecutionEnd::Aborted),
            work,
            20,
        );

        let expected = Action::Recover {
            basis: RecoveryBasis::Seen,
            succeeded,
            evidence: format!("the execution is ABORTED; {words}"),
        };
        assert_eq!(action, expected);
    }
}

#[test]
fn work_that_outlives_its_run_is_stopped_and_keeps_the_permit() {
    let runs = child(ExecutionState::Running);

    let action = judged(
        &of_workflow(lease()),
        ended(ExecutionEnd::Aborted),
        runs,
        20,
    );

    let (commit, execution, work, why) = stopped(action);
    assert_eq!((commit, execution), (Commitment::Ending, false));
    assert_eq!(work, [arn("child").to_string()]);
    assert!(why.contains("its work still runs"), "{why}");
}

#[test]
fn a_run_that_reported_stopping_is_recovered_when_its_work_ended() {
    let cut = of_workflow(ending(lease(), 1, EndingCause::Over));
    for (work, freed) in [
        (child(ExecutionState::Running), false),
        (WorkObservation::Execution(None), false),
        (child(ABORTED), true),
    ] {
        let action = judged(&cut, RUNNING, work.clone(), 20);

        assert_eq!(is_recovered(&action), freed, "{work:?}");
    }
}

#[test]
fn unknown_work_keeps_the_permit_for_10_s_after_the_execution_ended() {
    let over_before = child(ExecutionState::Ended(ExecutionEnd::Failed));
    for (redrives, work, freed) in [
        (0, WorkObservation::Execution(None), false),
        (0, over_before.clone(), true),
        (1, over_before, false),
    ] {
        let actions = [21, 31].map(|second| {
            let end = seen(ABORTED, redrives, Some(20));
            judged(&of_workflow(lease()), end, work.clone(), second)
        });

        let recovers = actions.each_ref().map(is_recovered);
        assert_eq!(recovers, [freed, true], "{redrives}: {actions:?}");
    }
}

#[test]
fn failed_work_keeps_the_permit_for_31_s() {
    let cut = of_workflow(ending(lease(), 1, EndingCause::Over));
    for (end, settles) in [
        (ExecutionEnd::Aborted, true),
        (ExecutionEnd::TimedOut, true),
        (ExecutionEnd::Failed, true),
        (ExecutionEnd::Succeeded, false),
    ] {
        for execution in [ended(ExecutionEnd::Failed), RUNNING] {
            let recovers = [21, 50, 51].map(|second| {
                let work = work_seen(described(ExecutionState::Ended(end), 0, Some(20)));
                is_recovered(&judged(&cut, execution.clone(), work, second))
            });

            assert_eq!(recovers, [!settles, !settles, true], "{end:?}");
        }
    }
}

#[test]
fn failed_states_keep_the_permit_for_31_s() {
    let own = Lease {
        work: Some(Work::States),
        ..lease()
    };
    let states = || WorkObservation::States(None);
    for (end, settles) in [
        (ExecutionEnd::Aborted, true),
        (ExecutionEnd::TimedOut, true),
        (ExecutionEnd::Failed, true),
        (ExecutionEnd::Succeeded, false),
    ] {
        let execution = seen(ExecutionState::Ended(end), 0, Some(20));
        let cut = ending(own.clone(), 21, EndingCause::Over);

        let first = judged(&own, execution.clone(), states(), 21);
        let recovers = [21, 50, 51]
            .map(|second| is_recovered(&judged(&cut, execution.clone(), states(), second)));

        assert_eq!(!is_recovered(&first), settles, "{end:?}: {first:?}");
        if settles {
            let (commit, execution, work, _) = stopped(first);
            assert_eq!((commit, execution), (Commitment::Ending, false));
            assert_eq!(work, [""; 0]);
        }
        assert_eq!(recovers, [!settles, !settles, true], "{end:?}");
    }
    assert_eq!(judged(&own, RUNNING, states(), 21), Action::Leave);
}

/// Only a run that has reported the end of its states may continue behind them.
#[test]
fn a_committed_stop_of_a_run_whose_states_are_its_work_is_repeated() {
    for cause in [EndingCause::Stopped, EndingCause::Evicted("broken".into())] {
        let own = Lease {
            work: Some(Work::States),
            ..ending(lease(), 10, cause.clone())
        };
        for second in [11, 41] {
            let action = judged(&own, RUNNING, WorkObservation::States(None), second);

            let (commit, execution, ..) = stopped(action);
            let expected = (Commitment::Done, true);
            assert_eq!((commit, execution), expected, "{cause:?} at {second}");
        }
    }
}

#[test]
fn work_that_cannot_be_described_raises_an_alert_once_the_lease_is_dead() {
    let of = of_workflow(lease());
    let [early, late] =
        [10, 62].map(|second| judged(&of, ended(ExecutionEnd::Failed), hidden_work(), second));

    assert_eq!(early, Action::Leave);
    assert!(matches!(late, Action::Alert { .. }), "{late:?}");
}

#[test]
fn an_event_with_the_end_of_the_work_counts_for_30_s() {
    // The execution of the event, the second of the check, the redrives in the description, and whether
    // the event counts.
    for (name, now, redrives, counts) in [
        ("child", 21, 0, true),
        ("child", 49, 0, true),
        ("child", 50, 0, false),
        ("other", 21, 0, false),
        ("child", 21, 1, false),
    ] {
        let runs = work_seen(described(ExecutionState::Running, redrives, None));
        let mut dead = evidence(ended(ExecutionEnd::Aborted), runs);
        let before = dead.clone();
        let end = ExecutionEnd::Failed;
        let event = ExecutionEvent {
            end,
            at: after(20),
            redrives: 0,
        };

        let hint = Hint::Work(arn(name), event);
        dead.correct(&hint, &of_workflow(lease()), after(now));

        let corrected = Evidence {
            work: work_seen(described(ExecutionState::Ended(end), 0, Some(20))),
            ..before.clone()
        };
        let expected = if counts { corrected } else { before };
        assert_eq!(dead, expected, "{name} at {now}, {redrives}");
    }
}
