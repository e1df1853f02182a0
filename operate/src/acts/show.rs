//! Shows one lock, with the live state of its holders.
//!
//! The response combines the record of the lock with what Step Functions and ECS report at this moment, so
//! that an operator sees why a permit is held and what will free it. `show` judges the holders as the
//! sweep does, but takes no action and writes nothing.

use super::frees::frees;
use super::holder::{judge, next_action, next_view, view};
use super::{concurrently, history};
use crate::contract::{
    CheckedHistory, ClosedView, HistoryEntry, HistoryFilter, HolderView, LockState, NewLocksView,
    OutcomesView, ShowResponse, UsualView, WaiterView,
};
use futures_util::stream::TryStreamExt;
use lockstep::contract::InvalidRequest;
use lockstep::error::Error;
use lockstep::events::HistoryScope;
use lockstep::events::UsualLength;
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{LockKey, LockRecord, Terms, Timestamp, WaiterId, rfc3339};
use lockstep_core::store::{LockIndex, LockStore, StoreError};

/// Maximum number of waiters whose items are read.
const WAITERS_MAX: usize = 100;

/// Number of ended runs in the field `last` of the response.
const LAST_RUNS: usize = 5;

/// Number of runs before those in `last` that also count for the usual length of a run.
const EARLIER_RUNS: usize = 15;

/// Shows one lock. A failed call to Step Functions or ECS is shown at its holder, and hides nothing else.
pub(super) async fn run<P: Ports>(deps: &Deps<P>, lock: &LockKey) -> Result<ShowResponse, Error>
where
    P::Store: LockIndex,
{
    let record = match existing(deps, lock).await {
        Ok(record) => record,
        Err(error) => {
            return Err(error_while_new_locks_are_paused(deps, lock)
                .await?
                .unwrap_or(error));
        }
    };
    let now = deps.now();
    let holders = record.oldest_first();
    let verdicts = holders
        .iter()
        .map(|(holder, lease)| judge(deps, lock, holder, lease));
    let verdicts: Vec<_> = concurrently(verdicts).try_collect().await?;
    let judged = holders.iter().map(|(holder, _)| holder).zip(&verdicts);
    let everything = CheckedHistory {
        scope: HistoryScope::Lock(lock.clone()),
        filter: HistoryFilter::default(),
        from: Timestamp::default(),
        to: Timestamp::MAX,
        limit: LAST_RUNS,
        after: None,
    };
    let last = history::page_of(deps, &everything, lock, None, LAST_RUNS, None).await?;
    let usual = usual(deps, lock, &last).await?;
    let granted = record.last_token.granted_at();
    // The record does not contain runs that lost their permit and continue (`yield`). The history keeps their
    // leases.
    let ended = last.leases.iter();
    let ended = ended.filter(|(holder, _)| !record.holders.contains_key(holder));
    let ended = ended.map(async |(holder, lease)| {
        let verdict = judge(deps, lock, holder, lease).await?;
        let at_work = verdict.evidence.is_at_work();
        Ok::<_, Error>(at_work.then(|| view(holder, &verdict, now)))
    });
    let ended: Vec<_> = concurrently(ended).try_collect().await?;
    Ok(ShowResponse {
        skipped_in_a_row: last.skips.map(|skips| in_a_row(&skips, granted)),
        lock: lock.to_string(),
        state: LockState::of(&record, now),
        frees: frees(
            &record,
            judged.clone().next(),
            terms_of_first_waiter(deps, lock, &record).await.as_ref(),
            now,
        ),
        closed: ClosedView::of(&record.gate.mode, &last.acts, now),
        permits: record.permits.get(),
        holders: judged
            .map(|(holder, verdict)| HolderView {
                longer_than_usual: usual
                    .as_ref()
                    .is_some_and(|usual| usual.is_exceeded(&verdict.lease, now)),
                next: next_action(&record, verdict)
                    .map(|next| next_view(&record, &verdict.lease, &next)),
                ..view(holder, verdict, now)
            })
            .collect(),
        queue_length: record.queue.len(),
        waiters: waiters(deps, lock, &record).await?,
        outcomes: OutcomesView::of(&record, now),
        rests_until: (record.gate.not_before > now).then(|| rfc3339(record.gate.not_before)),
        without_permit: ended.into_iter().flatten().collect(),
        usual,
        last: last.entries,
    })
}

/// Returns the error for a lock without a record while all locks that have not run yet are paused; `None`
/// while they are not.
async fn error_while_new_locks_are_paused<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
) -> Result<Option<Error>, Error> {
    let closed = deps.store().new_locks().await?;
    let closed = NewLocksView::of(closed.as_ref(), deps.now());
    Ok(closed.map(|closed| {
        let rule = format!(
            "a lock that has run or was paused by its name; all locks that have not run yet are paused: {}",
            closed.note
        );
        InvalidRequest::new("lock", format!("\"{lock}\""), rule).into()
    }))
}

/// Returns how long runs of the lock usually take, computed from the runs in `last` and the [`EARLIER_RUNS`]
/// before.
async fn usual<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    last: &history::LockPage,
) -> Result<Option<UsualView>, Error> {
    let mut lengths: Vec<_> = last
        .entries
        .iter()
        .filter_map(HistoryEntry::success)
        .collect();
    if let Some(token) = last.next {
        let earlier = deps
            .store()
            .history(lock, Some(token), EARLIER_RUNS)
            .await?;
        let earlier = earlier
            .runs
            .iter()
            .filter_map(|run| HistoryEntry::run(lock, run));
        lengths.extend(earlier.filter_map(|entry| entry.success()));
    }
    Ok(UsualLength::of_lengths(lengths).and_then(UsualView::of))
}

/// Returns how many of `skips` came after the latest grant, which was at `granted`.
pub(super) fn in_a_row(skips: &[Timestamp], granted: Timestamp) -> u32 {
    let later = skips.iter().filter(|at| **at > granted);
    u32::try_from(later.count()).unwrap_or(u32::MAX)
}

/// Returns the record of `lock`.
///
/// # Errors
/// `Lockstep.InvalidRequest` if the lock has no record, and the errors of the table.
pub(super) async fn existing<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
) -> Result<LockRecord, Error> {
    let record = deps.store().load(lock).await?;
    Ok(record.ok_or_else(|| {
        let rule =
            "the name of a lock that was acquired or paused before (`lockstep locks` lists them)";
        InvalidRequest::new("lock", format!("\"{lock}\""), rule)
    })?)
}

/// Returns the terms of the first waiter; `None` without a free permit. While no permit is free, the waiter
/// waits for the holders, and its terms make no difference.
async fn terms_of_first_waiter<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    record: &LockRecord,
) -> Option<Terms> {
    let (first, _) = record.first_waiter().filter(|_| record.has_room())?;
    // A damaged item is no error here, because the list of waiters shows that it is damaged.
    let item = deps.store().load_waiter(lock, first).await.ok()?;
    item.map(|waiter| waiter.terms)
}

/// Returns the first [`WAITERS_MAX`] waiters. The record contains only their short names, so the side item of
/// each waiter is read, which has its holder and its terms.
async fn waiters<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    record: &LockRecord,
) -> Result<Vec<WaiterView>, Error> {
    let mut queue: Vec<_> = record.queue.iter().collect();
    queue.sort_by_key(|(_, ticket)| **ticket);
    let first = queue.into_iter().take(WAITERS_MAX).zip(1..);
    let views = first.map(|((id, _), position)| waiter(deps, lock, position, id));
    let mut views: Vec<WaiterView> = concurrently(views).try_collect().await?;
    // A waiter that was granted a permit after the record was read has no item any more.
    if views.iter().any(|view| view.problem.is_some()) {
        let queue = deps.store().load(lock).await?.map(|record| record.queue);
        let queue = queue.unwrap_or_default();
        views.retain(|view| {
            let still_waits = queue.keys().any(|id| id.as_str() == view.id);
            view.problem.is_none() || still_waits
        });
    }
    Ok(views)
}

async fn waiter<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    position: usize,
    id: &WaiterId,
) -> Result<WaiterView, Error> {
    let item = match deps.store().load_waiter(lock, id).await {
        Ok(item) => Ok(item),
        // The response shows a damaged item as the problem of its waiter. Its short name is enough to drop
        // the waiter.
        Err(error @ StoreError::Corrupt { .. }) => Err(error.to_string()),
        Err(error) => return Err(error.into()),
    };
    Ok(WaiterView::of(position, id, item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_at_the_time_of_the_latest_grant_is_not_counted() {
        let skips = [5, 6, 7].map(Timestamp::from_millis);

        assert_eq!(in_a_row(&skips, Timestamp::from_millis(6)), 1);
    }
}
