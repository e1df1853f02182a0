//! Waiters and permits: tickets, turns, the end of a wait, rests, replacement, and lost requests.

use super::{QUEUE, REFUSE, REPLACE, worlds};
use crate::world::Plan;
use lockstep::domain::WhenFull;

const TRIES_FIRST: Plan = Plan {
    tries_first: true,
    ..QUEUE
};
const IMPATIENT: Plan = Plan {
    waits_until: Some(1),
    ..QUEUE
};
const SPACED: Plan = Plan {
    min_interval: Some(1),
    ..QUEUE
};
const SHORT: Plan = Plan {
    when_full: WhenFull::Queue { most: 1 },
    ..QUEUE
};
const ONE_PERMIT: Plan = Plan {
    permits: Some(1),
    ..REFUSE
};

worlds! {
    fn waiters_are_granted_by_ticket_despite_a_death_and_a_lost_wake_up:
        1, [QUEUE, QUEUE, QUEUE], may { losses: 1, crashes: 1 },
        with { quick_checks: true } => 69828,
        "AlreadyHeld, Done, Freed, Granted, Queued, Released, Released already, Unchanged",
        "then: wake, then: wake again";

    fn two_permits_serve_one_queue:
        2, [REFUSE, TRIES_FIRST, QUEUE], may { losses: 1, timeouts: 1 } => 211173,
        "AlreadyHeld, Freed, Granted, Queued, Released, Released already, Unchanged",
        "refused: Held, then: wake, then: wake again";

    fn a_waiter_that_registers_twice_keeps_its_place:
        1, [QUEUE, QUEUE], may { copies: 1, timeouts: 1 } => 39845,
        "AlreadyHeld, Freed, Granted, Queued, Released, Released already, Unchanged, then: wake",
        "then: wake again";

    fn a_registration_by_a_slow_clock_loses_no_turn:
        1, [QUEUE, QUEUE], may { timeouts: 1 }, with { ticks: 1, skew: true } => 204580,
        "AlreadyHeld, Freed, Granted, Queued, Released, Unchanged, then: wake";

    fn a_waiter_that_waits_long_enough_gives_up_and_stops_no_run:
        1, [SPACED, IMPATIENT], may { losses: 1 }, with { ticks: 2 } => 7015,
        "AlreadyHeld, Done, Freed, GaveUp, Granted, Queued, Released, Released already",
        "Unchanged, then: dismiss who gave up, then: hand over, then: wake, then: wake again";

    fn a_rest_delays_the_next_grant:
        1, [SPACED, IMPATIENT, REFUSE], with { ticks: 2 } => 33274,
        "Done, Freed, GaveUp, Granted, Queued, Released, Unchanged, refused: Held",
        "refused: TooSoon, then: dismiss who gave up, then: hand over, then: wake";

    fn a_full_queue_refuses_a_waiter:
        1, [QUEUE, QUEUE, SHORT], may { copies: 1 } => 62135,
        "AlreadyHeld, Done, Freed, Granted, Queued, Released, Released already, Unchanged",
        "refused: QueueFull, then: hand over, then: wake, then: wake again";

    /// Two functions wake a waiter. After the first wake-up, the waiter starts its task and dies before its
    /// first heartbeat. The second wake-up must not pass the permit on.
    fn a_waiter_woken_twice_that_dies_keeps_its_permit_while_it_works:
        1, [REFUSE, QUEUE], may { crashes: 1 } => 721,
        "AlreadyHeld, Done, Freed, Granted, Queued, Released, Released already, Unchanged",
        "refused: Held, then: wake, then: wake again";

    fn two_permits_are_held_by_at_most_two_runs:
        2, [REFUSE, REFUSE, REFUSE], may { losses: 1, crashes: 1 },
        with { quick_checks: true } => 38535,
        "AlreadyHeld, Done, Freed, Granted, Released, Released already, refused: Held";

    fn a_late_copy_takes_no_third_permit:
        2, [REFUSE, REFUSE, REFUSE], may { copies: 1 } => 24429,
        "AlreadyHeld, Freed, Granted, Released, Released already, refused: Held";

    fn permits_change_only_while_the_lock_is_idle:
        2, [REFUSE, ONE_PERMIT], may { copies: 1 } => 359,
        "AlreadyHeld, Freed, Granted, Released, Released already, refused: PermitsMismatch";

    fn a_replacer_goes_first_although_its_stop_request_is_lost:
        1, [REFUSE, QUEUE, REPLACE], may { losses: 1, beats: 1 },
        with { quick_checks: true } => 86541,
        "AlreadyHeld, Done, Ended, Freed, Granted, Lost, Queued, Released, Released already",
        "Renewed, Unchanged, refused: Held, refused: LeaseLost, then: stop, then: wake",
        "then: wake again";

    fn a_run_that_replaces_stops_one_holder_of_two:
        2, [REFUSE, QUEUE, REPLACE], with { quick_checks: true } => 3460,
        "Done, Freed, Granted, Lost, Queued, Released, Released already, Unchanged",
        "refused: Held, then: stop, then: wake, then: wake again";

    fn two_replacers_of_one_holder_run_one_after_the_other:
        1, [REFUSE, REPLACE, REPLACE], with { quick_checks: true } => 6322,
        "Done, Freed, Granted, Lost, Queued, Released, Released already, Unchanged",
        "refused: Held, then: stop, then: wake, then: wake again";

    fn a_replacer_that_dies_leaves_the_lock_free:
        1, [REFUSE, REPLACE], may { crashes: 1, losses: 1 } => 42367,
        "AlreadyHeld, Done, Freed, Granted, Lost, Queued, Released, Released already",
        "Unchanged, refused: Held, then: dismiss who is sent away, then: stop, then: wake",
        "then: wake again";
}
