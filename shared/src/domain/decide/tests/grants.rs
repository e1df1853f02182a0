//! Who gets a free permit, and under which token.

use super::scene::{Scene, at, holder, with_key};
use crate::domain::{
    Command, FencingToken, MarkEnding, Outcome, Refusal, RunOutcome, Seconds, WhenFull,
};

#[test]
fn an_expired_lease_is_not_taken_over_without_evidence() {
    let mut scene = Scene::held_by(1, &[("old", 0)]);

    let answer = scene.acquire("new", WhenFull::Refuse, 10_000);

    assert!(matches!(answer, Err(Refusal::Held { .. })), "{answer:?}");
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
fn a_lock_that_was_purged_goes_on_with_larger_tokens() {
    let before = Scene::held_by(1, &[("first", 0)]).token("first");

    let after = Scene::held_by(1, &[("second", 1)]).token("second");

    assert!(after > before);
}

#[test]
fn the_same_holder_gets_its_lease_back_after_it_ran_out() {
    let mut scene = Scene::held_by(1, &[("me", 0)]);
    let token = scene.token("me");

    let again = scene.acquire("me", WhenFull::Refuse, 100).unwrap();

    let Outcome::AlreadyHeld { lease } = &again.outcome else {
        panic!("{:?}", again.outcome)
    };
    assert_eq!((lease.expires_at, lease.token), (at(160), token));
}

#[test]
fn a_run_key_that_runs_is_a_duplicate_where_a_permit_is_free() {
    let mut scene = Scene::new(2);
    let first = with_key(scene.terms("first"), "tick");
    let second = with_key(scene.terms("second"), "tick");
    scene.ask(first, WhenFull::Refuse, 0).unwrap();

    let answer = scene.ask(second, WhenFull::Refuse, 1);

    assert!(
        matches!(answer, Err(Refusal::Duplicate { .. })),
        "{answer:?}"
    );
}

#[test]
fn a_success_keeps_its_run_key_until_its_retention_is_over() {
    let mut scene = Scene::new(1);
    let terms = |scene: &Scene, name| with_key(scene.terms(name), "tick");
    let first = terms(&scene, "first");
    scene.ask(first, WhenFull::Refuse, 0).unwrap();
    scene.release("first", RunOutcome::Succeeded, 5).unwrap();

    let second = terms(&scene, "second");
    let within = scene.ask(second.clone(), WhenFull::Refuse, 86_404);
    let after = scene.ask(second, WhenFull::Refuse, 86_405);

    assert!(
        matches!(within, Err(Refusal::Duplicate { .. })),
        "{within:?}"
    );
    assert!(after.is_ok(), "{after:?}");
}

#[test]
fn a_failure_leaves_its_run_key_free() {
    let mut scene = Scene::new(1);
    let first = with_key(scene.terms("first"), "tick");
    let second = with_key(scene.terms("second"), "tick");
    scene.ask(first, WhenFull::Refuse, 0).unwrap();
    scene.release("first", RunOutcome::Failed, 5).unwrap();

    let answer = scene.ask(second, WhenFull::Refuse, 6);

    assert!(answer.is_ok(), "{answer:?}");
    assert_eq!(scene.marker("tick").unwrap().holder, holder("second"));
}

#[test]
fn the_capacity_changes_only_while_no_run_holds_or_waits() {
    let mut scene = Scene::held_by(1, &[("one", 0)]);
    let mut wide = scene.terms("wide");
    wide.permits = crate::domain::Permits::new(3).unwrap();

    let held = scene.ask(wide.clone(), WhenFull::Refuse, 1);
    scene.release("one", RunOutcome::Succeeded, 2).unwrap();
    let free = scene.ask(wide, WhenFull::Refuse, 3);

    assert!(
        matches!(held, Err(Refusal::PermitsMismatch { .. })),
        "{held:?}"
    );
    assert!(free.is_ok(), "{free:?}");
}

#[test]
fn no_grant_comes_within_the_interval_that_the_last_one_asked_for() {
    let mut scene = Scene::new(1);
    let mut first = scene.terms("first");
    first.min_interval = Some(Seconds::of(30));
    scene.ask(first, WhenFull::Refuse, 0).unwrap();
    scene.release("first", RunOutcome::Succeeded, 5).unwrap();

    let soon = scene.acquire("second", WhenFull::Refuse, 29);
    let later = scene.acquire("second", WhenFull::Refuse, 30);

    assert!(matches!(soon, Err(Refusal::TooSoon { .. })), "{soon:?}");
    assert!(later.is_ok(), "{later:?}");
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
fn a_grant_with_an_empty_queue_leaves_nothing_to_do() {
    let mut scene = Scene::new(2);

    let done = scene.acquire("a", WhenFull::Refuse, 0).unwrap();

    assert!(done.effects.is_empty(), "{:?}", done.effects);
    assert_eq!(done.waiter, None, "no state has registered");
}

#[test]
fn a_key_that_is_not_free_yet_is_no_rest_of_the_lock() {
    let mut scene = Scene::new(2);
    let mut terms = with_key(scene.terms("a"), "tick");
    terms.min_interval = Some(Seconds::of(60));
    scene.ask(terms, WhenFull::Refuse, 0).unwrap();
    let mark = Command::MarkEnding(MarkEnding {
        holder: holder("a"),
        token: scene.token("a"),
        seen: None,
    });
    scene.carry_out(&mark, 1).unwrap();

    let [resting, held] = [59, 60].map(|second| {
        let terms = with_key(scene.terms("b"), "tick");
        scene.ask(terms, WhenFull::Refuse, second)
    });

    assert!(
        matches!(resting, Err(Refusal::TooSoon { .. })),
        "{resting:?}"
    );
    assert!(matches!(held, Err(Refusal::Held { .. })), "{held:?}");
}
