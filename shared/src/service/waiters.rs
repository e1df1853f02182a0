//! Removes waiters whose execution has ended, because their places would keep others out of the queue.
//!
//! The reaper removes such a waiter on the event of the end of its execution. If the event is lost, a run
//! that finds the queue full removes the waiter, or the hand-over passes it over at its turn.

use super::{Deps, Ports};
use crate::error::Error;
use crate::executions::Executions;
use lockstep_core::domain::{
    AuditNote, Command, DropWaiter, ExecutionArn, ExecutionEnd, ExecutionState, HolderId, LockKey,
    Timestamp, Waiter, WaiterId,
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
    /// removed one.
    ///
    /// If the queue is longer than `most`, calls in different seconds begin at waiters that are spread over
    /// it, whatever the time between the calls.
    ///
    /// # Errors
    /// When a request to the table failed.
    pub(super) async fn drop_dead(&self, most: usize) -> Result<bool, Error> {
        let Some(record) = self.deps.store().load(self.lock).await? else {
            return Ok(false);
        };
        let mut ids: Vec<_> = record.queue.keys().collect();
        let first = first_of(ids.len(), self.deps.now());
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
            // An execution that Step Functions does not know may be too new to be described, so its waiter
            // stays.
            if let Some(Seen::Over(end)) = self.see(Some(&waiter), &execution).await {
                self.drop(holder, end).await?;
                dropped = true;
            }
        }
        Ok(dropped)
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
        let audit = AuditNote {
            // No operator removes the waiter: its own execution has ended.
            actor: holder.clone(),
            note: format!("its execution was {} while it waited", end.as_str()),
            retention: self.deps.retention,
        };
        let drop = Command::DropWaiter(DropWaiter::of(holder, audit));
        self.deps.carry_out(self.lock, &drop).await?;
        Ok(())
    }
}

/// Returns which of `count` waiters a call at `now` checks first. The multiples of the golden ratio are spread
/// evenly between 0 and 1, and so are the multiples of each of them. A remainder of the second would begin at
/// the same waiters again if the time between two calls is a multiple of `count`.
fn first_of(count: usize, now: Timestamp) -> usize {
    /// The fraction of the golden ratio, in units of 2^-64.
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let spread = (now.millis() / 1000).wrapping_mul(GOLDEN);
    let first = (u128::from(spread) * count as u128) >> 64;
    usize::try_from(first).unwrap_or(0)
}
