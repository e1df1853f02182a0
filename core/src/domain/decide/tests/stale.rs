//! Holders that exceeded their run time, made no progress or fell silent, under each stale policy.

use super::scene::{Decision, RETENTION, Scene, answer, at, audit_note, effects, held, holder};
use crate::domain::{
    ActKind, Command, Freeze, Mode, Outcome, Refusal, Renew, RunOutcome, Seconds, StalePolicy,
    Staleness,
};
use crate::testing;

/// Returns a run with `maxRunSeconds` 100 and `noProgressSeconds` 50.
fn bounded(stale: StalePolicy) -> Scene {
    Scene::held_on(1, |terms| {
        terms.max_run = Some(Seconds::of(100));
        terms.no_progress = Some(Seconds::of(50));
        terms.stale = stale;
    })
}

fn report(scene: &mut Scene, progress: &str, second: u64) -> Decision {
    let renew = Renew {
        progress: Some(progress.into()),
        ..testing::renew(holder("a"), scene.token("a"))
    };
    scene.carry_out(&Command::Renew(renew), second)
}

fn freeze(scene: &mut Scene, second: u64) -> String {
    let freeze = Command::Freeze(Freeze {
        holder: holder("a"),
        token: scene.token("a"),
        note: "a stopped renewing".into(),
        retention: RETENTION,
    });
    answer(&scene.carry_out(&freeze, second))
}

fn why_stale(decision: Decision) -> Staleness {
    match decision {
        Err(Refusal::Stale { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_is_stale_unless_its_progress_changes() {
    let mut scene = bounded(StalePolicy::Terminate);
    report(&mut scene, "row 1", 40).unwrap();
    report(&mut scene, "row 1", 80).unwrap();

    let moved = report(&mut scene.clone(), "row 2", 90);
    let same = report(&mut scene, "row 1", 90);

    assert_eq!(answer(&moved), "Renewed");
    assert!(matches!(why_stale(same), Staleness::Stalled(_)));
}

#[test]
fn a_heartbeat_that_reports_nothing_is_no_progress() {
    let mut scene = bounded(StalePolicy::Terminate);
    let token = scene.token("a");

    let beats = [49, 50].map(|second| answer(&scene.renew("a", token, second)));

    assert_eq!(beats, ["Renewed", "Err(Stale)"]);
}

#[test]
fn a_run_over_its_time_is_stale_however_much_progress_it_makes() {
    let mut scene = bounded(StalePolicy::Terminate);
    report(&mut scene, "1", 40).unwrap();
    report(&mut scene, "2", 80).unwrap();

    let over = report(&mut scene, "3", 100);

    assert!(matches!(why_stale(over), Staleness::Overran(_)));
}

#[test]
fn a_stale_run_that_yields_loses_its_permit_to_the_next_and_runs_on() {
    let mut scene = bounded(StalePolicy::Yield);
    let token = scene.token("a");
    scene.queue("b", 1).unwrap();

    let over = scene.renew("a", token, 100);
    let later = scene.renew("a", token, 120).unwrap();

    assert_eq!(answer(&over), "Yielded");
    let names = effects(&over.unwrap());
    assert_eq!(names, ["EndHeartbeat", "Wake"], "its state ends");
    assert_eq!(scene.ended(token), Some(RunOutcome::Lost));
    assert_eq!(scene.holders(), ["b"]);
    assert!(
        matches!(later.outcome, Outcome::Ended | Outcome::Renewed { .. }),
        "{later:?}"
    );
}

#[test]
fn a_stale_run_that_holds_freezes_the_lock_and_keeps_its_permit() {
    let mut scene = bounded(StalePolicy::Hold);
    let token = scene.token("a");

    let over = scene.renew("a", token, 100);
    let again = scene.renew("a", token, 120);
    let other = scene.queue("b", 121);

    let answers = [&over, &again, &other].map(answer);
    assert_eq!(answers, ["Frozen", "Renewed", "Err(Frozen)"]);
    assert_eq!(scene.holders(), ["a"]);
}

#[test]
fn only_a_holder_that_stays_silent_for_its_time_freezes_the_lock() {
    let (mut scene, token) = held();
    scene.renew("a", token, 70).unwrap();

    let late = freeze(&mut scene, 71);
    scene.carry_out(&scene.suspicion_of("a"), 132).unwrap();
    let [early, silent] = [151, 152].map(|second| freeze(&mut scene, second));

    assert_eq!([late, early, silent], ["Unchanged", "Unchanged", "Frozen"]);
    assert!(matches!(scene.record().gate.mode, Mode::Frozen { .. }));
}

/// The evidence cannot be read, so the holder was never marked as a suspect.
#[test]
fn a_holder_without_readable_evidence_freezes_its_lock_after_an_hour() {
    let (mut scene, _) = held();
    let bound = 60 + 3_600;

    let answers = [bound - 1, bound].map(|second| freeze(&mut scene, second));
    scene.resume(bound + 1);
    let again = freeze(&mut scene, bound + 3_600);

    assert_eq!(answers, ["Unchanged", "Frozen"]);
    assert_eq!(again, "Unchanged", "the resume gave it new time");
}

/// The sweep ends an expired pause up to a minute late. A pause that has not expired keeps its note.
#[test]
fn a_lock_freezes_from_the_end_of_its_pause_on() {
    for (until, answers) in [
        (Some(101), ["Frozen", "Frozen"]),
        (Some(103), ["Renewed", "Unchanged"]),
        (None, ["Renewed", "Unchanged"]),
    ] {
        let mut beats = bounded(StalePolicy::Hold);
        let pause = Command::Pause(audit_note("upgrade"), until.map(at));
        beats.carry_out(&pause, 1).unwrap();
        let (mut silent, token) = (beats.clone(), beats.token("a"));

        let late = answer(&beats.renew("a", token, 102));
        let judged = freeze(&mut silent, 102);

        assert_eq!([&*late, &*judged], answers, "{until:?}");
        for scene in [beats, silent] {
            let frozen = scene.record().gate.is_frozen();
            assert_eq!(frozen, answers[1] == "Frozen", "{until:?}");
        }
    }
}

/// The lock is frozen by a late heartbeat, or by the reaper.
#[test]
fn a_freeze_is_in_the_history_with_its_reason() {
    let (mut beats, mut silent) = (bounded(StalePolicy::Hold), bounded(StalePolicy::Hold));

    report(&mut beats, "row 1", 101).unwrap();
    freeze(&mut silent, 101);

    for (scene, reason) in [
        (beats, "a exceeded its run time (maxRunSeconds)"),
        (silent, "a stopped renewing"),
    ] {
        assert_eq!(scene.acts(), [("a", ActKind::Frozen, reason)]);
    }
}

/// The workflow of the run may report the end of its work, or send another heartbeat.
#[test]
fn only_a_run_that_continues_without_its_permit_keeps_its_lease() {
    for (yields, kept) in [(true, true), (false, false)] {
        let mut scene = bounded(StalePolicy::Yield);
        let token = scene.token("a");
        match yields {
            true => report(&mut scene, "row 1", 101).unwrap(),
            false => scene.release("a", RunOutcome::Succeeded, 50).unwrap(),
        };

        let entry = scene.history(token).unwrap();
        assert_eq!(entry.lease.is_some(), kept, "{entry:?}");
    }
}

/// Its work is stopping, so no operator has to look at it. The heartbeat was sent before the end of the run.
#[test]
fn a_late_heartbeat_of_an_ending_run_under_hold_freezes_no_lock() {
    let mut scene = bounded(StalePolicy::Hold);
    report(&mut scene, "row 1", 40).unwrap();
    report(&mut scene, "row 2", 80).unwrap();
    scene.mark_ending("a", 99);

    report(&mut scene, "row 3", 101).unwrap();

    let mode = &scene.record().gate.mode;
    assert_eq!(*mode, Mode::Open);
}
