//! Waiters whose execution has ended: their places would keep others from the queue.
//!
//! An event says that an execution has ended, and the reaper takes it out of the queue. If the event is lost, the
//! place is passed over at its turn, and taken before that by a run that finds the queue full.

use super::{Deps, Ports};
use crate::error::Error;
use crate::executions::Executions;
use lockstep_core::domain::{
    AuditNote, Command, DropWaiter, ExecutionArn, ExecutionEnd, ExecutionState, HolderId, LockKey,
    Waiter, WaiterId,
};
use lockstep_core::recovery::lags_behind_waiter;
use lockstep_core::store::LockStore;

/// What is seen of the execution of a waiter.
enum Seen {
    Waits,
    Over(ExecutionEnd),
    /// It was deleted, or began a moment ago.
    Unknown,
}

/// The waiters of one lock.
pub(super) struct Waiters<'a, P: Ports> {
    pub(super) deps: &'a Deps<P>,
    pub(super) lock: &'a LockKey,
}

impl<P: Ports> Waiters<'_, P> {
    /// Checks at most `most` waiters, and takes those out of the queue whose execution has ended. Returns whether one
    /// has left. In a longer queue, calls of different seconds check different waiters.
    ///
    /// # Errors
    /// When a request to the table failed.
    pub(super) async fn drop_dead(&self, most: usize) -> Result<bool, Error> {
        let Some(record) = self.deps.store().load(self.lock).await? else {
            return Ok(false);
        };
        let mut ids: Vec<_> = record.queue.keys().collect();
        let second = usize::try_from(self.deps.now().millis() / 1000).unwrap_or(0);
        let first = second % ids.len().max(1);
        ids.rotate_left(first);
        let mut dropped = false;
        for id in ids.into_iter().take(most) {
            let Some(waiter) = self.load(id).await? else {
                continue;
            };
            let holder = waiter.terms.holder.clone();
            let Some(execution) = ExecutionArn::of_holder(&holder) else {
                continue;
            };
            // One that Step Functions does not know may be too new to be described.
            if let Some(Seen::Over(end)) = self.see(Some(&waiter), &execution).await {
                self.drop(holder, end).await?;
                dropped = true;
            }
        }
        Ok(dropped)
    }

    /// Removes `holder` from the queue after an event says that its execution has ended, unless the execution was
    /// redriven since.
    ///
    /// # Errors
    /// When a request to the table failed.
    pub(super) async fn ended(
        &self,
        holder: HolderId,
        execution: &ExecutionArn,
        end: ExecutionEnd,
    ) -> Result<(), Error> {
        let Ok(waiter) = self.load(&WaiterId::of(&holder)).await else {
            return Ok(());
        };
        match self.see(waiter.as_ref(), execution).await {
            Some(Seen::Over(_) | Seen::Unknown) => self.drop(holder, end).await,
            Some(Seen::Waits) | None => Ok(()),
        }
    }

    async fn load(&self, id: &WaiterId) -> Result<Option<Waiter>, Error> {
        Ok(self.deps.store().load_waiter(self.lock, id).await?)
    }

    /// What Step Functions says of the execution of a waiter; `None` without a clear answer. An event may be old,
    /// because a redriven execution waits again. The description may be old, because the waiter has reported more
    /// redrives or has registered since.
    async fn see(&self, waiter: Option<&Waiter>, execution: &ExecutionArn) -> Option<Seen> {
        let Some(seen) = self.deps.executions.describe(execution).await.ok()? else {
            return Some(Seen::Unknown);
        };
        let ExecutionState::Ended(end) = seen.state else {
            return Some(Seen::Waits);
        };
        let now = self.deps.now();
        let lags = waiter.is_some_and(|waiter| lags_behind_waiter(&seen, waiter, now));
        Some(if lags { Seen::Waits } else { Seen::Over(end) })
    }

    async fn drop(&self, holder: HolderId, end: ExecutionEnd) -> Result<(), Error> {
        let audit = AuditNote {
            // The waiter leaves by the end of its own execution.
            actor: holder.clone(),
            note: format!("its execution was {} while it waited", end.as_str()),
            retention: self.deps.retention,
        };
        let drop = Command::DropWaiter(DropWaiter::of(holder, audit));
        self.deps.carry_out(self.lock, &drop).await?;
        Ok(())
    }
}
