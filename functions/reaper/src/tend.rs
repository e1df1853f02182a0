//! One lock: what an event or the sweep does about it.

use crate::{Deps, Report, ignored};
use lockstep::clock::Clock;
use lockstep::domain::{
    Command, Evict, FencingToken, HolderId, Lease, LockKey, LockRecord, NoteTask, Order, RunId,
    WaiterId,
};
use lockstep::error::Error;
use lockstep::events::Events;
use lockstep::executions::{ExecutionArn, ExecutionEnd, ExecutionState, Executions};
use lockstep::protocol::ProtocolError;
use lockstep::recovery::Looked;
use lockstep::store::LockStore;
use lockstep::tasks::{Task, Tasks};
use lockstep::telemetry::{Metric, MetricSink};

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
        let report = self.look_at(lock, of_task).await?;
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
    ) -> Result<Report, Error> {
        let of_execution =
            |holder: &HolderId| ExecutionArn::of_holder(holder).as_ref() == Some(execution);
        let report = self.look_at(lock, of_execution).await?;
        let waiter = HolderId::new(execution.as_str()).ok();
        let record = self.load(lock).await?;
        let waits = |holder: &HolderId| {
            let queue = record.as_ref().map(|record| &record.queue);
            queue.is_some_and(|queue| queue.contains_key(&WaiterId::of(holder)))
        };
        if let Some(holder) = waiter.filter(waits)
            && self.is_over(execution).await
        {
            self.clear_place(lock, holder, end).await?;
        }
        Ok(report)
    }

    /// Looks at every holder of `lock` that needs it, lets waiters in, and sets the next look.
    pub(crate) async fn tend(&self, lock: &LockKey) -> Result<Report, Error> {
        let now = self.now();
        let Some(record) = self.load(lock).await? else {
            return Ok(Report::default());
        };
        let needs = |lease: &Lease| {
            lease.is_dead(now) || lease.call.is_some() || lease.replaced_by.is_some()
        };
        let mut report = Report::default();
        for (holder, lease) in record.holders.iter().filter(|(_, lease)| needs(lease)) {
            report += self.look(lock, holder, lease).await?;
        }
        if !record.queue.is_empty() {
            let waiting = self.execute(lock, &Command::HandOver).await?;
            self.caretaker.follow.perform(lock, waiting).await;
        }
        self.execute(lock, &Command::Reschedule).await?;
        Ok(report)
    }

    async fn look_at(
        &self,
        lock: &LockKey,
        of: impl Fn(&HolderId) -> bool,
    ) -> Result<Report, Error> {
        let mut report = Report {
            locks: 1,
            ..Report::default()
        };
        let holders = self.load(lock).await?.map(|record| record.holders);
        let holders = holders.unwrap_or_default();
        for (holder, lease) in holders.iter().filter(|(holder, _)| of(holder)) {
            report += self.look(lock, holder, lease).await?;
        }
        Ok(report)
    }

    async fn look(
        &self,
        lock: &LockKey,
        holder: &HolderId,
        lease: &Lease,
    ) -> Result<Report, Error> {
        let looked = self.caretaker.look_after(lock, holder, lease).await;
        let freed = matches!(
            looked.map_err(|error| Error::of_command(lock, error))?,
            Looked::Freed(_)
        );
        if freed {
            let recovered = [(Metric::Recovered, 1.0)];
            self.metrics.report(lock, self.now(), &recovered);
        }
        Ok(Report {
            holders: 1,
            freed: usize::from(freed),
            ..Report::default()
        })
    }

    /// The event may be old: an execution that was redriven waits again.
    async fn is_over(&self, execution: &ExecutionArn) -> bool {
        let seen = self.caretaker.follow.executions.look(execution).await;
        !matches!(seen, Ok(Some(ExecutionState::Running)) | Err(_))
    }

    /// A dead waiter takes up room in a bounded queue.
    async fn clear_place(
        &self,
        lock: &LockKey,
        holder: HolderId,
        end: ExecutionEnd,
    ) -> Result<(), Error> {
        let order = Order {
            // The execution's own end is what sends it away.
            actor: holder.clone(),
            note: format!("its execution was {} while it waited", end.as_str()),
            retention: self.caretaker.follow.retention,
        };
        self.execute(lock, &Command::Evict(Evict { holder, order }))
            .await?;
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

    async fn execute(
        &self,
        lock: &LockKey,
        command: &Command,
    ) -> Result<Vec<lockstep::domain::Effect>, Error> {
        let done = self.caretaker.follow.protocol.execute(lock, command).await;
        let done = done.map_err(|error: ProtocolError| Error::of_command(lock, error))?;
        Ok(done.effects)
    }
}
