//! Holders whose execution runs.

use super::*;

#[test]
fn a_run_that_renews_is_left_whatever_its_tasks_do() {
    let renewed = lease().renewed(after(50), None, None);
    for work in [UNNAMED, hidden_work(), tasks(&[]), tasks(&[("t", true)])] {
        let action = judged(&renewed, RUNNING, work.clone(), 70);

        assert_eq!(action, Action::Leave, "{work:?}");
    }
}

#[test]
fn a_late_heartbeat_alone_is_no_reason_to_act() {
    assert!(lease().is_overdue(after(30)));

    assert_eq!(of_running(&lease(), 30), Action::Leave);
}

#[test]
fn terminate_stops_the_execution_and_the_tasks_that_are_seen_to_run() {
    let seen = tasks(&[("over", true), ("alive", false)]);
    for (work, alive) in [(seen, &["alive"][..]), (UNNAMED, &[]), (hidden_work(), &[])] {
        let action = judged(&suspect(lease()), RUNNING, work, 82);

        let (commit, execution, work, why) = stopped(action);
        assert_eq!(commit, Commitment::Stop(StopReason::Stale));
        assert!(execution && work == alive, "{work:?}");
        assert!(why.contains("2026-03-01T06:01:00Z"), "{why}");
    }
}

#[test]
fn a_silent_holder_is_first_marked_as_a_suspect_under_every_policy() {
    for stale in STALE {
        let actions = [61, 62].map(|second| of_running(&under(stale), second));

        assert_eq!(actions, [Action::Leave, Action::Suspect], "{stale:?}");
    }
}

#[test]
fn a_suspect_is_stopped_after_one_heartbeat_and_at_least_10_s() {
    for (heartbeat, patience) in [(3, 10), (20, 20)] {
        let mut lease = suspect(lease());
        lease.pace.heartbeat = Seconds::of(heartbeat);

        let early = of_running(&lease, 62 + patience - 1);
        let late = of_running(&lease, 62 + patience);

        assert_eq!(early, Action::Leave, "{heartbeat}");
        stopped(late);
    }
}

#[test]
fn a_committed_stop_is_repeated_by_each_check() {
    let lease = ending(suspect(lease()), 82, EndingCause::Stopped);

    let (commit, execution, ..) = stopped(of_running(&lease, 90));

    assert_eq!((commit, execution), (Commitment::Done, true));
}

#[test]
fn a_run_that_reported_stopping_is_recovered_when_its_tasks_stopped() {
    let lease = ending(lease(), 5, EndingCause::Over);

    let [early, late] =
        [false, true].map(|stopped| judged(&lease, RUNNING, tasks(&[("t", stopped)]), 6));

    assert_eq!(early, Action::Leave);
    recovered(late, RecoveryBasis::Seen);
}

#[test]
fn no_holder_is_stopped_for_a_replacer_that_may_be_dead() {
    let replacer = holder("b");
    let (dead, drop) = (
        ended(ExecutionEnd::Aborted),
        Action::DropReplacer { replacer },
    );
    for (seen, expected) in [(hidden(), Action::Leave), (dead, drop)] {
        let evidence = Evidence {
            replacer: seen,
            ..evidence(RUNNING, UNNAMED)
        };

        assert_eq!(judge(&replaced(lease()), &evidence, after(1)), expected);
    }
}

#[test]
fn yield_takes_the_permit_and_lets_the_run_go_on() {
    let lease = suspect(under(StalePolicy::Yield));

    let action = judged(&lease, RUNNING, tasks(&[("alive", false)]), 82);

    let words = recovered(action, RecoveryBasis::Expired);
    assert!(words.contains("continues without its permit"), "{words}");
}

#[test]
fn hold_freezes_the_lock() {
    let action = of_running(&suspect(under(StalePolicy::Hold)), 82);

    assert!(matches!(action, Action::Freeze { .. }), "{action:?}");
}

#[test]
fn a_replaced_run_is_stopped_under_every_policy_although_it_renews() {
    for stale in STALE {
        let action = judged(
            &replaced(under(stale)),
            RUNNING,
            tasks(&[("alive", false)]),
            1,
        );

        let expected = Action::Stop {
            commit: Commitment::Stop(StopReason::Replaced),
            execution: true,
            work: vec!["alive".into()],
            why: format!("replaced by {}", holder("b")),
        };
        assert_eq!(action, expected, "{stale:?}");
    }
}

#[test]
fn a_limit_is_enforced_a_minute_later_although_the_lease_is_live() {
    for stale in STALE {
        let [overran, stalled] = [(Some(100), None), (None, Some(100))].map(|(run, stall)| Lease {
            expires_at: after(900),
            run_until: run.map(after),
            stalls_at: stall.map(after),
            ..under(stale)
        });
        for lease in [overran, stalled] {
            let [early, late] = [159, 160].map(|second| of_running(&lease, second));

            assert_eq!(early, Action::Leave, "{stale:?}");
            assert!(
                lease.is_checked_by_sweep(after(160)) && !lease.is_checked_by_sweep(after(159))
            );
            match stale {
                StalePolicy::Terminate => {
                    let (commit, execution, ..) = stopped(late);
                    assert_eq!(
                        (commit, execution),
                        (Commitment::Stop(StopReason::Stale), true)
                    );
                }
                StalePolicy::Yield => drop(recovered(late, RecoveryBasis::Expired)),
                StalePolicy::Hold => assert!(matches!(late, Action::Freeze { .. }), "{late:?}"),
            }
        }
    }
}

#[test]
fn limits_do_not_count_before_a_hand_over_is_confirmed() {
    let lease = Lease {
        expires_at: after(900),
        run_until: Some(after(100)),
        ..called(lease(), 0)
    };

    assert_eq!(of_running(&lease, 200), Action::Wake);
}
