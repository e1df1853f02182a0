//! Operators end a rest, and free a run key.

use super::scene::{Decision, Scene, answer, at, audit_note, held, holder, run_key, yielded};
use crate::domain::{
    ActKind, Command, Effect, Forget, Opening, Refusal, RunOutcome, Seconds, WhenFull,
};

/// Returns a lock that rests until second 600.
fn resting() -> Scene {
    let mut scene = Scene::held_on(1, |terms| terms.min_interval = Some(Seconds::of(600)));
    scene.release("a", RunOutcome::Succeeded, 5).unwrap();
    scene
}

fn clear(scene: &mut Scene) -> Decision {
    scene.carry_out(
        &Command::Open(Opening::Rest, audit_note("was 600 s by mistake")),
        7,
    )
}

#[test]
fn a_lock_whose_rest_is_cleared_grants_at_once() {
    let mut scene = resting();

    let early = scene.acquire("b", WhenFull::Refuse, 6);
    let (cleared, again) = (clear(&mut scene), clear(&mut scene));
    let granted = scene.acquire("b", WhenFull::Refuse, 7);

    let answers = [&early, &cleared, &again, &granted].map(answer);
    assert_eq!(answers, ["Err(TooSoon)", "Done", "Unchanged", "Granted"]);
    let order = (ActKind::RestCleared, "was 600 s by mistake");
    assert_eq!(scene.orders(), [order]);
}

#[test]
fn clearing_a_rest_hands_the_permit_to_the_first_waiter() {
    let mut scene = resting();
    scene.queue("b", 6).unwrap();
    scene.queue("c", 6).unwrap();

    let cleared = clear(&mut scene).unwrap();

    assert!(matches!(&cleared.effects[..], [Effect::Wake(b, _)] if *b == holder("b")));
    assert_eq!((scene.holders(), scene.line()), (vec!["b"], vec!["c"]));
}

fn start(scene: &mut Scene, name: &str, second: u64) -> Decision {
    scene.ask(scene.tick(name), WhenFull::Refuse, second)
}

fn forget(scene: &mut Scene, second: u64) -> Decision {
    let forget = Forget {
        run_key: run_key("tick"),
        audit: audit_note("the data was wrong"),
    };
    scene.carry_out(&Command::Forget(forget), second)
}

#[test]
fn a_forgotten_run_key_can_succeed_once_more() {
    let mut scene = Scene::ticking(1);
    let token = scene.token("a");
    scene.release("a", RunOutcome::Succeeded, 1).unwrap();
    assert_eq!(answer(&start(&mut scene, "b", 2)), "Err(Duplicate)");

    let done = forget(&mut scene, 3);
    let again = forget(&mut scene, 4);

    assert_eq!([&done, &again].map(answer), ["Done", "Unchanged"]);
    assert_eq!(scene.ended(token), Some(RunOutcome::Succeeded), "its entry");
    let order = (ActKind::Forgotten, "run key tick: the data was wrong");
    assert_eq!(scene.orders(), [order]);
    let act = &scene.items.acts[&scene.record().version];
    assert_eq!(act.at, at(3));
    start(&mut scene, "b", 5).unwrap();
    scene.release("b", RunOutcome::Succeeded, 6).unwrap();
    assert_eq!(answer(&start(&mut scene, "c", 7)), "Err(Duplicate)");
}

#[test]
fn a_run_key_is_not_forgotten_while_its_run_is_under_way() {
    let cases = [
        ("holds", Scene::ticking(1)),
        ("continues without", yielded().0),
    ];
    for (case, mut scene) in cases {
        let refused = forget(&mut scene, 101);

        let Err(Refusal::Duplicate { run, .. }) = refused else {
            panic!("{case}: {refused:?}")
        };
        assert_eq!(run.holder, holder("a"), "{case}");
    }
}

#[test]
fn a_run_key_without_a_success_is_left_as_it_is() {
    let mut failed = Scene::ticking(1);
    failed.release("a", RunOutcome::Failed, 1).unwrap();
    for mut scene in [Scene::new(1), held().0, failed] {
        let before = scene.items.record.clone();

        let done = forget(&mut scene, 2);

        assert_eq!(answer(&done), "Unchanged");
        assert_eq!(scene.items.record, before);
    }
}
