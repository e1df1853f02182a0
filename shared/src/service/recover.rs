//! Checks holders: sends each request of a [`Check`] to its service, and returns the answer to the check.
//!
//! [`Check`] decides the order of the requests, and what follows from the answers. A failed call of Step
//! Functions or ECS is an answer too (`Hidden`): the check continues with missing evidence. A failed request
//! to the table ends the check, because nothing can be written without the table.

use super::alerts::About;
use super::{Deps, Ports};
use crate::events::Events;
use crate::executions::{Executions, ExecutionsError};
use crate::tasks::Tasks;
use lockstep_core::domain::{
    CLOCK_SKEW, Command, EndingCause, ExecutionArn, HolderId, Lease, LockKey, Outcome, Run, Settle,
    Task, TaskArn, TaskSet, Work,
};
use lockstep_core::protocol::ProtocolError;
use lockstep_core::recovery::{
    Alert, Check, CheckAnswer, CheckStep, ExecutionObservation, Gathered, Gathering, Hint,
    Inspection, Ownership, Request, TaskObservation, Verdict, WorkObservation, may_be_created_by,
};
use lockstep_core::store::LockStore;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Result of [`RecoveryService::settle`] for a run that lost its permit and continued without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The run has ended, and its end is recorded.
    Recorded,
    /// The execution of the run has ended, and its work may still be stopping.
    Ending,
    /// DescribeExecution gave no answer, or one that may be out of date, and may give another one soon.
    Unanswered,
    /// The run is at work, or no evidence shows that it has ended.
    Not,
}

/// Checks holders.
pub struct RecoveryService<'a, P: Ports> {
    pub(super) deps: &'a Deps<P>,
}

impl<P: Ports> RecoveryService<'_, P> {
    /// Checks one holder, and as the evidence demands recovers it, stops it, or freezes its lock. `hint` is
    /// what an event reports of the holder.
    ///
    /// # Errors
    /// [`ProtocolError`] if a request to the table failed. A failed call to another service is not an error:
    /// it leaves evidence missing.
    pub async fn check(
        &self,
        lock: &LockKey,
        holder: &HolderId,
        lease: &Lease,
        hint: Option<Hint>,
    ) -> Result<Inspection, ProtocolError> {
        let retention = self.deps.retention;
        let mut check = Check::new(lock.clone(), holder.clone(), lease.clone(), hint, retention);
        let mut step = check.begin(self.deps.now());
        loop {
            let request = match step {
                CheckStep::Over(inspection) => return Ok(inspection),
                CheckStep::Ask(request) => request,
            };
            let about = About {
                lock,
                holder,
                token: Some(lease.token),
                at: self.deps.now(),
            };
            let answer = self.ask(&about, lease, request).await?;
            step = check.answer(answer, self.deps.now());
        }
    }

    /// Gathers the evidence about a holder and judges it. Writes nothing, and stops nothing.
    ///
    /// # Errors
    /// [`ProtocolError`] if a request to the table failed. A failed call to another service is not an error:
    /// it leaves evidence missing.
    pub async fn judge(
        &self,
        lock: &LockKey,
        holder: &HolderId,
        lease: &Lease,
    ) -> Result<Verdict, ProtocolError> {
        let gathering = Gathering::new(lock.clone(), holder.clone(), lease.clone(), None);
        let mut gathering = gathering.with_evidence_for_next();
        loop {
            let request = match gathering.next(self.deps.now()) {
                Gathered::Complete(verdict) => return Ok(verdict),
                Gathered::Ask(request) => request,
            };
            let about = About {
                lock,
                holder,
                token: Some(lease.token),
                at: self.deps.now(),
            };
            let answer = self.ask(&about, lease, request).await?;
            gathering.learn(answer, self.deps.now());
        }
    }

    /// Records the end of a run that lost its permit and continued without it (stale policy `yield`), if its
    /// work has ended. `run` is the entry of its run key, which has no end yet.
    ///
    /// acquire-lock calls this when another run asks for the same run key, because only that run depends on
    /// this end.
    ///
    /// # Errors
    /// [`ProtocolError`], as for a check.
    pub async fn settle(&self, lock: &LockKey, run: &Run) -> Result<Settled, ProtocolError> {
        let (Some(lease), Some(run_key)) = (&run.lease, &run.run_key) else {
            return Ok(Settled::Not);
        };
        let verdict = self.judge(lock, &run.holder, lease).await?;
        let not_over = match &verdict {
            verdict if verdict.execution_has_ended() => Settled::Ending,
            // An end that may be older than a redrive shows nothing, as in a check of a holder.
            verdict if verdict.doubted || verdict.evidence.is_unanswered() => Settled::Unanswered,
            _ => Settled::Not,
        };
        let Some(ended) = verdict.over() else {
            return Ok(not_over);
        };
        let settle = Command::Settle(Settle {
            run_key: run_key.clone(),
            token: run.token,
            succeeded: ended.succeeded,
            evidence: ended.evidence,
            retention: self.deps.retention,
        });
        // If the command changes nothing, another call has recorded the end.
        self.deps.protocol.execute(lock, &settle).await?;
        Ok(Settled::Recorded)
    }

    /// Returns what DescribeExecution shows. If the call fails, returns `Unanswered` for a failure that may
    /// pass, and `Hidden` for a denial.
    async fn describe(&self, arn: &ExecutionArn) -> ExecutionObservation {
        match self.deps.executions.describe(arn).await {
            Ok(Some(state)) => ExecutionObservation::Seen(state),
            Ok(None) => ExecutionObservation::Unknown,
            Err(error @ ExecutionsError::Unavailable(_)) => {
                ExecutionObservation::Unanswered(error.to_string())
            }
            Err(error) => ExecutionObservation::Hidden(error.to_string()),
        }
    }

    /// Returns what DescribeTasks shows, or `Hidden` if the call fails.
    async fn describe_task(&self, arn: &TaskArn) -> TaskObservation {
        match self.deps.tasks.describe(arn).await {
            Ok(Some(task)) => TaskObservation::Seen(task),
            Ok(None) => TaskObservation::Unknown,
            Err(error) => TaskObservation::Hidden(error.to_string()),
        }
    }

    async fn list(&self, tasks: &TaskSet, group: &str) -> WorkObservation {
        match self.deps.tasks.of_group(tasks, group).await {
            Ok(tasks) => WorkObservation::Tasks(tasks),
            Err(error) => WorkObservation::Hidden(error.to_string()),
        }
    }

    async fn describe_work(&self, arn: ExecutionArn) -> WorkObservation {
        match self.deps.executions.describe(&arn).await {
            Ok(seen) => WorkObservation::Execution(seen.map(|seen| (arn, seen))),
            Err(error) => WorkObservation::Hidden(error.to_string()),
        }
    }

    /// Returns the tasks that the states of `execution` may have started by RunTask and left running.
    ///
    /// A history that the function may not read counts as one without such a call. The execution may be
    /// encrypted with a key that the function may not use, and otherwise each run of it would freeze the
    /// lock.
    async fn tasks_left_by_states(
        &self,
        about: &About<'_>,
        lease: &Lease,
        execution: &ExecutionArn,
    ) -> WorkObservation {
        let About { lock, holder, .. } = *about;
        let mut starts = match self.deps.executions.failed_starts(execution).await {
            Ok(starts) => starts,
            Err(error @ ExecutionsError::Unavailable(_)) => {
                return WorkObservation::Hidden(error.to_string());
            }
            Err(error @ ExecutionsError::Denied(_)) => {
                tracing::warn!(event = "history_unread", %lock, %holder, %error, "GetExecutionHistory failed: whether a RunTask has left a task running is not known");
                Vec::new()
            }
        };
        // An execution that has reported the end of its guarded states continues after them, and calls
        // RunTask without the lock. Such a call does not count.
        let is_over = lease.exit.cause() == Some(&EndingCause::Over);
        if let (Some(Work::States), true, Some(ending)) = (&lease.work, is_over, &lease.exit.ending)
        {
            starts.retain(|start| start.called_at <= ending.since.plus(CLOCK_SKEW));
        }
        let mut found: HashMap<(&TaskSet, &str), Vec<Task>> = HashMap::new();
        for start in &starts {
            // The states of a Map make many calls with the same group, and one list answers for all of them.
            let Entry::Vacant(place) = found.entry((&start.tasks, &start.group)) else {
                continue;
            };
            match self.deps.tasks.of_group(&start.tasks, &start.group).await {
                Ok(tasks) => place.insert(tasks),
                Err(error) => return WorkObservation::Hidden(error.to_string()),
            };
        }
        let found = found.into_iter().flat_map(|((set, group), tasks)| {
            let calls = starts.iter();
            let calls: Vec<_> = calls
                .filter(|start| (&start.tasks, start.group.as_str()) == (set, group))
                .collect();
            let fits = move |task: &Task| calls.iter().any(|start| may_be_created_by(task, start));
            tasks.into_iter().filter(fits)
        });
        let found = found.collect();
        WorkObservation::States(Some(found))
    }

    /// Sends one request to its service.
    ///
    /// # Errors
    /// [`ProtocolError`] if a request to the table failed. A failed note about a task is not an error, and is
    /// only logged.
    async fn ask(
        &self,
        about: &About<'_>,
        lease: &Lease,
        request: Request,
    ) -> Result<CheckAnswer, ProtocolError> {
        let About { lock, holder, .. } = *about;
        let executions = &self.deps.executions;
        Ok(match request {
            Request::DescribeExecution(arn) => CheckAnswer::Execution(self.describe(&arn).await),
            Request::ProveOwnership(arn) => {
                CheckAnswer::Ownership(match executions.names_lock(&arn, lock).await {
                    Ok(true) => Ownership::Proven,
                    Ok(false) => Ownership::Unproven,
                    Err(error) => Ownership::Hidden(error.to_string()),
                })
            }
            Request::DescribeTask(arn) => CheckAnswer::Task(self.describe_task(&arn).await),
            Request::ListTasks(set, group) => CheckAnswer::Work(self.list(&set, &group).await),
            Request::DescribeWork(arn) => CheckAnswer::Work(self.describe_work(arn).await),
            Request::FindStarted(arn) => {
                CheckAnswer::Work(self.tasks_left_by_states(about, lease, &arn).await)
            }
            Request::Execute(command) => {
                CheckAnswer::Executed(self.deps.execute(lock, &command).await?)
            }
            Request::Note(command) => {
                if let Err(error) = self.deps.protocol.execute(lock, &command).await {
                    tracing::warn!(event = "task_not_recorded", %lock, %holder, %error, "the end of the task was not recorded in the history");
                }
                CheckAnswer::Executed(Outcome::Done)
            }
            Request::StopExecution(arn, error, cause) => {
                let stopped = executions.stop(&arn, error, &cause).await;
                if let Err(error) = &stopped {
                    tracing::warn!(event = "stop_execution_failed", %lock, %holder, %error, "StopExecution failed");
                }
                CheckAnswer::Accepted(stopped.is_ok())
            }
            Request::StopTask(cluster, task, reason) => {
                let stopped = self.deps.tasks.stop(&cluster, &task, &reason).await;
                if let Err(error) = &stopped {
                    tracing::warn!(event = "stop_task_failed", %lock, %holder, task, %error, "StopTask failed");
                }
                CheckAnswer::Accepted(stopped.is_ok())
            }
            Request::Wake(lease) => {
                self.deps.effects().wake_again(lock, holder, &lease).await;
                CheckAnswer::Done
            }
            Request::Raise(alert) => {
                if let Alert::Freed(outcome, evidence) = &alert {
                    self.deps.publish_run(about.ended(*outcome, evidence)).await;
                }
                let event = match alert {
                    Alert::EvidenceMissing(why) => about.evidence_missing(lease.expires_at, &why),
                    Alert::Frozen(note) => about.frozen(&note),
                    Alert::Stopped(why) => about.stopped(&why),
                    Alert::NotStopped(why) => about.not_stopped(&why),
                    Alert::Freed(outcome, evidence) => about.freed(outcome, &evidence),
                };
                self.deps.events.publish(vec![event]).await;
                CheckAnswer::Done
            }
            Request::LoadWaiter(id) => {
                let waiter = self.deps.store().load_waiter(lock, &id).await?;
                CheckAnswer::Waiter(waiter)
            }
            Request::LoadLease(holder, token) => {
                let record = self.deps.store().load(lock).await?;
                CheckAnswer::Lease(record.and_then(|record| record.lease(&holder, token).cloned()))
            }
        })
    }
}
