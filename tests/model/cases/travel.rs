//! Requests that arrive late, out of order, twice, or never; redrives of runs that yielded; waiters that
//! poll; runs that ask for the run key of a run that yielded.

use super::{BEATS, QUEUE, REFUSE, TICK, worlds};
use crate::world::Plan;
use lockstep::domain::StalePolicy;

/// A run about which the end of its lease is the only evidence.
const HIDDEN: Plan = Plan {
    visible: false,
    ..REFUSE
};
/// A run about which the end of its lease is the only evidence, and that waits in the queue by polling.
const POLLS: Plan = Plan {
    visible: false,
    polls: true,
    ..QUEUE
};
const YIELDS: Plan = Plan {
    stale: StalePolicy::Yield,
    max_run: Some(1),
    ..BEATS
};
const YIELDS_TICK: Plan = Plan {
    run_key: Some("tick"),
    ..YIELDS
};

worlds! {
    fn a_renewal_that_arrives_late_shortens_no_lease:
        1, [HIDDEN, REFUSE], may { beats: 2, strays: 1 }, with { ticks: 4, quick_checks: true, quick_calls: true } => 185239,
        "AlreadyHeld, Done, Ended, Freed, Granted, Lost, Released, Released already, Renewed",
        "refused: Held, refused: LeaseLost";

    fn a_request_long_after_its_clock_read_shortens_no_lease:
        1, [HIDDEN, REFUSE], may { beats: 2, lates: 1 }, with { ticks: 4, quick_checks: true, quick_calls: true } => 55796,
        "Done, Ended, Freed, Granted, Lost, Released, Renewed, refused: Held",
        "refused: LeaseLost";

    fn requests_that_arrive_twice_or_late_give_no_permit_twice:
        1, [BEATS, QUEUE], may { beats: 2, strays: 1, lates: 1 }, with { quick_checks: true } => 35132,
        "AlreadyHeld, Ended, Freed, Granted, Queued, Released, Released already, Renewed",
        "Unchanged, refused: Held, then: end the heartbeat, then: wake, then: wake again";

    fn a_release_that_arrives_late_ends_no_other_grant:
        1, [REFUSE, QUEUE], may { strays: 2 }, with { quick_checks: true } => 3577,
        "AlreadyHeld, Freed, Granted, Queued, Released, Released already, Unchanged",
        "refused: Held, then: wake, then: wake again";

    fn a_redriven_run_that_yielded_succeeds_only_by_its_work:
        1, [YIELDS, REFUSE], may { beats: 2, crashes: 1, redrives: 1, leaps: 1 },
        with { own_ends: true, quick_checks: true, quick_calls: true } => 77612,
        "Done, Ended, Freed, Granted, Lost, Reinstated, Released, Released already, Renewed",
        "Yielded, refused: Held, refused: LeaseLost, then: end the heartbeat";

    fn a_redriven_run_that_yielded_and_a_second_start_succeed_once:
        1, [YIELDS_TICK, TICK], may { beats: 2, crashes: 1, redrives: 1, leaps: 1, settles: 1 },
        with { own_ends: true, quick_checks: true, quick_calls: true } => 43002,
        "Done, Ended, Freed, Granted, Lost, Reinstated, Released, Released already, Renewed",
        "Unchanged, Yielded, refused: Duplicate, refused: Held, refused: LeaseLost",
        "then: end the heartbeat";

    fn the_end_of_a_run_that_yielded_is_settled_by_evidence:
        1, [YIELDS_TICK, TICK], may { beats: 1, crashes: 1, leaps: 1, settles: 2, dims: 1 },
        with { own_ends: true, quick_checks: true } => 3485,
        "Done, Ended, Freed, Granted, Lost, Released, Released already, Renewed, Unchanged",
        "Yielded, refused: Duplicate, refused: Held, refused: LeaseLost",
        "then: end the heartbeat";

    fn waiters_that_poll_are_granted_by_ticket:
        1, [POLLS, POLLS, QUEUE], may { timeouts: 1, losses: 1 }, with { quick_checks: true } => 147698,
        "AlreadyHeld, Done, Freed, Granted, Queued, Released, Released already, Unchanged",
        "then: hand over, then: wake, then: wake again";

    fn a_polling_waiter_that_dies_leaves_its_turn_to_the_next:
        1, [POLLS, QUEUE], may { timeouts: 1, crashes: 1 }, with { quick_checks: true } => 7190,
        "AlreadyHeld, Done, Freed, Granted, Queued, Released, Released already, Unchanged",
        "then: hand over, then: wake, then: wake again";

    fn a_redriven_run_has_its_old_grant_or_none_beside_a_waiter_that_polls:
        1, [BEATS, POLLS], may { redrives: 1, crashes: 1, timeouts: 1, beats: 1 },
        with { quick_checks: true, quick_calls: true } => 13442,
        "AlreadyHeld, Done, Ended, Freed, Granted, Lost, Queued, Reinstated, Released",
        "Released already, Renewed, refused: Held, refused: LeaseLost",
        "then: end the heartbeat, then: wake, then: wake again";

    fn a_polling_run_and_a_redriven_run_that_yielded_never_hold_together:
        1, [YIELDS, POLLS], may { redrives: 1, crashes: 1, beats: 2, leaps: 1 },
        with { quick_checks: true, quick_calls: true } => 68149,
        "AlreadyHeld, Done, Ended, Freed, Granted, Lost, Queued, Reinstated, Released",
        "Released already, Renewed, Yielded, refused: Held, refused: LeaseLost",
        "then: end the heartbeat, then: wake, then: wake again";
}
