//! Records the end of a run that lost its permit and continued without it.
//!
//! Under `yield` a stale run loses its permit and continues. Its run key stays taken by an open marker,
//! which contains the lease of the run. The run's own release closes the marker. If the run dies before
//! its release, the next run with the same run key gathers evidence, and this command records the end
//! that the evidence shows.

use crate::domain::history::ended;
use crate::domain::{
    Outcome, Run, RunGuard, RunId, RunOutcome, RunWrite, Settle, Snapshot, Timestamp, Transition,
};

/// Closes the marker of the run key. The key stays taken if the work succeeded, and is free if it did
/// not.
pub(super) fn decide(seen: &Snapshot, settle: &Settle, now: Timestamp) -> Transition {
    let marker = seen.runs.get(&RunId::Key(settle.run_key.clone()));
    let open = marker.filter(|run| run.token == settle.token && run.end.is_none());
    let lease = open.and_then(|run| run.lease.as_ref());
    let record = seen.record.as_ref();
    let held = record.is_some_and(|record| record.holder_under(settle.token).is_some());
    let (Some(run), Some(lease), false) = (open, lease, held) else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let outcome = match settle.succeeded {
        true => RunOutcome::Succeeded,
        false => RunOutcome::Lost,
    };
    let evidence = Some(settle.evidence.clone());
    let run = Run {
        end: Some(ended(outcome, evidence, settle.retention, now)),
        lease: None,
        ..run.clone()
    };
    let marker = RunWrite {
        id: RunId::Key(settle.run_key.clone()),
        run: Run {
            end: run.end.as_ref().map(|end| end.of_marker(settle.retention)),
            ..run.clone()
        },
    };
    let next = run.end.as_ref().filter(|_| settle.succeeded);
    let next = next.and_then(|end| {
        Some(
            record
                .filter(|record| record.expectation.is_some())?
                .after(end),
        )
    });
    let mut runs = vec![(RunGuard::RunningUnder(settle.token), marker)];
    // The entry of the run in the history may have been deleted after its retention.
    if settle.succeeded && now < lease.expires_at.plus(settle.retention.history) {
        let id = RunId::Token(settle.token);
        runs.push((RunGuard::EndedUnder(settle.token), RunWrite { id, run }));
    }
    Transition {
        runs,
        next,
        ..Transition::unchanged(Outcome::Done)
    }
}
