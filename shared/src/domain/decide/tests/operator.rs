//! An operator's orders.

use super::scene::{Scene, at, audit_note, holder};
use crate::domain::{
    Command, Dismissal, DropUnread, Effect, Ending, EndingCause, Evict, FencingToken, Lease, Mode,
    Outcome, RecoveryBasis, Refusal, RunId, RunOutcome, Seconds, Snapshot, StalePolicy,
    StopEvicted, WaiterId, WhenFull, decide,
};

#[test]
fn a_paused_lock_lets_holders_finish_and_no_run_start() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    scene
        .carry_out(&Command::Pause(audit_note("upgrade"), None), 1)
        .unwrap();

    let new = scene.acquire("b", WhenFull::Refuse, 2);
    let own = scene.release("a", RunOutcome::Succeeded, 3);
    let after = scene.acquire("b", WhenFull::Refuse, 4);

    assert!(matches!(new, Err(Refusal::Paused { .. })), "{new:?}");
    assert!(own.is_ok());
    let Err(Refusal::Paused {
        note, until: None, ..
    }) = after
    else {
        panic!("{after:?}")
    };
    assert_eq!(note, "upgrade (by arn:aws:iam::1:user/op)");
}

#[test]
fn a_lock_can_be_paused_before_its_first_run() {
    let mut scene = Scene::new(3);
    scene
        .carry_out(&Command::Pause(audit_note("not yet"), None), 0)
        .unwrap();
    scene
        .carry_out(&Command::Resume(audit_note("now")), 1)
        .unwrap();

    let first = scene.acquire("a", WhenFull::Refuse, 2);

    assert!(first.is_ok(), "{first:?}");
    assert_eq!(scene.record().permits.get(), 3);
}

#[test]
fn a_release_of_a_paused_lock_grants_no_permit() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    scene.queue("b", 1).unwrap();
    scene
        .carry_out(&Command::Pause(audit_note("upgrade"), None), 2)
        .unwrap();

    scene.release("a", RunOutcome::Succeeded, 3).unwrap();

    assert!(scene.holders().is_empty());
    assert_eq!(scene.line(), ["b"]);
}

#[test]
fn every_act_of_an_operator_is_in_the_history_with_actor_and_note() {
    let mut scene = Scene::new(1);
    scene
        .carry_out(&Command::Pause(audit_note("upgrade"), None), 0)
        .unwrap();
    scene
        .carry_out(&Command::Resume(audit_note("done")), 1)
        .unwrap();

    let acts = scene.items.runs.iter().filter_map(|(id, run)| match id {
        RunId::Act(_) => Some((run.holder.as_str(), run.end.clone()?)),
        _ => None,
    });
    let acts: Vec<_> = acts
        .map(|(actor, end)| (actor, end.outcome, end.evidence.unwrap()))
        .collect();

    let actor = "arn:aws:iam::1:user/op";
    assert_eq!(
        acts,
        [
            (actor, RunOutcome::Paused, format!("upgrade (by {actor})")),
            (actor, RunOutcome::Resumed, format!("done (by {actor})"))
        ]
    );
}

#[test]
fn an_evicted_holder_loses_its_permit_to_the_first_waiter() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    scene.queue("b", 1).unwrap();

    scene.evict("a", 2).unwrap();

    let end = scene.history(token).unwrap().end.clone().unwrap();
    assert_eq!(end.outcome, RunOutcome::Evicted);
    assert!(end.evidence.unwrap().contains("broken (by "));
    assert_eq!(scene.holders(), ["b"]);
}

#[test]
fn an_evicted_waiter_leaves_the_queue_and_is_dismissed() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    scene.queue("b", 1).unwrap();
    scene.queue("c", 1).unwrap();

    let done = scene.evict("b", 2).unwrap();

    let [Effect::Dismiss(gone, Dismissal::Evicted)] = &done.effects[..] else {
        panic!("{:?}", done.effects)
    };
    assert_eq!(gone.terms.holder, holder("b"));
    assert_eq!(scene.line(), ["c"]);
}

#[test]
fn an_order_that_finds_nothing_to_do_writes_nothing() {
    let evict = Command::Evict(Evict {
        holder: holder("nobody"),
        audit: audit_note("broken"),
    });
    for command in [evict, Command::Resume(audit_note("open as it is"))] {
        let mut scene = Scene::held_by(1, &[("a", 0)]);
        let before = scene.record().clone();

        let done = scene.carry_out(&command, 2).unwrap();

        assert_eq!(done.outcome, Outcome::Unchanged, "{command:?}");
        assert!(done.runs.is_empty(), "{:?}", done.runs);
        assert_eq!(*scene.record(), before);
    }
}

#[test]
fn the_eviction_of_a_waiter_is_in_the_history() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    scene.queue("b", 1).unwrap();

    scene.evict("b", 2).unwrap();

    let act = RunId::Act(scene.record().version);
    assert_eq!(scene.items.runs[&act].outcome(), Some(RunOutcome::Evicted));
}

/// The snapshot may hold the side item of another waiter: of the one whose turn is next.
#[test]
fn an_evicted_waiter_is_not_taken_for_another() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    scene.queue("b", 1).unwrap();
    scene.queue("c", 1).unwrap();
    let other = WaiterId::of(&holder("c"));
    let seen = Snapshot {
        record: Some(scene.record().clone()),
        runs: scene.items.runs.clone(),
        waiter: Some((other.clone(), scene.items.waiters.get(&other).cloned())),
    };
    let evict = Command::Evict(Evict {
        holder: holder("b"),
        audit: audit_note("broken"),
    });

    let done = decide(&seen, &evict, at(2)).unwrap();

    assert_eq!(done.effects, [], "c is not sent away");
    let queue = done.next.unwrap().queue;
    assert!(queue.contains_key(&other) && queue.len() == 1, "{queue:?}");
}

#[test]
fn a_frozen_lock_opens_when_an_operator_resumes_it() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    scene.items.record.as_mut().unwrap().mode = Mode::Frozen {
        note: "a hangs".into(),
    };
    let frozen = scene.queue("b", 1);
    scene.evict("a", 2).unwrap();

    scene
        .carry_out(&Command::Resume(audit_note("checked")), 3)
        .unwrap();

    assert!(matches!(frozen, Err(Refusal::Frozen { .. })), "{frozen:?}");
    assert!(scene.acquire("b", WhenFull::Refuse, 4).is_ok());
}

#[test]
fn a_resume_gives_new_time_only_to_a_stale_holder_that_had_frozen_the_lock() {
    // The policy, the time of the run, and whether it begins anew at 110 s.
    let cases = [
        (StalePolicy::Hold, 100, true),
        (StalePolicy::Hold, 1000, false),
        (StalePolicy::Terminate, 100, false),
    ];
    for (stale, most, anew) in cases {
        let mut scene = Scene::new(1);
        let mut terms = scene.terms("a");
        terms.max_run = Some(Seconds::of(most));
        terms.stale = stale;
        terms.lease = Seconds::of(300);
        scene.ask(terms, WhenFull::Refuse, 0).unwrap();
        let pause = Command::Pause(audit_note("upgrade"), None);
        scene.carry_out(&pause, 1).unwrap();
        let before = scene.record().holders[&holder("a")].clone();

        let resume = Command::Resume(audit_note("done"));
        scene.carry_out(&resume, 110).unwrap();

        let after = &scene.record().holders[&holder("a")];
        assert_eq!(*after != before, anew, "{stale:?}, {most} s");
    }
}

fn stop_evicted(name: &str, token: FencingToken) -> Command {
    Command::StopEvicted(StopEvicted {
        holder: holder(name),
        token,
        seen: None,
        audit: audit_note("hangs"),
    })
}

#[test]
fn a_holder_that_is_evicted_alive_keeps_its_permit_until_it_is_seen_to_have_stopped() {
    for (basis, second) in [(RecoveryBasis::Seen, 3), (RecoveryBasis::Expired, 90)] {
        let mut scene = Scene::held_by(1, &[("a", 0)]);
        let token = scene.token("a");
        scene.queue("b", 1).unwrap();

        let done = scene.carry_out(&stop_evicted("a", token), 2).unwrap();
        let again = scene.carry_out(&stop_evicted("a", token), 2).unwrap();
        let beat = scene.renew("a", token, 2);

        assert_eq!(
            (done.outcome, again.outcome),
            (Outcome::Done, Outcome::Done)
        );
        assert_eq!(again.next, None, "a repetition writes nothing");
        assert!(matches!(beat, Err(Refusal::LeaseLost { .. })), "{beat:?}");
        assert_eq!(scene.holders(), ["a"]);
        scene.recover("a", basis, second).unwrap();
        assert_eq!(scene.holders(), ["b"]);
        let end = scene.history(token).unwrap().end.clone().unwrap();
        assert_eq!(end.outcome, RunOutcome::Evicted, "{basis:?}");
        let evidence = end.evidence.unwrap();
        let said = "hangs (by arn:aws:iam::1:user/op); the execution is ABORTED";
        assert_eq!(evidence, said);
    }
}

#[test]
fn a_heartbeat_since_a_holder_was_seen_to_have_ended_keeps_it_from_being_evicted_for_that() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    let seen = Some(scene.seen("a"));
    let evict = Command::StopEvicted(StopEvicted {
        holder: holder("a"),
        token,
        seen,
        audit: audit_note("is dead"),
    });
    let mut silent = scene.clone();
    scene.renew("a", token, 2).unwrap();

    let renewed = scene.carry_out(&evict, 3).unwrap();
    let dead = silent.carry_out(&evict, 3).unwrap();

    assert_eq!(
        (renewed.outcome, dead.outcome),
        (Outcome::Unchanged, Outcome::Done)
    );
}

#[test]
fn a_grant_that_is_over_is_not_evicted() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let before = scene.record().clone();

    let other = FencingToken::from_number(1);
    let done = scene.carry_out(&stop_evicted("a", other), 2).unwrap();

    assert_eq!(done.outcome, Outcome::Unchanged);
    assert_eq!(*scene.record(), before);
}

#[test]
fn a_waiter_whose_item_cannot_be_read_leaves_and_the_next_one_gets_its_turn() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    scene.queue("b", 1).unwrap();
    scene.queue("c", 1).unwrap();
    // As a release leaves it that could not read the item of b.
    scene.items.record.as_mut().unwrap().holders.clear();
    let id = WaiterId::of(&holder("b"));
    let drop = Command::DropUnread(DropUnread {
        waiter: id.clone(),
        audit: audit_note("damaged"),
    });

    let done = scene.carry_out(&drop, 2).unwrap();
    let again = scene.carry_out(&drop, 2).unwrap();

    assert_eq!(done.effects, [Effect::HandOver]);
    assert_eq!(scene.line(), ["c"]);
    assert!(!scene.items.waiters.contains_key(&id));
    assert_eq!(again.outcome, Outcome::Unchanged);
    let act = &scene.items.runs[&RunId::Act(scene.record().version)];
    let note = act.end.clone().unwrap().evidence.unwrap();
    assert_eq!(note, format!("waiter {id}: damaged (by {})", act.holder));
}

#[test]
fn an_eviction_of_a_holder_that_is_being_stopped_is_noted_too() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    let lease = scene.record().holders[&holder("a")].clone();
    let ending = Ending {
        since: at(1),
        cause: EndingCause::Stopped,
    };
    let stopped = Lease {
        ending: Some(ending),
        ..lease
    };
    let record = scene.items.record.as_mut().unwrap();
    record.holders.insert(holder("a"), stopped);

    scene.carry_out(&stop_evicted("a", token), 2).unwrap();

    let lease = &scene.record().holders[&holder("a")];
    assert_eq!(
        lease.evicted.as_deref(),
        Some("hangs (by arn:aws:iam::1:user/op)")
    );
    assert_eq!(
        lease.redriven(1, at(3)).evicted,
        None,
        "a redrive is a new life"
    );
}

#[test]
fn a_lock_is_due_at_the_end_of_its_pause_and_idle_again_after_it() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let pause = |until| Command::Pause(audit_note("upgrade"), Some(at(until)));

    scene.carry_out(&pause(5), 1).unwrap();
    assert_eq!(scene.record().due, Some(at(5)), "before its lease is");
    scene.release("a", RunOutcome::Succeeded, 2).unwrap();
    assert_eq!(scene.record().due, Some(at(5)));
    scene
        .carry_out(&Command::Resume(audit_note("done")), 3)
        .unwrap();
    assert_eq!(scene.record().due, None, "nothing is left for the sweep");
}

#[test]
fn a_waiter_that_cannot_be_read_hands_nothing_over_where_no_permit_or_no_other_waiter_is() {
    for (waiters, held) in [(&["b", "c"][..], true), (&["b"][..], false)] {
        let mut scene = Scene::held_by(1, &[("a", 0)]);
        for waiter in waiters {
            scene.queue(waiter, 1).unwrap();
        }
        if !held {
            scene.items.record.as_mut().unwrap().holders.clear();
        }
        let drop = Command::DropUnread(DropUnread {
            waiter: WaiterId::of(&holder("b")),
            audit: audit_note("damaged"),
        });

        let done = scene.carry_out(&drop, 2).unwrap();

        assert_eq!(done.effects, [], "{waiters:?}");
    }
}
