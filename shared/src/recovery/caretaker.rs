//! Checks holders: carries each request of a [`Check`] to the service that it is for.

use super::{
    Alert, Answer, Check, ExecutionSight, Hint, Inspection, Ownership, Request, Step, TaskSight,
    TasksSight, over,
};
use crate::alerts::About;
use crate::clock::Clock;
use crate::domain::{Command, HolderId, Lease, LockKey, Outcome, Run, Settle, Timestamp, Work};
use crate::events::Events;
use crate::executions::{ExecutionArn, Executions};
use crate::followup::FollowUp;
use crate::protocol::ProtocolError;
use crate::store::LockStore;
use crate::tasks::{Tasks, task_group};

/// Checks holders.
#[derive(Debug)]
pub struct Caretaker<S, C, E, T, V> {
    /// What is done after a commit.
    pub follow: FollowUp<S, C, E, V>,
    /// Where tasks are described and stopped.
    pub tasks: T,
}

impl<S: LockStore, C: Clock, E: Executions, T: Tasks, V: Events> Caretaker<S, C, E, T, V> {
    /// Checks one holder and does what its state calls for. `hint` is what an event reports of it.
    ///
    /// # Errors
    /// [`ProtocolError`] when the table did not do its part. A service that gives no answer is no
    /// error: the holder is left as it is.
    pub async fn check(
        &self,
        lock: &LockKey,
        holder: &HolderId,
        lease: &Lease,
        hint: Option<Hint>,
    ) -> Result<Inspection, ProtocolError> {
        let retention = self.follow.retention;
        let mut check = Check::new(lock.clone(), holder.clone(), lease.clone(), hint, retention);
        let mut step = check.begin(self.now());
        loop {
            let request = match step {
                Step::Over(inspection) => return Ok(inspection),
                Step::Ask(request) => request,
            };
            let about = About {
                lock,
                holder,
                token: Some(lease.token),
                at: self.now(),
            };
            let answer = self.ask(&about, lease, request).await?;
            step = check.answer(answer, self.now());
        }
    }

    /// Records how the run of the open marker `run` ended that lost its permit and went on without,
    /// if its work is over. Whether it did.
    ///
    /// # Errors
    /// [`ProtocolError`], as for a check.
    pub async fn settle(&self, lock: &LockKey, run: &Run) -> Result<bool, ProtocolError> {
        let (Some(lease), Some(run_key)) = (&run.lease, &run.run_key) else {
            return Ok(false);
        };
        let execution = match ExecutionArn::of_holder(&run.holder) {
            Some(arn) => self.describe(&arn).await,
            None => ExecutionSight::NotOne,
        };
        let tasks = match &lease.work {
            Some(work) => self.list(work, &task_group(lock, &run.holder)).await,
            None => TasksSight::NotNamed,
        };
        let Some(ended) = over(lease, &execution, &tasks, self.now()) else {
            return Ok(false);
        };
        let settle = Command::Settle(Settle {
            run_key: run_key.clone(),
            token: run.token,
            succeeded: ended.succeeded,
            evidence: ended.evidence,
            retention: self.follow.retention,
        });
        let done = self.follow.protocol.execute(lock, &settle).await?;
        Ok(done.outcome == Outcome::Done)
    }

    async fn describe(&self, arn: &ExecutionArn) -> ExecutionSight {
        match self.follow.executions.look(arn).await {
            Ok(Some(state)) => ExecutionSight::Seen(state),
            Ok(None) => ExecutionSight::Unknown,
            Err(error) => ExecutionSight::Hidden(error.to_string()),
        }
    }

    async fn list(&self, work: &Work, group: &str) -> TasksSight {
        match self.tasks.of_group(work, group).await {
            Ok(tasks) => TasksSight::Seen(tasks),
            Err(error) => TasksSight::Hidden(error.to_string()),
        }
    }

    async fn ask(
        &self,
        about: &About<'_>,
        lease: &Lease,
        request: Request,
    ) -> Result<Answer, ProtocolError> {
        let About { lock, holder, .. } = *about;
        let executions = &self.follow.executions;
        Ok(match request {
            Request::DescribeExecution(arn) => Answer::Execution(self.describe(&arn).await),
            Request::ProveOwnership(arn) => {
                Answer::Ownership(match executions.names_lock(&arn, lock).await {
                    Ok(true) => Ownership::Proven,
                    Ok(false) => Ownership::Unproven,
                    Err(error) => Ownership::Hidden(error.to_string()),
                })
            }
            Request::DescribeTask(arn) => Answer::Task(match self.tasks.look(&arn).await {
                Ok(Some(task)) => TaskSight::Seen(task),
                Ok(None) => TaskSight::Unknown,
                Err(error) => TaskSight::Hidden(error.to_string()),
            }),
            Request::ListTasks(work, group) => Answer::Tasks(self.list(&work, &group).await),
            Request::Execute(command) => {
                let done = self.follow.protocol.execute(lock, &command).await?;
                self.follow.perform(lock, done.effects).await;
                Answer::Executed(done.outcome)
            }
            Request::Note(command) => {
                if let Err(error) = self.follow.protocol.execute(lock, &command).await {
                    tracing::warn!(%lock, %holder, %error, "the task was not noted in the history");
                }
                Answer::Executed(Outcome::Done)
            }
            Request::StopExecution(arn, error, cause) => {
                let stopped = executions.stop(&arn, error, &cause).await;
                if let Err(error) = &stopped {
                    tracing::warn!(%lock, %holder, %error, "StopExecution failed");
                }
                Answer::Accepted(stopped.is_ok())
            }
            Request::StopTask(cluster, task, reason) => {
                let stopped = self.tasks.stop(&cluster, &task, &reason).await;
                if let Err(error) = &stopped {
                    tracing::warn!(%lock, %holder, task, %error, "StopTask failed");
                }
                Answer::Accepted(stopped.is_ok())
            }
            Request::Wake(lease) => {
                self.follow.wake_again(lock, holder, &lease).await;
                Answer::Done
            }
            Request::Raise(alert) => {
                let event = match alert {
                    Alert::EvidenceMissing(why) => about.evidence_missing(lease.expires_at, &why),
                    Alert::Frozen(note) => about.frozen(&note),
                    Alert::Stopped(why) => about.stopped(&why),
                    Alert::NotStopped(why) => about.not_stopped(&why),
                    Alert::Freed(outcome, evidence) => about.freed(outcome, &evidence),
                };
                self.follow.events.publish(vec![event]).await;
                Answer::Done
            }
            Request::LoadWaiter(id) => {
                let waiter = self.follow.protocol.store().load_waiter(lock, &id).await?;
                Answer::Waiter(waiter)
            }
            Request::LoadLease(holder, token) => {
                let record = self.follow.protocol.store().load(lock).await?;
                Answer::Lease(record.and_then(|record| record.lease(&holder, token).cloned()))
            }
        })
    }

    /// The time that checks are made by.
    pub fn now(&self) -> Timestamp {
        self.follow.protocol.clock().now()
    }
}
