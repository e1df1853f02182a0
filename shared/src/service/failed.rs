//! Adds to the event of a failed run what the run does not report itself: its attempt, its redrives, the
//! execution that was its work, and the usual length of a run.
//!
//! One request to the table reads them, for runs of Step Functions only. The history keeps the lease of such
//! a run, with the execution that started it. A process has no such caller.

use super::{Deps, EFFECTS_END, Ports};
use crate::clock::CallTime;
use crate::contract::WorkFailure;
use crate::events::{FailedRun, UsualLength};
use lockstep_core::domain::{
    ExecutionArn, FencingToken, HolderId, Lease, LockKey, Run, RunKey, RunOutcome, Work, child_arn,
};
use lockstep_core::store::LockStore;

/// How many runs of the lock are read. Attempts are counted up to this number, and the usual length is that
/// of the successes among these runs.
const RUNS_READ: usize = 50;

/// A run that has just reported its failure.
pub(super) struct Ended<'a> {
    pub(super) lock: &'a LockKey,
    pub(super) holder: &'a HolderId,
    pub(super) token: FencingToken,
    pub(super) run_key: Option<RunKey>,
    pub(super) failure: Option<WorkFailure>,
    /// How long it held its permit, in milliseconds.
    pub(super) took_ms: u64,
}

impl<P: Ports> Deps<P> {
    /// Returns the description of the failed run for its message.
    ///
    /// Returns `None` for a process that does not report why it failed: people learn of its failure in
    /// another way. An execution that does not report why it failed has an older definition, and gets a
    /// message all the same.
    pub(super) async fn describe_failed(
        &self,
        time: &CallTime<'_, P::Clock>,
        ended: &Ended<'_>,
    ) -> Option<FailedRun> {
        let is_execution = ExecutionArn::of_holder(ended.holder).is_some();
        if ended.failure.is_none() && !is_execution {
            return None;
        }
        let mut failed = FailedRun::of(ended.failure.as_ref(), ended.run_key.clone());
        failed.took_ms = Some(ended.took_ms);
        if is_execution {
            self.add_history(time, ended, &mut failed).await;
        }
        Some(failed)
    }

    /// Adds what the history knows of the run. If the history cannot be read in time, the event is published
    /// without it.
    async fn add_history(
        &self,
        time: &CallTime<'_, P::Clock>,
        ended: &Ended<'_>,
        failed: &mut FailedRun,
    ) {
        let lock = ended.lock;
        let page = self.store().history(lock, None, RUNS_READ);
        let runs = match time.until(EFFECTS_END, page).await {
            Ok(Ok(page)) => page.runs,
            Ok(Err(error)) => {
                tracing::warn!(event = "attempts_unknown", %lock, %error, "the history was not read: the event lacks the attempt, the workflow and the usual length");
                return;
            }
            Err(error) => {
                tracing::warn!(event = "attempts_unknown", %lock, %error, "the history was not read: the event lacks the attempt, the workflow and the usual length");
                return;
            }
        };
        failed.usual = UsualLength::of(&runs);
        let Some(lease) = lease_of(&runs, ended) else {
            return;
        };
        failed.redrives = lease.redrives;
        failed.attempt = attempt(&runs, ended.token, lease);
        if let Some(Work::Workflow(machine)) = &lease.work {
            failed.work = child_arn(machine, lock, ended.token, lease.redrives);
        }
    }
}

/// Returns the lease that the history keeps of the run.
fn lease_of<'a>(runs: &'a [Run], ended: &Ended<'_>) -> Option<&'a Lease> {
    let mut runs = runs.iter();
    runs.find(|run| run.token == ended.token)?.lease.as_deref()
}

/// Returns the number of the attempt: one more than the earlier failed runs that the same execution started
/// with the same run key. Returns `None` for the first attempt.
fn attempt(runs: &[Run], token: FencingToken, lease: &Lease) -> Option<usize> {
    let parent = lease.parent.as_ref()?;
    let failed = |run: &Run| {
        matches!(
            run.outcome(),
            Some(RunOutcome::Failed | RunOutcome::Recovered | RunOutcome::Lost)
        )
    };
    let is_earlier = |run: &&Run| {
        let of = run.lease.as_ref().and_then(|lease| lease.parent.as_ref());
        run.token < token && of == Some(parent) && run.run_key == lease.run_key && failed(run)
    };
    let earlier = runs.iter().filter(is_earlier).count();
    (earlier > 0).then_some(earlier + 1)
}
