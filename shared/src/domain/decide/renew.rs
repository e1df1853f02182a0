//! Move the end of a lease forward.

use super::oldest_first;
use crate::domain::{Outcome, Refusal, Renew, Snapshot, Timestamp, Transition};

pub(super) fn decide(
    seen: &Snapshot,
    renew: &Renew,
    now: Timestamp,
) -> Result<Transition, Refusal> {
    let lease = seen
        .record
        .as_ref()
        .and_then(|r| r.lease(&renew.holder, renew.token));
    let (Some(record), Some(lease)) = (&seen.record, lease) else {
        return if seen
            .run
            .as_ref()
            .is_some_and(|run| run.was_released(renew.token))
        {
            Ok(Transition::unchanged(Outcome::Ended))
        } else {
            Err(Refusal::LeaseLost {
                holder: renew.holder.clone(),
                token: renew.token,
                holders: seen.record.as_ref().map(oldest_first).unwrap_or_default(),
            })
        };
    };
    if let Some(run_until) = lease.run_until.filter(|_| lease.is_overrun(now)) {
        return Err(Refusal::Overrun {
            holder: renew.holder.clone(),
            run_until,
        });
    }
    let lease = lease.renewed(now, renew.beat.clone());
    let outcome = Outcome::Renewed {
        expires_at: lease.expires_at,
    };
    let mut next = record.clone();
    next.version += 1;
    next.holders.insert(renew.holder.clone(), lease);
    Ok(Transition {
        next: Some(next),
        runs: Vec::new(),
        outcome,
        effects: Vec::new(),
    })
}
