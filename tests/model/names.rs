//! The answers by name: which of them a configuration must reach is written in its test.

use lockstep::domain::{Dismissal, Effect, Outcome, Refusal};

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
