//! Reinstates the grant of a redriven execution.
//!
//! ```text
//!  granted ─▶ aborted, recovered ─▶ redriven: heartbeat ─▶ reinstated, under the same token
//!     7            free                 7
//!  granted ─▶ aborted, recovered ─▶ another run ─▶ redriven: heartbeat ─▶ LeaseLost
//!     7            free                 8              7
//! ```

use crate::domain::{
    Outcome, Renew, Restart, Run, RunGuard, RunId, RunOutcome, RunWrite, Seconds, Snapshot,
    Timestamp, Transition,
};

/// How long after the end of a run one of its heartbeats may arrive that was sent before the end: longer
/// than a call of the function can take.
pub(super) const LATE_HEARTBEAT_MAX: Seconds = Seconds::of(15);

/// Reinstates the lease of an ended run, if no other run was granted a permit since and a permit is
/// free. Returns `None` otherwise.
///
/// RedriveExecution resumes the execution behind its acquire step, under the same ARN
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html>), so the run still
/// has the token of its ended grant. If that is the lock's last token, the grant can be reinstated under
/// it, because no larger token was issued. Otherwise another run was granted a permit since, and a
/// resource that checks fencing tokens would refuse the old one.
///
/// A heartbeat within [`LATE_HEARTBEAT_MAX`] after the end counts as sent before the end, unless it reports more
/// redrives than the lease has. It must not take a released lock again.
pub(super) fn reinstate(
    seen: &Snapshot,
    run: &Run,
    renew: &Renew,
    now: Timestamp,
) -> Option<Transition> {
    let record = seen.record.as_ref()?;
    // After a success the work must not run again. The grant of an evicted or replaced run is not
    // reinstated.
    let over = matches!(
        run.outcome(),
        Some(RunOutcome::Failed | RunOutcome::Recovered | RunOutcome::Lost)
    );
    let lease = run.lease.as_ref().filter(|_| over)?;
    let redriven = renew.redrives.is_some_and(|count| count > lease.redrives);
    let settled = run.end.as_ref()?.at.plus(LATE_HEARTBEAT_MAX);
    if now < settled && !redriven {
        return None;
    }
    // A redriven run does not overtake the queue, and does not pass a pause.
    let free = record.gate.mode.is_open(now) && record.has_room() && record.queue.is_empty();
    if !free || record.last_token != renew.token || record.holders.contains_key(&renew.holder) {
        return None;
    }
    let redrives = renew.redrives.unwrap_or(lease.redrives);
    let lease = lease.restarted(Restart::Reinstated(redrives), now);
    let lease = lease.paced(renew.pace);
    let lease = lease.renewed(now, renew.beat.clone(), renew.progress.as_deref());
    let outcome = Outcome::Reinstated {
        expires_at: lease.expires_at,
    };
    let open = Run::started(run.holder.clone(), run.token, run.run_key.clone());
    let marker = run.run_key.clone().map(RunId::Key);
    let ids = std::iter::once(RunId::Token(run.token)).chain(marker);
    let runs = ids.map(|id| {
        let run = open.clone();
        // The entry and the marker lose their end. The guard on the marker fails if another run has
        // taken the run key since. The marker may be gone, because its TTL is shorter.
        let guard = match seen.runs.contains_key(&id) {
            true => RunGuard::EndedUnder(renew.token),
            false => RunGuard::NotTaken(now),
        };
        (guard, RunWrite { id, run })
    });
    let mut next = record.clone();
    next.due_by(lease.next_check(&next.gate.mode));
    next.holders.insert(renew.holder.clone(), lease);
    Some(Transition {
        runs: runs.collect(),
        ..Transition::to(next, outcome)
    })
}
