//! The action on a holder whose execution runs.

use super::stopped;
use crate::domain::{
    EndingCause, ExecutionState, Lease, RecoveryBasis, StalePolicy, Staleness, StopReason,
    Timestamp, UNCONFIRMED_MAX,
};
use crate::recovery::evidence::at_work;
use crate::recovery::{
    Action, Commitment, Evidence, ExecutionObservation, LIST_LAG, Ownership, WorkObservation,
    states,
};

/// Returns the action on a holder whose execution runs. The most certain evidence is checked first:
///
/// - the end of the work that the run itself reported,
/// - a committed stop,
/// - a replacement,
/// - a hand-over that is not confirmed,
/// - an exceeded limit, and
/// - silence.
pub(super) fn running(lease: &Lease, evidence: &Evidence, now: Timestamp) -> Action {
    let work = at_work(&evidence.work);
    // An empty list does not show that no task runs, so at least one task must be seen stopped.
    let is_seen = match &evidence.work {
        WorkObservation::Tasks(tasks) => !tasks.is_empty(),
        WorkObservation::Execution(seen) => seen.is_some(),
        WorkObservation::NotNamed | WorkObservation::States(_) | WorkObservation::Hidden(_) => {
            false
        }
    };
    let redrives = match &evidence.execution {
        ExecutionObservation::Seen(seen) => seen.redrives,
        _ => 0,
    };
    // After a redrive, all that is seen may be of an earlier attempt, and the last work of this one not listed yet.
    let ending_at = lease.exit.ending.as_ref().map(|ending| ending.since);
    let is_listed = redrives == 0 || ending_at.is_some_and(|at| now >= at.plus(LIST_LAG));
    let all_stopped = is_seen && is_listed && work.is_empty() && !evidence.is_settling(now);
    // If the execution was redriven and the holder has not reported it yet, the run continues under its
    // grant.
    let redriven = redrives > lease.redrives;
    if lease.exit.cause() == Some(&EndingCause::Over) && all_stopped && !redriven {
        let words = "the execution reported that its work is stopping";
        return stopped(lease, &evidence.work, words);
    }
    if let Some(action) = states::over(lease, evidence, now).filter(|_| !redriven) {
        return action;
    }
    let stop = |commit, why| Action::Stop {
        commit,
        execution: true,
        work: work.clone(),
        why,
    };
    // Each check repeats the stop until the work has stopped: an earlier call may have failed, or may
    // have come before the task existed.
    if lease.exit.is_committed() {
        let why = match (lease.exit.evicted(), &lease.exit.replaced_by) {
            (Some(why), _) => format!("evicted: {why}"),
            (None, Some(by)) => format!("replaced by {by}"),
            (None, None) => Staleness::Expired(lease.expires_at).to_string(),
        };
        return stop(Commitment::Done, why);
    }
    if let Some(action) = replaced(lease, evidence, now, stop) {
        return action;
    }
    let unconfirmed_until = lease.token.granted_at().plus(UNCONFIRMED_MAX);
    // The holder has not confirmed its hand-over, so it does not know of its grant yet. A waiting state
    // is woken again. A waiter that polls learns of its grant when it asks again.
    let is_over = lease.is_dead(now) && now >= unconfirmed_until;
    if let Some(call) = lease.call.as_ref().filter(|_| !is_over) {
        return match call.task_token {
            Some(_) => Action::Wake,
            None => Action::Leave,
        };
    }
    if let Some(why) = lease.limit_to_enforce(now) {
        return stale(lease, &why.to_string(), stop);
    }
    silent(lease, now, stop)
}

/// Returns the action on a holder that another run replaces. Returns `None` if the holder is judged as
/// if no run replaced it:
///
/// - the replacer has given up, or its execution cannot be described, or
/// - the holder's lease is dead, or it exceeded a limit. The stop for the replacer may have to wait
///   until the lock is open, and the recovery of a dead holder must not wait for that.
fn replaced(
    lease: &Lease,
    evidence: &Evidence,
    now: Timestamp,
    stop: impl Fn(Commitment, String) -> Action,
) -> Option<Action> {
    let by = lease.exit.replaced_by.as_ref();
    let by = by.filter(|_| !evidence.gave_up)?;
    let is_stale = lease.is_dead(now) || lease.limit_to_enforce(now).is_some();
    match &evidence.replacer {
        ExecutionObservation::Seen(seen) if seen.state != ExecutionState::Running => {
            let replacer = by.clone();
            Some(Action::DropReplacer { replacer })
        }
        ExecutionObservation::Hidden(_) | ExecutionObservation::Unanswered(_) => None,
        _ if is_stale => None,
        // A new replacer may be unknown to Step Functions.
        ExecutionObservation::Seen(_)
        | ExecutionObservation::Unknown
        | ExecutionObservation::NotOne => {
            let commit = Commitment::Stop(StopReason::Replaced);
            Some(stop(commit, format!("replaced by {by}")))
        }
    }
}

/// Returns `action`, unless it stops an execution of which nothing proves that it belongs to the lock.
/// Such an execution is not stopped:
///
/// - A stale holder freezes the lock, as under `hold`. If the proof cannot be read, the lock is frozen
///   an hour after the end of the lease.
/// - A holder whose stop is committed freezes the lock an hour after the end of its lease, unless an
///   operator evicts it.
/// - Any other holder is left as it is, with an alert.
pub(super) fn owned(lease: &Lease, evidence: &Evidence, action: Action, now: Timestamp) -> Action {
    let Action::Stop {
        commit,
        execution: true,
        why,
        ..
    } = &action
    else {
        return action;
    };
    // An operator who evicts the holder already watches it.
    let waits_in_vain =
        now >= lease.freezes_without_evidence_at() && lease.exit.evicted().is_none();
    match &evidence.ownership {
        Ownership::NotAsked | Ownership::Proven => action,
        Ownership::Hidden(hidden) => {
            let why = format!(
                "{why}, but Lockstep cannot find out whether it belongs to the lock: {hidden}"
            );
            match commit {
                Commitment::Stop(StopReason::Stale)
                    if now >= lease.freezes_without_evidence_at() =>
                {
                    Action::Freeze { why }
                }
                Commitment::Done if waits_in_vain => Action::Freeze { why },
                _ => Action::Refrain { why },
            }
        }
        Ownership::Unproven => {
            let why = format!("{why}, but neither its input nor its definition names the lock");
            // A holder that is to be replaced is alive: it keeps running, and its replacer keeps
            // waiting.
            match commit {
                Commitment::Stop(StopReason::Stale) => Action::Freeze { why },
                Commitment::Done if waits_in_vain => Action::Freeze { why },
                _ => Action::Refrain { why },
            }
        }
    }
}

/// Returns the action on a holder whose execution runs and whose lease may be dead. A missing heartbeat
/// does not prove that the holder is dead, so it is marked as a suspect first, and has time to clear the
/// mark.
fn silent(lease: &Lease, now: Timestamp, stop: impl Fn(Commitment, String) -> Action) -> Action {
    if !lease.is_dead(now) {
        return Action::Leave;
    }
    if lease.exit.suspect.is_none() {
        return Action::Suspect;
    }
    if !lease.is_silent(now) {
        return Action::Leave;
    }
    stale(
        lease,
        &Staleness::Expired(lease.expires_at).to_string(),
        stop,
    )
}

/// Returns the action on a stale holder whose execution runs, by its stale policy.
fn stale(lease: &Lease, why: &str, stop: impl Fn(Commitment, String) -> Action) -> Action {
    match lease.stale {
        StalePolicy::Terminate => stop(Commitment::Stop(StopReason::Stale), why.into()),
        StalePolicy::Yield => Action::Recover {
            basis: RecoveryBasis::Expired,
            succeeded: false,
            evidence: format!("{why}; it continues without its permit"),
        },
        StalePolicy::Hold => Action::Freeze { why: why.into() },
    }
}
