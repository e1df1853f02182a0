//! One grant after the other: acquired, renewed, released, redriven, or ended by a stale policy.

use super::{BEATS, QUEUE, REFUSE, worlds};
use crate::world::Plan;
use lockstep::domain::StalePolicy;

const YIELDS: Plan = Plan {
    stale: StalePolicy::Yield,
    max_run: Some(1),
    ..REFUSE
};
const HOLDS: Plan = Plan {
    stale: StalePolicy::Hold,
    max_run: Some(1),
    ..QUEUE
};
const ENDS: Plan = Plan {
    stale: StalePolicy::Terminate,
    max_run: Some(1),
    ..QUEUE
};

/// A run whose heartbeats make its lease longer. The end of the lease is the only evidence about it.
const GROWS: Plan = Plan {
    grows_to: Some(4),
    visible: false,
    ..REFUSE
};

worlds! {
    fn no_lost_answer_and_no_second_delivery_gives_a_permit_twice:
        1, [BEATS, REFUSE], may { losses: 1, copies: 1, beats: 1 }, with { ticks: 1 } => 30568,
        "AlreadyHeld, Ended, Freed, Granted, Released, Released already, Renewed, refused: Held",
        "then: end the heartbeat";

    fn a_holder_that_dies_is_recovered_whatever_heartbeat_is_still_under_way:
        1, [BEATS, REFUSE], may { losses: 1, crashes: 1, beats: 1 }, with { ticks: 2 } => 116294,
        "AlreadyHeld, Done, Ended, Freed, Granted, Released, Released already, Renewed",
        "Unchanged, refused: Held, refused: LeaseLost, then: end the heartbeat";

    fn a_clock_that_is_a_second_slow_breaks_no_property:
        1, [BEATS, REFUSE], may { crashes: 1, beats: 1 }, with { ticks: 1, skew: true } => 107690,
        "Done, Ended, Freed, Granted, Released, Released already, Renewed, Unchanged",
        "refused: Held, refused: LeaseLost, then: end the heartbeat";

    fn a_write_that_is_sent_twice_is_done_once_and_answered_as_done:
        1, [BEATS, QUEUE], may { resends: 2, beats: 1 }, with { ticks: 1 } => 4163,
        "Ended, Granted, Queued, Released, Renewed, Unchanged, refused: Held",
        "then: end the heartbeat, then: wake";

    fn a_redriven_run_gets_its_old_grant_or_none_beside_a_waiter:
        1, [BEATS, QUEUE], may { redrives: 1, crashes: 1, beats: 1 },
        with { quick_checks: true } => 27635,
        "AlreadyHeld, Done, Ended, Freed, Granted, Queued, Reinstated, Released",
        "Released already, Renewed, Unchanged, refused: Held, refused: LeaseLost",
        "then: end the heartbeat, then: wake, then: wake again";

    fn a_redriven_run_gets_its_old_grant_or_none_beside_a_new_run:
        1, [BEATS, REFUSE], may { redrives: 1, crashes: 1, beats: 1 },
        with { quick_checks: true, ticks: 1 } => 64797,
        "Done, Ended, Freed, Granted, Reinstated, Released, Released already, Renewed",
        "refused: Held, refused: LeaseLost, then: end the heartbeat";

    fn a_redriven_run_of_two_permits_takes_no_third:
        2, [BEATS, REFUSE, REFUSE], may { crashes: 1, redrives: 1 },
        with { quick_calls: true, quick_checks: true } => 53184,
        "Done, Freed, Granted, Released, Released already, Renewed, refused: Held",
        "refused: LeaseLost, then: end the heartbeat";

    fn a_run_that_yields_works_on_beside_the_next:
        1, [YIELDS, ENDS], may { beats: 2 }, with { ticks: 2 } => 21971,
        "Done, Ended, Freed, Granted, Lost, Queued, Released, Renewed, Unchanged, Yielded",
        "refused: Held, refused: Stale, then: wake";

    fn the_lease_of_a_run_that_yields_may_end_while_it_works:
        1, [YIELDS, ENDS], may { beats: 1 }, with { ticks: 4 } => 58135,
        "Done, Ended, Freed, Granted, Lost, Queued, Released, Renewed, Unchanged, Yielded",
        "refused: Held, refused: Stale, then: wake";

    fn a_frozen_lock_grants_nothing_until_an_operator_opens_it:
        1, [HOLDS, ENDS], may { beats: 1, idle_sweeps: 1 }, with { ticks: 2 } => 28646,
        "AlreadyHeld, Done, Ended, Freed, Frozen, Granted, Queued, Released, Renewed, Unchanged",
        "refused: Frozen, refused: Stale, then: wake";

    fn a_lease_that_heartbeats_lengthen_is_taken_only_after_its_new_end:
        1, [GROWS, REFUSE], may { beats: 1, crashes: 1 }, with { ticks: 5 } => 263629,
        "Done, Ended, Freed, Granted, Lost, Released, Released already, Renewed, Unchanged",
        "refused: Held, refused: LeaseLost";
}
