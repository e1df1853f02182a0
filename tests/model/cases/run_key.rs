//! Two runs with one run key, together with a run without a key, a stale policy, a redrive or an operator.

use super::{QUEUE, TICK, TICK_QUEUE, worlds};
use crate::world::Plan;
use lockstep::domain::StalePolicy;

const TICK_BEATS: Plan = Plan { beat: true, ..TICK };
const YIELDS_TICK: Plan = Plan {
    stale: StalePolicy::Yield,
    max_run: Some(1),
    ..TICK_BEATS
};

worlds! {
    fn a_run_key_has_one_success_despite_double_delivery:
        2, [TICK, TICK_QUEUE, QUEUE], may { losses: 1, copies: 1 } => 116794,
        "AlreadyHeld, Freed, Granted, Released, Released already, refused: Duplicate";

    fn a_run_key_whose_run_died_is_granted_again:
        2, [TICK, TICK_QUEUE, TICK_QUEUE], may { crashes: 1, timeouts: 1 },
        with { quick_checks: true } => 535264,
        "AlreadyHeld, Done, Freed, Granted, Queued, Released, Released already, Unchanged",
        "refused: Duplicate, refused: Held, then: dismiss a duplicate, then: hand over",
        "then: wake";

    fn a_waiter_whose_run_key_succeeds_is_answered_duplicate:
        1, [TICK, TICK_QUEUE, QUEUE], may { losses: 1 } => 2557,
        "AlreadyHeld, Granted, Queued, Released, Released already, Unchanged",
        "refused: Duplicate, refused: Held, then: dismiss a duplicate, then: wake",
        "then: wake again";

    fn a_run_that_yields_keeps_its_run_key_while_its_work_goes_on:
        1, [YIELDS_TICK, TICK_BEATS], may { beats: 1, leaps: 2, losses: 1 } => 6152,
        "AlreadyHeld, Done, Ended, Granted, Lost, Released, Released already, Renewed",
        "Unchanged, Yielded, refused: Duplicate, then: end the heartbeat";

    fn a_redriven_run_and_a_second_start_of_its_tick_succeed_once:
        1, [TICK_BEATS, TICK_BEATS], may { crashes: 1, redrives: 1, beats: 1 },
        with { own_ends: true } => 81347,
        "Done, Ended, Freed, Granted, Lost, Reinstated, Released, Released already, Renewed",
        "Unchanged, refused: Duplicate, refused: Held, refused: LeaseLost",
        "then: end the heartbeat";

    fn a_run_that_yields_and_dies_leaves_its_run_key_to_the_next:
        1, [YIELDS_TICK, TICK_BEATS], may { beats: 1, leaps: 1, crashes: 1 },
        with { own_ends: true } => 8619,
        "Done, Ended, Freed, Granted, Lost, Released, Released already, Renewed, Unchanged",
        "Yielded, refused: Duplicate, refused: Held, refused: LeaseLost",
        "then: end the heartbeat";

    fn an_evicted_run_and_the_next_of_its_key_are_kept_apart:
        1, [TICK_BEATS, TICK_BEATS], may { orders: 1, beats: 1 } => 1780,
        "Done, Ended, Freed, Granted, Lost, Released, Renewed, Unchanged, refused: Duplicate",
        "refused: LeaseLost, then: end the heartbeat";
}
