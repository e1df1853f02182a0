//! Give a permit back.

use super::{end_run, oldest_first};
use crate::domain::{Effect, Outcome, Release, RunEnd, Snapshot, Timestamp, Transition};

pub(super) fn decide(seen: &Snapshot, release: &Release, now: Timestamp) -> Transition {
    let lease = seen
        .record
        .as_ref()
        .and_then(|r| r.lease(&release.holder, release.token));
    let since = release.token.granted_at();
    let (Some(record), Some(lease)) = (&seen.record, lease) else {
        let own = seen
            .run
            .as_ref()
            .filter(|run| run.was_released(release.token));
        return Transition::unchanged(match own.and_then(|run| run.end) {
            Some(end) => Outcome::Released {
                since,
                at: end.at,
                already: true,
            },
            None => Outcome::Lost {
                holders: seen.record.as_ref().map(oldest_first).unwrap_or_default(),
            },
        });
    };
    let end = RunEnd {
        outcome: release.outcome,
        at: now,
        retain_until: now.plus(release.retention),
    };
    // Another run may have taken the run key over while this one was late: then it is not ours to
    // end any more. A run that was looked up under a wrong run key says nothing about it.
    let foreign = release.run_key == lease.run_key
        && seen
            .run
            .as_ref()
            .is_some_and(|run| run.token != release.token);
    let runs = if foreign {
        Vec::new()
    } else {
        vec![end_run(&release.holder, lease, end)]
    };
    let effects = lease
        .beat
        .iter()
        .cloned()
        .map(Effect::EndHeartbeat)
        .collect();
    let mut next = record.clone();
    next.version += 1;
    next.holders.remove(&release.holder);
    let outcome = Outcome::Released {
        since,
        at: now,
        already: false,
    };
    Transition {
        next: Some(next),
        runs,
        outcome,
        effects,
    }
}
