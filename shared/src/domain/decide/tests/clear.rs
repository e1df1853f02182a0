//! Operators end a rest, and have a run key forgotten.

use super::scene::{Decision, Scene, at, audit_note, holder, with_key};
use crate::domain::{
    Command, Effect, Forget, Outcome, RecoveryBasis, Refusal, RunId, RunKey, RunOutcome, Seconds,
    StalePolicy, WhenFull,
};

/// A lock that rests until second 600, with `b` in its queue.
fn resting() -> Scene {
    let mut scene = Scene::new(1);
    let mut terms = scene.terms("a");
    terms.min_interval = Some(Seconds::of(600));
    scene.ask(terms, WhenFull::Refuse, 0).unwrap();
    scene.release("a", RunOutcome::Succeeded, 5).unwrap();
    scene
}

fn clear(scene: &mut Scene, second: u64) -> Outcome {
    let clear = Command::ClearRest(audit_note("was 600 s by mistake"));
    scene.carry_out(&clear, second).unwrap().outcome
}

#[test]
fn a_rest_that_is_ended_grants_at_once() {
    let mut scene = resting();
    let early = scene.acquire("b", WhenFull::Refuse, 6);
    assert!(matches!(early, Err(Refusal::TooSoon { .. })), "{early:?}");

    let cleared = clear(&mut scene, 7);
    let again = clear(&mut scene, 7);
    let granted = scene.acquire("b", WhenFull::Refuse, 7).unwrap();

    assert_eq!((cleared, again), (Outcome::Done, Outcome::Unchanged));
    assert!(matches!(granted.outcome, Outcome::Granted { .. }));
    let acts = scene.items.runs.values();
    let act = acts
        .filter(|act| act.outcome() == Some(RunOutcome::RestCleared))
        .collect::<Vec<_>>();
    let [act] = &act[..] else { panic!("{act:?}") };
    let note = act.end.clone().unwrap().evidence.unwrap();
    assert!(note.starts_with("was 600 s by mistake (by "), "{note}");
}

#[test]
fn a_rest_that_is_ended_lets_the_first_waiter_in() {
    let mut scene = resting();
    scene.queue("b", 6).unwrap();
    scene.queue("c", 6).unwrap();

    let clear = Command::ClearRest(audit_note("go on"));
    let cleared = scene.carry_out(&clear, 7).unwrap();

    assert!(matches!(&cleared.effects[..], [Effect::Wake(b, _)] if *b == holder("b")));
    assert_eq!((scene.holders(), scene.line()), (vec!["b"], vec!["c"]));
}

fn start(scene: &mut Scene, name: &str, second: u64) -> Decision {
    scene.ask(
        with_key(scene.terms(name), "tick"),
        WhenFull::Refuse,
        second,
    )
}

fn forget(scene: &mut Scene, second: u64) -> Decision {
    let forget = Forget {
        run_key: RunKey::new("tick").unwrap(),
        audit: audit_note("the data was wrong"),
    };
    scene.carry_out(&Command::Forget(forget), second)
}

#[test]
fn a_tick_that_is_forgotten_runs_and_succeeds_once_more() {
    let mut scene = Scene::new(1);
    start(&mut scene, "a", 0).unwrap();
    scene.release("a", RunOutcome::Succeeded, 1).unwrap();
    let token = scene.record().last_token;
    assert!(matches!(
        start(&mut scene, "b", 2),
        Err(Refusal::Duplicate { .. })
    ));

    let done = forget(&mut scene, 3).unwrap();
    let again = forget(&mut scene, 4).unwrap();

    assert_eq!(done.outcome, Outcome::Done);
    assert_eq!(again.outcome, Outcome::Unchanged, "the key is free already");
    assert_eq!(scene.ended(token), Some(RunOutcome::Succeeded), "its entry");
    let act = &scene.items.runs[&RunId::Act(scene.record().version)];
    let end = act.end.clone().unwrap();
    assert_eq!((end.outcome, end.at), (RunOutcome::Forgotten, at(3)));
    let note = end.evidence.unwrap();
    assert!(
        note.starts_with("run key tick: the data was wrong (by "),
        "{note}"
    );
    start(&mut scene, "b", 5).unwrap();
    scene.release("b", RunOutcome::Succeeded, 6).unwrap();
    let third = start(&mut scene, "c", 7);
    assert!(matches!(third, Err(Refusal::Duplicate { .. })), "{third:?}");
}

#[test]
fn a_run_key_is_not_forgotten_while_its_run_is_under_way() {
    let mut held = Scene::new(1);
    start(&mut held, "a", 0).unwrap();
    let mut yielded = Scene::new(1);
    let mut terms = with_key(yielded.terms("a"), "tick");
    terms.stale = StalePolicy::Yield;
    yielded.ask(terms, WhenFull::Refuse, 0).unwrap();
    let token = yielded.token("a");
    yielded.renew("a", token, 1).unwrap();
    yielded.recover("a", RecoveryBasis::Expired, 100).unwrap();

    for (case, mut scene) in [("holds", held), ("continues without", yielded)] {
        let refused = forget(&mut scene, 101);

        let Err(Refusal::Duplicate { run, .. }) = refused else {
            panic!("{case}: {refused:?}")
        };
        assert_eq!(run.holder, holder("a"), "{case}");
    }
}

#[test]
fn a_run_key_without_a_success_is_left_as_it_is() {
    let mut failed = Scene::new(1);
    start(&mut failed, "a", 0).unwrap();
    failed.release("a", RunOutcome::Failed, 1).unwrap();
    for mut scene in [Scene::new(1), Scene::held_by(1, &[("a", 0)]), failed] {
        let before = scene.items.clone();

        let done = forget(&mut scene, 2).unwrap();

        assert_eq!(done.outcome, Outcome::Unchanged);
        assert_eq!(scene.items.record, before.record);
    }
}
