//! Runs that replace a holder.

use super::scene::{Scene, WAIT, answer, at, effects, eviction_of, held, holder, id, task_token};
use crate::domain::{
    Acquire, Command, Effect, EndingCause, Exit, ExitStep, FencingToken, Lease, QUEUE_MAX,
    RecoveryBasis, Refusal, Renew, RunOutcome, Seconds, StopReason, WaiterId, WhenFull, decide,
};
use crate::testing;

/// Returns a mutex whose holder `a` is to be replaced by `new`.
fn replaced() -> Scene {
    let (mut scene, _) = held();
    scene.acquire("new", WhenFull::Replace, 3).unwrap();
    scene
}

#[test]
fn a_run_that_replaces_has_the_oldest_holder_stopped_and_goes_first() {
    let mut scene = Scene::held_by(2, &[("old", 0), ("young", 1)]);
    scene.queue("b", 2).unwrap();

    let done = scene.acquire("new", WhenFull::Replace, 3).unwrap();

    let [Effect::Stop(stopped, lease)] = &done.effects[..] else {
        panic!("{:?}", done.effects)
    };
    assert_eq!(*stopped, holder("old"));
    assert_eq!(lease.exit.replaced_by, Some(holder("new")));
    assert_eq!(scene.line(), ["new", "b"]);
}

#[test]
fn the_history_of_a_replaced_run_names_the_run_that_replaced_it() {
    let mut scene = replaced();
    let token = scene.token("a");

    scene.recover("a", RecoveryBasis::Seen, 5).unwrap();

    let evidence = "replaced by new; the execution is ABORTED";
    assert_eq!(scene.end(token), (RunOutcome::Replaced, evidence));
    assert_eq!(scene.holders(), ["new"]);
}

/// If it waits, it waits for the end of the rest.
#[test]
fn a_run_that_replaces_stops_no_run_where_a_permit_is_free() {
    let (resting, open) = (Scene::resting(2), Scene::held_by(2, &[("a", 0)]));
    for (mut scene, holders, line) in [
        (resting, &["a"][..], &["new"][..]),
        (open, &["a", "new"], &[]),
    ] {
        let done = scene.acquire("new", WhenFull::Replace, 3).unwrap();

        assert_eq!(done.effects, []);
        assert_eq!(scene.holders(), holders);
        assert_eq!(scene.line(), line);
    }
}

#[test]
fn a_second_run_that_replaces_goes_first_and_takes_the_stop_over() {
    let mut scene = replaced();

    let done = scene.acquire("second", WhenFull::Replace, 4).unwrap();

    assert_eq!(effects(&done), ["Stop"]);
    assert_eq!(scene.line(), ["second", "new"]);
    // The first replacer died before it could stop the holder.
    scene
        .carry_out(&Command::DropWaiter(eviction_of("new")), 5)
        .unwrap();
    assert_eq!(scene.lease("a").exit.replaced_by, Some(holder("second")));
}

#[test]
fn a_run_that_replaces_stops_none_before_the_lock_could_let_it_in() {
    let rest = |scene: &mut Scene| scene.record_mut().gate.not_before = at(60);
    let pause = |scene: &mut Scene| {
        scene.acquire("new", WhenFull::Replace, 3).unwrap();
        scene.pause(4);
    };
    for (close, open) in [(&rest as &dyn Fn(&mut Scene), None), (&pause, Some(60))] {
        // The sweep checks the holder at the end of its lease, or earlier.
        let mut scene = Scene::held_on(1, |terms| terms.lease = Seconds::of(900));
        close(&mut scene);
        let asked = scene.acquire("new", WhenFull::Replace, 5).unwrap();
        let stop = Command::Mark(scene.mark_of("a", ExitStep::Stop(StopReason::Replaced)));

        let early = answer(&scene.carry_out(&stop, 59));
        if let Some(second) = open {
            scene.resume(second);
        }

        assert_eq!((effects(&asked), early.as_str()), (vec![], "Unchanged"));
        assert_eq!(scene.record().due, Some(at(60)));
        assert_eq!(answer(&scene.carry_out(&stop, 60)), "Done");
        let again = scene.acquire("new", WhenFull::Replace, 61).unwrap();
        assert_eq!(effects(&again), ["Stop"]);
    }
}

#[test]
fn an_execution_replaces_neither_itself_nor_its_parent() {
    let mut scene = Scene::held_by(1, &[]);
    let parent = "arn:aws:states:x:1:execution:m:parent";
    scene
        .acquire(&format!("{parent}#first"), WhenFull::Refuse, 1)
        .unwrap();
    let mut child = scene.terms("arn:aws:states:x:1:execution:m:child");
    child.parent = Some(holder(parent));
    let own = scene.terms(&format!("{parent}#second"));

    for (terms, when_full) in [
        (child.clone(), WhenFull::Replace),
        (child.clone(), WhenFull::Refuse),
        (child, WAIT),
        (own.clone(), WhenFull::Replace),
    ] {
        let refused = answer(&scene.ask(terms, when_full, 2));
        assert_eq!(refused, "Err(HeldByParent)", "{when_full:?}");
    }
    // A branch of an execution may wait for another branch.
    assert_eq!(answer(&scene.ask(own, WAIT, 3)), "Queued");
}

#[test]
fn a_second_delivery_is_a_duplicate_under_every_overlap_policy() {
    for when_full in [WhenFull::Refuse, WAIT, WhenFull::Replace] {
        let mut scene = Scene::ticking(1);

        let second = answer(&scene.ask(scene.tick("b"), when_full, 2));

        assert_eq!(second, "Err(Duplicate)", "{when_full:?}");
        assert_eq!(scene.lease("a").exit.replaced_by, None);
    }
}

#[test]
fn a_replaced_holder_may_still_release_before_its_stop() {
    let mut scene = replaced();
    let token = scene.token("a");

    scene.release("a", RunOutcome::Succeeded, 4).unwrap();

    assert_eq!(scene.ended(token), Some(RunOutcome::Succeeded));
    assert_eq!(scene.holders(), ["new"]);
}

#[test]
fn a_replacer_that_acquires_again_sends_the_stop_again() {
    let mut scene = Scene::held_by(2, &[("old", 0), ("before", 1)]);
    scene.acquire("new", WhenFull::Replace, 3).unwrap();

    for second in [4, 300] {
        let again = scene.acquire("new", WhenFull::Replace, second).unwrap();

        let [Effect::Stop(stopped, _)] = &again.effects[..] else {
            panic!("{:?}", again.effects)
        };
        assert_eq!(*stopped, holder("old"));
        assert_eq!(scene.line(), ["new"]);
    }
    let waits = scene.queue("new", 301).unwrap();
    assert_eq!(waits.effects, [], "it only waits");
}

#[test]
fn a_full_queue_refuses_a_run_that_replaces() {
    let (mut scene, _) = held();
    let record = scene.record_mut();
    for number in 0..QUEUE_MAX {
        record.last_ticket = record.last_ticket.behind();
        let id = WaiterId::new(format!("{number:016x}")).unwrap();
        record.queue.insert(id, record.last_ticket);
    }

    let full = scene.acquire("new", WhenFull::Replace, 1);

    let Err(Refusal::QueueFull { most, .. }) = full else {
        panic!("{full:?}")
    };
    assert_eq!(most, QUEUE_MAX);
}

/// Returns the request of a waiting state that replaces a holder.
fn waiting(scene: &Scene, name: &str) -> Command {
    Command::Acquire(Acquire {
        task_token: Some(task_token(name)),
        ..scene.request(name, WhenFull::Replace)
    })
}

#[test]
fn a_run_that_waits_to_replace_marks_a_holder_that_was_there_before_it() {
    let (mut scene, _) = held();
    for (name, second) in [("new", 3), ("second", 4)] {
        scene.carry_out(&waiting(&scene, name), second).unwrap();
    }
    let gone = Command::DropWaiter(eviction_of("second"));
    scene.carry_out(&gone, 5).unwrap();
    assert_eq!(scene.lease("a").exit.replaced_by, None);
    let mut granted_later = scene.clone();
    let lease = granted_later
        .record_mut()
        .holders
        .get_mut(&holder("a"))
        .unwrap();
    lease.token = FencingToken::next(FencingToken::NONE, at(7));
    let last = lease.token;
    granted_later.record_mut().last_token = last;

    let again = scene.carry_out(&waiting(&scene, "new"), 6).unwrap();
    let later = waiting(&granted_later, "new");
    let seen = granted_later.read(later.waiter_to_read(granted_later.items.record.as_ref()));
    let later = decide(&seen, &later, at(6)).unwrap();

    assert_eq!(effects(&again), ["Stop"]);
    assert_eq!(scene.lease("a").exit.replaced_by, Some(holder("new")));
    assert_eq!((later.effects, later.next), (vec![], None));
}

/// Returns a mutex with the holder `a`, for whose permit `new` waits since second 3 and `second` since
/// second 4. No run replaces `a` yet.
fn unmarked() -> Scene {
    let mut scene = Scene::held_on(1, |terms| terms.lease = Seconds::of(900));
    for (name, second) in [("new", 3), ("second", 4)] {
        scene.carry_out(&waiting(&scene, name), second).unwrap();
    }
    leaving(&mut scene).exit = Exit::default();
    scene
}

/// Returns the lease of `a`.
fn leaving(scene: &mut Scene) -> &mut Lease {
    scene.record_mut().holders.get_mut(&holder("a")).unwrap()
}

fn grant_at(lease: &mut Lease, second: u64) {
    lease.token = FencingToken::next(FencingToken::NONE, at(second));
}

#[test]
fn a_waiter_replaces_only_an_earlier_holder_that_is_not_leaving_yet() {
    // The case, the waiter whose side item was read, the holder, and whether `new` replaces it.
    type Change = fn(&mut Lease);
    let cases: [(&str, &str, Change, bool); 6] = [
        ("granted before", "new", |lease| grant_at(lease, 2), true),
        ("granted then", "new", |lease| grant_at(lease, 3), false),
        ("granted later", "new", |lease| grant_at(lease, 4), false),
        (
            "replaced by another",
            "new",
            |lease| lease.exit.replaced_by = Some(holder("second")),
            false,
        ),
        (
            "ending",
            "new",
            |lease| lease.exit = lease.exit.ending(EndingCause::Over, at(5)),
            false,
        ),
        // It is not known when `new` joined.
        ("another item", "second", |lease| grant_at(lease, 2), false),
    ];
    for (case, read, change, replaces) in cases {
        let mut scene = unmarked();
        change(leaving(&mut scene));
        let before = scene.lease("a").exit.clone();

        let seen = scene.read(Some(id(read)));
        let done = decide(&seen, &waiting(&scene, "new"), at(6)).unwrap();

        let by = done
            .next
            .map(|next| next.holders[&holder("a")].exit.clone());
        let marked = Exit {
            replaced_by: Some(holder("new")),
            ..before
        };
        assert_eq!(by, replaces.then_some(marked), "{case}");
        assert_eq!(done.effects.len(), usize::from(replaces), "{case}");
    }
}

/// The function may die before the stop.
#[test]
fn a_lock_is_due_for_the_stop_that_a_waiter_asks_for_again() {
    for (rests_until, due) in [(0, 6), (60, 60)] {
        let mut scene = unmarked();
        scene.record_mut().gate.not_before = at(rests_until);

        scene.carry_out(&waiting(&scene, "new"), 6).unwrap();

        assert_eq!(scene.lease("a").exit.replaced_by, Some(holder("new")));
        assert_eq!(scene.record().due, Some(at(due)), "{rests_until}");
    }
}

#[test]
fn a_holder_is_not_stopped_for_a_run_that_a_free_permit_lets_in() {
    let mut scene = Scene::held_by(2, &[("a", 0), ("b", 1)]);
    scene.record_mut().gate.not_before = at(60);
    scene.acquire("new", WhenFull::Replace, 3).unwrap();
    scene.release("b", RunOutcome::Succeeded, 5).unwrap();
    let stop = Command::Mark(scene.mark_of("a", ExitStep::Stop(StopReason::Replaced)));

    let stopped = answer(&scene.carry_out(&stop, 61));
    let granted = answer(&scene.acquire("new", WhenFull::Replace, 62));

    assert_eq!(
        (stopped.as_str(), granted.as_str()),
        ("Unchanged", "Granted")
    );
    assert_eq!(scene.lease("a").exit.replaced_by, None);
}

/// An event is delivered twice, and its first run is redriven while the second waits for the end of the
/// first.
#[test]
fn a_redriven_run_is_not_replaced_by_a_second_delivery_of_its_tick() {
    let mut scene = Scene::ticking(1);
    let token = scene.token("a");
    scene.mark_ending("a", 1);
    let again = scene.tick("again");

    let joins = scene.ask(again.clone(), WhenFull::Replace, 2).unwrap();
    let renew = Renew {
        redrives: Some(1),
        ..testing::renew(holder("a"), token)
    };
    scene.carry_out(&Command::Renew(renew), 3).unwrap();
    let asks = scene.ask(again, WhenFull::Replace, 4).unwrap();

    let none: [&str; 0] = [];
    assert_eq!(effects(&joins), none);
    assert_eq!(effects(&asks), none);
    assert_eq!(scene.lease("a").exit, Exit::default());
    assert_eq!(scene.line(), ["again"]);
}
