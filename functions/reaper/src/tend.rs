//! One lock: what an event or the sweep does about it.

use crate::sweep::{AT_ONCE, Pending};
use crate::{Deps, Report, ignored};
use futures_util::stream::{self, StreamExt};
use lockstep::clock::Clock;
use lockstep::contract::{AcquireResponse, Duplicate, GaveUp};
use lockstep::domain::{
    CLOCK_SKEW, Command, Evict, FencingToken, HolderId, Lease, LockKey, LockRecord, NoteTask,
    Order, Outcome, RunId, RunKey, TaskToken, WaiterId,
};
use lockstep::error::Error;
use lockstep::events::Events;
use lockstep::executions::{
    ExecutionArn, ExecutionDescription, ExecutionEnd, ExecutionState, Executions,
};
use lockstep::protocol::ProtocolError;
use lockstep::recovery::{ExecutionEvent, Hint, Inspection};
use lockstep::store::LockStore;
use lockstep::tasks::{Task, Tasks};
use lockstep::telemetry::{Metric, MetricSink};
use std::time::Duration;

/// A step through holders that is prime, so that each of them comes first in its turn.
const STRIDE: usize = 37;

impl<S: LockStore, C: Clock, E: Executions, T: Tasks, V: Events, K: MetricSink>
    Deps<S, C, E, T, V, K>
{
    /// A task has stopped: its run may be over with it, and its end goes into the history.
    ///
    /// The event may come twice. It is dropped when the history has this version of the task, which
    /// is written last: an invocation that was cut off is not taken for one that did its work.
    pub(crate) async fn task_stopped(
        &self,
        lock: &LockKey,
        holder_hash: &str,
        task: &Task,
        token: Option<FencingToken>,
    ) -> Result<Report, Error> {
        if let Some(token) = token
            && self.is_known(lock, token, task).await?
        {
            return Ok(ignored("this version of the task was seen before"));
        }
        let of_task = |holder: &HolderId| WaiterId::of(holder).as_str() == holder_hash;
        let hint = Hint::Task(task.clone());
        let report = self.check_those(lock, of_task, Some(hint)).await?;
        if let Some(token) = token {
            let task = task.end();
            let note = Command::NoteTask(NoteTask { token, task });
            self.execute(lock, &note).await?;
        }
        Ok(report)
    }

    /// An execution is over: it holds no permit and waits for none any more.
    pub(crate) async fn execution_ended(
        &self,
        lock: &LockKey,
        execution: &ExecutionArn,
        end: ExecutionEnd,
        seen: ExecutionDescription,
    ) -> Result<Report, Error> {
        let redrives = seen.redrives;
        let hint = seen.stopped_at;
        let hint = hint.map(|at| Hint::Execution(ExecutionEvent { end, at, redrives }));
        let of_execution =
            |holder: &HolderId| ExecutionArn::of_holder(holder).as_ref() == Some(execution);
        let waiter = HolderId::new(execution.as_str()).ok();
        let record = self.load(lock).await?;
        let waits = |holder: &HolderId| {
            let queue = record.as_ref().map(|record| &record.queue);
            queue.is_some_and(|queue| queue.contains_key(&WaiterId::of(holder)))
        };
        if let Some(holder) = waiter.filter(waits)
            && self.is_over(lock, &holder, execution).await
        {
            self.drop_waiter(lock, holder, end).await?;
        }
        // Read after the queue: a waiter that was granted between the two reads is a holder in the second.
        let mut report = self.check_those(lock, of_execution, hint.clone()).await?;
        // What is not described yet decides, and no other event is to come where no task runs.
        if let Some(settled) = report.settles_in {
            let settled = settled.plus(CLOCK_SKEW);
            let clock = self.caretaker.follow.protocol.clock();
            clock.sleep(Duration::from_millis(settled.millis())).await;
            report += self.check_those(lock, of_execution, hint).await?;
        }
        Ok(report)
    }

    /// Ends the state of a workflow that a container has taken out of the queue. Why it waits in vain is
    /// read from the table; one that waits again, or holds a permit, is left alone.
    pub(crate) async fn sent_away(
        &self,
        lock: &LockKey,
        waiter: &HolderId,
        token: &TaskToken,
        run_key: Option<RunKey>,
    ) -> Result<Report, Error> {
        let is_in = |record: &LockRecord| {
            record.holders.contains_key(waiter) || record.queue.contains_key(&WaiterId::of(waiter))
        };
        if self.load(lock).await?.as_ref().is_some_and(is_in) {
            return Ok(ignored("it waits, or holds a permit"));
        }
        let follow = &self.caretaker.follow;
        let taken = match run_key {
            Some(key) => {
                let store = follow.protocol.store();
                let run = store.load_run(lock, &RunId::Key(key.clone())).await?;
                run.map(|run| (key, run))
            }
            None => None,
        };
        let answer = match taken {
            Some((key, run)) => AcquireResponse::Duplicate(Duplicate::of(lock, &key, &run)),
            None => AcquireResponse::GaveUp(GaveUp::late(lock)),
        };
        let executions = &follow.executions;
        executions.end_state(lock, token, &answer.to_json()).await?;
        Ok(Report {
            locks: 1,
            ..Report::default()
        })
    }

    /// Checks every holder of `lock` that needs it, and lets waiters in.
    ///
    /// When the sweep comes back is written first: a lock that takes longer than its time must not
    /// be the first one again.
    pub(crate) async fn tend(&self, lock: &LockKey) -> Result<Report, Error> {
        let now = self.now();
        let Some(record) = self.load(lock).await? else {
            return Ok(Report::default());
        };
        self.execute(lock, &Command::Reschedule).await?;
        let needs = |lease: &Lease| {
            let asked = lease.call.is_some() || lease.replaced_by.is_some();
            asked || lease.ending.is_some() || lease.is_dead(now)
        };
        let holders = record.holders.iter().filter(|(_, lease)| needs(lease));
        let mut holders: Vec<_> = holders.collect();
        // Of more holders than there is time for, another one is the first each minute.
        let minute = usize::try_from(now.millis() / 60_000).unwrap_or(0);
        let first = minute.wrapping_mul(STRIDE) % holders.len().max(1);
        holders.rotate_left(first);
        let mut checks: Vec<Pending<'_, Result<Report, Error>>> = Vec::new();
        for (holder, lease) in holders {
            checks.push(Box::pin(self.check(lock, holder, lease, None)));
        }
        let report = all(checks).await?;
        if !record.queue.is_empty() {
            self.execute(lock, &Command::HandOver).await?;
        }
        Ok(report)
    }

    async fn check_those(
        &self,
        lock: &LockKey,
        of: impl Fn(&HolderId) -> bool,
        hint: Option<Hint>,
    ) -> Result<Report, Error> {
        let mut report = Report {
            locks: 1,
            ..Report::default()
        };
        let holders = self.load(lock).await?.map(|record| record.holders);
        let holders = holders.unwrap_or_default();
        for (holder, lease) in holders.iter().filter(|(holder, _)| of(holder)) {
            report += self.check(lock, holder, lease, hint.clone()).await?;
        }
        Ok(report)
    }

    async fn check(
        &self,
        lock: &LockKey,
        holder: &HolderId,
        lease: &Lease,
        hint: Option<Hint>,
    ) -> Result<Report, Error> {
        let checked = self.caretaker.check(lock, holder, lease, hint).await;
        let checked = checked.map_err(|error| Error::of_command(lock, error))?;
        let freed = matches!(checked, Inspection::Freed(_));
        if freed {
            let recovered = [(Metric::Recovered, 1.0)];
            self.metrics.report(lock, self.now(), &recovered);
        }
        Ok(Report {
            holders: 1,
            freed: usize::from(freed),
            settles_in: checked.settles_in(),
            ..Report::default()
        })
    }

    /// The event may be old: an execution that was redriven waits again. So may the description be:
    /// the waiter has reported its redrives, or has registered since.
    async fn is_over(&self, lock: &LockKey, holder: &HolderId, execution: &ExecutionArn) -> bool {
        let follow = &self.caretaker.follow;
        let id = WaiterId::of(holder);
        let waiter = follow.protocol.store().load_waiter(lock, &id).await;
        let seen = follow.executions.look(execution).await;
        let (Ok(waiter), Ok(seen)) = (waiter, seen) else {
            return false;
        };
        let since = waiter.as_ref().map(|waiter| waiter.since);
        let reported = waiter.map_or(0, |waiter| waiter.terms.redrives);
        seen.is_none_or(|seen| {
            let registered_since = seen.stopped_at < since;
            let ended = seen.state != ExecutionState::Running && seen.redrives >= reported;
            ended && !(seen.stopped_at.is_some() && registered_since)
        })
    }

    /// A dead waiter takes up room in a bounded queue.
    async fn drop_waiter(
        &self,
        lock: &LockKey,
        holder: HolderId,
        end: ExecutionEnd,
    ) -> Result<(), Error> {
        let order = Order {
            // The execution's own end is what takes it out.
            actor: holder.clone(),
            note: format!("its execution was {} while it waited", end.as_str()),
            retention: self.caretaker.follow.retention,
        };
        let drop = Command::DropWaiter(Evict { holder, order });
        self.execute(lock, &drop).await?;
        Ok(())
    }

    async fn is_known(
        &self,
        lock: &LockKey,
        token: FencingToken,
        task: &Task,
    ) -> Result<bool, Error> {
        let store = self.caretaker.follow.protocol.store();
        let run = store.load_run(lock, &RunId::Token(token)).await?;
        let known = run.and_then(|run| run.task);
        Ok(known.is_some_and(|known| known.arn == task.arn && known.version >= task.version))
    }

    async fn load(&self, lock: &LockKey) -> Result<Option<LockRecord>, Error> {
        Ok(self.caretaker.follow.protocol.store().load(lock).await?)
    }

    /// Carries a command out, and what it leads to: a waiter that is let in is woken.
    async fn execute(&self, lock: &LockKey, command: &Command) -> Result<Outcome, Error> {
        let follow = &self.caretaker.follow;
        let done = follow.protocol.execute(lock, command).await;
        let done = done.map_err(|error: ProtocolError| Error::of_command(lock, error))?;
        follow.perform(lock, done.effects).await;
        Ok(done.outcome)
    }
}

/// What the checks came to, [`AT_ONCE`] of them at a time. All of them are made; the first failure
/// is reported.
async fn all(checks: Vec<Pending<'_, Result<Report, Error>>>) -> Result<Report, Error> {
    let mut checks = stream::iter(checks).buffer_unordered(AT_ONCE);
    let (mut report, mut failure) = (Report::default(), None);
    while let Some(checked) = checks.next().await {
        match checked {
            Ok(one) => report += one,
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(report), Err)
}
