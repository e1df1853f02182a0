//! The action on a holder whose execution runs.

use super::stopped;
use crate::domain::{
    EndingCause, ExecutionState, Lease, RecoveryBasis, StalePolicy, Staleness, StopReason,
    Timestamp, UNCONFIRMED_MAX,
};
use crate::recovery::evidence::at_work;
use crate::recovery::{
    Action, Commitment, Evidence, ExecutionObservation, Ownership, WorkObservation, states,
};

/// Returns the action on a holder whose execution runs. It checks the most certain evidence first: what
/// the run itself has reported, a committed stop, a replacement, an unconfirmed grant, and silence last.
pub(super) fn running(lease: &Lease, evidence: &Evidence, now: Timestamp) -> Action {
    let work = at_work(&evidence.work);
    // That no task is listed does not show that none runs, so at least one has to be seen stopped.
    let is_seen = match &evidence.work {
        WorkObservation::Tasks(tasks) => !tasks.is_empty(),
        WorkObservation::Execution(seen) => seen.is_some(),
        WorkObservation::NotNamed | WorkObservation::States(_) | WorkObservation::Hidden(_) => {
            false
        }
    };
    let all_stopped = is_seen && work.is_empty() && !evidence.is_settling(now);
    // A redrive that the holder has not reported yet continues under its grant.
    let redriven = matches!(&evidence.execution, ExecutionObservation::Seen(seen) if seen.redrives > lease.redrives);
    if lease.exit.cause() == Some(&EndingCause::Over) && all_stopped && !redriven {
        let words = "the execution has cut its work off";
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
    // The stop is repeated by each check until the work has stopped: a call of it may have failed,
    // or may have come before the task existed.
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
    // It has never been at work, so its silence means that it has not learnt of its grant. A waiter that polls has no
    // state to wake: it learns of its grant when it asks again.
    let is_over = lease.is_dead(now) && now >= unconfirmed_until;
    if let Some(call) = lease.call.as_ref().filter(|_| !is_over) {
        return match call.task_token {
            Some(_) => Action::Wake,
            None => Action::Leave,
        };
    }
    if let Some(why) = lease.is_stopped_for(now) {
        return stale(lease, &why.to_string(), stop);
    }
    silent(lease, now, stop)
}

/// Returns the action on a holder that another run replaces; `None` if it is judged as one that no run
/// replaces: the replacer has given up or may be dead, or the holder is silent or over a limit. The stop
/// for the other run may have to wait for the lock, and a dead holder must not wait with it.
fn replaced(
    lease: &Lease,
    evidence: &Evidence,
    now: Timestamp,
    stop: impl Fn(Commitment, String) -> Action,
) -> Option<Action> {
    let by = lease.exit.replaced_by.as_ref();
    let by = by.filter(|_| !evidence.gave_up)?;
    let is_stale = lease.is_dead(now) || lease.is_stopped_for(now).is_some();
    match &evidence.replacer {
        ExecutionObservation::Seen(seen) if seen.state != ExecutionState::Running => {
            let replacer = by.clone();
            Some(Action::DropReplacer { replacer })
        }
        ExecutionObservation::Hidden(_) => None,
        _ if is_stale => None,
        // One that began a moment ago may not be known yet.
        ExecutionObservation::Seen(_)
        | ExecutionObservation::Unknown
        | ExecutionObservation::NotOne => {
            let commit = Commitment::Stop(StopReason::Replaced);
            Some(stop(commit, format!("replaced by {by}")))
        }
    }
}

/// Returns the action, unless it stops an execution that is not shown to belong to the lock. Then a
/// silent holder freezes the lock, as under `hold`, and any other is left with an alert. So does one of
/// which that cannot be learnt for an hour.
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
    // The operator who evicts a holder knows of it.
    let waits_in_vain = now >= lease.hidden_until() && lease.exit.evicted().is_none();
    match &evidence.ownership {
        Ownership::NotAsked | Ownership::Proven => action,
        Ownership::Hidden(hidden) => {
            let why =
                format!("{why}, but whether it belongs to the lock cannot be learnt: {hidden}");
            match commit {
                Commitment::Stop(StopReason::Stale) if now >= lease.hidden_until() => {
                    Action::Freeze { why }
                }
                Commitment::Done if waits_in_vain => Action::Freeze { why },
                _ => Action::Refrain { why },
            }
        }
        Ownership::Unproven => {
            let why = format!("{why}, but neither its input nor its definition names the lock");
            // A replaced holder is healthy: it keeps running, and its replacer keeps waiting.
            match commit {
                Commitment::Stop(StopReason::Stale) => Action::Freeze { why },
                Commitment::Done if waits_in_vain => Action::Freeze { why },
                _ => Action::Refrain { why },
            }
        }
    }
}

/// Returns the action on a holder whose execution runs. Silence is no evidence of death, so the holder
/// is marked as a suspect first, and has time to clear the mark.
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

/// Returns the action on a stale holder whose execution runs, by its policy.
fn stale(lease: &Lease, why: &str, stop: impl Fn(Commitment, String) -> Action) -> Action {
    match lease.stale {
        StalePolicy::Terminate => stop(Commitment::Stop(StopReason::Stale), why.into()),
        StalePolicy::Yield => Action::Recover {
            basis: RecoveryBasis::Expired,
            succeeded: false,
            evidence: format!("{why}; it runs on without its permit"),
        },
        StalePolicy::Hold => Action::Freeze { why: why.into() },
    }
}
