//! Holders whose execution runs.

use super::*;

#[test]
fn a_run_that_renews_is_left_whatever_its_tasks_do() {
    let tasks = [
        WorkObservation::NotNamed,
        WorkObservation::Hidden("throttled".into()),
        WorkObservation::Tasks(vec![]),
        WorkObservation::Tasks(vec![task("t", true)]),
    ];
    for tasks in tasks {
        let renewed = lease().renewed(after(50), None, None);

        let action = judge(&renewed, &evidence(RUNNING, tasks.clone()), after(70));

        assert_eq!(action, Action::Leave, "{tasks:?}");
    }
}

#[test]
fn a_late_heartbeat_alone_is_no_reason_to_act() {
    let lease = lease();
    assert!(lease.is_overdue(after(30)));

    let action = judge(
        &lease,
        &evidence(RUNNING, WorkObservation::NotNamed),
        after(30),
    );

    assert_eq!(action, Action::Leave);
}

#[test]
fn terminate_stops_the_execution_and_the_tasks_that_run() {
    let tasks = WorkObservation::Tasks(vec![task("over", true), task("alive", false)]);

    let action = judge(&suspect(lease()), &evidence(RUNNING, tasks), after(82));

    let Action::Stop {
        commit: Commitment::Stop(StopReason::Silent),
        execution: true,
        work: tasks,
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
    for tasks in [
        WorkObservation::NotNamed,
        WorkObservation::Hidden("denied".into()),
    ] {
        let action = judge(&suspect(lease()), &evidence(RUNNING, tasks), after(82));

        assert!(
            matches!(&action, Action::Stop { execution: true, work: tasks, .. } if tasks.is_empty()),
            "{action:?}"
        );
    }
}

#[test]
fn silence_is_only_marked_at_first_whatever_the_stale_policy() {
    for stale in STALE {
        let lease = Lease { stale, ..lease() };

        let early = judge(
            &lease,
            &evidence(RUNNING, WorkObservation::NotNamed),
            after(61),
        );
        let late = judge(
            &lease,
            &evidence(RUNNING, WorkObservation::NotNamed),
            after(62),
        );

        assert_eq!((early, late), (Action::Leave, Action::Suspect), "{stale:?}");
    }
}

#[test]
fn a_suspect_has_the_time_of_a_heartbeat_and_at_least_ten_seconds_to_clear_the_mark() {
    for (heartbeat, patience) in [(3, 10), (20, 20)] {
        let lease = Lease {
            heartbeat: Seconds::of(heartbeat),
            ..suspect(lease())
        };
        let evidence = evidence(RUNNING, WorkObservation::NotNamed);

        let early = judge(&lease, &evidence, after(62 + patience - 1));
        let late = judge(&lease, &evidence, after(62 + patience));

        assert_eq!(early, Action::Leave, "{heartbeat}");
        assert!(matches!(late, Action::Stop { .. }), "{heartbeat}: {late:?}");
    }
}

#[test]
fn a_run_whose_stop_is_committed_is_stopped_further() {
    let lease = ending(suspect(lease()), 82, EndingCause::Stopped);

    let action = judge(
        &lease,
        &evidence(RUNNING, WorkObservation::NotNamed),
        after(90),
    );

    let commit = Commitment::Done;
    assert!(
        matches!(&action, Action::Stop { commit: by, execution: true, .. } if *by == commit),
        "{action:?}"
    );
}

#[test]
fn a_run_that_has_cut_its_work_off_is_recovered_when_its_tasks_have_stopped() {
    let lease = ending(lease(), 5, EndingCause::Over);
    let seen = |stopped| evidence(RUNNING, WorkObservation::Tasks(vec![task("t", stopped)]));

    let early = judge(&lease, &seen(false), after(6));
    let late = judge(&lease, &seen(true), after(6));

    assert_eq!(early, Action::Leave);
    recovered(late, RecoveryBasis::Seen);
}

#[test]
fn a_run_is_not_stopped_for_one_that_may_be_dead() {
    let lease = replaced(lease());
    let evidence = Evidence {
        replacer: ExecutionObservation::Hidden("throttled".into()),
        ..evidence(RUNNING, WorkObservation::NotNamed)
    };

    assert_eq!(judge(&lease, &evidence, after(1)), Action::Leave);
}

#[test]
fn a_run_is_not_stopped_for_one_that_is_dead() {
    let lease = replaced(lease());
    let evidence = Evidence {
        replacer: ended(ExecutionEnd::Aborted),
        ..evidence(RUNNING, WorkObservation::NotNamed)
    };

    let action = judge(&lease, &evidence, after(1));

    let replacer = holder("b");
    assert_eq!(action, Action::DropReplacer { replacer });
}

#[test]
fn yield_takes_the_permit_and_lets_the_run_go_on() {
    let lease = Lease {
        stale: StalePolicy::Yield,
        ..lease()
    };
    let tasks = WorkObservation::Tasks(vec![task("alive", false)]);

    let words = recovered(
        judge(&suspect(lease), &evidence(RUNNING, tasks), after(82)),
        RecoveryBasis::Expired,
    );

    assert!(words.contains("runs on without its permit"), "{words}");
}

#[test]
fn hold_freezes_the_lock() {
    let lease = Lease {
        stale: StalePolicy::Hold,
        ..lease()
    };

    let action = judge(
        &suspect(lease),
        &evidence(RUNNING, WorkObservation::NotNamed),
        after(82),
    );

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
        let tasks = WorkObservation::Tasks(vec![task("alive", false)]);

        let action = judge(&lease, &evidence(RUNNING, tasks), after(1));

        let Action::Stop {
            commit: Commitment::Stop(StopReason::Replaced),
            execution: true,
            work: tasks,
            why,
        } = action
        else {
            panic!("{stale:?}: {action:?}");
        };
        assert_eq!(tasks, ["alive"]);
        assert_eq!(why, format!("replaced by {}", holder("b")));
    }
}
