//! What a decision writes into the history of a lock.

use super::guard::RunGuard;
use super::run::{Retention, Run, RunEnd, RunId, RunOutcome, RunWrite};
use super::terms::Terms;
use super::time::Timestamp;
use super::token::FencingToken;

/// The marker of a run key, from the grant on.
///
/// It has no counterpart in the history: while the run is under way its lease in the record is its
/// state, so a grant without a run key writes one item.
pub(crate) fn start_run(terms: &Terms, token: FencingToken) -> Option<RunWrite> {
    let key = terms.run_key.clone()?;
    let run = Run::started(terms.holder.clone(), token, Some(key.clone()));
    Some(RunWrite {
        id: RunId::Key(key),
        run,
    })
}

/// The entries of a run that ends: its own, and the marker of its run key. A run that `runs_on`
/// without its permit keeps the key.
///
/// Both are guarded by [`RunGuard::OpenFor`]: an entry that already has an end is never
/// overwritten, whatever record the write meets. A missing one is accepted: a grant writes no
/// entry.
pub(crate) fn end_run(run: &Run, runs_on: bool, retention: Retention) -> Vec<(RunGuard, RunWrite)> {
    let end = run.end.as_ref().filter(|_| !runs_on);
    // The task, the lease and the task token are in the entry alone. The marker is read by each acquire with its
    // key, and keeps the lease only where it alone shows whether the run without a permit has
    // ended.
    let marker = run.run_key.clone().map(|key| RunWrite {
        id: RunId::Key(key),
        run: Run {
            task: None,
            end: end.map(|end| end.of_marker(retention)),
            lease: run.lease.clone().filter(|_| runs_on),
            beat: None,
            ..run.clone()
        },
    });
    let entry = RunWrite {
        id: RunId::Token(run.token),
        run: run.clone(),
    };
    let writes = std::iter::once(entry).chain(marker);
    writes
        .map(|write| (RunGuard::OpenFor(run.token), write))
        .collect()
}

/// The end of a run at `now`, as the history keeps it.
pub(crate) fn ended(
    outcome: RunOutcome,
    evidence: Option<String>,
    retention: Retention,
    now: Timestamp,
) -> RunEnd {
    RunEnd {
        outcome,
        at: now,
        retain_until: now.plus(retention.history),
        evidence,
    }
}
