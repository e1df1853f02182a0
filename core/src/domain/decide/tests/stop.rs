//! Stops that are committed before they are carried out, and holders that are ending.

use super::scene::{Decision, Scene, WAIT, answer, at, effects, held, holder};
use crate::domain::{
    Command, Effect, EndingCause, ExitStep, FencingToken, Outcome, Recover, RecoveryBasis, Renew,
    RunOutcome, StopReason, WhenFull,
};
use crate::testing;

fn suspect(scene: &mut Scene, second: u64) -> String {
    answer(&scene.carry_out(&scene.suspicion_of("a"), second))
}

fn stop_of(scene: &Scene, reason: StopReason) -> Command {
    Command::Mark(scene.mark_of("a", ExitStep::Stop(reason)))
}

fn stop(scene: &mut Scene, reason: StopReason, second: u64) -> String {
    answer(&scene.carry_out(&stop_of(scene, reason), second))
}

fn mark_of(scene: &Scene) -> Command {
    Command::Mark(scene.mark_of("a", ExitStep::Ending))
}

fn redriven(scene: &mut Scene, token: FencingToken, count: u32, second: u64) -> Decision {
    let renew = Renew {
        redrives: Some(count),
        ..testing::renew(holder("a"), token)
    };
    scene.carry_out(&Command::Renew(renew), second)
}

/// Returns a holder whose stop for `b` was committed at second 2.
fn stopped_for_another() -> Scene {
    let (mut scene, _) = held();
    scene.acquire("b", WhenFull::Replace, 1).unwrap();
    assert_eq!(stop(&mut scene, StopReason::Replaced, 2), "Done");
    scene
}

#[test]
fn only_a_suspect_that_stays_silent_is_stopped() {
    let (mut scene, _) = held();
    assert_eq!(suspect(&mut scene, 61), "Unchanged", "not dead yet");
    let unmarked = stop(&mut scene, StopReason::Stale, 62);
    assert_eq!(unmarked, "Unchanged");

    assert_eq!(suspect(&mut scene, 62), "Done");
    let stops = [81, 82].map(|second| stop(&mut scene, StopReason::Stale, second));

    assert_eq!(stops, ["Unchanged", "Done"]);
}

#[test]
fn a_heartbeat_clears_the_mark_of_a_suspect() {
    let (mut scene, token) = held();
    suspect(&mut scene, 62);

    scene.renew("a", token, 70).unwrap();

    assert_eq!(scene.lease("a").exit.suspect, None);
    assert_eq!(stop(&mut scene, StopReason::Stale, 90), "Unchanged");
}

#[test]
fn a_stop_that_was_decided_before_a_heartbeat_is_not_committed_after_it() {
    let (mut scene, token) = held();
    let late = stop_of(&scene, StopReason::Stale);
    suspect(&mut scene, 62);
    scene.renew("a", token, 82).unwrap();
    suspect(&mut scene, 150);

    let done = scene.carry_out(&late, 180);

    assert_eq!(answer(&done), "Unchanged");
}

/// The first heartbeat after the redrive comes in the same millisecond as the last one before, so the
/// end of the lease does not change.
#[test]
fn evidence_from_before_a_redrive_is_void_even_if_the_lease_end_is_equal() {
    let commands: [fn(&Scene) -> Command; 3] = [
        |scene| Command::Recover(scene.recovery_of("a")),
        mark_of,
        |scene| scene.suspicion_of("a"),
    ];
    for (command, marked) in commands.into_iter().flat_map(|c| [(c, false), (c, true)]) {
        let (mut scene, token) = held();
        if marked {
            scene.mark_ending("a", 0);
        }
        let command = command(&scene);
        redriven(&mut scene, token, 1, 0).unwrap();

        let late = scene.carry_out(&command, 62);

        assert_eq!(answer(&late), "Unchanged", "{command:?}");
        assert_eq!(scene.holders(), ["a"]);
    }
}

#[test]
fn after_a_committed_stop_a_heartbeat_fails_and_a_success_counts() {
    let (mut scene, token) = held();
    suspect(&mut scene, 62);
    assert_eq!(stop(&mut scene, StopReason::Stale, 82), "Done");

    let late = scene.renew("a", token, 83);
    assert_eq!(scene.holders(), ["a"], "its work is still being stopped");
    scene.release("a", RunOutcome::Succeeded, 83).unwrap();

    assert_eq!(answer(&late), "Err(LeaseLost)");
    assert_eq!(scene.ended(token), Some(RunOutcome::Succeeded));
}

#[test]
fn a_holder_is_stopped_only_for_a_run_that_still_waits() {
    let (mut given_up, _) = held();
    given_up.acquire("b", WhenFull::Replace, 1).unwrap();
    given_up.evict("b", 2).unwrap();

    let gone = stop(&mut given_up, StopReason::Replaced, 3);

    assert_eq!(gone, "Unchanged");
    assert_eq!(given_up.lease("a").exit.replaced_by, None);
    let ending = stopped_for_another()
        .lease("a")
        .exit
        .ending
        .clone()
        .unwrap();
    assert_eq!((ending.since, ending.cause), (at(2), EndingCause::Stopped));
}

#[test]
fn the_end_of_the_work_is_noted_once_and_keeps_the_permit() {
    let (mut scene, _) = held();

    let noted = [5, 6].map(|second| scene.mark_ending("a", second));

    assert_eq!(noted, [Outcome::Done, Outcome::Done]);
    let ending = scene.lease("a").exit.ending.clone().unwrap();
    assert_eq!((ending.since, ending.cause), (at(5), EndingCause::Over));
    assert_eq!(scene.record().due, Some(at(5)), "the sweep goes on with it");
}

#[test]
fn the_end_of_work_that_is_under_no_lease_any_more_is_lost() {
    let (mut scene, _) = held();
    let mark = mark_of(&scene);
    scene.release("a", RunOutcome::Failed, 5).unwrap();

    let done = scene.carry_out(&mark, 6);

    assert_eq!(answer(&done), "Lost");
}

#[test]
fn a_late_heartbeat_does_not_hide_that_the_work_is_being_stopped() {
    let (mut scene, token) = held();
    scene.mark_ending("a", 5);
    redriven(&mut scene, token, 0, 6).unwrap();
    assert!(scene.lease("a").exit.ending.is_some(), "no new redrive");

    // A heartbeat 15 s after the ending was not sent before it, so the execution continues.
    for (second, hides) in [(19, false), (20, true)] {
        scene.renew("a", token, second).unwrap();

        assert_eq!(scene.lease("a").exit.ending.is_none(), hides, "{second} s");
    }
}

#[test]
fn a_heartbeat_that_counts_more_redrives_goes_on_at_once() {
    let (mut scene, token) = held();
    scene.renew("a", token, 1).unwrap();
    scene.mark_ending("a", 5);
    let mut recovered = scene.clone();
    recovered.recover("a", RecoveryBasis::Seen, 6).unwrap();

    let kept = redriven(&mut scene, token, 1, 7);
    let back = redriven(&mut recovered, token, 1, 7);
    let again = redriven(&mut scene, token, 1, 8);

    let answers = [&kept, &back, &again].map(answer);
    assert_eq!(answers, ["Renewed", "Reinstated", "Renewed"]);
    assert_eq!(scene.lease("a").exit.ending, None);
}

#[test]
fn a_heartbeat_of_the_attempt_before_the_end_brings_nothing_back() {
    let (mut scene, token) = held();
    scene.renew("a", token, 1).unwrap();
    scene.recover("a", RecoveryBasis::Seen, 6).unwrap();

    let late = redriven(&mut scene, token, 0, 7);

    assert_eq!(answer(&late), "Err(LeaseLost)");
}

#[test]
fn a_run_of_the_same_key_is_no_duplicate_of_the_one_that_is_ending() {
    let mut scene = Scene::ticking(2);
    scene.mark_ending("a", 1);

    let refused = scene.ask(scene.tick("b"), WhenFull::Refuse, 2).unwrap_err();

    assert!(
        refused.should_wait_for_ending_holder(&scene.tick("b")),
        "{refused:?}"
    );
}

#[test]
fn a_waiter_of_the_same_key_is_let_in_when_the_ending_run_has_failed() {
    for (succeeded, holders, effect) in [(false, vec!["c"], "Wake"), (true, vec![], "Dismiss")] {
        let mut scene = Scene::ticking(1);
        scene.mark_ending("a", 1);
        scene.ask(scene.tick("c"), WAIT, 2).unwrap();
        let recover = Command::Recover(Recover {
            succeeded,
            ..scene.recovery_of("a")
        });

        let done = scene.carry_out(&recover, 3).unwrap();

        assert_eq!(scene.holders(), holders, "{succeeded}");
        assert_eq!(effects(&done), [effect]);
    }
}

/// The holder was stopped before its wake-up arrived, and acquires again before its execution ends.
#[test]
fn a_stopped_holder_that_waits_again_and_dies_leaves_its_permit() {
    let mut scene = stopped_for_another();
    scene.acquire("a", WhenFull::Replace, 3).unwrap();
    assert_eq!(scene.line(), ["a", "b"]);

    let done = scene.recover("a", RecoveryBasis::Seen, 4).unwrap();

    assert!(scene.holders().is_empty(), "{:?}", scene.holders());
    assert!(done.effects.contains(&Effect::HandOver), "{done:?}");
    scene.hand_over(4);
    assert_eq!(scene.holders(), ["a"], "its own place is the first");
}

/// The fast path requires that the caller holds no permit.
#[test]
fn a_stopped_holder_joins_the_queue_by_what_was_seen() {
    let mut scene = stopped_for_another();

    let done = scene.queue("a", 3);

    assert_eq!(answer(&done), "Queued");
    assert_eq!(done.unwrap().fast_path, None);
    assert_eq!(scene.line(), ["b", "a"]);
}

#[test]
fn a_mark_of_a_suspect_is_set_once() {
    let (mut marked, _) = held();
    suspect(&mut marked, 62);
    let mut stopped = stopped_for_another();
    suspect(&mut stopped, 62);
    for mut scene in [marked, stopped] {
        let before = scene.lease("a").exit.suspect;

        assert_eq!(suspect(&mut scene, 70), "Unchanged");

        assert_eq!(scene.lease("a").exit.suspect, before);
    }
}

/// Two checks gather the same evidence at once.
#[test]
fn a_note_of_an_ending_that_another_check_has_made_is_done() {
    let (mut scene, token) = held();
    let mark = mark_of(&scene);
    scene.mark_ending("a", 5);
    let mut renewed = scene.clone();
    renewed.renew("a", token, 10).unwrap();

    let answers = [&mut scene, &mut renewed].map(|scene| answer(&scene.carry_out(&mark, 11)));

    assert_eq!(answers, ["Done", "Unchanged"]);
}
