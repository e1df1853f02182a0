//! Resumes the grant of a redriven execution, once no work of its last attempt runs.
//!
//! RedriveExecution restarts the state that was aborted
//! (<https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html>). The execution has the
//! same ARN, and so the same fencing token, while the task of its last attempt may still run for its
//! `stopTimeout`. The token does not distinguish the two attempts.

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

/// Handles a request with `redrive`. The answer is `alreadyHeld` once no work of the last attempt runs, or
/// `finished` if that work succeeded.
///
/// # Errors
/// `Lockstep.LockHeld` while that work runs; `Lockstep.LeaseLost` if the run has no permit and no recorded
/// success.
pub(super) async fn run<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    renew: &Renew,
) -> Result<AcquireResponse, Error> {
    // Read before the lease is renewed: work that starts later belongs to the next attempt, which another
    // call of this function has let start.
    let began = deps.now();
    // The renewal comes first. After it, no check takes the end of the last attempt for the end of the run.
    // If the permit has gone to another run, the renewal fails with `Lockstep.LeaseLost`, and nothing is
    // started.
    deps.carry_out(lock, &Command::Renew(renew.clone())).await?;
    let record = deps.store().load(lock).await?;
    let lease = record.and_then(|record| record.lease(&renew.holder, renew.token).cloned());
    let Some(lease) = lease else {
        return without_lease(deps, lock, renew).await;
    };
    // The work succeeded before the execution was aborted, so it must not be repeated. The abort prevented
    // the release, so the release is done now.
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

/// Returns the response to a run whose heartbeat was accepted although it has no lease. The run has
/// succeeded, or it has lost its permit under `yield`.
///
/// # Errors
/// `Lockstep.LeaseLost` unless a success of the run is recorded: the work is not done, and must not be
/// repeated without a permit.
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
    let error = Error::lease_lost_without_success(lock, renew, evidence.as_deref());
    report_lost(deps, lock, renew, error.message(), deps.now()).await;
    Err(error)
}

/// Returns whether the work of the last attempt succeeded.
///
/// # Errors
/// `Lockstep.LockHeld` while that work runs. This call stops it first, because Step Functions stops it only
/// on a best-effort basis. Tasks that started after this call `began` are left: they belong to the next
/// attempt, which another call has let start.
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
            // The attempts before this one, the latest first. This one has not started its execution yet.
            for attempt in (0..lease.redrives).rev() {
                let Some(arn) = child_arn(machine, lock, lease.token, attempt) else {
                    continue;
                };
                // An attempt that was aborted before it started its execution has none. Then the attempt
                // before it counts.
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

/// Stops the child of the last attempt, and returns the error after which the workflow asks again. A
/// StopExecution that fails is logged, and the next request repeats it.
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

/// Stops the tasks of the last attempt, and returns the error after which the workflow asks again.
///
/// Tasks that may have started after this call began are left. Their start times are by the clock of ECS, so
/// clock skew counts in their favour.
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
