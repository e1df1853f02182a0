//! Which run gets a free permit, and with which token.

use super::scene::{Scene, WAIT, answer, at, effects, held, holder, run_key, task_token};
use crate::domain::{
    Command, DEAD_AFTER, FencingToken, Outcome, Permits, RunOutcome, Seconds, UNCONFIRMED_MAX,
    WhenFull,
};
use crate::testing;

#[test]
fn an_expired_lease_is_not_taken_over_without_evidence() {
    let (mut scene, _) = held();

    let decision = scene.acquire("new", WhenFull::Refuse, 10_000);

    assert_eq!(answer(&decision), "Err(Held)");
}

#[test]
fn a_clock_that_steps_back_still_gives_a_larger_token() {
    let mut scene = Scene::held_by(1, &[("first", 500)]);
    let token = scene.token("first");
    scene.release("first", RunOutcome::Succeeded, 501).unwrap();

    scene.acquire("second", WhenFull::Refuse, 100).unwrap();

    let next = FencingToken::from_number(token.number() + 1);
    assert_eq!(scene.token("second"), next);
}

#[test]
fn tokens_keep_growing_after_the_record_was_deleted() {
    let before = Scene::held_by(1, &[("first", 0)]).token("first");

    let after = Scene::held_by(1, &[("second", 1)]).token("second");

    assert!(after > before);
}

#[test]
fn a_holder_that_acquires_again_renews_its_expired_lease() {
    let (mut scene, token) = held();

    let again = scene.acquire("a", WhenFull::Refuse, 100).unwrap();

    let Outcome::AlreadyHeld { lease } = &again.outcome else {
        panic!("{:?}", again.outcome)
    };
    assert_eq!((lease.expires_at, lease.token), (at(160), token));
}

#[test]
fn a_running_run_and_a_success_within_retention_keep_the_run_key() {
    use RunOutcome::{Failed, Succeeded};
    // How the first run ends at second 5, when another run acquires with its key, and the answer.
    for (end, second, expected) in [
        (None, 1, "Err(Duplicate)"),
        (Some(Succeeded), 86_404, "Err(Duplicate)"),
        (Some(Succeeded), 86_405, "Granted"),
        (Some(Failed), 6, "Granted"),
    ] {
        let mut scene = Scene::ticking(2);
        if let Some(outcome) = end {
            scene.release("a", outcome, 5).unwrap();
        }

        let decision = scene.ask(scene.tick("b"), WhenFull::Refuse, second);

        assert_eq!(answer(&decision), expected, "{end:?} at {second} s");
        let of = if decision.is_ok() { "b" } else { "a" };
        assert_eq!(scene.marker().holder, holder(of), "{end:?} at {second} s");
    }
}

#[test]
fn the_capacity_changes_only_while_no_run_holds_or_waits() {
    let (mut scene, _) = held();
    let mut wide = scene.terms("wide");
    wide.permits = Permits::new(3).unwrap();

    let held = scene.ask(wide.clone(), WhenFull::Refuse, 1);
    scene.release("a", RunOutcome::Succeeded, 2).unwrap();
    let free = scene.ask(wide, WhenFull::Refuse, 3);

    let answers = [&held, &free].map(answer);
    assert_eq!(answers, ["Err(PermitsMismatch)", "Granted"]);
}

#[test]
fn a_run_that_queues_for_another_capacity_waits_until_no_run_holds() {
    let mut scene = Scene::held_by(2, &[("a", 0)]);
    let mut wide = scene.terms("wide");
    wide.permits = Permits::new(3).unwrap();

    let queued = scene.ask(wide.clone(), WAIT, 1);
    let again = scene.ask(wide, WAIT, 2);
    let behind = scene.acquire("b", WhenFull::Refuse, 3);
    let released = scene.release("a", RunOutcome::Succeeded, 4).unwrap();

    let answers = [&queued, &again, &behind].map(answer);
    assert_eq!(answers, ["Queued", "Queued", "Err(Held)"]);
    assert_eq!(effects(&released), ["Wake"]);
    assert_eq!(
        (scene.holders(), scene.record().permits.get()),
        (vec!["wide"], 3)
    );
}

/// Otherwise it would block all waiters behind it for as long as any run holds the lock.
#[test]
fn a_silent_run_that_queues_for_another_capacity_loses_its_place() {
    let lease = testing::terms(holder("wide")).lease;
    for (task_token, longest) in [(None, lease), (Some(task_token("waits")), UNCONFIRMED_MAX)] {
        let mut scene = Scene::held_on(2, |terms| terms.lease = Seconds::of(86_400));
        let mut wide = scene.request("wide", WAIT);
        wide.terms.permits = Permits::new(3).unwrap();
        wide.task_token = task_token;
        scene.carry_out(&Command::Acquire(wide), 10).unwrap();
        scene.queue("b", 11).unwrap();
        let last = 10 + u64::from(longest.get() + DEAD_AFTER.get());

        let early = scene.hand_over(last);
        let line: Vec<_> = scene.line().into_iter().map(str::to_owned).collect();
        let late = scene.hand_over(last + 1);
        let next = scene.hand_over(last + 1);

        assert_eq!((effects(&early), line.len()), (vec![], 2), "{longest:?}");
        assert_eq!(effects(&late), ["Dismiss", "HandOver"], "{longest:?}");
        assert_eq!(effects(&next), ["Wake"], "{longest:?}");
        assert_eq!(scene.holders(), ["a", "b"], "{longest:?}");
    }
}

#[test]
fn no_grant_comes_within_the_interval_that_the_last_one_asked_for() {
    let mut scene = Scene::held_on(1, |terms| terms.min_interval = Some(Seconds::of(30)));
    scene.release("a", RunOutcome::Succeeded, 5).unwrap();

    let answers = [29, 30].map(|second| answer(&scene.acquire("b", WhenFull::Refuse, second)));

    assert_eq!(answers, ["Err(TooSoon)", "Granted"]);
}

#[test]
fn every_grant_that_ends_leaves_an_entry_in_the_history() {
    let mut scene = Scene::held_by(2, &[("a", 0), ("b", 1)]);
    let (a, b) = (scene.token("a"), scene.token("b"));

    scene.release("a", RunOutcome::Succeeded, 9).unwrap();
    scene.release("b", RunOutcome::Failed, 10).unwrap();

    assert_eq!(scene.ended(a), Some(RunOutcome::Succeeded));
    assert_eq!(scene.ended(b), Some(RunOutcome::Failed));
}

#[test]
fn a_grant_with_an_empty_queue_has_no_effects() {
    let mut scene = Scene::new(2);

    let done = scene.acquire("a", WhenFull::Refuse, 0).unwrap();

    assert_eq!(done.effects, []);
    assert_eq!(done.waiter, None, "no state has registered");
}

#[test]
fn a_run_key_that_is_not_free_is_refused_as_held_after_the_rest() {
    let mut scene = Scene::held_on(2, |terms| {
        terms.run_key = Some(run_key("tick"));
        terms.min_interval = Some(Seconds::of(60));
    });
    scene.mark_ending("a", 1);

    let answers = [59, 60].map(|second| {
        let decision = scene.ask(scene.tick("b"), WhenFull::Refuse, second);
        answer(&decision)
    });

    assert_eq!(answers, ["Err(TooSoon)", "Err(Held)"]);
}
