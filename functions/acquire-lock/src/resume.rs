//! A redriven execution resumes its grant, once no task of its last attempt runs.
//!
//! RedriveExecution starts the state again that was aborted
//! (<https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html>), under the same
//! ARN and so with the same token, while the task of the attempt before may take its `stopTimeout`.
//! Fencing does not distinguish the two.

use crate::Deps;
use lockstep::clock::Clock;
use lockstep::contract::{AcquireResponse, CheckedAcquire, Finished, Granted};
use lockstep::domain::{
    CLOCK_SKEW, Command, Lease, LockKey, Release, Renew, RunOutcome, Timestamp,
};
use lockstep::error::Error;
use lockstep::events::Events;
use lockstep::executions::Executions;
use lockstep::recovery::work_succeeded;
use lockstep::store::LockStore;
use lockstep::tasks::{Task, Tasks, task_group};
use lockstep::telemetry::MetricSink;

impl<S: LockStore, C: Clock, E: Executions, T: Tasks, V: Events, K: MetricSink>
    Deps<S, C, E, T, V, K>
{
    pub(crate) async fn resume(
        &self,
        request: &CheckedAcquire,
        renew: &Renew,
    ) -> Result<AcquireResponse, Error> {
        let lock = &request.lock;
        let began = self.clock().now();
        self.carry_out(lock, &Command::Renew(renew.clone())).await?;
        let record = self.caretaker.follow.protocol.store().load(lock).await?;
        let lease = record.and_then(|record| record.lease(&renew.holder, renew.token).cloned());
        let Some(lease) = lease else {
            return Ok(AcquireResponse::Finished(Finished::of(lock)));
        };
        let tasks = self.last_attempt(lock, renew, &lease).await?;
        let alive: Vec<_> = tasks.iter().filter(|task| !task.stopped).collect();
        if !alive.is_empty() {
            return Err(self.stop_all(lock, &lease, &alive, began).await);
        }
        if work_succeeded(&lease, &tasks) {
            let release = Release {
                holder: renew.holder.clone(),
                token: renew.token,
                run_key: lease.run_key.clone(),
                outcome: RunOutcome::Succeeded,
                retention: renew.retention,
            };
            self.carry_out(lock, &release.into()).await?;
            return Ok(AcquireResponse::Finished(Finished::of(lock)));
        }
        tracing::info!(%lock, holder = %renew.holder, token = %renew.token, "resumed");
        let table = &self.caretaker.follow.table;
        let granted = Granted::of(lock, &renew.holder, &lease, table);
        Ok(AcquireResponse::AlreadyHeld(granted))
    }

    async fn carry_out(&self, lock: &LockKey, command: &Command) -> Result<(), Error> {
        let follow = &self.caretaker.follow;
        let done = follow.protocol.execute(lock, command).await;
        let done = done.map_err(|error| Error::of_command(lock, error))?;
        follow.perform(lock, done.effects).await;
        Ok(())
    }

    async fn last_attempt(
        &self,
        lock: &LockKey,
        renew: &Renew,
        lease: &Lease,
    ) -> Result<Vec<Task>, Error> {
        let Some(work) = &lease.work else {
            return Ok(Vec::new());
        };
        let group = task_group(lock, &renew.holder);
        Ok(self.caretaker.tasks.of_group(work, &group).await?)
    }

    /// Step Functions stops the task of an aborted execution as well as it can. A task that started
    /// after this call `began` is the next attempt: another call has resumed the run meanwhile.
    async fn stop_all(
        &self,
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
            let stopped = self.caretaker.tasks.stop(cluster, &task.arn, &reason).await;
            if let Err(error) = stopped {
                tracing::warn!(%lock, task = task.arn, %error, "StopTask failed");
            }
        }
        let alive: Vec<_> = alive.iter().map(|task| task.arn.clone()).collect();
        Error::still_stopping(lock, &alive)
    }
}
