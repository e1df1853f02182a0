//! What the engine promises to the worlds that run on it.

use crate::engine::{Engine, First, Slot, locked, race};
use std::sync::{Arc, Mutex};

/// What jobs have noted, each note with its time.
type Diary = Arc<Mutex<Vec<(u64, &'static str)>>>;

fn engine() -> (Arc<Engine>, Diary) {
    (Arc::new(Engine::starting_at(0)), Arc::default())
}

#[test]
fn time_jumps_from_timer_to_timer_in_their_order() {
    let (engine, seen) = engine();
    for (name, at) in [("late", 7000), ("early", 3), ("later", 7001)] {
        let (inner, list) = (Arc::clone(&engine), Arc::clone(&seen));
        engine.spawn(async move {
            inner.sleep(at).await;
            locked(&list).push((inner.now(), name));
        });
    }

    engine.run(7000, |_| 0, || false);

    assert_eq!(*locked(&seen), [(3, "early"), (7000, "late")]);
}

#[test]
fn a_job_that_was_killed_does_nothing_more_and_leaves_no_timer() {
    let (engine, seen) = engine();
    let (inner, list) = (Arc::clone(&engine), Arc::clone(&seen));
    let job = engine.spawn(async move {
        locked(&list).push((inner.now(), "begins"));
        inner.sleep(100).await;
        locked(&list).push((inner.now(), "ends"));
    });
    engine.run(50, |_| 0, || false);

    engine.kill(job);
    engine.run(1000, |_| 0, || false);

    assert_eq!(*locked(&seen), [(0, "begins")]);
    assert_eq!(engine.now(), 0);
}

#[test]
fn a_race_returns_the_first_future_and_drops_the_other() {
    let (engine, seen) = engine();
    let (inner, list) = (Arc::clone(&engine), Arc::clone(&seen));
    engine.spawn(async move {
        let never = Slot::<()>::new();
        let first = race(never.wait(), inner.sleep(20)).await;
        let name = match first {
            First::Left(()) => "left",
            First::Right(()) => "right",
        };
        locked(&list).push((inner.now(), name));
    });

    engine.run(1000, |_| 0, || false);

    assert_eq!(*locked(&seen), [(20, "right")]);
}
