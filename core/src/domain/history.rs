//! Builds the entries that a decision writes into the history of a lock.

use super::guard::RunGuard;
use super::run::{Retention, Run, RunEnd, RunId, RunOutcome, RunWrite};
use super::terms::Terms;
use super::time::Timestamp;
use super::token::FencingToken;

/// Returns the write of the marker that keeps the run key taken from the grant on; `None` without a run
/// key.
///
/// A grant writes no entry into the history, because the lease in the record is the state of a run that
/// is under way. So a grant without a run key writes one item.
pub(crate) fn start_run(terms: &Terms, token: FencingToken) -> Option<RunWrite> {
    let key = terms.run_key.clone()?;
    let run = Run::started(terms.holder.clone(), token, Some(key.clone()));
    Some(RunWrite {
        id: RunId::Key(key),
        run,
    })
}

/// Returns the writes for a run that ends: its entry in the history, and the marker of its run key. If
/// the run continues without its permit (`runs_on`), the marker stays open and keeps the key taken. The entry then stays
/// as long as the key of a success would, because the release of the run finds its key there.
///
/// Both are guarded by [`RunGuard::OpenFor`], so an item that already has an end is never overwritten. A
/// missing item is accepted, because a grant writes no entry.
pub(crate) fn end_run(run: &Run, runs_on: bool, retention: Retention) -> Vec<(RunGuard, RunWrite)> {
    let end = run.end.as_ref().filter(|_| !runs_on);
    // Only the entry contains the task, the lease and the task token, because each acquire with the run
    // key reads the marker. The marker contains the lease of a run that continues without its permit:
    // nothing else shows later whether that run has ended.
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
    let mut entry = RunWrite {
        id: RunId::Token(run.token),
        run: run.clone(),
    };
    if let Some(end) = &mut entry.run.end
        && runs_on
        && run.run_key.is_some()
    {
        let of_marker = end.of_marker(retention).retain_until;
        end.retain_until = end.retain_until.max(of_marker);
    }
    let writes = std::iter::once(entry).chain(marker);
    writes
        .map(|write| (RunGuard::OpenFor(run.token), write))
        .collect()
}

/// Returns the end of a run at `now`, as the history contains it.
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
