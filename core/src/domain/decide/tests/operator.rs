//! Acts of operators.

use super::scene::{OPERATOR, Scene, answer, at, audit_note, eviction_of, held, holder, id};
use crate::domain::{
    ActKind, Command, Dismissal, DropWaiter, Effect, Ending, EndingCause, ExitStep, FencingToken,
    Mark, Mode, Opening, Outcome, RecoveryBasis, Refusal, Restart, RunOutcome, Seconds, Snapshot,
    StalePolicy, WhenFull, decide,
};
use crate::testing;

#[test]
fn a_paused_lock_lets_holders_finish_and_no_run_start() {
    let mut scene = Scene::queued(&["c"]);
    scene.pause(1);

    let new = scene.acquire("b", WhenFull::Refuse, 2);
    scene.release("a", RunOutcome::Succeeded, 3).unwrap();
    let after = scene.acquire("b", WhenFull::Refuse, 4);

    assert_eq!(answer(&new), "Err(Paused)");
    let Err(Refusal::Paused {
        note, until: None, ..
    }) = after
    else {
        panic!("{after:?}")
    };
    assert_eq!(note, format!("upgrade (by {OPERATOR})"));
    assert_eq!((scene.holders(), scene.line()), (vec![], vec!["c"]));
}

#[test]
fn a_lock_can_be_paused_before_its_first_run() {
    let mut scene = Scene::new(3);
    scene.pause(0);
    scene.resume(1);

    let first = scene.acquire("a", WhenFull::Refuse, 2);

    assert_eq!(answer(&first), "Granted");
    assert_eq!(scene.record().permits.get(), 3);
}

/// Only a resume opens a frozen lock, because an operator has to check its holder first.
#[test]
fn a_pause_does_not_replace_a_freeze() {
    let (mut scene, _) = held();
    let frozen = Mode::Frozen {
        note: "a hangs".into(),
    };
    scene.record_mut().gate.mode = frozen.clone();
    let until = Command::Pause(audit_note("upgrade"), Some(at(5)));

    let refused = scene.carry_out(&until, 1);

    assert_eq!(answer(&refused), "Err(Frozen)");
    assert_eq!(scene.record().gate.mode, frozen);
    assert_eq!(scene.orders(), []);
}

#[test]
fn every_act_of_an_operator_is_in_the_history_with_actor_and_note() {
    use ActKind::{Paused, Resumed};
    let mut scene = Scene::new(1);

    scene.pause(0);
    scene.resume(1);

    let expected = [(Paused, "upgrade"), (Resumed, "done")];
    assert_eq!(scene.orders(), expected);
}

#[test]
fn an_evicted_holder_loses_its_permit_to_the_first_waiter() {
    let mut scene = Scene::queued(&["b"]);
    let token = scene.token("a");

    scene.evict("a", 2).unwrap();

    let note = format!("broken (by {OPERATOR})");
    assert_eq!(scene.end(token), (RunOutcome::Evicted, &*note));
    assert_eq!(scene.holders(), ["b"]);
}

#[test]
fn an_evicted_waiter_is_dismissed_and_recorded_in_the_history() {
    let mut scene = Scene::queued(&["b", "c"]);

    let done = scene.evict("b", 2).unwrap();

    let [Effect::Dismiss(gone, Dismissal::Evicted)] = &done.effects[..] else {
        panic!("{:?}", done.effects)
    };
    assert_eq!(gone.terms.holder, holder("b"));
    assert_eq!(scene.line(), ["c"]);
    let order = (ActKind::Evicted, "waiter b: broken");
    assert_eq!(scene.orders(), [order]);
}

#[test]
fn an_act_that_finds_nothing_to_do_writes_nothing() {
    let evict = Command::DropWaiter(eviction_of("nobody"));
    for command in [
        evict,
        Command::Open(Opening::Resume, audit_note("open as it is")),
    ] {
        let (mut scene, _) = held();
        let before = scene.record().clone();

        let done = scene.carry_out(&command, 2).unwrap();

        assert_eq!(done.outcome, Outcome::Unchanged, "{command:?}");
        assert_eq!((done.runs, done.act), (vec![], None));
        assert_eq!(*scene.record(), before);
    }
}

/// The snapshot may contain the side item of another waiter, the one whose turn is next.
#[test]
fn an_eviction_dismisses_only_the_waiter_that_it_names() {
    let scene = Scene::queued(&["b", "c"]);
    let evict = Command::DropWaiter(eviction_of("b"));

    let done = decide(&scene.read(Some(id("c"))), &evict, at(2)).unwrap();

    assert_eq!(done.effects, [], "c is not sent away");
    let queue = done.next.unwrap().queue;
    assert_eq!((queue.len(), queue.contains_key(&id("c"))), (1, true));
}

#[test]
fn a_frozen_lock_opens_when_an_operator_resumes_it() {
    let (mut scene, _) = held();
    scene.record_mut().gate.mode = Mode::Frozen {
        note: "a hangs".into(),
    };
    let frozen = scene.queue("b", 1);
    scene.evict("a", 2).unwrap();

    scene.resume(3);

    let open = scene.acquire("b", WhenFull::Refuse, 4);
    assert_eq!([&frozen, &open].map(answer), ["Err(Frozen)", "Granted"]);
}

#[test]
fn a_resume_restarts_limits_only_of_the_holder_that_froze_the_lock() {
    // The stale policy, the run time, and whether the run time starts again at 110 s.
    let cases = [
        (StalePolicy::Hold, 100, true),
        (StalePolicy::Hold, 1000, false),
        (StalePolicy::Terminate, 100, true),
        (StalePolicy::Yield, 100, false),
    ];
    for (stale, most, anew) in cases {
        let mut scene = Scene::held_on(1, |terms| {
            terms.max_run = Some(Seconds::of(most));
            terms.stale = stale;
            terms.lease = Seconds::of(300);
        });
        let mut paused = scene.clone();
        paused.pause(1);
        scene.record_mut().gate.mode = Mode::Frozen {
            note: "a hangs".into(),
        };
        for (mut scene, anew) in [(scene, anew), (paused, false)] {
            let before = scene.lease("a").clone();

            scene.resume(110);

            assert_eq!(*scene.lease("a") != before, anew, "{stale:?}, {most} s");
        }
    }
}

/// A frozen lock is due at the end of a lease, because the limits do not count.
#[test]
fn a_resumed_lock_is_due_when_the_limits_that_begin_again_are_over() {
    let mut scene = Scene::held_on(1, |terms| {
        terms.max_run = Some(Seconds::of(20));
        terms.stale = StalePolicy::Hold;
        terms.lease = Seconds::of(900);
    });
    scene.record_mut().gate.mode = Mode::Frozen {
        note: "a hangs".into(),
    };
    scene.record_mut().due = Some(at(900));

    scene.resume(110);

    let check = scene.lease("a").next_check(&Mode::Open);
    assert!(check < at(900), "{check:?}");
    assert_eq!(scene.record().due, Some(check));
}

/// The end of its lease is the only sign that a process has died, so a resume must not extend the lease.
#[test]
fn a_resume_moves_the_end_of_a_lease_only_if_that_end_froze_the_lock() {
    // When a check marked the holder as a suspect, when the lock is resumed, and whether the end of the
    // lease, 60 s, moves.
    let cases = [
        (None, 50, false),
        (None, 110, false),
        (Some(70), 75, false),
        (Some(70), 110, true),
        (None, 3_700, true),
    ];
    for (suspect, resumed, moved) in cases {
        let mut scene = Scene::held_on(1, |terms| {
            terms.max_run = Some(Seconds::of(40));
            terms.no_progress = Some(Seconds::of(30));
        });
        scene.record_mut().gate.mode = Mode::Frozen {
            note: "another hangs".into(),
        };
        for lease in scene.record_mut().holders.values_mut() {
            lease.exit.suspect = suspect.map(at);
        }

        scene.resume(resumed);

        let end = if moved { resumed + 60 } else { 60 };
        let lease = scene.lease("a");
        let case = format!("{suspect:?}, {resumed} s");
        assert_eq!(lease.expires_at, at(end), "{case}");
        assert_eq!(lease.run_until, Some(at(resumed + 40)), "{case}");
        assert_eq!(lease.stalls_at, Some(at(resumed + 30)), "{case}");
    }
}

/// The heartbeats of the evicted holder are refused, so a check waits for its end and does not freeze
/// the lock.
#[test]
fn a_pause_ends_beside_an_evicted_holder_under_hold() {
    let mut scene = Scene::held_on(2, |terms| {
        terms.max_run = Some(Seconds::of(40));
        terms.stale = StalePolicy::Hold;
    });
    let until = Command::Pause(audit_note("upgrade"), Some(at(50)));
    scene.carry_out(&until, 1).unwrap();
    let frozen = scene.acquire("b", WhenFull::Refuse, 60);
    let step = ExitStep::Evict(audit_note("hangs"));
    let evict = Command::Mark(scene.mark_of("a", step));
    scene.carry_out(&evict, 61).unwrap();

    let open = scene.acquire("b", WhenFull::Refuse, 62);

    assert_eq!([&frozen, &open].map(answer), ["Err(Held)", "Granted"]);
}

fn stop_evicted(token: FencingToken) -> Mark {
    testing::mark(holder("a"), token, ExitStep::Evict(audit_note("hangs")))
}

#[test]
fn an_evicted_live_holder_keeps_its_permit_until_its_recovery() {
    for (basis, second) in [(RecoveryBasis::Seen, 3), (RecoveryBasis::Expired, 90)] {
        let mut scene = Scene::queued(&["b"]);
        let token = scene.token("a");
        let stop = Command::Mark(stop_evicted(token));

        let done = scene.carry_out(&stop, 2);
        let again = scene.carry_out(&stop, 2);
        let beat = scene.renew("a", token, 2);

        let answers = [&done, &again, &beat].map(answer);
        assert_eq!(answers, ["Done", "Done", "Err(LeaseLost)"]);
        assert_eq!(again.unwrap().next, None, "a repetition writes nothing");
        assert_eq!(scene.holders(), ["a"]);
        scene.recover("a", basis, second).unwrap();
        assert_eq!(scene.holders(), ["b"]);
        let evidence = format!("hangs (by {OPERATOR}); the execution is ABORTED");
        let end = (RunOutcome::Evicted, &*evidence);
        assert_eq!(scene.end(token), end, "{basis:?}");
    }
}

#[test]
fn an_eviction_of_a_renewed_or_ended_grant_changes_nothing() {
    let (mut scene, token) = held();
    let seen = Some(scene.seen("a"));
    let stop = |token, seen| {
        Command::Mark(Mark {
            seen,
            ..stop_evicted(token)
        })
    };
    let mut silent = scene.clone();
    scene.renew("a", token, 2).unwrap();
    let before = scene.record().clone();

    let renewed = scene.carry_out(&stop(token, seen), 3);
    let over = scene.carry_out(&stop(FencingToken::from_number(1), None), 3);
    let dead = silent.carry_out(&stop(token, seen), 3);

    let answers = [&renewed, &over, &dead].map(answer);
    assert_eq!(answers, ["Unchanged", "Lost", "Done"]);
    assert_eq!(*scene.record(), before);
}

#[test]
fn an_eviction_of_a_holder_that_is_being_stopped_is_noted_too() {
    let (mut scene, token) = held();
    let lease = scene.record_mut().holders.get_mut(&holder("a")).unwrap();
    lease.exit.ending = Some(Ending {
        since: at(1),
        cause: EndingCause::Stopped,
    });
    let stop = Command::Mark(stop_evicted(token));

    scene.carry_out(&stop, 2).unwrap();

    let lease = scene.lease("a");
    let note = format!("hangs (by {OPERATOR})");
    assert_eq!(lease.exit.evicted(), Some(&*note));
    let redriven = lease.restarted(Restart::Redriven(1), at(3));
    assert_eq!(redriven.exit.evicted(), None, "a redrive is a new life");
}

/// `lockstep run` releases its permit itself when its heartbeat is refused.
#[test]
fn the_reason_of_an_eviction_stays_whoever_ends_the_run_and_whenever() {
    for outcome in [RunOutcome::Succeeded, RunOutcome::Failed] {
        let (mut scene, token) = held();
        let evict = Command::Mark(stop_evicted(token));
        scene.carry_out(&evict, 2).unwrap();

        let released = scene.release("a", outcome, 3).unwrap();

        let reason = format!("hangs (by {OPERATOR})");
        let Outcome::Released { evicted, .. } = released.outcome else {
            panic!("{:?}", released.outcome)
        };
        assert_eq!(evicted.as_ref(), Some(&reason));
        assert_eq!(scene.end(token), (outcome, &*format!("evicted: {reason}")));
    }
    let (mut late, token) = held();
    late.evict("a", 90).unwrap();

    let release = Command::Release(testing::release(holder("a"), token));
    late.carry_out(&release, 91).unwrap();

    let reason = format!("reported after it was evicted: broken (by {OPERATOR})");
    assert_eq!(late.end(token), (RunOutcome::Succeeded, &*reason));
}

#[test]
fn a_lock_is_due_at_the_end_of_its_pause_and_idle_again_after_it() {
    let (mut scene, _) = held();
    let pause = Command::Pause(audit_note("upgrade"), Some(at(5)));

    scene.carry_out(&pause, 1).unwrap();
    assert_eq!(scene.record().due, Some(at(5)), "before its lease is");
    scene.release("a", RunOutcome::Succeeded, 2).unwrap();
    assert_eq!(scene.record().due, Some(at(5)));
    scene.resume(3);
    assert_eq!(scene.record().due, None, "nothing is left for the sweep");
}

/// Without a holder, the lock is in the state after a release that could not read the side item of `b`.
#[test]
fn dropping_an_unreadable_waiter_hands_over_a_free_permit() {
    let drop = Command::DropWaiter(DropWaiter {
        waiter: id("b"),
        holder: None,
        audit: audit_note("damaged"),
    });
    for (waiters, held, effects) in [
        (&["b", "c"][..], false, vec![Effect::HandOver]),
        (&["b", "c"], true, vec![]),
        (&["b"], false, vec![]),
    ] {
        let mut scene = Scene::queued(waiters);
        if !held {
            scene.record_mut().holders.clear();
        }

        let done = scene.carry_out(&drop, 2).unwrap();
        let again = scene.carry_out(&drop, 2);

        assert_eq!(done.effects, effects, "{waiters:?}, {held}");
        assert_eq!(scene.line(), waiters[1..]);
        assert!(!scene.items.waiters.contains_key(&id("b")));
        assert_eq!(answer(&again), "Unchanged");
        let note = format!("waiter {}: damaged", id("b"));
        assert_eq!(scene.orders(), [(ActKind::Evicted, &*note)]);
    }
}

/// The sweep opens it then. An idle lock is due for nothing else.
#[test]
fn a_first_start_under_a_pause_of_all_leaves_a_lock_that_is_due_then() {
    let mode = Mode::Paused {
        note: "upgrade".into(),
        until: Some(at(600)),
    };
    let seen = Snapshot {
        new_lock: Some(mode.clone()),
        ..Snapshot::default()
    };

    let noted = decide(&seen, &Command::NoteStart(audit_note("by hand")), at(0)).unwrap();

    let record = noted.next.expect("a record");
    assert_eq!((record.gate.mode, record.due), (mode, Some(at(600))));
}
