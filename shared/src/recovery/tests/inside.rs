//! Holders that are ECS tasks: what holds is inside a container, and no execution stands behind it.

use super::*;

fn task_evidence(task: TaskObservation) -> Evidence {
    Evidence {
        replacer: ExecutionObservation::NotOne,
        gave_up: false,
        ownership: Ownership::NotAsked,
        execution: ExecutionObservation::NotOne,
        task,
        work: WorkObservation::NotNamed,
    }
}

/// What can be learnt of a task that is not seen to have stopped.
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
    let stopped = Task {
        stopped_reason: Some("Essential container in task exited".into()),
        ..task("t", true)
    };
    for seconds in [1, 30, 62] {
        let seen = task_evidence(TaskObservation::Seen(stopped.clone()));

        let words = recovered(judge(&lease(), &seen, after(seconds)), RecoveryBasis::Seen);

        assert_eq!(
            words,
            "its task has stopped: Essential container in task exited"
        );
    }
}

#[test]
fn a_task_that_has_stopped_for_no_known_reason_is_recovered_as_well() {
    let seen = task_evidence(TaskObservation::Seen(task("t", true)));

    let words = recovered(judge(&lease(), &seen, after(1)), RecoveryBasis::Seen);

    assert_eq!(words, "its task has stopped");
}

#[test]
fn a_task_that_is_not_seen_to_have_stopped_keeps_its_permit_until_its_lease_is_dead() {
    let last = Timestamp::from_millis(after(62).millis() - 1);
    for task in others() {
        for now in [after(1), after(30), after(61), last] {
            let action = judge(&lease(), &task_evidence(task.clone()), now);

            assert_eq!(action, Action::Leave, "{task:?} at {now:?}");
        }
    }
}

#[test]
fn a_dead_lease_is_enough_whatever_is_seen_of_the_task_and_the_evidence_says_what_was() {
    let expected = [
        (RecoveryBasis::Expired, "no execution that could be asked"),
        (RecoveryBasis::Seen, "ECS does not know the task any more"),
        (RecoveryBasis::Expired, "though the task still runs"),
        (RecoveryBasis::Expired, "could not be described: throttled"),
    ];
    for (task, (basis, part)) in others().into_iter().zip(expected) {
        for stale in STALE {
            let lease = Lease { stale, ..lease() };

            let words = recovered(
                judge(&lease, &task_evidence(task.clone()), after(62)),
                basis,
            );

            assert!(words.contains(part), "{words}");
        }
    }
}

#[test]
fn a_turn_handed_to_a_task_that_has_stopped_goes_to_the_next_at_once() {
    let called = Lease {
        call: Some(Call {
            task_token: None,
            since: after(0),
        }),
        ..lease()
    };
    let stopped = task_evidence(TaskObservation::Seen(task("t", true)));
    let running = task_evidence(TaskObservation::Seen(task("t", false)));

    recovered(judge(&called, &stopped, after(1)), RecoveryBasis::Seen);
    let left = judge(&called, &running, after(1));

    assert_eq!(left, Action::Leave);
}

#[test]
fn a_waiter_that_polls_and_is_stopped_before_it_learns_of_its_grant_keeps_no_permit() {
    let call = |task_token| {
        Some(Call {
            task_token,
            since: after(0),
        })
    };
    let woken = TaskToken::new("wakes").ok();
    let stopped = Some(EndingCause::Stopped);
    for (case, call, cause, is_freed) in [
        ("polls", call(None), stopped, true),
        ("is woken, and may work", call(woken), stopped, false),
        ("has asked for its turn", None, stopped, false),
        ("may ask for its turn", call(None), None, false),
        (
            "may be redriven",
            call(None),
            Some(EndingCause::Over),
            false,
        ),
    ] {
        let ending = cause.map(|cause| Ending {
            since: after(1),
            cause,
        });
        let lease = Lease {
            call,
            ending,
            ..lease()
        };

        let action = judge(&lease, &task_evidence(TaskObservation::NotOne), after(2));

        match is_freed {
            true => drop(recovered(action, RecoveryBasis::Unconfirmed)),
            false => assert_eq!(action, Action::Leave, "{case}"),
        }
    }
}
