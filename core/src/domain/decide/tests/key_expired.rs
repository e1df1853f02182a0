//! Runs whose run key has no marker any more: its TTL has removed it before the entry in the history, because
//! `RunKeyRetentionDays` is shorter than `RunRetentionDays`.

use super::scene::{RETENTION, Scene, answer, run_key, ticking_under};
use crate::domain::{Command, RecoveryBasis, RunId, RunOutcome, StalePolicy};

/// Returns a second at which the marker of a run that ended at second 5 is gone, and its entry is kept.
fn after_the_key() -> u64 {
    let second = 5 + u64::from(RETENTION.run_keys.get()) + 1;
    assert!(second < 5 + u64::from(RETENTION.history.get()));
    second
}

/// Removes the marker, as the TTL of its item does.
fn expire(scene: &mut Scene) {
    let marker = scene.items.runs.remove(&RunId::Key(run_key("tick")));
    assert!(marker.is_some_and(|run| run.end.is_some()));
}

#[test]
fn a_redriven_run_gets_its_grant_back_without_the_marker_of_its_key() {
    let (mut scene, token) = ticking_under(StalePolicy::Terminate);
    scene.recover("a", RecoveryBasis::Seen, 5).unwrap();
    expire(&mut scene);

    let beat = scene.renew("a", token, after_the_key());

    assert_eq!(answer(&beat), "Reinstated");
}

#[test]
fn a_late_success_is_recorded_after_the_marker_of_its_key_is_gone() {
    let (mut scene, token) = ticking_under(StalePolicy::Terminate);
    let release = Command::Release(scene.release_of("a"));
    scene.recover("a", RecoveryBasis::Seen, 5).unwrap();
    expire(&mut scene);

    scene.carry_out(&release, after_the_key()).unwrap();

    assert_eq!(scene.ended(token), Some(RunOutcome::Succeeded));
}
