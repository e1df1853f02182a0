//! Runs a configuration to its end and compares what came of it.

use crate::world::World;
use stateright::{Checker, HasDiscoveries, Model};
use std::sync::Arc;

/// Checks every state of `world`: `states` different ones, in which just these answers come up, in
/// alphabetical order.
pub(crate) fn check(world: World, states: usize, answers: &[&str]) {
    let reached = Arc::clone(&world.reached);

    let checker = world.checker().spawn_bfs().join();

    let found = checker.unique_state_count();
    println!(
        "{found} states, {} steps, {} deep",
        checker.state_count(),
        checker.max_depth()
    );
    for (property, path) in checker.discoveries() {
        let steps = path.clone().into_actions();
        println!("{property}: {steps:?}");
    }
    checker.assert_properties();
    let reached = reached.lock().expect("no step panics");
    let reached: Vec<_> = reached.iter().copied().collect();
    assert_eq!(
        reached.join(", "),
        answers.join(", "),
        "other answers come up than before"
    );
    assert_eq!(
        found, states,
        "the number of states has changed: find out why before you write the new one down"
    );
}

/// The model must find a way to break `property`.
pub(crate) fn finds(world: World, property: &'static str) {
    let enough = HasDiscoveries::AnyOf([property].into());

    let checker = world.checker().finish_when(enough).spawn_bfs().join();

    assert!(
        checker.discovery(property).is_some(),
        "not found: {property}"
    );
}
