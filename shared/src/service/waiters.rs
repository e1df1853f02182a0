//! Removes waiters whose execution has ended, because their places would keep others out of the queue.
//!
//! The reaper removes such a waiter on the event of the end of its execution. If the event is lost, a run
//! that finds the queue full removes the waiter, or the hand-over passes it over at its turn.

use super::rotation::rotate;
use super::{Deps, Ports};
use crate::error::Error;
use crate::executions::Executions;
use lockstep_core::domain::{
    AuditNote, Command, DropWaiter, ExecutionArn, ExecutionEnd, ExecutionState, HolderId, LockKey,
    Waiter, WaiterId,
};
use lockstep_core::recovery::lags_behind_waiter;
use lockstep_core::store::LockStore;

/// What DescribeExecution shows of the execution of a waiter.
enum Seen {
    Waits,
    Over(ExecutionEnd),
    /// Step Functions does not know the execution: it was deleted, or started a moment ago.
    Unknown,
}

/// The waiters of one lock.
pub(super) struct Waiters<'a, P: Ports> {
    pub(super) deps: &'a Deps<P>,
    pub(super) lock: &'a LockKey,
}

impl<P: Ports> Waiters<'_, P> {
    /// Checks at most `most` waiters, and removes those whose execution has ended. Returns whether it has
    /// removed one. A failure is logged: a removed waiter leaves a place, whatever became of the others.
    ///
    /// If the queue is longer than `most`, calls in different seconds begin at waiters that are spread over
    /// it.
    pub(super) async fn drop_dead(&self, most: usize) -> bool {
        let (lock, mut dropped) = (self.lock, false);
        for id in self.spread(most).await {
            match self.drop_if_dead(&id).await {
                Ok(dead) => dropped |= dead,
                Err(error) => {
                    tracing::warn!(event = "check_failed", %lock, %error, "a waiter was not checked");
                }
            }
        }
        dropped
    }

    /// Returns at most `most` waiters, spread over the queue.
    async fn spread(&self, most: usize) -> Vec<WaiterId> {
        let record = self.deps.store().load(self.lock).await;
        let queue = record.ok().flatten().map(|record| record.queue);
        let queue = queue.unwrap_or_default();
        let mut ids: Vec<_> = queue.keys().cloned().collect();
        rotate(&mut ids, self.deps.now().millis() / 1000);
        ids.truncate(most);
        ids
    }

    /// Removes the waiter if its execution has ended, or if its side item is gone. Returns whether it has
    /// removed it.
    async fn drop_if_dead(&self, id: &WaiterId) -> Result<bool, Error> {
        let Some(waiter) = self.load(id).await? else {
            // A waiting state registers again every two hours, and DynamoDB deletes the side item a day after
            // its last registration.
            self.remove(id.clone(), None, "it has not registered for a day".into())
                .await?;
            return Ok(true);
        };
        let holder = waiter.terms.holder.clone();
        let Some(execution) = ExecutionArn::of_holder(&holder) else {
            return Ok(false);
        };
        // An execution that Step Functions does not know may be too new to be described, so its waiter
        // stays.
        match self.see(Some(&waiter), &execution).await {
            Some(Seen::Over(end)) => self.drop(holder, end).await.map(|()| true),
            _ => Ok(false),
        }
    }

    /// Removes `holder` from the queue after the event of the end of its execution. The waiter stays if
    /// DescribeExecution gives no clear answer, or shows that the execution runs again after a redrive.
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

    /// Describes the execution of a waiter. Returns `None` if Step Functions gives no clear answer.
    ///
    /// The event may be out of date, because a redriven execution waits again. The description may be out of
    /// date too, if the waiter has since reported more redrives or registered again.
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
        let note = format!("its execution was {} while it waited", end.as_str());
        self.remove(WaiterId::of(&holder), Some(holder), note).await
    }

    async fn remove(
        &self,
        waiter: WaiterId,
        holder: Option<HolderId>,
        note: String,
    ) -> Result<(), Error> {
        // No operator removes the waiter.
        let name = HolderId::new(waiter.as_str()).expect("a short name is a valid name");
        let audit = AuditNote {
            actor: holder.clone().unwrap_or(name),
            note,
            retention: self.deps.retention,
        };
        let drop = Command::DropWaiter(DropWaiter {
            waiter,
            holder,
            audit,
        });
        self.deps.carry_out(self.lock, &drop).await?;
        Ok(())
    }
}
