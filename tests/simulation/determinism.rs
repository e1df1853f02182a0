//! The simulation is worth something only if a seed tells the whole story.

use crate::run::live_through;
use std::thread;

#[test]
fn a_seed_always_tells_the_same_story() {
    for seed in 1..=20 {
        let first = live_through(seed);
        let second = live_through(seed);

        assert!(first.trace == second.trace, "seed {seed} gives two traces");
        assert!(
            first.trace.lines().count() > 20,
            "seed {seed} tells nothing"
        );
    }
}

#[test]
fn a_seed_tells_the_same_story_on_every_thread() {
    let here: Vec<_> = (1..=10).map(|seed| live_through(seed).trace).collect();

    let there = |seed| thread::spawn(move || live_through(seed).trace);
    let threads: Vec<_> = (1..=10).map(there).collect();
    let there: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();

    assert!(here == there);
}

#[test]
fn another_seed_tells_another_story() {
    assert_ne!(live_through(1).trace, live_through(2).trace);
}
