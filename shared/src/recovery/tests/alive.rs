//! Holders whose execution runs.

use super::*;

#[test]
fn a_run_that_renews_is_left_whatever_its_tasks_do() {
    let tasks = [
        TasksSight::NotNamed,
        TasksSight::Hidden("throttled".into()),
        TasksSight::Seen(vec![]),
        TasksSight::Seen(vec![task("t", true)]),
    ];
    for tasks in tasks {
        let renewed = lease().renewed(after(50), None, None);

        let action = judge(&renewed, &look(RUNNING, tasks.clone()), after(70));

        assert_eq!(action, Action::Leave, "{tasks:?}");
    }
}

#[test]
fn a_late_heartbeat_alone_is_no_reason_to_act() {
    let lease = lease();
    assert!(lease.is_overdue(after(30)));

    let action = judge(&lease, &look(RUNNING, TasksSight::NotNamed), after(30));

    assert_eq!(action, Action::Leave);
}

#[test]
fn terminate_stops_the_execution_and_the_tasks_that_run() {
    let tasks = TasksSight::Seen(vec![task("over", true), task("alive", false)]);

    let action = judge(&lease(), &look(RUNNING, tasks), after(62));

    let Action::Stop {
        execution: true,
        tasks,
        why,
    } = action
    else {
        panic!("{action:?}");
    };
    assert_eq!(tasks, ["alive"]);
    assert!(why.contains("2026-03-01T06:01:00Z"), "{why}");
}

#[test]
fn terminate_stops_the_execution_also_when_its_tasks_cannot_be_seen() {
    for tasks in [TasksSight::NotNamed, TasksSight::Hidden("denied".into())] {
        let action = judge(&lease(), &look(RUNNING, tasks), after(62));

        assert!(
            matches!(&action, Action::Stop { execution: true, tasks, .. } if tasks.is_empty()),
            "{action:?}"
        );
    }
}

#[test]
fn yield_takes_the_permit_and_lets_the_run_go_on() {
    let lease = Lease {
        stale: StalePolicy::Yield,
        ..lease()
    };
    let tasks = TasksSight::Seen(vec![task("alive", false)]);

    let words = recovered(
        judge(&lease, &look(RUNNING, tasks), after(62)),
        Death::Expired,
    );

    assert!(words.contains("runs on without its permit"), "{words}");
}

#[test]
fn hold_freezes_the_lock() {
    let lease = Lease {
        stale: StalePolicy::Hold,
        ..lease()
    };

    let action = judge(&lease, &look(RUNNING, TasksSight::NotNamed), after(62));

    assert!(matches!(action, Action::Freeze { .. }), "{action:?}");
}

#[test]
fn a_replaced_run_is_stopped_although_it_renews_whatever_its_stale_policy() {
    for stale in STALE {
        let replaced_by = Some(holder("b"));
        let lease = Lease {
            stale,
            replaced_by,
            ..lease()
        };
        let tasks = TasksSight::Seen(vec![task("alive", false)]);

        let action = judge(&lease, &look(RUNNING, tasks), after(1));

        let Action::Stop {
            execution: true,
            tasks,
            why,
        } = action
        else {
            panic!("{stale:?}: {action:?}");
        };
        assert_eq!(tasks, ["alive"]);
        assert_eq!(why, format!("replaced by {}", holder("b")));
    }
}
