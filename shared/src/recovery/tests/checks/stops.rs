//! Checks that stop a holder, freeze its lock, or drop the run that asked for its place.

use super::super::{RUNNING, after, ended, lease, replaced, suspect, task};
use super::{World, ended_at, with_work};
use crate::domain::{ExecutionEnd, HolderId, Lease, LockKey, Outcome, StalePolicy};
use crate::recovery::{Check, CheckStep, Inspection, Ownership};
use crate::testing;

fn frozen() -> Outcome {
    Outcome::Frozen {
        note: "a stopped renewing".into(),
        expires_at: after(60),
    }
}

#[test]
fn a_stop_is_committed_before_it_is_carried_out_and_judged_once_more_after_it() {
    let mut world = World::of(RUNNING, vec![Outcome::Done]);
    world.tasks = vec![task("t", false)];

    let silent = suspect(with_work(lease()));
    let (asked, inspection) = world.check(silent.clone(), None, after(90));

    let steps = [
        "describe",
        "tasks",
        "prove",
        "commit",
        "stop execution",
        "stop task",
        "raise stopped",
        "describe",
        "tasks",
    ];
    assert_eq!(asked.names(), steps);
    assert_eq!(inspection, Inspection::Ending);

    world.accepts = false;
    let (refused, _) = world.check(silent.clone(), None, after(90));
    assert!(refused.names().contains(&"raise not stopped"));

    world.outcomes = vec![Outcome::Unchanged];
    let (outdated, inspection) = world.check(silent, None, after(90));
    assert_eq!(
        outdated.names(),
        ["describe", "tasks", "prove", "commit", "load"]
    );
    assert_eq!(inspection, Inspection::Held);
}

#[test]
fn a_freeze_is_alerted_to_if_it_was_written() {
    let hold = Lease {
        stale: StalePolicy::Hold,
        ..suspect(lease())
    };
    for (outcome, steps) in [
        (frozen(), vec!["describe", "freeze", "raise frozen"]),
        (Outcome::Unchanged, vec!["describe", "freeze"]),
    ] {
        let (asked, inspection) =
            World::of(RUNNING, vec![outcome]).check(hold.clone(), None, after(90));

        assert_eq!(asked.names(), steps);
        assert_eq!(inspection, Inspection::Held);
    }
}

#[test]
fn a_replacer_that_is_over_is_dropped_and_the_holder_left() {
    let replaced = replaced(lease());
    let mut world = World::of(RUNNING, vec![Outcome::Done]);
    world.replacer = ended(ExecutionEnd::Aborted);

    let (asked, inspection) = world.check(replaced, None, after(1));

    assert_eq!(asked.names(), ["describe", "describe", "waiter", "drop"]);
    assert_eq!(inspection, Inspection::Held);
}

#[test]
fn an_execution_that_is_not_shown_to_belong_to_the_lock_is_not_stopped() {
    let replaced = replaced(lease());
    let hidden = || Ownership::Hidden("throttled".into());
    for (lease, ownership, then) in [
        (
            suspect(lease()),
            Ownership::Unproven,
            &["freeze", "raise frozen"][..],
        ),
        (suspect(lease()), hidden(), &["raise not stopped"]),
        (
            replaced.clone(),
            Ownership::Unproven,
            &["raise not stopped"],
        ),
        (replaced, hidden(), &["raise not stopped"]),
    ] {
        let mut world = World::of(RUNNING, vec![frozen()]);
        world.ownership = ownership.clone();

        let (asked, inspection) = world.check(lease, None, after(90));

        let names = asked.names();
        let proof = names.iter().position(|name| *name == "prove").unwrap();
        assert_eq!(&names[proof + 1..], then, "{ownership:?}");
        assert_eq!(inspection, Inspection::Held);
    }
}

#[test]
fn a_holder_is_stopped_for_a_replacer_as_long_as_that_one_waits() {
    let replaced = replaced(lease());
    for (waits_until, is_stopped) in [(None, true), (Some(11), true), (Some(10), false)] {
        let mut world = World::of(RUNNING, vec![Outcome::Done]);
        world.waits_until = waits_until.map(after);

        let (asked, inspection) = world.check(replaced.clone(), None, after(10));

        let stopped = asked.names().contains(&"stop execution");
        assert_eq!(stopped, is_stopped, "until {waits_until:?}");
        let expected = [Inspection::Held, Inspection::Ending][usize::from(is_stopped)];
        assert_eq!(inspection, expected);
    }
}

/// Its description may lag behind a redrive.
#[test]
fn a_replacer_that_has_registered_since_its_end_is_not_dropped() {
    let replaced = replaced(lease());
    for (since, then) in [(5, "drop"), (6, "drop"), (7, "stop execution")] {
        let mut world = World::of(RUNNING, vec![Outcome::Done]);
        world.replacer = ended_at(6);
        world.waits_since = after(since);

        let (asked, _) = world.check(replaced.clone(), None, after(10));

        assert!(
            asked.names().contains(&then),
            "{since}: {:?}",
            asked.names()
        );
    }
}

#[test]
fn a_holder_that_is_no_execution_has_no_replacer_to_describe() {
    let name = HolderId::new("process-1").unwrap();
    let replaced = replaced(lease());
    let lock = LockKey::new("lock").unwrap();
    let mut check = Check::new(lock, name, replaced, None, testing::RETENTION);

    let step = check.begin(after(1));

    assert_eq!(step, CheckStep::Over(Inspection::Held));
}
