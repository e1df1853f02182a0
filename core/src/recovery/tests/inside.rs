//! Holders inside a container: the holder is an ECS task or a process, and not an execution.

use super::*;

fn task_evidence(task: TaskObservation) -> Evidence {
    Evidence {
        task,
        ..evidence(ExecutionObservation::NotOne, UNNAMED)
    }
}

fn of_task(lease: &Lease, task: TaskObservation, second: u32) -> Action {
    judge(lease, &task_evidence(task), after(second))
}

/// Returns every observation of a holder's task except that it has stopped.
fn others() -> [TaskObservation; 4] {
    [
        TaskObservation::NotOne,
        TaskObservation::Unknown,
        TaskObservation::Seen(task("t", false)),
        TaskObservation::Hidden("throttled".into()),
    ]
}

#[test]
fn a_task_that_has_stopped_is_recovered_before_its_lease_is_over() {
    let reason = "Essential container in task exited";
    for (stopped_reason, expected) in [
        (
            Some(reason.into()),
            format!("its task has stopped: {reason}"),
        ),
        (None, "its task has stopped".into()),
    ] {
        let stopped = Task {
            stopped_reason,
            ..task("t", true)
        };
        for seconds in [1, 30, 62] {
            let action = of_task(&lease(), TaskObservation::Seen(stopped.clone()), seconds);

            assert_eq!(recovered(action, RecoveryBasis::Seen), expected);
        }
    }
}

#[test]
fn a_task_holder_keeps_its_permit_until_it_stopped_or_its_lease_is_dead() {
    let last = Timestamp::from_millis(after(62).millis() - 1);
    for task in others() {
        for now in [after(1), after(30), after(61), last] {
            let action = judge(&lease(), &task_evidence(task.clone()), now);

            assert_eq!(action, Action::Leave, "{task:?} at {now:?}");
        }
    }
}

#[test]
fn a_dead_lease_of_a_task_holder_is_enough_to_recover_it() {
    let expected = [
        (RecoveryBasis::Expired, "neither an execution nor a task"),
        (RecoveryBasis::Seen, "ECS does not know the task any more"),
        (RecoveryBasis::Expired, "although the task is still running"),
        (RecoveryBasis::Expired, "could not be described: throttled"),
    ];
    for (task, (basis, part)) in others().into_iter().zip(expected) {
        for stale in STALE {
            let words = recovered(of_task(&under(stale), task.clone(), 62), basis);

            assert!(words.contains(part), "{words}");
        }
    }
}

#[test]
fn a_turn_handed_to_a_task_that_has_stopped_goes_to_the_next_at_once() {
    let [over, left] = [true, false].map(|stopped| {
        let task = TaskObservation::Seen(task("t", stopped));
        of_task(&called(lease(), 0), task, 1)
    });

    recovered(over, RecoveryBasis::Seen);
    assert_eq!(left, Action::Leave);
}

#[test]
fn a_polling_waiter_stopped_before_confirmation_is_recovered() {
    let (woken, confirmed) = (called(lease(), 0), lease());
    let polls = Lease {
        call: Some(Call {
            task_token: None,
            since: after(0),
        }),
        ..lease()
    };
    let stopped = |lease: &Lease| ending(lease.clone(), 1, EndingCause::Stopped);
    for (case, lease, is_freed) in [
        ("polls", stopped(&polls), true),
        ("is woken, and may work", stopped(&woken), false),
        ("has asked for its turn", stopped(&confirmed), false),
        ("may ask for its turn", polls.clone(), false),
        (
            "may be redriven",
            ending(polls, 1, EndingCause::Over),
            false,
        ),
    ] {
        match of_task(&lease, TaskObservation::NotOne, 2) {
            action if is_freed => drop(recovered(action, RecoveryBasis::Unconfirmed)),
            action => assert_eq!(action, Action::Leave, "{case}"),
        }
    }
}
