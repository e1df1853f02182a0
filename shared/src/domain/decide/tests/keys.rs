//! One success per run key: by the end of the work, whatever becomes of the grant.

use super::scene::{Decision, RETENTION, Scene, at, audit_note, holder, with_key};
use crate::domain::{
    Command, FencingToken, Forget, NoteTask, Outcome, Recover, RecoveryBasis, Refusal, Release,
    Run, RunKey, RunOutcome, Settle, StalePolicy, TaskEnd, Timestamp, WhenFull,
};
use crate::testing;

fn tick(stale: StalePolicy) -> (Scene, FencingToken) {
    let mut scene = Scene::new(1);
    let mut terms = with_key(scene.terms("a"), "tick");
    terms.stale = stale;
    scene.ask(terms, WhenFull::Refuse, 0).unwrap();
    let token = scene.token("a");
    scene.renew("a", token, 1).unwrap();
    (scene, token)
}

/// A run that went on without its permit.
fn yielded() -> (Scene, FencingToken) {
    let (mut scene, token) = tick(StalePolicy::Yield);
    scene.recover("a", RecoveryBasis::Expired, 100).unwrap();
    (scene, token)
}

fn again(scene: &mut Scene, second: u64) -> Decision {
    scene.ask(with_key(scene.terms("b"), "tick"), WhenFull::Refuse, second)
}

fn ends(scene: &mut Scene, token: FencingToken, outcome: RunOutcome, second: u64) -> Outcome {
    let release = Command::Release(Release {
        run_key: RunKey::new("tick").ok(),
        outcome,
        ..testing::release(holder("a"), token)
    });
    scene.carry_out(&release, second).unwrap().outcome
}

fn is_duplicate(decision: &Decision) -> bool {
    matches!(decision, Err(Refusal::Duplicate { .. }))
}

#[test]
fn a_run_that_goes_on_without_its_permit_keeps_its_key() {
    let (mut scene, _) = yielded();

    let meanwhile = again(&mut scene, 101);
    let other = scene.acquire("c", WhenFull::Refuse, 102);

    assert!(is_duplicate(&meanwhile), "{meanwhile:?}");
    assert!(other.is_ok(), "the lock is free: {other:?}");
}

#[test]
fn its_success_takes_the_key_for_good_and_its_failure_gives_it_back() {
    for (outcome, duplicate) in [(RunOutcome::Succeeded, true), (RunOutcome::Failed, false)] {
        let (mut scene, token) = yielded();

        let done = ends(&mut scene, token, outcome, 200);

        assert!(matches!(done, Outcome::Lost { .. }), "{done:?}");
        assert_eq!(
            is_duplicate(&again(&mut scene, 201)),
            duplicate,
            "{outcome:?}"
        );
        assert_eq!(scene.ended(token), Some(outcome));
    }
}

#[test]
fn its_end_is_recorded_while_others_hold_the_lock() {
    let (mut scene, token) = yielded();
    scene.acquire("c", WhenFull::Refuse, 150).unwrap();

    ends(&mut scene, token, RunOutcome::Succeeded, 200);

    scene.release("c", RunOutcome::Succeeded, 210).unwrap();
    assert!(is_duplicate(&again(&mut scene, 211)));
}

#[test]
fn the_end_of_a_run_that_died_without_its_permit_is_settled_once() {
    for (succeeded, duplicate) in [(true, true), (false, false)] {
        let (mut scene, token) = yielded();
        let settle = Command::Settle(Settle {
            run_key: RunKey::new("tick").unwrap(),
            token,
            succeeded,
            evidence: "the execution is ABORTED".into(),
            retention: RETENTION,
        });

        let first = scene.carry_out(&settle, 200).unwrap();
        let second = scene.carry_out(&settle, 201).unwrap();

        assert_eq!(first.outcome, Outcome::Done);
        assert_eq!(second.outcome, Outcome::Unchanged);
        let next = again(&mut scene, 202);
        assert_eq!(is_duplicate(&next), duplicate, "{succeeded}");
    }
}

#[test]
fn a_marker_that_is_never_settled_frees_its_key_after_the_retention() {
    let (mut scene, _) = yielded();
    let lease_end = 61;
    let over = lease_end + u64::from(RETENTION.run_keys.get());

    assert!(is_duplicate(&again(&mut scene, over - 1)));
    assert!(again(&mut scene, over).is_ok());
}

#[test]
fn a_waiter_whose_key_is_kept_by_a_run_without_its_permit_is_dismissed_at_its_turn() {
    let (mut scene, _) = yielded();
    scene.acquire("c", WhenFull::Refuse, 101).unwrap();
    let waits = WhenFull::Queue { most: 9 };
    scene
        .ask(with_key(scene.terms("b"), "tick"), waits, 102)
        .unwrap();

    scene.release("c", RunOutcome::Succeeded, 103).unwrap();

    assert!(scene.record().is_idle(), "{:?}", scene.record());
}

#[test]
fn evidence_that_the_work_had_succeeded_takes_the_key() {
    let (mut scene, token) = tick(StalePolicy::Terminate);
    let recover = Command::Recover(Recover {
        succeeded: true,
        evidence: "the execution is ABORTED; its work had succeeded".into(),
        ..testing::recover(holder("a"), token, scene.seen("a"))
    });

    let done = scene.carry_out(&recover, 5).unwrap();

    let outcome = Some(RunOutcome::Succeeded);
    assert_eq!(done.outcome, Outcome::Freed { outcome });
    assert!(is_duplicate(&again(&mut scene, 6)));
}

#[test]
fn a_late_success_takes_the_key_unless_another_run_has_taken_it() {
    let (mut scene, token) = tick(StalePolicy::Terminate);
    scene.evict("a", 5).unwrap();
    let mut taken = scene.clone();
    again(&mut taken, 6).unwrap();
    let second = taken.token("b");

    ends(&mut scene, token, RunOutcome::Succeeded, 10);
    ends(&mut taken, token, RunOutcome::Succeeded, 10);

    assert!(is_duplicate(&again(&mut scene, 11)));
    assert_eq!(taken.marker("tick").unwrap().token, second);
    assert_eq!(taken.ended(token), Some(RunOutcome::Evicted));
}

#[test]
fn a_failure_that_is_reported_late_counts_only_where_the_run_went_on_without_its_permit() {
    let cases = [
        (
            StalePolicy::Yield,
            RecoveryBasis::Expired,
            RunOutcome::Failed,
        ),
        (
            StalePolicy::Yield,
            RecoveryBasis::Seen,
            RunOutcome::Recovered,
        ),
        (
            StalePolicy::Terminate,
            RecoveryBasis::Expired,
            RunOutcome::Lost,
        ),
    ];
    for (stale, basis, expected) in cases {
        let (mut scene, token) = tick(stale);
        scene.recover("a", basis, 100).unwrap();

        ends(&mut scene, token, RunOutcome::Failed, 110);

        assert_eq!(scene.ended(token), Some(expected), "{stale:?}, {basis:?}");
    }
}

#[test]
fn a_success_that_is_reported_late_leaves_no_lease_and_no_task_beside_it() {
    let (mut scene, token) = yielded();
    let task = TaskEnd {
        arn: "arn:aws:ecs:x:1:task/c/1".into(),
        version: 1,
        runtime_id: None,
        exit_code: Some(0),
        reason: None,
    };
    let note = Command::NoteTask(NoteTask { token, task });
    scene.carry_out(&note, 105).unwrap();

    ends(&mut scene, token, RunOutcome::Succeeded, 110);

    let (entry, marker) = (scene.history(token).unwrap(), scene.marker("tick").unwrap());
    assert_eq!((&entry.lease, &marker.lease), (&None, &None));
    assert!(entry.task.is_some(), "the history keeps its task");
    assert_eq!(marker.task, None);
}

#[test]
fn a_marker_is_settled_only_for_its_own_grant_and_only_while_it_is_open() {
    let (mut scene, token) = yielded();
    let settle = |token| {
        Command::Settle(Settle {
            run_key: RunKey::new("tick").unwrap(),
            token,
            succeeded: true,
            evidence: "its work had succeeded".into(),
            retention: RETENTION,
        })
    };
    let other = FencingToken::from_number(token.number() - 1);

    let of_other = scene.carry_out(&settle(other), 110).unwrap();
    let own = scene.carry_out(&settle(token), 111).unwrap();
    let again = scene.carry_out(&settle(token), 112).unwrap();

    assert_eq!(of_other.outcome, Outcome::Unchanged);
    assert_eq!(own.outcome, Outcome::Done);
    assert_eq!(again.outcome, Outcome::Unchanged);
}

fn kept_until(run: &Run) -> Timestamp {
    run.end.as_ref().unwrap().retain_until
}

#[test]
fn a_run_key_and_the_history_are_kept_each_for_its_own_time() {
    let mut released = Scene::new(1);
    let terms = with_key(released.terms("a"), "tick");
    released.ask(terms, WhenFull::Refuse, 0).unwrap();
    let token = released.token("a");
    released.release("a", RunOutcome::Succeeded, 9).unwrap();
    let (mut late, lost) = yielded();
    let release = Release {
        run_key: RunKey::new("tick").ok(),
        ..testing::release(holder("a"), lost)
    };
    late.carry_out(&Command::Release(release), 110).unwrap();
    let mut forgotten = released.clone();
    let forget = Forget {
        run_key: RunKey::new("tick").unwrap(),
        audit: audit_note("again"),
    };
    forgotten.carry_out(&Command::Forget(forget), 20).unwrap();

    for (case, scene, token, marked, entered) in [
        ("released", &released, token, 9, 9),
        ("after its grant", &late, lost, 110, 110),
        ("forgotten", &forgotten, token, 20, 9),
    ] {
        let marker = kept_until(scene.marker("tick").unwrap());
        let entry = kept_until(scene.history(token).unwrap());
        assert_eq!(marker, at(marked).plus(RETENTION.run_keys), "{case}");
        assert_eq!(entry, at(entered).plus(RETENTION.history), "{case}");
    }
}

#[test]
fn a_settled_end_is_in_the_history_as_far_as_that_may_remember_the_run() {
    // The lease ends at 61 s.
    let bound = 61 + u64::from(RETENTION.history.get());
    let cases = [
        (true, 110, Some(RunOutcome::Succeeded)),
        (true, bound - 1, Some(RunOutcome::Succeeded)),
        (true, bound, None),
        (false, 110, None),
    ];
    for (succeeded, second, rewritten) in cases {
        let (mut scene, token) = yielded();
        let before = scene.history(token).cloned();
        let settle = Command::Settle(Settle {
            run_key: RunKey::new("tick").unwrap(),
            token,
            succeeded,
            evidence: "over".into(),
            retention: RETENTION,
        });

        let done = scene.carry_out(&settle, second).unwrap();

        assert_eq!(done.outcome, Outcome::Done);
        let marker = scene.marker("tick").unwrap();
        assert!(marker.lease.is_none(), "{marker:?}");
        assert_eq!(kept_until(marker), at(second).plus(RETENTION.run_keys));
        let entry = scene.history(token);
        match rewritten {
            Some(outcome) => assert_eq!(entry.unwrap().outcome(), Some(outcome), "at {second} s"),
            None => assert_eq!(entry, before.as_ref(), "at {second} s"),
        }
    }
}

#[test]
fn a_waiter_is_no_duplicate_of_a_run_with_another_key_or_none() {
    for key in [None, Some("tock")] {
        let mut scene = Scene::new(1);
        let mut terms = scene.terms("a");
        terms.run_key = key.and_then(|key| RunKey::new(key).ok());
        scene.ask(terms, WhenFull::Refuse, 0).unwrap();
        let next = with_key(scene.terms("b"), "tick");
        scene.ask(next, WhenFull::Queue { most: 9 }, 1).unwrap();

        scene.release("a", RunOutcome::Succeeded, 2).unwrap();

        assert_eq!(scene.holders(), ["b"], "after {key:?}");
    }
}
