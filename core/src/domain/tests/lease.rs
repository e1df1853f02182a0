//! When a lease is live, dead, overdue or stale, and which fields its copies keep.

use super::{at, holder, terms};
use crate::domain::{
    Call, Ending, EndingCause, Exit, FencingToken, Lease, Mode, Pace, Restart, Seconds, Staleness,
    TaskToken, Terms, Timestamp,
};

/// Returns a lease that was granted at 100 s, with every field set that a copy may drop.
fn marked() -> Lease {
    let terms = Terms {
        max_run: Some(Seconds::of(300)),
        no_progress: Some(Seconds::of(90)),
        ..terms("a")
    };
    Lease {
        beat: TaskToken::new("beat").ok(),
        call: Some(Call {
            task_token: TaskToken::new("waits").ok(),
            since: at(90),
        }),
        exit: Exit {
            suspect: Some(at(165)),
            replaced_by: Some(holder("b")),
            ending: Some(Ending {
                since: at(170),
                cause: EndingCause::Evicted("broken (by ops)".into()),
            }),
        },
        progress: Some("rows 1".into()),
        ..terms.lease(FencingToken::next(FencingToken::NONE, at(100)), at(100))
    }
}

fn plain(length: u32, heartbeat: u32) -> Lease {
    let terms = Terms {
        lease: Seconds::of(length),
        heartbeat: Seconds::of(heartbeat),
        ..terms("a")
    };
    terms.lease(FencingToken::next(FencingToken::NONE, at(100)), at(100))
}

fn suspect(second: u64) -> Exit {
    Exit {
        suspect: Some(at(second)),
        ..Exit::default()
    }
}

fn just_before(time: Timestamp) -> Timestamp {
    Timestamp::from_millis(time.millis() - 1)
}

#[test]
fn a_lease_is_live_up_to_its_end_and_dead_two_seconds_after_it() {
    let lease = plain(60, 20);

    assert!(lease.is_live(just_before(at(160))) && !lease.is_live(at(160)));
    assert!(!lease.is_dead(just_before(at(162))) && lease.is_dead(at(162)));
    assert_eq!(lease.renewed_at(), at(100));
}

#[test]
fn a_heartbeat_is_overdue_5_s_late_and_at_most_65_s_after_the_last() {
    for (length, heartbeat, last) in [(60, 20, 125_000), (900, 300, 165_000), (22, 20, 121_999)] {
        let lease = plain(length, heartbeat);

        let is_overdue =
            [last, last + 1].map(|millis| lease.is_overdue(Timestamp::from_millis(millis)));

        assert_eq!(is_overdue, [false, true], "{length} {heartbeat}");
    }
}

#[test]
fn a_suspect_has_the_time_of_a_heartbeat_and_at_least_10_s() {
    for (heartbeat, time) in [(20, 20), (2, 10)] {
        let lease = Lease {
            exit: suspect(200),
            ..plain(60, heartbeat)
        };
        let end = at(200 + time);

        assert_eq!(lease.staleness(just_before(end)), None, "{heartbeat}");
        let expired = Some(Staleness::Expired(at(160)));
        assert_eq!(lease.staleness(end), expired, "{heartbeat}");
        assert_eq!(lease.next_check(&Mode::Open), end);
    }
    assert_eq!(plain(60, 20).staleness(at(1000)), None, "it was not marked");
    let live = Lease {
        exit: suspect(100),
        ..plain(60, 20)
    };
    assert_eq!(live.staleness(at(161)), None, "it is not dead yet");
}

#[test]
fn a_run_exceeds_its_run_time_or_its_time_without_progress() {
    let lease = marked();

    assert_eq!(lease.is_spent(just_before(at(190))), None);
    assert_eq!(lease.is_spent(at(190)), Some(Staleness::Stalled(at(190))));
    assert_eq!(lease.is_spent(at(400)), Some(Staleness::Overran(at(400))));
}

#[test]
fn a_holder_is_checked_at_its_lease_end_or_limit_whichever_is_first() {
    let limited = |run_until, stalls_at| Lease {
        run_until: Some(at(run_until)),
        stalls_at: Some(at(stalls_at)),
        ..plain(60, 20)
    };
    let handed_over = |length: u32| Lease {
        call: marked().call,
        ..plain(length, length / 3)
    };
    let frozen = Mode::Frozen { note: "".into() };
    for (lease, mode, expected) in [
        (plain(60, 20), Mode::Open, 160),
        (limited(400, 190), Mode::Open, 160),
        // A check acts a minute after the limit: until then the run acts by itself.
        (limited(80, 190), Mode::Open, 140),
        (limited(400, 70), Mode::Open, 130),
        (limited(80, 70), frozen, 160),
        // An unconfirmed hand-over is checked after a minute.
        (handed_over(900), Mode::Open, 160),
        (handed_over(30), Mode::Open, 130),
    ] {
        assert_eq!(lease.next_check(&mode), at(expected), "{mode:?}");
    }
}

#[test]
fn a_heartbeat_at_another_pace_sets_the_length_of_the_lease() {
    let pace = Pace {
        length: Seconds::of(300),
        heartbeat: Seconds::of(99),
    };

    let renewed = plain(60, 20).paced(Some(pace)).renewed(at(150), None, None);

    assert_eq!(renewed.expires_at, at(450));
    assert_eq!(renewed.renewed_at(), at(150));
    assert_eq!(renewed.pace.heartbeat, Seconds::of(99));
    assert_eq!(plain(60, 20).paced(None), plain(60, 20));
}

#[test]
fn a_heartbeat_clears_call_and_suspicion_and_keeps_a_stop_and_a_replacer() {
    let renewed = marked().renewed(at(150), None, None);

    let expected = Lease {
        expires_at: at(210),
        call: None,
        exit: Exit {
            suspect: None,
            ..marked().exit
        },
        ..marked()
    };
    assert_eq!(renewed, expected);
}

#[test]
fn only_changed_progress_restarts_the_time_without_progress() {
    let same = marked().renewed(at(150), None, Some("rows 1"));
    let other = marked().renewed(at(150), TaskToken::new("next").ok(), Some("rows 2"));

    assert_eq!(same.stalls_at, Some(at(190)));
    assert_eq!(other.stalls_at, Some(at(240)));
    assert_eq!(other.progress.as_deref(), Some("rows 2"));
    assert_eq!(other.beat, TaskToken::new("next").ok());
}

#[test]
fn a_restarted_run_has_its_whole_time_and_keeps_what_its_reason_says() {
    let Exit {
        replaced_by,
        ending,
        ..
    } = marked().exit;
    let kept = marked().call;
    for (why, call, replaced_by, ending, redrives) in [
        (
            Restart::Excused,
            kept.clone(),
            replaced_by.clone(),
            ending,
            0,
        ),
        (Restart::Redriven(3), kept, replaced_by, None, 3),
        (Restart::Reinstated(4), None, None, None, 4),
    ] {
        let restarted = marked().restarted(why, at(1000));

        let expected = Lease {
            expires_at: at(1060),
            run_until: Some(at(1300)),
            stalls_at: Some(at(1090)),
            call,
            exit: Exit {
                suspect: None,
                replaced_by,
                ending,
            },
            redrives,
            ..marked()
        };
        assert_eq!(restarted, expected, "{why:?}");
    }
}

#[test]
fn a_restart_by_a_slow_clock_does_not_shorten_the_lease() {
    let lease = Lease {
        expires_at: at(1_061),
        ..marked()
    };
    for why in [
        Restart::Excused,
        Restart::Redriven(1),
        Restart::Reinstated(1),
    ] {
        assert_eq!(
            lease.restarted(why, at(1_000)).expires_at,
            at(1_061),
            "{why:?}"
        );
    }
}

#[test]
fn each_restart_gives_the_whole_run_time() {
    let granted = marked();
    let by_an_older_version = Lease {
        max_run: None,
        ..granted.clone()
    };
    // Without `max_run`, a restart takes the run time from the grant at 100 s to `run_until`.
    for (lease, run_until) in [(granted, 2_300), (by_an_older_version, 3_200)] {
        let once = lease.restarted(Restart::Redriven(1), at(1_000));
        let twice = once.restarted(Restart::Redriven(2), at(2_000));

        assert_eq!(once.run_until, Some(at(1_300)));
        assert_eq!(twice.run_until, Some(at(run_until)));
    }
}

#[test]
fn a_limit_without_max_run_is_not_moved_by_a_repeated_acquire() {
    let granted = Lease {
        max_run: None,
        beat: None,
        call: None,
        progress: None,
        ..marked()
    };

    let learned = granted.learned(at(120)).expect("other limits");

    let limits = (learned.run_until, learned.stalls_at);
    assert_eq!(limits, (Some(at(400)), Some(at(210))));
}

/// Each sign of a heartbeat is enough. A renewal up to a second after the limits began is none, because
/// clocks differ.
#[test]
fn a_run_learns_of_its_grant_only_before_its_first_heartbeat() {
    let granted = || Lease {
        beat: None,
        call: None,
        progress: None,
        ..marked()
    };
    let ending_at = |millis| Lease {
        expires_at: Timestamp::from_millis(millis),
        ..granted()
    };
    let with_state = Lease {
        beat: TaskToken::new("beat").ok(),
        ..granted()
    };
    let with_progress = Lease {
        progress: Some("rows 1".into()),
        ..granted()
    };
    for (case, lease, learns) in [
        ("nothing", granted(), true),
        ("a second later", ending_at(161_000), true),
        ("a renewal", ending_at(161_001), false),
        ("a heartbeat state", with_state, false),
        ("progress", with_progress, false),
    ] {
        assert_eq!(lease.learned(at(120)).is_some(), learns, "{case}");
    }
}

#[test]
fn no_task_token_is_in_a_lease_without_secrets() {
    let kept = marked().without_secrets();

    let expected = Lease {
        beat: None,
        call: None,
        ..marked()
    };
    assert_eq!(kept, expected);
}
