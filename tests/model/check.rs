//! Runs a configuration to its end, and compares the number of its states and the names of its answers.

use crate::world::World;
use lockstep::domain::{Dismissal, Effect, Outcome, Refusal};
use stateright::{Checker, HasDiscoveries, Model};
use std::sync::Arc;

/// Checks the properties in every state of `world`. Panics unless there are `states` different states, in
/// which exactly these answers are reached, in alphabetical order.
pub(crate) fn check(world: World, states: usize, answers: &[&str]) {
    let reached = Arc::clone(&world.reached);

    let checker = world.checker().spawn_bfs().join();

    let found = checker.unique_state_count();
    let (steps, depth) = (checker.state_count(), checker.max_depth());
    println!("{found} states, {steps} steps, {depth} deep");
    for (property, path) in checker.discoveries() {
        let steps = path.clone().into_actions();
        println!("{property}: {steps:?}");
    }
    checker.assert_properties();
    let reached = reached.lock().expect("no step panics");
    let reached: Vec<_> = reached.iter().copied().collect();
    let (reached, before) = (reached.join(", "), answers.join(", "));
    assert_eq!(reached, before, "other answers come up than before");
    let why = "the number of states has changed: find out why before you write the new one down";
    assert_eq!(found, states, "{why}");
}

/// Checks that the model finds a path that breaks `property`.
pub(crate) fn finds(world: World, property: &'static str) {
    let enough = HasDiscoveries::AnyOf([property].into());

    let checker = world.checker().finish_when(enough).spawn_bfs().join();

    let found = checker.discovery(property);
    assert!(
        found.is_some(),
        "the model finds no path that breaks: {property}"
    );
}

pub(crate) fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Granted { .. } => "Granted",
        Outcome::AlreadyHeld { .. } => "AlreadyHeld",
        Outcome::Queued { .. } => "Queued",
        Outcome::GaveUp { .. } => "GaveUp",
        Outcome::Renewed { .. } => "Renewed",
        Outcome::Reinstated { .. } => "Reinstated",
        Outcome::Ended => "Ended",
        Outcome::Yielded { .. } => "Yielded",
        Outcome::Released { already: false, .. } => "Released",
        Outcome::Released { already: true, .. } => "Released already",
        Outcome::Lost { .. } => "Lost",
        Outcome::Freed { .. } => "Freed",
        Outcome::Frozen { .. } => "Frozen",
        Outcome::Done => "Done",
        Outcome::Unchanged => "Unchanged",
    }
}

pub(crate) fn refusal(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Held { .. } => "refused: Held",
        Refusal::QueueFull { .. } => "refused: QueueFull",
        Refusal::TooSoon { .. } => "refused: TooSoon",
        Refusal::Duplicate { .. } => "refused: Duplicate",
        Refusal::PermitsMismatch { .. } => "refused: PermitsMismatch",
        Refusal::HeldByParent { .. } => "refused: HeldByParent",
        Refusal::Paused { .. } => "refused: Paused",
        Refusal::Frozen { .. } => "refused: Frozen",
        Refusal::LeaseLost { .. } => "refused: LeaseLost",
        Refusal::Stale { .. } => "refused: Stale",
    }
}

pub(crate) fn effect(effect: &Effect) -> &'static str {
    match effect {
        Effect::EndHeartbeat(_) => "then: end the heartbeat",
        Effect::Wake(..) => "then: wake",
        Effect::WakeAgain(..) => "then: wake again",
        Effect::Dismiss(_, Dismissal::Duplicate(_)) => "then: dismiss a duplicate",
        Effect::Dismiss(_, Dismissal::GaveUp) => "then: dismiss who gave up",
        Effect::Dismiss(_, Dismissal::Evicted) => "then: dismiss who is sent away",
        Effect::Stop(..) => "then: stop",
        Effect::HandOver => "then: hand over",
    }
}
