//! Holders that overran, hang or fell silent, under each policy.

use super::scene::{Decision, RETENTION, Scene, holder};
use crate::domain::{
    Command, Freeze, Mode, Outcome, Refusal, Renew, RunId, RunOutcome, Seconds, StalePolicy,
    Staleness, Suspect, WhenFull,
};
use crate::testing;

/// A run that must be over after 100 seconds and make progress every 50.
fn bounded(stale: StalePolicy) -> Scene {
    let mut scene = Scene::new(1);
    let mut terms = scene.terms("a");
    terms.max_run = Some(Seconds::of(100));
    terms.no_progress = Some(Seconds::of(50));
    terms.stale = stale;
    scene.ask(terms, WhenFull::Refuse, 0).unwrap();
    scene
}

fn report(scene: &mut Scene, progress: &str, second: u64) -> Decision {
    let renew = Renew {
        progress: Some(progress.into()),
        ..testing::renew(holder("a"), scene.token("a"))
    };
    scene.carry_out(&Command::Renew(renew), second)
}

#[test]
fn a_run_without_progress_is_stale_and_a_changed_progress_is_what_counts() {
    let mut scene = bounded(StalePolicy::Terminate);
    report(&mut scene, "row 1", 40).unwrap();
    report(&mut scene, "row 1", 80).unwrap();

    let moved = report(&mut scene.clone(), "row 2", 90);
    let same = report(&mut scene, "row 1", 90);

    assert!(moved.is_ok(), "{moved:?}");
    let Err(Refusal::Stale { why, .. }) = same else {
        panic!("{same:?}")
    };
    assert!(matches!(why, Staleness::Stalled(_)));
}

#[test]
fn a_heartbeat_that_reports_nothing_is_no_progress() {
    let mut scene = bounded(StalePolicy::Terminate);
    let token = scene.token("a");
    scene.renew("a", token, 49).unwrap();

    let hung = scene.renew("a", token, 50);

    assert!(matches!(hung, Err(Refusal::Stale { .. })), "{hung:?}");
}

#[test]
fn a_run_over_its_time_is_stale_however_much_progress_it_makes() {
    let mut scene = bounded(StalePolicy::Terminate);
    report(&mut scene, "1", 40).unwrap();
    report(&mut scene, "2", 80).unwrap();

    let over = report(&mut scene, "3", 100);

    let Err(Refusal::Stale { why, .. }) = over else {
        panic!("{over:?}")
    };
    assert!(matches!(why, Staleness::Overran(_)));
}

#[test]
fn a_stale_run_that_yields_loses_its_permit_to_the_next_and_runs_on() {
    let mut scene = bounded(StalePolicy::Yield);
    let token = scene.token("a");
    scene.queue("b", 1).unwrap();

    let over = scene.renew("a", token, 100).unwrap();
    let later = scene.renew("a", token, 120).unwrap();

    assert!(matches!(over.outcome, Outcome::Yielded { .. }), "{over:?}");
    assert_eq!(over.effects.len(), 2, "its state ends, the next one wakes");
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

    let over = scene.renew("a", token, 100).unwrap();
    let again = scene.renew("a", token, 120).unwrap();
    let other = scene.queue("b", 121);

    assert!(matches!(over.outcome, Outcome::Frozen { .. }), "{over:?}");
    assert!(
        matches!(again.outcome, Outcome::Renewed { .. }),
        "{again:?}"
    );
    assert!(matches!(other, Err(Refusal::Frozen { .. })), "{other:?}");
    assert_eq!(scene.holders(), ["a"]);
}

#[test]
fn only_a_holder_that_stays_silent_for_its_time_freezes_the_lock() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    let freeze = Command::Freeze(Freeze {
        holder: holder("a"),
        token,
        note: "silent".into(),
        retention: RETENTION,
    });
    scene.renew("a", token, 70).unwrap();

    let late = scene.carry_out(&freeze, 71).unwrap();
    let suspect = Command::Suspect(Suspect {
        holder: holder("a"),
        token,
        seen: scene.seen("a"),
    });
    scene.carry_out(&suspect, 132).unwrap();
    let early = scene.carry_out(&freeze, 151).unwrap();
    let silent = scene.carry_out(&freeze, 152).unwrap();

    assert_eq!(late.outcome, Outcome::Unchanged);
    assert_eq!(early.outcome, Outcome::Unchanged);
    assert!(
        matches!(silent.outcome, Outcome::Frozen { .. }),
        "{silent:?}"
    );
    assert!(matches!(scene.record().mode, Mode::Frozen { .. }));
}

/// By a heartbeat that comes too late, or by the reaper.
#[test]
fn a_freeze_is_in_the_history_with_its_reason() {
    let (mut beats, mut silent) = (bounded(StalePolicy::Hold), bounded(StalePolicy::Hold));
    let freeze = Freeze {
        holder: holder("a"),
        token: silent.token("a"),
        note: "a stopped renewing".into(),
        retention: RETENTION,
    };
    report(&mut beats, "row 1", 101).unwrap();
    silent.carry_out(&Command::Freeze(freeze), 101).unwrap();

    for (scene, reason) in [
        (beats, "a is over its time (maxRunSeconds)"),
        (silent, "a stopped renewing"),
    ] {
        let act = RunId::Act(scene.record().version);
        let end = scene.items.runs[&act].end.clone().unwrap();
        assert_eq!(end.outcome, RunOutcome::Frozen);
        assert_eq!(end.evidence.as_deref(), Some(reason));
    }
}

/// Its workflow may report the end of its work, or beat once more.
#[test]
fn the_history_keeps_the_lease_of_a_run_that_goes_on_without_its_permit_and_of_no_other_that_yields()
 {
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
