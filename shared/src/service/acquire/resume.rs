//! A redriven execution resumes its grant, once no task of its last attempt runs.
//!
//! RedriveExecution starts the state again that was aborted
//! (<https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html>), under the same
//! ARN and so with the same token, while the task of the attempt before may take its `stopTimeout`.
//! Fencing does not distinguish the two.

use crate::contract::{AcquireResponse, Finished, Granted};
use crate::domain::{
    CLOCK_SKEW, Command, Lease, LockKey, Release, Renew, RunOutcome, Task, Timestamp, task_group,
};
use crate::error::Error;
use crate::recovery::work_succeeded;
use crate::service::{Deps, Ports};
use crate::store::LockStore;
use crate::tasks::Tasks;

/// Handles a request with `redrive`: the answer is `alreadyHeld` once no task of the last attempt
/// runs, or `finished` if the work of that attempt succeeded.
pub(super) async fn run<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    renew: &Renew,
) -> Result<AcquireResponse, Error> {
    let began = deps.now();
    deps.carry_out(lock, &Command::Renew(renew.clone())).await?;
    let record = deps.store().load(lock).await?;
    let lease = record.and_then(|record| record.lease(&renew.holder, renew.token).cloned());
    let Some(lease) = lease else {
        return Ok(AcquireResponse::Finished(Finished::of(lock)));
    };
    let tasks = last_attempt(deps, lock, renew, &lease).await?;
    let alive: Vec<_> = tasks.iter().filter(|task| !task.stopped).collect();
    if !alive.is_empty() {
        return Err(stop_all(deps, lock, &lease, &alive, began).await);
    }
    if work_succeeded(&lease, &tasks) {
        let release = Release {
            holder: renew.holder.clone(),
            token: renew.token,
            run_key: lease.run_key.clone(),
            outcome: RunOutcome::Succeeded,
            retention: renew.retention,
        };
        deps.carry_out(lock, &release.into()).await?;
        return Ok(AcquireResponse::Finished(Finished::of(lock)));
    }
    tracing::info!(event = "resumed", %lock, holder = %renew.holder, token = %renew.token, "resumed");
    let granted = Granted::of(lock, &renew.holder, &lease, &deps.table);
    Ok(AcquireResponse::AlreadyHeld(granted))
}

async fn last_attempt<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    renew: &Renew,
    lease: &Lease,
) -> Result<Vec<Task>, Error> {
    let Some(work) = &lease.work else {
        return Ok(Vec::new());
    };
    let group = task_group(lock, &renew.holder);
    Ok(deps.tasks.of_group(work, &group).await?)
}

/// Stops the tasks of the last attempt, which Step Functions stops on a best-effort basis. A task that
/// started after this call `began` belongs to the next attempt: another call has resumed the run.
async fn stop_all<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    lease: &Lease,
    alive: &[&Task],
    began: Timestamp,
) -> Error {
    let cluster = lease.work.as_ref().map_or("", |work| &work.cluster);
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
