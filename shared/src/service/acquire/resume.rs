//! A redriven execution resumes its grant, once no task of its last attempt runs.
//!
//! RedriveExecution starts the state again that was aborted
//! (<https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html>), under the same
//! ARN and so with the same token, while the task of the attempt before may take its `stopTimeout`.
//! Fencing does not distinguish the two.

use crate::contract::{AcquireResponse, Finished, Granted};
use crate::error::Error;
use crate::executions::Executions;
use crate::service::heartbeat::report_lost;
use crate::service::{Deps, Ports};
use crate::tasks::Tasks;
use lockstep_core::domain::{
    CLOCK_SKEW, Command, ExecutionArn, ExecutionEnd, ExecutionState, Lease, LockKey, Release,
    Renew, Run, RunId, RunOutcome, Task, Timestamp, Work, child_arn, task_group,
};
use lockstep_core::recovery::{is_settling, tasks_succeeded};
use lockstep_core::store::LockStore;

/// Handles a request with `redrive`: the answer is `alreadyHeld` once no task of the last attempt
/// runs, or `finished` if the work of that attempt succeeded.
///
/// # Errors
/// `Lockstep.LockHeld` while that work runs; `Lockstep.LeaseLost` where the run has no permit and no recorded success.
pub(super) async fn run<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    renew: &Renew,
) -> Result<AcquireResponse, Error> {
    // Before the lease is renewed: what has started later is of the next attempt, which another
    // call of this function has let begin.
    let began = deps.now();
    // First: from now on no check takes the end of the attempt before for the end of the run. If
    // the grant has gone to another run, this fails with `Lockstep.LeaseLost`, and nothing is
    // started.
    deps.carry_out(lock, &Command::Renew(renew.clone())).await?;
    let record = deps.store().load(lock).await?;
    let lease = record.and_then(|record| record.lease(&renew.holder, renew.token).cloned());
    let Some(lease) = lease else {
        return without_lease(deps, lock, renew).await;
    };
    // Its container had exited with 0 before the execution was aborted. The work must not be
    // repeated, and the release, which the abort has prevented, is made up for.
    if last_attempt_succeeded(deps, lock, renew, &lease, began).await? {
        let release = Release {
            holder: renew.holder.clone(),
            token: renew.token,
            run_key: lease.run_key.clone(),
            outcome: RunOutcome::Succeeded,
            expect_every: lease.expect_every,
            retention: renew.retention,
        };
        deps.carry_out(lock, &release.into()).await?;
        return Ok(AcquireResponse::Finished(Finished::of(lock)));
    }
    tracing::info!(event = "resumed", %lock, holder = %renew.holder, token = %renew.token, "resumed");
    let granted = Granted::of(lock, &renew.holder, &lease, &deps.table);
    Ok(AcquireResponse::AlreadyHeld(granted))
}

/// The response to a run whose heartbeat was accepted, and that has no lease: it had succeeded, or it had lost
/// its permit under `yield`, a moment ago or long since.
///
/// # Errors
/// `Lockstep.LeaseLost` unless its success is recorded: the work is neither done nor to be repeated without a permit.
async fn without_lease<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    renew: &Renew,
) -> Result<AcquireResponse, Error> {
    let entry = RunId::Token(renew.token);
    let run = deps.store().load_run(lock, &entry).await?;
    let run = run.filter(|run| run.holder == renew.holder);
    if run.as_ref().and_then(Run::outcome) == Some(RunOutcome::Succeeded) {
        return Ok(AcquireResponse::Finished(Finished::of(lock)));
    }
    let evidence = run.and_then(|run| run.end?.evidence);
    let error = Error::without_success(lock, renew, evidence.as_deref());
    report_lost(deps, lock, renew, error.message(), deps.now()).await;
    Err(error)
}

/// Whether the work of the last attempt succeeded.
///
/// # Errors
/// `Lockstep.LockHeld` while it runs, after it was stopped: Step Functions stops it on a best-effort
/// basis. Work that started after this call `began` belongs to the next attempt, because another call
/// has resumed the run.
async fn last_attempt_succeeded<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    renew: &Renew,
    lease: &Lease,
    began: Timestamp,
) -> Result<bool, Error> {
    match &lease.work {
        Some(Work::Tasks(set)) => {
            let group = task_group(lock, &renew.holder);
            let tasks = deps.tasks.of_group(set, &group).await?;
            let alive: Vec<_> = tasks.iter().filter(|task| !task.stopped).collect();
            if !alive.is_empty() {
                return Err(stop_all(deps, lock, &set.cluster, &alive, began).await);
            }
            Ok(tasks_succeeded(lease, &tasks))
        }
        Some(Work::Workflow(machine)) => {
            // This attempt has not started its execution yet.
            for attempt in (0..lease.redrives).rev() {
                let Some(arn) = child_arn(machine, lock, lease.token, attempt) else {
                    continue;
                };
                // An attempt that was resumed and aborted before its start has no execution: the
                // one before it counts.
                let Some(seen) = deps.executions.describe(&arn).await? else {
                    continue;
                };
                if seen.state == ExecutionState::Running {
                    return Err(stop_work(deps, lock, &arn).await);
                }
                if is_settling(&seen, deps.now()) {
                    return Err(Error::still_stopping(lock, &[arn.to_string()]));
                }
                return Ok(seen.state == ExecutionState::Ended(ExecutionEnd::Succeeded));
            }
            Ok(false)
        }
        Some(Work::States) | None => Ok(false),
    }
}

/// Stops the child of the last attempt, and returns the error that has the workflow ask again. A
/// failed call changes nothing: the next request tries again.
async fn stop_work<P: Ports>(deps: &Deps<P>, lock: &LockKey, work: &ExecutionArn) -> Error {
    let cause = format!("lock {lock}: the execution is redriven");
    let stopped = deps
        .executions
        .stop(work, "Lockstep.LeaseLost", &cause)
        .await;
    if let Err(error) = stopped {
        tracing::warn!(event = "stop_execution_failed", %lock, execution = %work, %error, "StopExecution failed");
    }
    Error::still_stopping(lock, &[work.to_string()])
}

/// The same for tasks. Those that may have started since this call began are left: their clock is
/// that of ECS, so two clocks' difference counts in their favour.
async fn stop_all<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    cluster: &str,
    alive: &[&Task],
    began: Timestamp,
) -> Error {
    let reason = format!("lock {lock}: the execution is redriven");
    let old = |at: Timestamp| at.plus(CLOCK_SKEW) < began;
    let left = alive.iter().filter(|task| task.started_at.is_some_and(old));
    for task in left {
        let stopped = deps.tasks.stop(cluster, &task.arn, &reason).await;
        if let Err(error) = stopped {
            tracing::warn!(event = "stop_task_failed", %lock, task = task.arn, %error, "StopTask failed");
        }
    }
    let alive: Vec<_> = alive.iter().map(|task| task.arn.clone()).collect();
    Error::still_stopping(lock, &alive)
}
