//! What the reaper does for one lock, on an event or in the sweep.

use super::{AT_ONCE, ExecutionEnded, Pending, ReapReport, ignored};
use crate::clock::Clock;
use crate::contract::{AcquireResponse, Duplicate, EventKind, GaveUp};
use crate::error::Error;
use crate::events::Events;
use crate::executions::Executions;
use crate::service::alerts::{operated, run_missing};
use crate::service::rotation::rotate;
use crate::service::waiters::Waiters;
use crate::service::{Deps, Ports};
use crate::telemetry::Metric;
use futures_util::stream::{self, StreamExt};
use lockstep_core::domain::{
    AuditNote, CLOCK_SKEW, Command, ExecutionArn, FencingToken, HolderId, Lease, LockKey,
    LockRecord, NoteTask, Opening, Outcome, RunId, RunKey, RunOutcome, Task, TaskToken, Ticket,
    Timestamp, WaiterId, rfc3339,
};
use lockstep_core::recovery::{Hint, Inspection};
use lockstep_core::store::LockStore;
use std::time::Duration;

/// The reaper's work on one lock.
pub(super) struct LockReaper<'a, P: Ports> {
    pub(super) deps: &'a Deps<P>,
    pub(super) lock: LockKey,
}

impl<P: Ports> LockReaper<'_, P> {
    /// Checks the holder of a task that has stopped, and records the end of the task in the history.
    ///
    /// EventBridge may deliver the event twice. The second event is dropped if the history has this version
    /// of the task. The history is written last, so the retry of an interrupted call is not dropped.
    pub(super) async fn task_stopped(
        &self,
        holder_hash: &str,
        task: &Task,
        token: Option<FencingToken>,
    ) -> Result<ReapReport, Error> {
        // A task whose containers have no fencing token in their environment has no entry in the history.
        if let Some(token) = token
            && self.is_known(token, task).await?
        {
            return Ok(ignored("this version of the task was seen before"));
        }
        let of_task = |holder: &HolderId, _: &Lease| WaiterId::of(holder).as_str() == holder_hash;
        // The event has the same content as DescribeTasks, which may lag behind it.
        let hint = Hint::Task(task.clone());
        let report = self.check_holders_of(of_task, Some(hint)).await?;
        if let Some(token) = token {
            let task = task.end();
            let note = Command::NoteTask(NoteTask { token, task });
            self.deps.carry_out(&self.lock, &note).await?;
        }
        Ok(report)
    }

    /// Checks the permits of an execution that has ended, and removes the execution from the queue.
    pub(super) async fn execution_ended(
        &self,
        ended: &ExecutionEnded,
    ) -> Result<ReapReport, Error> {
        let ExecutionEnded { execution, end, .. } = ended;
        let hint = ended.event().map(Hint::Execution);
        let of_execution = |holder: &HolderId, _: &Lease| {
            ExecutionArn::of_holder(holder).as_ref() == Some(execution)
        };
        // The execution may wait for a permit. It will not ask again, and its place would keep others out of
        // the queue.
        let waiter = HolderId::new(execution.as_str()).ok();
        let record = self.load().await?;
        let waits = |holder: &HolderId| {
            let queue = record.as_ref().map(|record| &record.queue);
            queue.is_some_and(|queue| queue.contains_key(&WaiterId::of(holder)))
        };
        if let Some(holder) = waiter.filter(waits) {
            let (deps, lock) = (self.deps, &self.lock);
            Waiters { deps, lock }
                .ended(holder, execution, *end)
                .await?;
        }
        // The holders are read after the queue, so a waiter that gets its permit between the two reads is not
        // missed.
        self.check_until_settled(of_execution, hint).await
    }

    /// Checks the holder of the grant with `token`, after the execution that does its work has ended.
    pub(super) async fn work_ended(
        &self,
        token: FencingToken,
        ended: &ExecutionEnded,
    ) -> Result<ReapReport, Error> {
        let hint = ended.event();
        let hint = hint.map(|event| Hint::Work(ended.execution.clone(), event));
        self.check_until_settled(|_, lease| lease.token == token, hint)
            .await
    }

    /// Ends the waiting state of a workflow that a container has removed from the queue.
    ///
    /// The run that has taken the run key is read from the table. The waiting state of a workflow that waits
    /// again, or holds a permit, is not ended.
    pub(super) async fn sent_away(
        &self,
        waiter: &HolderId,
        token: &TaskToken,
        run_key: Option<RunKey>,
    ) -> Result<ReapReport, Error> {
        let is_in = |record: &LockRecord| {
            record.holders.contains_key(waiter) || record.queue.contains_key(&WaiterId::of(waiter))
        };
        if self.load().await?.as_ref().is_some_and(is_in) {
            return Ok(ignored("the waiter waits again, or holds a permit"));
        }
        let lock = &self.lock;
        let taken = match run_key {
            Some(key) => {
                let store = self.deps.store();
                let run = store.load_run(lock, &RunId::Key(key.clone())).await?;
                run.map(|run| (key, run))
            }
            None => None,
        };
        let answer = match taken {
            Some((key, run)) => AcquireResponse::Duplicate(Duplicate::of(lock, &key, &run)),
            None => AcquireResponse::GaveUp(GaveUp::late(lock)),
        };
        let executions = &self.deps.executions;
        executions.end_state(lock, token, &answer.to_json()).await?;
        Ok(ReapReport {
            locks: 1,
            ..ReapReport::default()
        })
    }

    /// Checks every holder that is due for it, and hands free permits over.
    ///
    /// The time of the next check is written first, so that a lock whose check times out does not come first
    /// in the next sweep too.
    pub(super) async fn check_all(&self) -> Result<ReapReport, Error> {
        let now = self.deps.now();
        let Some(record) = self.load().await? else {
            return Ok(ReapReport::default());
        };
        self.end_pause(&record).await?;
        self.note_missing(&record).await?;
        self.deps
            .carry_out(&self.lock, &Command::Reschedule)
            .await?;
        let holders = record.holders.iter();
        let holders = holders.filter(|(_, lease)| lease.is_checked_by_sweep(now));
        let mut holders: Vec<_> = holders.collect();
        // The time may not be enough for all holders, so another holder comes first each minute.
        let minute = now.millis() / 60_000;
        rotate(&mut holders, minute);
        let mut checks: Vec<Pending<'_, Result<ReapReport, Error>>> = Vec::new();
        for (holder, lease) in holders {
            checks.push(Box::pin(self.check(holder, lease, None)));
        }
        let report = sum(checks).await?;
        if !record.queue.is_empty() {
            self.report_queue(&record, now).await;
            self.deps.carry_out(&self.lock, &Command::HandOver).await?;
        }
        Ok(report)
    }

    /// Reports the number of waiters, and how long the first waiter has waited. A run that replaces the
    /// holder joined at the front of the queue, and does not count as the first waiter.
    async fn report_queue(&self, record: &LockRecord, now: Timestamp) {
        let length = u32::try_from(record.queue.len()).map_or(f64::MAX, f64::from);
        let mut values = vec![(Metric::QueueLength, length)];
        let arrived = record
            .queue
            .iter()
            .filter(|(_, ticket)| **ticket > Ticket::ZERO);
        if let Some((first, _)) = arrived.min_by_key(|(_, ticket)| **ticket) {
            let waiter = self.deps.store().load_waiter(&self.lock, first).await;
            if let Ok(Some(waiter)) = waiter {
                let waited = Duration::from_millis(now.millis_since(waiter.queued_at));
                values.push((Metric::OldestWaitSeconds, waited.as_secs_f64()));
            }
        }
        self.deps.metrics.report(&self.lock, now, &values);
    }

    /// Resumes the lock if its pause has expired.
    ///
    /// An expired pause counts as no pause, so the lock already grants permits. This records the end of the
    /// pause, with an entry in the history and an event, and hands a permit over to the first waiter.
    async fn end_pause(&self, record: &LockRecord) -> Result<(), Error> {
        let now = self.deps.now();
        let Some(end) = record.gate.mode.pause_end().filter(|end| *end <= now) else {
            return Ok(());
        };
        let audit = AuditNote {
            actor: HolderId::new("reaper").expect("a valid actor"),
            note: format!("the pause ended at {}", rfc3339(end)),
            retention: self.deps.retention,
        };
        let command = Command::Open(Opening::PauseEnd, audit.clone());
        if self.deps.carry_out(&self.lock, &command).await? == Outcome::Done {
            let event = operated(&self.lock, EventKind::LockResumed, &audit, now);
            self.deps.events.publish(vec![event]).await;
        }
        Ok(())
    }

    /// Publishes *Run Missing* if no run has succeeded within `expectEverySeconds`, and then notes that in
    /// the record. After a crash between the two the event is published twice, and never lost.
    async fn note_missing(&self, record: &LockRecord) -> Result<(), Error> {
        let now = self.deps.now();
        let missing = record.success_due().is_some_and(|due| due <= now);
        let Some(expected) = record.expectation.filter(|_| missing) else {
            return Ok(());
        };
        let event = run_missing(&self.lock, &expected, record.last_success, now);
        self.deps.events.publish(vec![event]).await;
        self.deps
            .carry_out(&self.lock, &Command::NoteMissing)
            .await?;
        Ok(())
    }

    /// Checks the holders that `of` chooses, and checks them again when their evidence is final:
    /// DescribeExecution may lag behind the event, and no other event follows.
    async fn check_until_settled(
        &self,
        of: impl Fn(&HolderId, &Lease) -> bool + Copy,
        hint: Option<Hint>,
    ) -> Result<ReapReport, Error> {
        let mut report = self.check_holders_of(of, hint.clone()).await?;
        if let Some(settled) = report.settles_in {
            let settled = settled.plus(CLOCK_SKEW);
            let clock = self.deps.clock();
            clock.sleep(Duration::from_millis(settled.millis())).await;
            report += self.check_holders_of(of, hint).await?;
        }
        Ok(report)
    }

    /// Checks the holders that `of` chooses from the present record, because the record may have changed
    /// since the event.
    async fn check_holders_of(
        &self,
        of: impl Fn(&HolderId, &Lease) -> bool,
        hint: Option<Hint>,
    ) -> Result<ReapReport, Error> {
        let mut report = ReapReport {
            locks: 1,
            ..ReapReport::default()
        };
        let holders = self.load().await?.map(|record| record.holders);
        let holders = holders.unwrap_or_default();
        for (holder, lease) in holders.iter().filter(|(holder, lease)| of(holder, lease)) {
            report += self.check(holder, lease, hint.clone()).await?;
        }
        Ok(report)
    }

    /// Checks one holder, and reports metrics if its permit was freed.
    async fn check(
        &self,
        holder: &HolderId,
        lease: &Lease,
        hint: Option<Hint>,
    ) -> Result<ReapReport, Error> {
        let lock = &self.lock;
        let checked = self.deps.recovery().check(lock, holder, lease, hint).await;
        let checked = checked.map_err(|error| Error::of_command(lock, error))?;
        let freed = matches!(checked, Inspection::Freed(_));
        if let Inspection::Freed(outcome) = checked {
            let mut values = vec![(Metric::Recovered, 1.0)];
            values.extend(match outcome {
                RunOutcome::Succeeded => Some((Metric::Succeeded, 1.0)),
                // A replaced or evicted run was ended on request, so its work has not failed.
                RunOutcome::Recovered | RunOutcome::Lost => Some((Metric::Failed, 1.0)),
                _ => None,
            });
            self.deps.metrics.report(lock, self.deps.now(), &values);
        }
        Ok(ReapReport {
            holders: 1,
            freed: usize::from(freed),
            settles_in: checked.settles_in(),
            ..ReapReport::default()
        })
    }

    /// Returns whether the history has this version of the task, or a later one.
    async fn is_known(&self, token: FencingToken, task: &Task) -> Result<bool, Error> {
        let id = RunId::Token(token);
        let run = self.deps.store().load_run(&self.lock, &id).await?;
        let known = run.and_then(|run| run.task);
        Ok(known.is_some_and(|known| known.arn == task.arn && known.version >= task.version))
    }

    async fn load(&self) -> Result<Option<LockRecord>, Error> {
        Ok(self.deps.store().load(&self.lock).await?)
    }
}

/// Runs all checks, [`AT_ONCE`] at a time, and adds up their reports. A failed check does not end the others;
/// the first failure is returned after all checks.
async fn sum(checks: Vec<Pending<'_, Result<ReapReport, Error>>>) -> Result<ReapReport, Error> {
    let mut checks = stream::iter(checks).buffer_unordered(AT_ONCE);
    let (mut report, mut failure) = (ReapReport::default(), None);
    while let Some(checked) = checks.next().await {
        match checked {
            Ok(one) => report += one,
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(report), Err)
}
