//! Give a permit back.

use super::draft::Draft;
use super::ended;
use crate::domain::{
    Effect, HolderId, Lease, LockRecord, Outcome, Release, Run, RunGuard, RunId, RunOutcome,
    RunWrite, Snapshot, StalePolicy, Timestamp, Transition,
};

pub(super) fn decide(seen: &Snapshot, release: &Release, now: Timestamp) -> Transition {
    let lease = seen
        .record
        .as_ref()
        .and_then(|r| r.lease(&release.holder, release.token));
    let since = release.token.granted_at();
    let (Some(record), Some(lease)) = (&seen.record, lease) else {
        let own = seen.runs.get(&RunId::Token(release.token));
        let own = own.filter(|run| run.holder == release.holder);
        if let Some(late) = own.and_then(|run| late_success(seen, release, run, now)) {
            return late;
        }
        let own = own.filter(|run| run.was_released());
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

/// A redriven execution whose work is done releases a grant that was recovered in between, while
/// its heartbeat is about to put that grant back. Nobody was granted since, so its work was
/// exclusive all the time: it has succeeded, and there is nothing left to put back.
fn late_success(
    seen: &Snapshot,
    release: &Release,
    run: &Run,
    now: Timestamp,
) -> Option<Transition> {
    let record = seen.record.as_ref()?;
    let newest = record.last_token == release.token;
    let lease = run.lease.as_ref()?;
    let may_come_back = match run.outcome() {
        Some(RunOutcome::Failed | RunOutcome::Recovered) => true,
        Some(RunOutcome::Lost) => lease.stale != StalePolicy::Yield,
        _ => false,
    };
    if release.outcome != RunOutcome::Succeeded || !newest || !may_come_back {
        return None;
    }
    let run = Run {
        end: Some(ended(release.outcome, None, release.retention, now)),
        lease: None,
        ..run.clone()
    };
    let marker = run.run_key.clone().map(RunId::Key);
    let ids = std::iter::once(RunId::Token(release.token)).chain(marker);
    let runs = ids.map(|id| {
        let run = run.clone();
        (RunGuard::EndedUnder(release.token), RunWrite { id, run })
    });
    Some(Transition {
        runs: runs.collect(),
        // The version tells a heartbeat that is about to put the grant back.
        ..Transition::to(
            record.clone(),
            Outcome::Released {
                since: release.token.granted_at(),
                at: now,
                already: false,
            },
        )
    })
}

/// A release that comes twice may have been cut off between its write and the wake-up of the waiter
/// that it let in. Waking a state twice is harmless.
fn wake_again(holders: &[(HolderId, Lease)]) -> Vec<Effect> {
    let uncalled = holders.iter().filter(|(_, lease)| lease.call.is_some());
    uncalled
        .map(|(holder, lease)| Effect::WakeAgain(holder.clone(), lease.clone()))
        .collect()
}
