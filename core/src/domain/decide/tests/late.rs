//! Heartbeats that arrive after a later one.

use super::scene::{Decision, Scene, answer, at, held, holder};
use crate::domain::{Command, Outcome, Pace, Renew, Seconds, fast_path};
use crate::store::Commit;
use crate::testing::{self, task_token};

/// Returns the heartbeat that was sent at `second` and sets a lease of `length` seconds.
fn sent(scene: &Scene, length: u32, beat: &str) -> Command {
    let pace = Pace {
        length: Seconds::of(length),
        heartbeat: Seconds::of(length / 3),
    };
    Command::Renew(Renew {
        beat: Some(task_token(beat)),
        pace: Some(pace),
        ..testing::renew(holder("a"), scene.token("a"))
    })
}

fn end(decided: Decision) -> Outcome {
    decided.expect("a renewal").outcome
}

#[test]
fn a_heartbeat_that_arrives_after_a_later_one_changes_nothing() {
    for (length, later) in [(60, 60), (60, 900)] {
        let (mut scene, _) = held();
        let (late, next) = (sent(&scene, length, "old"), sent(&scene, later, "new"));
        scene.carry_out(&next, 20).unwrap();
        let before = scene.record().clone();

        let answered = end(scene.carry_out(&late, 10));

        let expires_at = at(20 + u64::from(later));
        assert_eq!(answered, Outcome::Renewed { expires_at });
        assert_eq!(scene.record(), &before);
        // The function of the late heartbeat may also run after the later one.
        if length < later {
            assert_eq!(end(scene.carry_out(&late, 30)), answered);
            assert_eq!(scene.record(), &before);
        }
    }
}

#[test]
fn a_late_write_of_a_heartbeat_finds_its_guard_broken() {
    let (mut scene, _) = held();
    let written =
        fast_path(&sent(&scene, 60, "old"), at(10)).expect("it is written without a read");
    scene.carry_out(&sent(&scene, 60, "new"), 20).unwrap();

    let done = scene.items.commit(&written.change);

    assert!(matches!(done, Commit::Conflict(_)), "{done:?}");
}

#[test]
fn a_heartbeat_counts_though_clocks_differ_and_moves_no_end_back() {
    let (mut scene, _) = held();
    scene.carry_out(&sent(&scene, 60, "old"), 20).unwrap();

    // The clock of the function that executes the heartbeat is a second behind.
    end(scene.carry_out(&sent(&scene, 60, "new"), 19));

    let lease = scene.lease("a");
    assert_eq!(
        (lease.expires_at, lease.beat.clone()),
        (at(80), Some(task_token("new")))
    );
}

#[test]
fn a_heartbeat_without_a_pace_is_judged_by_the_lease() {
    let (mut scene, token) = held();
    let unpaced = Command::Renew(Renew {
        pace: None,
        ..testing::renew(holder("a"), token)
    });
    assert!(fast_path(&unpaced, at(10)).is_none());
    scene.carry_out(&sent(&scene, 60, "new"), 20).unwrap();

    let late = answer(&scene.carry_out(&unpaced, 10));

    assert_eq!(
        (late.as_str(), scene.lease("a").expires_at),
        ("Renewed", at(80))
    );
    assert_eq!(
        end(scene.carry_out(&unpaced, 40)),
        Outcome::Renewed {
            expires_at: at(100)
        }
    );
}

#[test]
fn a_late_heartbeat_without_a_new_redrive_changes_nothing() {
    let (mut scene, token) = held();
    let late = Command::Renew(Renew {
        beat: Some(task_token("old")),
        redrives: Some(0),
        ..testing::renew(holder("a"), token)
    });
    scene.carry_out(&sent(&scene, 60, "new"), 20).unwrap();
    let before = scene.record().clone();

    let answered = end(scene.carry_out(&late, 10));

    let expires_at = at(80);
    assert_eq!(answered, Outcome::Renewed { expires_at });
    assert_eq!(scene.record(), &before);
}
