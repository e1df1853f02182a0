//! Give a permit back.

use super::draft::Draft;
use super::ended;
use crate::domain::{
    Effect, HolderId, Lease, LockRecord, Outcome, Release, RunId, Snapshot, Timestamp, Transition,
};

pub(super) fn decide(seen: &Snapshot, release: &Release, now: Timestamp) -> Transition {
    let lease = seen
        .record
        .as_ref()
        .and_then(|r| r.lease(&release.holder, release.token));
    let since = release.token.granted_at();
    let (Some(record), Some(lease)) = (&seen.record, lease) else {
        let own = seen.runs.get(&RunId::Token(release.token));
        let own = own.filter(|run| run.was_released() && run.holder == release.holder);
        let holders = seen.record.as_ref().map(LockRecord::oldest_first);
        let holders = holders.unwrap_or_default();
        return match own.and_then(|run| run.end.as_ref()) {
            Some(end) => Transition {
                effects: wake_again(&holders),
                ..Transition::unchanged(Outcome::Released {
                    since,
                    at: end.at,
                    already: true,
                })
            },
            None => Transition::unchanged(Outcome::Lost { holders }),
        };
    };
    let mut draft = Draft::of(record);
    let end = ended(release.outcome, None, release.retention, now);
    draft.close(&release.holder, lease, end);
    let beat = lease.beat.clone().map(Effect::EndHeartbeat);
    draft.effects.extend(beat);
    draft.let_in(seen, now);
    let outcome = Outcome::Released {
        since,
        at: now,
        already: false,
    };
    draft.finish(outcome, now)
}

/// A release that comes twice may have been cut off between its write and the wake-up of the waiter
/// that it let in. Waking a state twice is harmless.
fn wake_again(holders: &[(HolderId, Lease)]) -> Vec<Effect> {
    let uncalled = holders.iter().filter(|(_, lease)| lease.call.is_some());
    uncalled
        .map(|(holder, lease)| Effect::Wake(holder.clone(), lease.clone()))
        .collect()
}
