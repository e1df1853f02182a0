//! Faults that the model must find. A model that finds no fault proves nothing.

use super::{BEATS, QUEUE, REFUSE, TICK, faults};
use crate::properties::{
    AT_WORK, BELIEVERS, ENDS_STAY, GREEN, LEASES, LIVE, STRANDED, SUCCESS_SEEN, TICKETS, TIDY,
    TRUE_SUCCESS, TURNS, WORK_ONCE,
};
use crate::world::Plan;
use lockstep::domain::StalePolicy;

const SPACED: Plan = Plan {
    min_interval: Some(1),
    ..REFUSE
};
const IMPATIENT: Plan = Plan {
    waits_until: Some(1),
    ..QUEUE
};
const HIDDEN: Plan = Plan {
    visible: false,
    ..REFUSE
};
const YIELDS: Plan = Plan {
    stale: StalePolicy::Yield,
    max_run: Some(1),
    ..BEATS
};

faults! {
    fn a_release_that_ignores_its_token_is_found:
        1, [REFUSE, REFUSE], may { losses: 1, copies: 1 } => TokenUnchecked, LEASES;

    fn an_arrival_that_goes_past_the_queue_is_found:
        1, [SPACED, QUEUE, REFUSE], with { ticks: 1 } => QueueUnseen, TURNS;

    fn a_turn_that_goes_to_a_waiter_that_has_left_is_found:
        1, [REFUSE, QUEUE, QUEUE], may { orders: 1 } => TicketUnguarded, TURNS;

    fn a_recovery_that_forgets_the_queue_is_found:
        1, [QUEUE, QUEUE, QUEUE], may { crashes: 1 } => QueueDropped, TICKETS;

    fn a_hand_over_that_leaves_a_side_item_is_found:
        1, [REFUSE, QUEUE] => SideItemKept, TIDY;

    fn a_release_that_sets_no_due_time_is_found:
        1, [REFUSE, IMPATIENT, QUEUE], may { losses: 1 },
        with { ticks: 2 } => DueForgotten, STRANDED;

    fn a_stop_of_a_lease_that_was_renewed_since_is_found:
        1, [BEATS], may { beats: 1, leaps: 3 }, with { slow_evidence: true } => StopUnguarded, LIVE;

    fn a_stop_of_the_task_of_a_redriven_run_is_found:
        1, [BEATS], may { crashes: 1, redrives: 1 },
        with { slow_evidence: true } => EndingUnguarded, LIVE;

    fn a_recovery_while_tasks_run_is_found:
        1, [BEATS, REFUSE], may { crashes: 1 } => TasksUnseen, AT_WORK;

    fn a_recovery_that_reads_no_exit_code_is_found:
        1, [TICK, TICK], may { crashes: 1 },
        with { own_ends: true } => ExitCodeUnread, SUCCESS_SEEN, WORK_ONCE;

    fn a_container_that_was_stopped_and_counts_as_succeeded_is_found:
        1, [TICK], may { crashes: 1 } => StoppedSucceeds, TRUE_SUCCESS;

    fn a_renewal_that_takes_lease_time_back_is_found:
        1, [HIDDEN, REFUSE], may { beats: 2, strays: 1 },
        with { ticks: 4, quick_checks: true, quick_calls: true } => EndMovesBack, ENDS_STAY, BELIEVERS;

    fn a_redriven_run_that_takes_its_lost_lease_for_success_is_found:
        1, [YIELDS, REFUSE], may { beats: 2, crashes: 1, redrives: 1, leaps: 1 },
        with { quick_checks: true, quick_calls: true } => FinishedUnread, GREEN;
}
