//! Checks of holders whose work is the states of their own execution.

use super::*;
use crate::domain::Exit;

/// Returns a run that reported at second 9 that its work is stopping, and whose execution failed at
/// second 10.
fn failed() -> (Lease, World) {
    let own = Lease {
        work: Some(Work::States),
        ..lease()
    };
    let failed = ExecutionState::Ended(ExecutionEnd::Failed);
    let world = World::of(seen(failed, 0, Some(10)), vec![freed()]);
    (ending(own, 9, EndingCause::Over), world)
}

#[test]
fn a_permit_is_freed_only_after_the_history_was_read() {
    let running = || vec![task("t", false), task("u", true)];
    let stopped = || vec![task("u", true)];
    let freed = Inspection::Freed(RunOutcome::Recovered);
    let hidden = WorkObservation::Hidden("denied".into());
    let free = ["DescribeExecution", "FindStarted", "Recover"];
    for (second, started, asks, expected) in [
        // The tasks of the execution may still be stopping.
        (
            40,
            WorkObservation::States(Some(vec![])),
            &free[..1],
            Inspection::Settling,
        ),
        (41, WorkObservation::States(Some(vec![])), &free, freed),
        (41, WorkObservation::States(Some(stopped())), &free, freed),
        (
            41,
            WorkObservation::States(Some(running())),
            &free[..2],
            Inspection::Ending,
        ),
        // The lease is live, and the reason that hides the tasks may pass.
        (41, hidden, &free[..2], Inspection::Ending),
    ] {
        let (lease, mut world) = failed();
        world.started = started.clone();

        let (asked, inspection) = world.check(lease, None, after(second));

        let names = asked.names();
        assert_eq!(names[..asks.len()], *asks, "{second}: {started:?}");
        assert_eq!(
            asked.count("Recover"),
            usize::from(asks.len() == 3),
            "{names:?}"
        );
        assert_eq!(
            asked.count("StopTask"),
            0,
            "a task of others may fit too: {names:?}"
        );
        assert_eq!(inspection, expected, "{second}: {started:?}");
    }
}

/// `show` lists the tasks that the history of the execution leads to.
#[test]
fn a_verdict_contains_the_stopped_tasks_of_the_states() {
    let (lease, mut world) = failed();
    world.started = WorkObservation::States(Some(vec![task("u", true)]));
    let lock = LockKey::new("lock").unwrap();
    let mut gathering = Gathering::new(lock, holder("a"), lease, None).with_evidence_for_next();

    let verdict = loop {
        match gathering.next(after(41)) {
            Gathered::Complete(verdict) => break verdict,
            Gathered::Ask(request) => gathering.learn(world.answer(&request), after(41)),
        }
    };

    assert_eq!(verdict.evidence.work, world.started);
}

#[test]
fn a_history_is_read_only_if_the_execution_ended_without_success() {
    for (execution, reads) in [
        (ended(ExecutionEnd::Succeeded), 0),
        (ended(ExecutionEnd::Failed), 1),
        (ExecutionObservation::Unknown, 0),
    ] {
        let (lease, _) = failed();
        let mut world = World::of(execution.clone(), vec![super::freed()]);

        let (asked, _) = world.check(lease, None, after(1000));

        assert_eq!(asked.count("FindStarted"), reads, "{execution:?}");
        assert_eq!(asked.count("Recover"), 1, "{execution:?}");
    }
}

/// A workflow may catch the failure of its guarded states and continue after them.
#[test]
fn an_execution_is_not_stopped_after_its_guarded_states() {
    let runs = |redrives| seen(ExecutionState::Running, redrives, None);
    let task = || vec![task("t", false)];
    for (execution, second, started, reads, frees) in [
        (runs(0), 39, vec![], 0, false),
        (runs(0), 40, vec![], 1, true),
        (runs(0), 40, task(), 1, false),
        (runs(0), 5000, task(), 1, false),
        // The execution was redriven, and works under its grant again.
        (runs(1), 40, vec![], 0, false),
    ] {
        let (lease, mut world) = failed();
        world.execution = execution;
        world.started = WorkObservation::States(Some(started));

        let (asked, _) = world.check(lease, None, after(second));

        let counts = (asked.count("FindStarted"), asked.count("Recover"));
        assert_eq!(counts, (reads, usize::from(frees)), "{second}: {asked:?}");
        assert_eq!(asked.count("StopExecution"), 0, "{second}: {asked:?}");
    }
}

#[test]
fn a_mark_that_stops_nothing_raises_no_alert() {
    let (noted, mut world) = failed();
    let unmarked = Lease {
        exit: Exit::default(),
        ..noted
    };
    world.outcomes = vec![Outcome::Done];

    let (asked, inspection) = world.check(unmarked, None, after(11));

    let names = asked.names();
    assert_eq!(asked.count("Ending"), 1, "{names:?}");
    assert!(
        !names.iter().any(|name| name.starts_with("raise")),
        "{names:?}"
    );
    assert_eq!(inspection, Inspection::Settling);
}
