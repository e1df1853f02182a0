//! One lock, with the live state of its holders.
//!
//! The record shows what the table knows. Beside it stands what Step Functions and ECS show at this
//! moment, so that an operator sees why a permit is held, and what would free it. Nothing is
//! written: live state is read as a check reads it, and not acted on.

use super::frees::frees;
use super::{concurrently, history};
use crate::contract::{
    CheckedHistory, ClosedView, ExecutionView, HistoryScope, HolderView, InvalidRequest, LockState,
    OutcomesView, ShowResponse, TaskView, WaiterView,
};
use crate::domain::{
    ExecutionArn, ExecutionDescription, ExecutionState, HolderId, Lease, LockKey, LockRecord,
    TaskArn, Timestamp, WaiterId, rfc3339,
};
use crate::error::Error;
use crate::recovery::{ExecutionObservation, TaskObservation, WorkObservation};
use crate::service::{Deps, Ports};
use crate::store::{LockIndex, LockStore, StoreError};
use futures_util::stream::{StreamExt, TryStreamExt};
use std::future::ready;

/// Most waiters whose items are read.
const WAITERS_MAX: usize = 100;

/// The runs in `last`.
const LAST_RUNS: usize = 5;

/// Shows one lock. A call to another service that fails is shown at the holder that it was about,
/// and does not hide the rest.
pub(super) async fn run<P: Ports>(deps: &Deps<P>, lock: &LockKey) -> Result<ShowResponse, Error>
where
    P::Store: LockIndex,
{
    let record = existing(deps, lock).await?;
    let now = deps.now();
    let holders = record.oldest_first();
    let live = holders
        .iter()
        .map(|(holder, lease)| live_view(deps, lock, holder, lease, now));
    let live: Vec<_> = concurrently(live).collect().await;
    let everything = CheckedHistory {
        scope: HistoryScope::Lock(lock.clone()),
        from: Timestamp::default(),
        to: Timestamp::MAX,
        limit: LAST_RUNS,
        after: None,
    };
    let last = history::page_of(deps, &everything, lock, None, LAST_RUNS).await?;
    let granted = record.last_token.granted_at();
    // Runs that lost their permit and work on (`yield`) are in no record, and the history has their
    // lease.
    let ended = last.leases.iter();
    let ended = ended.filter(|(holder, _)| !record.holders.contains_key(holder));
    let ended = ended.map(|(holder, lease)| live_view(deps, lock, holder, lease, now));
    let without_permit = concurrently(ended).filter(|view| ready(view.is_at_work()));
    Ok(ShowResponse {
        skipped_in_a_row: last.skips.map(|skips| in_a_row(&skips, granted)),
        lock: lock.to_string(),
        state: LockState::of(&record, now),
        frees: frees(&record, &live, now),
        closed: ClosedView::of(&record.mode, &last.acts, now),
        permits: record.permits.get(),
        holders: live,
        queue_length: record.queue.len(),
        waiters: waiters(deps, lock, &record).await?,
        outcomes: OutcomesView::of(&record, now),
        rests_until: (record.not_before > now).then(|| rfc3339(record.not_before)),
        without_permit: without_permit.collect().await,
        last: last.entries,
    })
}

/// How many of `skips` came after the latest grant.
pub(super) fn in_a_row(skips: &[Timestamp], granted: Timestamp) -> u32 {
    let later = skips.iter().filter(|at| **at > granted);
    u32::try_from(later.count()).unwrap_or(u32::MAX)
}

/// The record of `lock`.
pub(super) async fn existing<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
) -> Result<LockRecord, Error> {
    let record = deps.store().load(lock).await?;
    Ok(record.ok_or_else(|| {
        let rule = "the name of a lock that was acquired or paused before";
        InvalidRequest::new("lock", format!("\"{lock}\""), rule)
    })?)
}

/// The first waiters, each with its side item. The record has only their short names.
async fn waiters<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    record: &LockRecord,
) -> Result<Vec<WaiterView>, Error> {
    let mut queue: Vec<_> = record.queue.iter().collect();
    queue.sort_by_key(|(_, ticket)| **ticket);
    let first = queue.into_iter().take(WAITERS_MAX).zip(1..);
    let views = first.map(|((id, _), position)| waiter(deps, lock, position, id));
    concurrently(views).try_collect().await
}

async fn waiter<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    position: usize,
    id: &WaiterId,
) -> Result<WaiterView, Error> {
    let item = match deps.store().load_waiter(lock, id).await {
        Ok(item) => Ok(item),
        // A damaged item is shown as a problem of its waiter, whose short name is enough to drop
        // it.
        Err(error @ StoreError::Corrupt { .. }) => Err(error.to_string()),
        Err(error) => return Err(error.into()),
    };
    Ok(WaiterView::of(position, id, item))
}

/// The holder with the state of its execution, task and work. A failed call is part of the view.
pub(super) async fn live_view<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    holder: &HolderId,
    lease: &Lease,
    now: Timestamp,
) -> HolderView {
    let recovery = deps.recovery();
    let mut view = HolderView::of(holder, lease, now);
    if let Some(arn) = ExecutionArn::of_holder(holder) {
        let observed = recovery.describe(&arn).await;
        view.execution = Some(execution(Some(&arn), &observed));
    }
    if let Some(arn) = TaskArn::of_holder(holder) {
        match recovery.describe_task(&arn).await {
            TaskObservation::Seen(task) => {
                let container = TaskArn::container_of(holder);
                view.tasks.push(TaskView::of(&task, container));
            }
            TaskObservation::Hidden(why) => view.hidden = Some(why),
            TaskObservation::Unknown | TaskObservation::NotOne => {}
        }
    }
    match recovery.work(lock, holder, lease).await {
        // States of the execution itself run as long as it does.
        WorkObservation::NotNamed | WorkObservation::States(_) => {}
        WorkObservation::Tasks(tasks) => {
            let views = tasks.iter().map(|task| TaskView::of(task, None));
            view.tasks.extend(views);
        }
        WorkObservation::Execution(None) => {
            view.workflow = Some(execution(None, &ExecutionObservation::Unknown));
        }
        WorkObservation::Execution(Some((arn, seen))) => {
            let seen = ExecutionObservation::Seen(seen);
            view.workflow = Some(execution(Some(&arn), &seen));
        }
        WorkObservation::Hidden(why) => view.hidden = Some(why),
    }
    view
}

/// `UNKNOWN` and `HIDDEN` are no statuses of Step Functions: it does not know the execution, or it
/// cannot be described.
fn execution(arn: Option<&ExecutionArn>, observed: &ExecutionObservation) -> ExecutionView {
    let (status, stopped_at, hidden) = match observed {
        ExecutionObservation::Seen(seen) => (status(seen), seen.stopped_at, None),
        ExecutionObservation::Unknown | ExecutionObservation::NotOne => ("UNKNOWN", None, None),
        ExecutionObservation::Hidden(why) => ("HIDDEN", None, Some(why.clone())),
    };
    ExecutionView {
        arn: arn.map(ToString::to_string),
        status,
        stopped_at: stopped_at.map(rfc3339),
        hidden,
    }
}

fn status(seen: &ExecutionDescription) -> &'static str {
    match seen.state {
        ExecutionState::Running => "RUNNING",
        ExecutionState::Ended(end) => end.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_was_skipped_as_the_grant_was_made_came_before_it() {
        let skips = [5, 6, 7].map(Timestamp::from_millis);

        assert_eq!(in_a_row(&skips, Timestamp::from_millis(6)), 1);
    }
}
