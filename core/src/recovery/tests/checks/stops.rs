//! Checks that stop a holder, freeze its lock, or drop the run that waits to replace it.

use super::super::{RUNNING, after, ended, lease, replaced, suspect, task, under};
use super::{World, ended_at, with_work};
use crate::domain::{EndingCause, ExecutionEnd, HolderId, LockKey, Outcome, StalePolicy};
use crate::recovery::{Check, CheckStep, Inspection, Ownership};
use crate::testing;

fn frozen() -> Outcome {
    Outcome::Frozen {
        note: "a stopped renewing".into(),
        expires_at: after(60),
    }
}

#[test]
fn a_stop_is_committed_carried_out_and_then_judged_again() {
    let evidence = ["DescribeExecution", "ListTasks"];
    let carried_out = ["ProveOwnership", "Stop", "StopExecution", "StopTask"];
    let not_committed = [&evidence[..], &["ProveOwnership", "Stop", "LoadLease"]].concat();
    let stopped = |raised| [&evidence[..], &carried_out, &[raised], &evidence].concat();
    let (done, outdated) = (Outcome::Done, Outcome::Unchanged);
    for (outcome, accepts, steps, expected) in [
        (&done, true, stopped("raise Stopped"), Inspection::Ending),
        (
            &done,
            false,
            stopped("raise NotStopped"),
            Inspection::Ending,
        ),
        (&outdated, false, not_committed, Inspection::Gone),
    ] {
        let mut world = World::of(RUNNING, vec![outcome.clone()]);
        world.tasks = vec![task("t", false)];
        world.accepts = accepts;

        let (asked, inspection) = world.check(suspect(with_work(lease())), None, after(90));

        assert_eq!(asked.names(), steps);
        assert_eq!(inspection, expected, "{steps:?}");
    }
}

#[test]
fn a_freeze_is_alerted_to_if_it_was_written() {
    for (outcome, steps) in [
        (
            frozen(),
            vec!["DescribeExecution", "Freeze", "raise Frozen"],
        ),
        (Outcome::Unchanged, vec!["DescribeExecution", "Freeze"]),
    ] {
        let hold = suspect(under(StalePolicy::Hold));

        let (asked, inspection) = World::of(RUNNING, vec![outcome]).check(hold, None, after(90));

        assert_eq!(asked.names(), steps);
        assert_eq!(inspection, Inspection::Held);
    }
}

#[test]
fn a_replacer_that_is_over_is_dropped_and_the_holder_left() {
    let mut world = World::of(RUNNING, vec![Outcome::Done]);
    world.replacer = ended(ExecutionEnd::Aborted);

    let (asked, inspection) = world.check(replaced(lease()), None, after(1));

    let describe = "DescribeExecution";
    assert_eq!(
        asked.names(),
        [describe, describe, "LoadWaiter", "DropWaiter"]
    );
    assert_eq!(inspection, Inspection::Held);
}

#[test]
fn an_execution_that_is_not_shown_to_belong_to_the_lock_is_not_stopped() {
    let hidden = || Ownership::Hidden("throttled".into());
    let (frozen_then, not_stopped) = (&["Freeze", "raise Frozen"][..], &["raise NotStopped"][..]);
    for (lease, second, ownership, then) in [
        (suspect(lease()), 90, Ownership::Unproven, frozen_then),
        (suspect(lease()), 90, hidden(), not_stopped),
        (replaced(lease()), 30, Ownership::Unproven, not_stopped),
        (replaced(lease()), 30, hidden(), not_stopped),
    ] {
        let mut world = World::of(RUNNING, vec![frozen()]);
        world.ownership = ownership.clone();

        let (asked, inspection) = world.check(lease, None, after(second));

        let names = asked.names();
        let proof = names
            .iter()
            .position(|name| *name == "ProveOwnership")
            .unwrap();
        assert_eq!(&names[proof + 1..], then, "{ownership:?}");
        assert_eq!(inspection, Inspection::Held);
    }
}

#[test]
fn a_holder_is_stopped_for_a_replacer_as_long_as_that_one_waits() {
    for (waits_until, is_stopped, expected) in [
        (None, true, Inspection::Ending),
        (Some(11), true, Inspection::Ending),
        (Some(10), false, Inspection::Held),
    ] {
        let mut world = World::of(RUNNING, vec![Outcome::Done]);
        world.waits_until = waits_until.map(after);

        let (asked, inspection) = world.check(replaced(lease()), None, after(10));

        let stops = asked.count("StopExecution");
        assert_eq!(stops, usize::from(is_stopped), "until {waits_until:?}");
        assert_eq!(inspection, expected);
    }
}

/// The replacer was redriven and its description does not show that yet, or its registration came late.
/// No run is stopped for a replacer that may be dead.
#[test]
fn a_replacer_that_registered_after_its_end_is_judged_later() {
    // The second of its registration, the redrives that it reported, the second of the check, and the
    // step of the check.
    for (since, redrives, second, then) in [
        (5, 0, 10, "DropWaiter"),
        (6, 0, 10, "DropWaiter"),
        (7, 0, 10, ""),
        (7, 0, 36, ""),
        (7, 0, 37, "DropWaiter"),
        (7, 1, 10, "StopExecution"),
        (7, 1, 37, "DropWaiter"),
    ] {
        let mut world = World::of(RUNNING, vec![Outcome::Done]);
        world.replacer = ended_at(6);
        (world.waits_since, world.waits_redrives) = (after(since), redrives);

        let (asked, _) = world.check(replaced(lease()), None, after(second));

        for step in ["DropWaiter", "StopExecution"] {
            let expected = usize::from(step == then);
            assert_eq!(
                asked.count(step),
                expected,
                "{since}, {redrives}, {second}: {:?}",
                asked.names()
            );
        }
    }
}

#[test]
fn a_holder_that_is_no_execution_has_no_replacer_to_describe() {
    let name = HolderId::new("process-1").unwrap();
    let lock = LockKey::new("lock").unwrap();
    let mut check = Check::new(lock, name, replaced(lease()), None, testing::RETENTION);

    let step = check.begin(after(1));

    assert_eq!(step, CheckStep::Over(Inspection::Held));
}

#[test]
fn a_stop_is_reported_by_the_check_that_commits_it_and_by_no_other() {
    for (execution, cause) in [
        (RUNNING, EndingCause::Stopped),
        (ended(ExecutionEnd::Aborted), EndingCause::Over),
    ] {
        let mut world = World::of(execution, vec![Outcome::Done]);
        world.tasks = vec![task("t", false)];
        let (first, _) = world.check(suspect(with_work(lease())), None, after(90));
        let mut stopping = suspect(with_work(lease()));
        stopping.exit = stopping.exit.ending(cause.clone(), after(90));

        let (again, _) = world.check(stopping, None, after(100));

        let [first, again] = [first.names(), again.names()];
        assert!(
            first.iter().any(|name| name == "raise Stopped"),
            "{cause:?}: {first:?}"
        );
        assert!(
            again.iter().any(|name| name == "StopTask"),
            "{cause:?}: {again:?}"
        );
        assert!(
            !again.iter().any(|name| name == "raise Stopped"),
            "{cause:?}: {again:?}"
        );
    }
}
