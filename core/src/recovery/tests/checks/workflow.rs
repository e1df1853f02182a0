//! Checks of holders whose work is an execution of a workflow.

use super::*;
use crate::domain::StateMachineArn;

fn of_workflow(redrives: u32) -> Lease {
    let machine = StateMachineArn::new("arn:aws:states:eu-west-1:1:stateMachine:etl").unwrap();
    Lease {
        work: Some(Work::Workflow(machine)),
        redrives,
        ..lease()
    }
}

fn dead(children: Vec<(&'static str, ExecutionState)>) -> World {
    World {
        children,
        ..World::of(ended(ExecutionEnd::Aborted), vec![Outcome::Done, freed()])
    }
}

#[test]
fn the_execution_is_described_by_the_name_that_follows_from_the_grant() {
    let (asked, _) = dead(vec![]).check(of_workflow(0), None, after(20));

    let token = lease().token;
    let expected = format!("arn:aws:states:eu-west-1:1:execution:etl:lockstep-lock-{token}-0");
    let Request::DescribeWork(arn) = &asked.0[1] else {
        panic!("{:?}", asked.0);
    };
    assert_eq!(arn.as_str(), expected);
}

#[test]
fn the_latest_attempt_that_was_started_is_the_one_that_counts() {
    let cases = [
        (0, vec![("-0", ABORTED)], 1),
        (2, vec![("-2", ABORTED)], 1),
        (2, vec![("-1", ABORTED), ("-0", ExecutionState::Running)], 2),
        (2, vec![("-0", ABORTED)], 3),
        (2, vec![], 3),
    ];
    for (redrives, children, described) in cases {
        let mut world = World {
            children: children.clone(),
            ..World::of(seen(ABORTED, redrives, None), vec![freed()])
        };

        let (asked, inspection) = world.check(of_workflow(redrives), None, after(20));

        let names = asked.names();
        let counts = (asked.count("DescribeWork"), asked.count("Recover"));
        assert_eq!(counts, (described, 1), "{children:?}: {names:?}");
        assert_eq!(inspection, Inspection::Freed(RunOutcome::Recovered));
    }
}

#[test]
fn work_that_outlives_its_run_is_stopped_by_stop_execution() {
    let mut world = dead(vec![("-0", ExecutionState::Running)]);

    let (asked, inspection) = world.check(of_workflow(0), None, after(20));

    let names = asked.names();
    let evidence = ["DescribeExecution", "DescribeWork"];
    let stop = [&evidence[..], &["Ending", "StopExecution", "raise Stopped"]].concat();
    assert_eq!(names[..5], stop, "{names:?}");
    let Request::StopExecution(arn, error, _) = &asked.0[3] else {
        panic!("{:?}", asked.0);
    };
    assert!(arn.as_str().ends_with("-0"), "{arn}");
    assert_eq!(*error, "Lockstep.LeaseLost");
    assert_eq!(inspection, Inspection::Ending);
}

#[test]
fn a_stale_run_and_its_work_are_both_stopped() {
    let mut world = World {
        children: vec![("-0", ExecutionState::Running)],
        ..World::of(RUNNING, vec![Outcome::Done])
    };

    let (asked, _) = world.check(suspect(of_workflow(0)), None, after(90));

    assert_eq!(asked.count("StopExecution"), 2, "{:?}", asked.names());
}

#[test]
fn a_task_that_the_work_has_left_keeps_the_permit_and_is_not_stopped() {
    let running = || vec![task("t", false)];
    let stopped = || vec![task("t", true)];
    let failed = ExecutionState::Ended(ExecutionEnd::Failed);
    let succeeded = ExecutionState::Ended(ExecutionEnd::Succeeded);
    let freed_as = |outcome| Inspection::Freed(outcome);
    let hidden = || WorkObservation::Hidden("denied".into());
    for (child, found, reads, expected) in [
        (
            failed,
            WorkObservation::States(Some(running())),
            1,
            Inspection::Ending,
        ),
        (
            failed,
            WorkObservation::States(Some(stopped())),
            1,
            freed_as(RunOutcome::Recovered),
        ),
        (failed, hidden(), 1, Inspection::Ending),
        (succeeded, hidden(), 0, freed_as(RunOutcome::Succeeded)),
    ] {
        let outcome = match expected {
            Inspection::Freed(outcome) => Some(outcome),
            _ => None,
        };
        let mut world = World {
            children: vec![("-0", child)],
            started: found.clone(),
            ..World::of(
                ended(ExecutionEnd::Failed),
                vec![Outcome::Freed { outcome }],
            )
        };
        let lease = ending(of_workflow(0), 9, EndingCause::Over);

        let (asked, inspection) = world.check(lease, None, after(40));

        let names = asked.names();
        let frees = usize::from(outcome.is_some());
        let counts = (asked.count("FindStarted"), asked.count("Recover"));
        assert_eq!(counts, (reads, frees), "{found:?}: {names:?}");
        assert_eq!(asked.count("StopTask"), 0, "it may be of others: {names:?}");
        assert_eq!(inspection, expected, "{found:?}");
    }
}

/// A heartbeat came before the recovery, so the work may have gone on since the history was read.
#[test]
fn the_history_of_the_work_is_read_again_with_the_other_evidence() {
    let noted = ending(of_workflow(0), 9, EndingCause::Over);
    let mut world = World {
        children: vec![("-0", ExecutionState::Ended(ExecutionEnd::Failed))],
        lease: Some(noted.renewed(after(9), None, None)),
        ..World::of(
            ended(ExecutionEnd::Failed),
            vec![Outcome::Unchanged, freed()],
        )
    };

    let (asked, inspection) = world.check(noted, None, after(40));

    let round = [
        "DescribeExecution",
        "DescribeWork",
        "FindStarted",
        "Recover",
    ];
    let names = [&round[..], &["LoadLease"], &round, &["raise Freed"]].concat();
    assert_eq!(asked.names(), names);
    assert_eq!(inspection, Inspection::Freed(RunOutcome::Recovered));
}
