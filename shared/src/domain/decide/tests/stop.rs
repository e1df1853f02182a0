//! A stop in two steps, and holders that are ending.

use super::scene::{Decision, Scene, at, holder, with_key};
use crate::domain::{
    Command, Effect, EndingCause, FencingToken, MarkEnding, Outcome, Recover, RecoveryBasis,
    Refusal, Renew, RunOutcome, Stop, StopReason, Suspect, WhenFull,
};
use crate::testing;

fn suspect(scene: &mut Scene, second: u64) -> Outcome {
    let suspect = Command::Suspect(Suspect {
        holder: holder("a"),
        token: scene.token("a"),
        seen: scene.seen("a"),
    });
    scene.carry_out(&suspect, second).unwrap().outcome
}

fn stop(scene: &mut Scene, reason: StopReason, second: u64) -> Outcome {
    let stop = Command::Stop(Stop {
        holder: holder("a"),
        token: scene.token("a"),
        seen: scene.seen("a"),
        reason,
    });
    scene.carry_out(&stop, second).unwrap().outcome
}

fn mark_ending(token: FencingToken) -> Command {
    Command::MarkEnding(MarkEnding {
        holder: holder("a"),
        token,
        seen: None,
    })
}

fn end(scene: &mut Scene, second: u64) -> Outcome {
    let mark = mark_ending(scene.token("a"));
    scene.carry_out(&mark, second).unwrap().outcome
}

fn redriven(scene: &mut Scene, token: FencingToken, count: u32, second: u64) -> Decision {
    let renew = Renew {
        redrives: Some(count),
        ..testing::renew(holder("a"), token)
    };
    scene.carry_out(&Command::Renew(renew), second)
}

#[test]
fn a_stop_for_silence_takes_a_mark_that_has_stood_for_its_time() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    assert_eq!(suspect(&mut scene, 61), Outcome::Unchanged, "not dead yet");
    let unmarked = stop(&mut scene, StopReason::Silent, 62);
    assert_eq!(unmarked, Outcome::Unchanged);

    assert_eq!(suspect(&mut scene, 62), Outcome::Done);
    let early = stop(&mut scene, StopReason::Silent, 81);
    let late = stop(&mut scene, StopReason::Silent, 82);

    assert_eq!((early, late), (Outcome::Unchanged, Outcome::Done));
}

#[test]
fn a_heartbeat_clears_the_mark_of_a_suspect() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    suspect(&mut scene, 62);

    scene.renew("a", token, 70).unwrap();

    assert_eq!(scene.record().holders[&holder("a")].suspect, None);
    let late = stop(&mut scene, StopReason::Silent, 90);
    assert_eq!(late, Outcome::Unchanged);
}

#[test]
fn a_stop_that_was_decided_before_a_heartbeat_is_not_committed_after_it() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let (token, seen) = (scene.token("a"), scene.seen("a"));
    suspect(&mut scene, 62);
    scene.renew("a", token, 82).unwrap();
    suspect(&mut scene, 150);
    let late = Command::Stop(Stop {
        holder: holder("a"),
        token,
        seen,
        reason: StopReason::Silent,
    });

    let done = scene.carry_out(&late, 180).unwrap();

    assert_eq!(done.outcome, Outcome::Unchanged);
}

/// A redrive reports itself within the millisecond of the heartbeat before it, so that the lease
/// ends when it did.
#[test]
fn evidence_from_before_a_redrive_is_void_even_if_the_lease_ends_when_it_did() {
    let commands: [fn(&Scene) -> Command; 3] = [
        |scene| {
            Command::Recover(testing::recover(
                holder("a"),
                scene.token("a"),
                scene.seen("a"),
            ))
        },
        |scene| {
            Command::MarkEnding(MarkEnding {
                holder: holder("a"),
                token: scene.token("a"),
                seen: Some(scene.seen("a")),
            })
        },
        |scene| {
            Command::Suspect(Suspect {
                holder: holder("a"),
                token: scene.token("a"),
                seen: scene.seen("a"),
            })
        },
    ];
    for (command, marked) in commands.into_iter().flat_map(|c| [(c, false), (c, true)]) {
        let mut scene = Scene::held_by(1, &[("a", 0)]);
        let token = scene.token("a");
        if marked {
            end(&mut scene, 0);
        }
        let command = command(&scene);
        redriven(&mut scene, token, 1, 0).unwrap();

        let late = scene.carry_out(&command, 62).unwrap();

        assert_eq!(late.outcome, Outcome::Unchanged, "{command:?}");
        assert_eq!(scene.holders(), ["a"]);
    }
}

#[test]
fn a_heartbeat_after_a_committed_stop_is_refused() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    suspect(&mut scene, 62);
    stop(&mut scene, StopReason::Silent, 82);

    let late = scene.renew("a", token, 83);

    assert!(matches!(late, Err(Refusal::LeaseLost { .. })), "{late:?}");
    assert_eq!(scene.holders(), ["a"], "its work is still being stopped");
}

#[test]
fn a_success_after_a_committed_stop_is_a_success() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    suspect(&mut scene, 62);
    stop(&mut scene, StopReason::Silent, 82);

    scene.release("a", RunOutcome::Succeeded, 83).unwrap();

    assert_eq!(scene.ended(token), Some(RunOutcome::Succeeded));
}

#[test]
fn a_holder_is_stopped_only_for_a_run_that_still_waits() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    scene.acquire("b", WhenFull::Replace, 1).unwrap();
    let mut given_up = scene.clone();
    given_up.evict("b", 2).unwrap();

    let waits = stop(&mut scene, StopReason::Replaced, 3);
    let gone = stop(&mut given_up, StopReason::Replaced, 3);

    assert_eq!((waits, gone), (Outcome::Done, Outcome::Unchanged));
    let spared = &given_up.record().holders[&holder("a")];
    assert_eq!(spared.replaced_by, None);
}

#[test]
fn the_end_of_the_work_is_noted_once_and_keeps_the_permit() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);

    assert_eq!(end(&mut scene, 5), Outcome::Done);
    assert_eq!(end(&mut scene, 6), Outcome::Done);

    let ending = scene.record().holders[&holder("a")].ending.unwrap();
    assert_eq!((ending.since, ending.cause), (at(5), EndingCause::Over));
    assert_eq!(scene.record().due, Some(at(5)), "the sweep goes on with it");
}

#[test]
fn the_end_of_work_that_is_under_no_lease_any_more_is_lost() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let mark = mark_ending(scene.token("a"));
    scene.release("a", RunOutcome::Failed, 5).unwrap();

    let done = scene.carry_out(&mark, 6).unwrap();

    assert!(matches!(done.outcome, Outcome::Lost { .. }), "{done:?}");
}

#[test]
fn a_late_heartbeat_does_not_hide_that_the_work_is_being_stopped() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    end(&mut scene, 5);

    scene.renew("a", token, 19).unwrap();
    assert!(scene.record().holders[&holder("a")].ending.is_some());

    // One this late was not under way at the end: the execution goes on.
    scene.renew("a", token, 20).unwrap();
    assert!(scene.record().holders[&holder("a")].ending.is_none());
}

#[test]
fn a_heartbeat_that_counts_more_redrives_goes_on_at_once() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    scene.renew("a", token, 1).unwrap();
    end(&mut scene, 5);
    let mut recovered = scene.clone();
    recovered.recover("a", RecoveryBasis::Seen, 6).unwrap();

    let kept = redriven(&mut scene, token, 1, 7).unwrap();
    let back = redriven(&mut recovered, token, 1, 7).unwrap();
    let again = redriven(&mut scene, token, 1, 8).unwrap();

    assert!(matches!(kept.outcome, Outcome::Renewed { .. }), "{kept:?}");
    assert!(
        matches!(back.outcome, Outcome::Reinstated { .. }),
        "{back:?}"
    );
    assert!(
        matches!(again.outcome, Outcome::Renewed { .. }),
        "{again:?}"
    );
    assert_eq!(scene.record().holders[&holder("a")].ending, None);
}

#[test]
fn a_heartbeat_of_the_attempt_before_the_end_brings_nothing_back() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    scene.renew("a", token, 1).unwrap();
    scene.recover("a", RecoveryBasis::Seen, 6).unwrap();

    let late = redriven(&mut scene, token, 0, 7);

    assert!(matches!(late, Err(Refusal::LeaseLost { .. })), "{late:?}");
}

#[test]
fn a_run_of_the_same_key_is_no_duplicate_of_the_one_that_is_ending() {
    let mut scene = Scene::new(2);
    scene
        .ask(with_key(scene.terms("a"), "tick"), WhenFull::Refuse, 0)
        .unwrap();
    end(&mut scene, 1);

    let skip = scene.ask(with_key(scene.terms("b"), "tick"), WhenFull::Refuse, 2);

    let Err(refused) = skip else {
        panic!("{skip:?}")
    };
    assert!(refused.frees_a_permit(), "{refused:?}");
}

#[test]
fn a_waiter_of_the_same_key_is_let_in_when_the_ending_run_has_failed() {
    for (succeeded, holders) in [(false, vec!["c"]), (true, vec![])] {
        let mut scene = Scene::new(1);
        scene
            .ask(with_key(scene.terms("a"), "tick"), WhenFull::Refuse, 0)
            .unwrap();
        end(&mut scene, 1);
        let waits = WhenFull::Queue { most: 9 };
        scene
            .ask(with_key(scene.terms("c"), "tick"), waits, 2)
            .unwrap();
        let recover = Command::Recover(Recover {
            succeeded,
            evidence: "over".into(),
            ..testing::recover(holder("a"), scene.token("a"), scene.seen("a"))
        });

        let done = scene.carry_out(&recover, 3).unwrap();

        assert_eq!(scene.holders(), holders, "{succeeded}");
        assert!(
            matches!(done.effects[..], [Effect::Wake(..) | Effect::Dismiss(..)]),
            "{done:?}"
        );
    }
}

/// It was stopped before its wake-up arrived, and asks again before its execution ends.
#[test]
fn a_stopped_holder_that_waits_again_and_dies_leaves_its_permit() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    scene.acquire("b", WhenFull::Replace, 1).unwrap();
    let stop = Command::Stop(Stop {
        holder: holder("a"),
        token: scene.token("a"),
        seen: scene.seen("a"),
        reason: StopReason::Replaced,
    });
    scene.carry_out(&stop, 2).unwrap();
    scene.acquire("a", WhenFull::Replace, 3).unwrap();
    assert_eq!(scene.line(), ["a", "b"]);

    let done = scene.recover("a", RecoveryBasis::Seen, 4).unwrap();

    assert!(scene.holders().is_empty(), "{:?}", scene.holders());
    assert!(done.effects.contains(&Effect::HandOver), "{done:?}");
    scene.carry_out(&Command::HandOver, 4).unwrap();
    assert_eq!(scene.holders(), ["a"], "its own place is the first");
}

#[test]
fn a_heartbeat_that_counts_no_new_redrive_does_not_hide_that_the_work_is_being_stopped() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    end(&mut scene, 5);

    redriven(&mut scene, token, 0, 6).unwrap();

    assert!(scene.record().holders[&holder("a")].ending.is_some());
}

/// The write on the fast path requires that the caller holds nothing.
#[test]
fn a_stopped_holder_joins_the_queue_by_what_was_seen() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    scene.acquire("b", WhenFull::Replace, 1).unwrap();
    stop(&mut scene, StopReason::Replaced, 2);

    let done = scene.queue("a", 3).unwrap();

    assert!(matches!(done.outcome, Outcome::Queued { .. }), "{done:?}");
    assert!(done.fast_path.is_none(), "{:?}", done.fast_path);
    assert_eq!(scene.line(), ["b", "a"]);
}

#[test]
fn a_mark_of_a_suspect_is_set_once_and_never_on_a_stopped_holder() {
    let mut marked = Scene::held_by(1, &[("a", 0)]);
    suspect(&mut marked, 62);
    let mut stopped = Scene::held_by(1, &[("a", 0)]);
    stopped.acquire("b", WhenFull::Replace, 1).unwrap();
    stop(&mut stopped, StopReason::Replaced, 2);

    for mut scene in [marked, stopped] {
        let before = scene.record().holders[&holder("a")].suspect;

        assert_eq!(suspect(&mut scene, 70), Outcome::Unchanged);

        assert_eq!(scene.record().holders[&holder("a")].suspect, before);
    }
}

/// Two checks gather the same evidence at once.
#[test]
fn a_note_of_an_ending_that_another_check_has_made_is_done() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    let mark = Command::MarkEnding(MarkEnding {
        holder: holder("a"),
        token,
        seen: Some(scene.seen("a")),
    });
    end(&mut scene, 5);
    let mut renewed = scene.clone();
    renewed.renew("a", token, 10).unwrap();

    let again = scene.carry_out(&mark, 11).unwrap();
    let outdated = renewed.carry_out(&mark, 11).unwrap();

    assert_eq!(again.outcome, Outcome::Done);
    assert_eq!(outdated.outcome, Outcome::Unchanged);
}
