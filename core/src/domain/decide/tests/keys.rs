//! One success per run key: the end of the work decides, however the grant ended.

use super::scene::{
    Decision, RETENTION, Scene, WAIT, answer, at, audit_note, effects, holder, run_key,
    ticking_under, yielded,
};
use crate::domain::{
    Command, Expectation, FencingToken, Forget, NoteTask, Outcome, Recover, RecoveryBasis, Refusal,
    Release, Run, RunOutcome, Seconds, Settle, StalePolicy, Terms, Timestamp, WhenFull, decide,
};
use crate::testing;

fn again(scene: &mut Scene, second: u64) -> Decision {
    scene.ask(scene.tick("b"), WhenFull::Refuse, second)
}

fn ends(scene: &mut Scene, token: FencingToken, outcome: RunOutcome, second: u64) -> Outcome {
    let release = Command::Release(Release {
        run_key: Some(run_key("tick")),
        outcome,
        ..testing::release(holder("a"), token)
    });
    scene.carry_out(&release, second).unwrap().outcome
}

fn settle(token: FencingToken, succeeded: bool) -> Command {
    Command::Settle(Settle {
        run_key: run_key("tick"),
        token,
        succeeded,
        evidence: "the execution is ABORTED".into(),
        retention: RETENTION,
    })
}

fn is_duplicate(decision: &Decision) -> bool {
    matches!(decision, Err(Refusal::Duplicate { .. }))
}

#[test]
fn a_run_that_goes_on_without_its_permit_keeps_its_key() {
    let (mut scene, _) = yielded();

    let meanwhile = again(&mut scene, 101);
    let other = scene.acquire("c", WhenFull::Refuse, 102);

    let answers = [&meanwhile, &other].map(answer);
    assert_eq!(answers, ["Err(Duplicate)", "Granted"]);
}

/// A silent process has stopped its work. An execution that is seen to have ended has no work left.
#[test]
fn only_a_silent_execution_under_yield_keeps_its_key() {
    let execution = "arn:aws:states:eu-west-1:123456789012:execution:report:a";
    let (expired, seen) = (RecoveryBasis::Expired, RecoveryBasis::Seen);
    for (name, stale, basis, keeps) in [
        (execution, StalePolicy::Yield, expired, true),
        (execution, StalePolicy::Yield, seen, false),
        (execution, StalePolicy::Terminate, expired, false),
        ("worker-1", StalePolicy::Yield, expired, false),
    ] {
        let mut scene = Scene::new(1);
        let terms = Terms {
            stale,
            ..scene.tick(name)
        };
        scene.ask(terms, WhenFull::Refuse, 0).unwrap();

        scene.recover(name, basis, 100).unwrap();

        let next = again(&mut scene, 101);
        assert_eq!(is_duplicate(&next), keeps, "{name} {stale:?} {basis:?}");
    }
}

#[test]
fn a_yielded_run_keeps_its_key_by_success_and_frees_it_by_failure() {
    for (outcome, duplicate) in [(RunOutcome::Succeeded, true), (RunOutcome::Failed, false)] {
        let (mut scene, token) = yielded();

        let done = ends(&mut scene, token, outcome, 200);

        assert!(matches!(done, Outcome::Lost { .. }), "{done:?}");
        let next = again(&mut scene, 201);
        assert_eq!(is_duplicate(&next), duplicate, "{outcome:?}");
        assert_eq!(scene.ended(token), Some(outcome));
    }
}

#[test]
fn the_end_of_a_yielded_run_is_recorded_while_others_hold_the_lock() {
    let (mut scene, token) = yielded();
    scene.acquire("c", WhenFull::Refuse, 150).unwrap();

    ends(&mut scene, token, RunOutcome::Succeeded, 200);

    scene.release("c", RunOutcome::Succeeded, 210).unwrap();
    assert!(is_duplicate(&again(&mut scene, 211)));
}

#[test]
fn a_yielded_run_is_settled_once_and_only_under_its_own_token() {
    for succeeded in [true, false] {
        let (mut scene, token) = yielded();
        let other = FencingToken::from_number(token.number() - 1);

        let answers = [other, token, token]
            .map(|token| answer(&scene.carry_out(&settle(token, succeeded), 200)));

        assert_eq!(answers, ["Unchanged", "Done", "Unchanged"]);
        assert_eq!(is_duplicate(&again(&mut scene, 202)), succeeded);
    }
}

/// The run has lost its permit already, so its end changes nothing else in the record.
#[test]
fn a_settled_end_writes_the_record_only_for_an_expected_success() {
    let every = Expectation::starting(Seconds::of(600), at(0));
    for (expected, succeeded, writes) in [
        (Some(every), true, true),
        (Some(every), false, false),
        (None, true, false),
    ] {
        let (mut scene, token) = yielded();
        scene.record_mut().expectation = expected;

        let done = decide(&scene.read(None), &settle(token, succeeded), at(200)).unwrap();

        assert_eq!(done.outcome, Outcome::Done);
        assert_eq!(done.next.is_some(), writes, "{expected:?}, {succeeded}");
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
fn a_waiter_is_dismissed_if_a_yielded_run_has_its_run_key() {
    let (mut scene, _) = yielded();
    scene.acquire("c", WhenFull::Refuse, 101).unwrap();
    scene.ask(scene.tick("b"), WAIT, 102).unwrap();

    scene.release("c", RunOutcome::Succeeded, 103).unwrap();

    assert!(scene.record().is_idle(), "{:?}", scene.record());
}

#[test]
fn evidence_that_the_work_had_succeeded_takes_the_key() {
    let (mut scene, _) = ticking_under(StalePolicy::Terminate);
    let recover = Command::Recover(Recover {
        succeeded: true,
        ..scene.recovery_of("a")
    });

    let done = scene.carry_out(&recover, 5).unwrap();

    let outcome = Some(RunOutcome::Succeeded);
    assert_eq!(done.outcome, Outcome::Freed { outcome });
    assert!(is_duplicate(&again(&mut scene, 6)));
}

#[test]
fn a_late_success_takes_the_key_unless_another_run_has_taken_it() {
    let (mut scene, token) = ticking_under(StalePolicy::Terminate);
    scene.evict("a", 5).unwrap();
    let mut taken = scene.clone();
    again(&mut taken, 6).unwrap();
    let second = taken.token("b");

    for scene in [&mut scene, &mut taken] {
        ends(scene, token, RunOutcome::Succeeded, 10);
    }

    assert!(is_duplicate(&again(&mut scene, 11)));
    assert_eq!(taken.marker().token, second);
    assert_eq!(taken.ended(token), Some(RunOutcome::Evicted));
}

#[test]
fn a_late_failure_counts_only_for_a_yielded_run() {
    use RecoveryBasis::{Expired, Seen};
    use StalePolicy::{Terminate, Yield};
    for (stale, basis, expected) in [
        (Yield, Expired, RunOutcome::Failed),
        (Yield, Seen, RunOutcome::Recovered),
        (Terminate, Expired, RunOutcome::Lost),
    ] {
        let (mut scene, token) = ticking_under(stale);
        scene.recover("a", basis, 100).unwrap();

        ends(&mut scene, token, RunOutcome::Failed, 110);

        assert_eq!(scene.ended(token), Some(expected), "{stale:?}, {basis:?}");
    }
}

#[test]
fn a_success_that_is_reported_late_leaves_no_lease_and_no_task_beside_it() {
    let (mut scene, token) = yielded();
    let task = testing::task_end(1);
    let note = Command::NoteTask(NoteTask { token, task });
    scene.carry_out(&note, 105).unwrap();

    ends(&mut scene, token, RunOutcome::Succeeded, 110);

    let (entry, marker) = (scene.history(token).unwrap(), scene.marker());
    assert_eq!((&entry.lease, &marker.lease), (&None, &None));
    assert!(entry.task.is_some(), "the history keeps its task");
    assert_eq!(marker.task, None);
}

fn kept_until(run: &Run) -> Timestamp {
    run.end.as_ref().unwrap().retain_until
}

#[test]
fn a_run_key_and_the_history_are_kept_each_for_its_own_time() {
    let mut released = Scene::ticking(1);
    let token = released.token("a");
    released.release("a", RunOutcome::Succeeded, 9).unwrap();
    let (mut late, lost) = yielded();
    ends(&mut late, lost, RunOutcome::Succeeded, 110);
    let mut forgotten = released.clone();
    let forget = Forget {
        run_key: run_key("tick"),
        audit: audit_note("again"),
    };
    forgotten.carry_out(&Command::Forget(forget), 20).unwrap();

    for (case, scene, token, marked, entered) in [
        ("released", &released, token, 9, 9),
        ("after its grant", &late, lost, 110, 110),
        ("forgotten", &forgotten, token, 20, 9),
    ] {
        let marker = kept_until(scene.marker());
        let entry = kept_until(scene.history(token).unwrap());
        assert_eq!(marker, at(marked).plus(RETENTION.run_keys), "{case}");
        assert_eq!(entry, at(entered).plus(RETENTION.history), "{case}");
    }
}

#[test]
fn a_settled_end_is_written_into_the_history_within_its_retention() {
    // The lease ends at 61 s.
    let bound = 61 + u64::from(RETENTION.history.get());
    let succeeded = Some(RunOutcome::Succeeded);
    for (success, second, rewritten) in [
        (true, 110, succeeded),
        (true, bound - 1, succeeded),
        (true, bound, None),
        (false, 110, None),
    ] {
        let (mut scene, token) = yielded();
        let before = scene.history(token).cloned();

        let done = scene.carry_out(&settle(token, success), second);

        assert_eq!(answer(&done), "Done");
        let marker = scene.marker();
        assert!(marker.lease.is_none(), "{marker:?}");
        assert_eq!(kept_until(marker), at(second).plus(RETENTION.run_keys));
        let entry = scene.history(token);
        match rewritten {
            Some(_) => assert_eq!(entry.unwrap().outcome(), rewritten, "at {second} s"),
            None => assert_eq!(entry, before.as_ref(), "at {second} s"),
        }
    }
}

#[test]
fn a_waiter_is_no_duplicate_of_a_run_with_another_key_or_none() {
    for key in [None, Some("tock")] {
        let mut scene = Scene::held_on(1, |terms| terms.run_key = key.map(run_key));
        scene.ask(scene.tick("b"), WAIT, 1).unwrap();

        scene.release("a", RunOutcome::Succeeded, 2).unwrap();

        assert_eq!(scene.holders(), ["b"], "after {key:?}");
    }
}

#[test]
fn a_waiter_whose_key_a_holder_has_is_dismissed_at_its_turn() {
    let mut scene = Scene::held_by(2, &[("c", 0), ("d", 0)]);
    for name in ["a", "b"] {
        scene.ask(scene.tick(name), WAIT, 1).unwrap();
    }
    scene.release("c", RunOutcome::Succeeded, 2).unwrap();
    assert_eq!((scene.holders(), scene.line()), (vec!["a", "d"], vec!["b"]));

    let done = scene.release("d", RunOutcome::Succeeded, 3).unwrap();

    assert_eq!(effects(&done), ["Dismiss"]);
    assert_eq!(scene.holders(), ["a"]);
    assert!(scene.record().queue.is_empty());
}

/// Returns a lock of two permits, one of them held by a run with the key `tick` that is being stopped.
fn one_is_ending() -> Scene {
    let mut scene = Scene::held_on(2, |terms| terms.run_key = Some(run_key("tick")));
    scene.mark_ending("a", 5);
    scene
}

#[test]
fn a_run_waits_for_the_end_of_its_key_beside_a_free_permit() {
    for (when_full, expected) in [
        (WhenFull::Refuse, "Err(Held)"),
        (WAIT, "Queued"),
        (WhenFull::Replace, "Queued"),
    ] {
        let mut scene = one_is_ending();

        let first = scene.ask(scene.tick("b"), when_full, 10);
        let again = scene.ask(scene.tick("b"), when_full, 11);
        let other = scene.acquire("c", WhenFull::Refuse, 12);
        scene.recover("a", RecoveryBasis::Seen, 20).unwrap();
        let later = scene.ask(scene.tick("b"), when_full, 21);

        let answers = [&first, &again].map(answer);
        assert_eq!(answers, [expected; 2], "{when_full:?}");
        // A run that waits is granted a permit before a run that comes later.
        let waits = expected == "Queued";
        let behind = if waits { "Err(Held)" } else { "Granted" };
        assert_eq!(answer(&other), behind, "{when_full:?}");
        let turn = if waits { "AlreadyHeld" } else { "Granted" };
        assert_eq!(answer(&later), turn, "{when_full:?}");
    }
}

#[test]
fn a_retry_without_a_run_key_does_not_wait_for_its_ending_attempt() {
    let of_caller = |terms: &mut Terms| terms.parent = Some(holder("caller"));
    let mut scene = Scene::held_on(2, of_caller);
    scene.mark_ending("a", 5);
    let mut retry = scene.terms("b");
    of_caller(&mut retry);

    let second = scene.ask(retry, WhenFull::Refuse, 10);

    assert_eq!(answer(&second), "Granted");
}
