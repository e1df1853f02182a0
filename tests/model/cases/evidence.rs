//! The evidence of a check while others act: early, late, hidden, from an old event, or the end of a lease
//! alone.

use super::{BEATS, QUEUE, REFUSE, worlds};
use crate::world::Plan;

/// A run whose work is an execution of a workflow.
const FLOW: Plan = Plan {
    workflow: true,
    ..BEATS
};
/// A run whose work is an execution of a workflow, and that waits in the queue.
const QUEUED_FLOW: Plan = Plan {
    workflow: true,
    ..QUEUE
};

/// A run that no service can describe.
const HIDDEN: Plan = hidden(2);

const fn hidden(lease: u32) -> Plan {
    Plan {
        visible: false,
        lease,
        ..REFUSE
    }
}

worlds! {
    fn a_silent_live_holder_is_stopped_only_after_its_lease_and_mark:
        1, [BEATS, QUEUE], may { beats: 1, leaps: 3 }, with { slow_evidence: true } => 93362,
        "AlreadyHeld, Done, Ended, Freed, Granted, Lost, Queued, Released, Released already",
        "Renewed, Unchanged, refused: Held, refused: LeaseLost, then: end the heartbeat",
        "then: wake, then: wake again";

    fn evidence_that_is_late_by_a_change_frees_no_run_at_work:
        1, [BEATS, QUEUE], may { crashes: 1, beats: 1, dims: 1 },
        with { slow_evidence: true } => 25930,
        "AlreadyHeld, Done, Ended, Freed, Granted, Lost, Queued, Released, Released already",
        "Renewed, Unchanged, refused: Held, refused: LeaseLost, then: end the heartbeat",
        "then: wake, then: wake again";

    fn a_check_that_began_early_stops_no_run_that_has_renewed_since:
        1, [BEATS], may { beats: 1, leaps: 3, early: 1 }, with { slow_evidence: true } => 2670,
        "Done, Ended, Freed, Granted, Lost, Released, Released already, Renewed, Unchanged",
        "refused: LeaseLost, then: end the heartbeat";

    fn an_old_event_neither_stops_nor_frees_a_redriven_run:
        1, [BEATS], may { crashes: 1, redrives: 1, news: 1 }, with { slow_evidence: true } => 6353,
        "Done, Freed, Granted, Lost, Released, Released already, Renewed, Unchanged",
        "refused: LeaseLost, then: end the heartbeat";

    fn an_event_makes_up_for_evidence_that_is_late_or_missing:
        1, [BEATS, REFUSE], may { crashes: 1, news: 1, dims: 1 },
        with { slow_evidence: true } => 7748,
        "Done, Freed, Granted, Lost, Released, Released already, Unchanged, refused: Held";

    fn late_or_hidden_evidence_of_a_redrive_grants_no_second_run:
        1, [BEATS, REFUSE], may { crashes: 1, redrives: 1, dims: 1 },
        with { quick_calls: true, slow_evidence: true } => 35095,
        "Done, Freed, Granted, Lost, Released, Released already, Renewed, Unchanged",
        "refused: Held, refused: LeaseLost, then: end the heartbeat";

    fn a_workflow_of_a_dead_run_has_ended_before_the_next_one_begins:
        1, [FLOW, QUEUED_FLOW], may { crashes: 1, beats: 1, dims: 1 },
        with { slow_evidence: true } => 26623,
        "AlreadyHeld, Done, Ended, Freed, Granted, Lost, Queued, Released, Released already",
        "Renewed, Unchanged, refused: Held, refused: LeaseLost, then: end the heartbeat",
        "then: wake, then: wake again";

    fn a_workflow_that_is_cut_off_keeps_the_permit_until_it_has_ended:
        1, [FLOW, QUEUED_FLOW], may { cuts: 1, beats: 1 }, with { own_ends: true } => 1855,
        "AlreadyHeld, Done, Ended, Freed, Granted, Queued, Released, Renewed, Unchanged",
        "refused: Held, refused: LeaseLost, then: end the heartbeat, then: wake";

    fn a_redriven_run_and_its_first_child_never_work_beside_another:
        1, [FLOW, REFUSE], may { crashes: 1, redrives: 1, news: 1, dims: 1 },
        with { quick_calls: true, slow_evidence: true } => 147580,
        "Done, Freed, Granted, Lost, Released, Released already, Renewed, Unchanged",
        "refused: Held, refused: LeaseLost, then: end the heartbeat";

    fn a_silent_run_and_its_child_are_stopped_only_after_lease_and_mark:
        1, [FLOW, QUEUED_FLOW], may { beats: 1, leaps: 3 }, with { slow_evidence: true } => 93586,
        "AlreadyHeld, Done, Ended, Freed, Granted, Lost, Queued, Released, Released already",
        "Renewed, Unchanged, refused: Held, refused: LeaseLost, then: end the heartbeat",
        "then: wake, then: wake again";

    fn a_run_that_cuts_its_work_off_keeps_its_permit_until_it_has_stopped:
        1, [BEATS, QUEUE], may { cuts: 1, beats: 1 }, with { own_ends: true } => 1671,
        "AlreadyHeld, Done, Ended, Freed, Granted, Queued, Released, Renewed, Unchanged",
        "refused: Held, refused: LeaseLost, then: end the heartbeat, then: wake";

    fn a_lease_that_runs_out_is_freed_only_when_no_clock_believes_in_it:
        1, [HIDDEN, QUEUE], may { beats: 1 }, with { ticks: 4, skew: true } => 242264,
        "AlreadyHeld, Done, Ended, Freed, Granted, Lost, Queued, Released, Renewed, Unchanged",
        "refused: Held, refused: LeaseLost, then: wake";

    fn a_hidden_holder_that_dies_blocks_no_waiter:
        1, [HIDDEN, QUEUE], may { crashes: 1 }, with { ticks: 4 } => 51093,
        "AlreadyHeld, Done, Freed, Granted, Lost, Queued, Released, Released already, Unchanged",
        "refused: Held, then: wake";

    fn a_lock_is_swept_again_after_a_sweep_that_found_nothing:
        1, [HIDDEN, QUEUE], may { crashes: 1, idle_sweeps: 1 },
        with { quick_checks: true, ticks: 4 } => 94186,
        "Done, Freed, Granted, Lost, Queued, Released, Released already, Unchanged",
        "refused: Held, then: wake";

    fn a_renewal_whose_answer_is_lost_shortens_no_lease:
        1, [HIDDEN, REFUSE], may { beats: 1, losses: 1 }, with { ticks: 4, skew: true } => 231165,
        "AlreadyHeld, Done, Ended, Freed, Granted, Lost, Released, Released already, Renewed",
        "Unchanged, refused: Held, refused: LeaseLost";

    fn the_end_of_a_short_lease_is_swept_beside_a_long_one:
        2, [hidden(600), hidden(2)], may { crashes: 1, leaps: 1 } => 1352,
        "Freed, Granted, Lost, Released, Unchanged";
}
