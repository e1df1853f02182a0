//! Looks after holders: gathers the evidence, and does what it calls for.

use super::{Action, Evidence, ExecutionSight, TaskSight, TasksSight, judge};
use crate::alerts::About;
use crate::clock::Clock;
use crate::domain::{
    Command, Death, Freeze, HolderId, Lease, LockKey, NoteTask, Outcome, Recover, RunOutcome,
};
use crate::events::Events;
use crate::executions::{ExecutionArn, Executions};
use crate::followup::FollowUp;
use crate::protocol::ProtocolError;
use crate::store::LockStore;
use crate::tasks::{TaskArn, Tasks, task_group};

/// Looks after holders.
#[derive(Debug)]
pub struct Caretaker<S, C, E, T, V> {
    /// What is done after a commit.
    pub follow: FollowUp<S, C, E, V>,
    /// Where tasks are seen and stopped.
    pub tasks: T,
}

/// What a look at a holder came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// Its permit is free, or has gone to the first waiter.
    Freed(RunOutcome),
    /// It holds its permit.
    Held,
}

impl<S: LockStore, C: Clock, E: Executions, T: Tasks, V: Events> Caretaker<S, C, E, T, V> {
    /// Looks at one holder and does what its state calls for. What is stopped here is looked at
    /// once more: an execution stops at once, its tasks take their time.
    ///
    /// # Errors
    /// [`ProtocolError`] when the table did not do its part. A service that cannot be asked is no
    /// error: the holder is left as it is.
    pub async fn look_after(
        &self,
        lock: &LockKey,
        holder: &HolderId,
        lease: &Lease,
    ) -> Result<Looked, ProtocolError> {
        if let Some(looked) = self.look_once(lock, holder, lease).await? {
            return Ok(looked);
        }
        // The lease was renewed while the evidence was gathered: by a heartbeat that was under way,
        // or by a run that goes on. What is seen now tells which.
        let record = self.follow.protocol.store().load(lock).await?;
        let renewed = record.as_ref().and_then(|r| r.lease(holder, lease.token));
        let Some(renewed) = renewed else {
            return Ok(Looked::Held);
        };
        let looked = self.look_once(lock, holder, renewed).await?;
        Ok(looked.unwrap_or(Looked::Held))
    }

    /// Nothing when the holder has changed since `lease` was read.
    async fn look_once(
        &self,
        lock: &LockKey,
        holder: &HolderId,
        lease: &Lease,
    ) -> Result<Option<Looked>, ProtocolError> {
        let mut evidence = self.gather(lock, holder, lease).await;
        let mut action = judge(lease, &evidence, self.now());
        if let Action::Stop {
            execution,
            tasks,
            why,
        } = &action
        {
            self.stop(lock, holder, lease, *execution, tasks, why).await;
            evidence = self.gather(lock, holder, lease).await;
            action = judge(lease, &evidence, self.now());
        }
        tracing::info!(%lock, %holder, token = %lease.token, ?action, "looked after");
        match action {
            Action::Leave | Action::Stop { .. } => {}
            Action::Wake => self.follow.wake_again(lock, holder, lease).await,
            Action::Alert { why } => {
                let about = self.about(lock, holder, lease);
                let alert = about.evidence_missing(lease.expires_at, &why);
                self.follow.events.publish(vec![alert]).await;
            }
            Action::Freeze { why } => self.freeze(lock, holder, lease, why).await?,
            Action::Recover {
                death,
                evidence: words,
            } => {
                let looked = self.recover(lock, holder, lease, death, words).await?;
                self.note_task(lock, holder, lease, &evidence).await;
                return Ok(looked);
            }
        }
        Ok(Some(Looked::Held))
    }

    async fn gather(&self, lock: &LockKey, holder: &HolderId, lease: &Lease) -> Evidence {
        let execution = match ExecutionArn::of_holder(holder) {
            None => ExecutionSight::NotOne,
            Some(arn) => match self.follow.executions.look(&arn).await {
                Ok(Some(state)) => ExecutionSight::Seen(state),
                Ok(None) => ExecutionSight::Unknown,
                Err(error) => ExecutionSight::Hidden(error.to_string()),
            },
        };
        let task = match TaskArn::of_holder(holder) {
            None => TaskSight::NotOne,
            Some(arn) => match self.tasks.look(&arn).await {
                Ok(Some(task)) => TaskSight::Seen(task),
                Ok(None) => TaskSight::Unknown,
                Err(error) => TaskSight::Hidden(error.to_string()),
            },
        };
        let tasks = match &lease.work {
            None => TasksSight::NotNamed,
            Some(work) => match self.tasks.of_group(work, &task_group(lock, holder)).await {
                Ok(tasks) => TasksSight::Seen(tasks),
                Err(error) => TasksSight::Hidden(error.to_string()),
            },
        };
        Evidence {
            execution,
            task,
            tasks,
        }
    }

    async fn stop(
        &self,
        lock: &LockKey,
        holder: &HolderId,
        lease: &Lease,
        execution: bool,
        tasks: &[String],
        why: &str,
    ) {
        let error = match lease.replaced_by {
            Some(_) => "Lockstep.Replaced",
            None => "Lockstep.LeaseLost",
        };
        let cause = format!("lock {lock}: {holder} {why}");
        let mut stopped = false;
        if let Some(arn) = ExecutionArn::of_holder(holder).filter(|_| execution) {
            match self.follow.executions.stop(&arn, error, &cause).await {
                Ok(()) => stopped = true,
                Err(error) => {
                    tracing::warn!(%lock, %holder, %error, "the execution could not be stopped");
                }
            }
        }
        let cluster = lease.work.as_ref().map_or("", |work| &work.cluster);
        for task in tasks {
            match self.tasks.stop(cluster, task, &cause).await {
                Ok(()) => stopped = true,
                Err(error) => {
                    tracing::warn!(%lock, %holder, task, %error, "the task could not be stopped");
                }
            }
        }
        if stopped {
            let alert = self.about(lock, holder, lease).stopped(why);
            self.follow.events.publish(vec![alert]).await;
        }
    }

    async fn freeze(
        &self,
        lock: &LockKey,
        holder: &HolderId,
        lease: &Lease,
        why: String,
    ) -> Result<(), ProtocolError> {
        let freeze = Command::Freeze(Freeze {
            holder: holder.clone(),
            token: lease.token,
            note: format!("{holder} {why}"),
            retention: self.follow.retention,
        });
        let done = self.follow.protocol.execute(lock, &freeze).await?;
        if let Outcome::Frozen { note, .. } = &done.outcome {
            let alert = self.about(lock, holder, lease).frozen(note);
            self.follow.events.publish(vec![alert]).await;
        }
        Ok(())
    }

    async fn recover(
        &self,
        lock: &LockKey,
        holder: &HolderId,
        lease: &Lease,
        death: Death,
        evidence: String,
    ) -> Result<Option<Looked>, ProtocolError> {
        let recover = Command::Recover(Recover {
            holder: holder.clone(),
            token: lease.token,
            ends: lease.expires_at,
            death,
            evidence: evidence.clone(),
            retention: self.follow.retention,
        });
        let done = self.follow.protocol.execute(lock, &recover).await?;
        self.follow.perform(lock, done.effects).await;
        let Outcome::Freed {
            outcome: Some(outcome),
        } = done.outcome
        else {
            return Ok(None);
        };
        let alert = self.about(lock, holder, lease).freed(outcome, &evidence);
        self.follow.events.publish(vec![alert]).await;
        Ok(Some(Looked::Freed(outcome)))
    }

    /// The history shall tell which container the run died with. It is written after the recovery:
    /// the reaper takes a task that is noted for one that was dealt with.
    async fn note_task(&self, lock: &LockKey, holder: &HolderId, lease: &Lease, seen: &Evidence) {
        let own = match &seen.task {
            TaskSight::Seen(task) => Some(task),
            _ => None,
        };
        let of_execution = match &seen.tasks {
            TasksSight::Seen(tasks) => tasks.as_slice(),
            _ => &[],
        };
        let last = of_execution.iter().chain(own).filter(|task| task.stopped);
        let Some(task) = last.max_by_key(|task| task.stopped_at) else {
            return;
        };
        let note = Command::NoteTask(NoteTask {
            token: lease.token,
            task: task.end_of(TaskArn::container_of(holder)),
        });
        if let Err(error) = self.follow.protocol.execute(lock, &note).await {
            tracing::warn!(%lock, %error, "the history does not tell the task");
        }
    }

    fn about<'a>(&self, lock: &'a LockKey, holder: &'a HolderId, lease: &Lease) -> About<'a> {
        About {
            lock,
            holder,
            token: Some(lease.token),
            at: self.now(),
        }
    }

    fn now(&self) -> crate::domain::Timestamp {
        self.follow.protocol.clock().now()
    }
}
