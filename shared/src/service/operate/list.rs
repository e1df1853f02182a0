//! The list of all locks.

use super::{TIME_MAX, concurrently};
use crate::contract::{CheckedList, ListResponse, LockSummary};
use crate::domain::LockKey;
use crate::error::Error;
use crate::service::{Deps, Ports};
use crate::store::{LOCKS_PAGE, LockIndex, LockStore, StoreError};
use futures_util::stream::StreamExt;

pub(super) async fn run<P: Ports>(deps: &Deps<P>, list: CheckedList) -> Result<ListResponse, Error>
where
    P::Store: LockIndex,
{
    let deadline = deps.now().plus(TIME_MAX);
    // With a filter, how many locks have to be read for a full response is not known.
    let page_size = list.state.map_or(list.limit, |_| LOCKS_PAGE);
    let mut found = Vec::new();
    let mut after = list.after;
    loop {
        let page = deps
            .store()
            .locks(&list.prefix, after.as_ref(), page_size)
            .await?;
        let summaries = page.locks.iter().map(|lock| summary(deps, lock));
        let mut summaries = concurrently(summaries);
        let mut read = 0;
        while found.len() < list.limit
            && let Some(summary) = summaries.next().await
        {
            read += 1;
            let state = summary
                .as_ref()
                .map(|summary| summary.as_ref().map(|of| of.state));
            if let Some(of_state) = state.ok().flatten()
                && list.state.is_some_and(|wanted| wanted != of_state)
            {
                continue;
            }
            found.extend(summary?);
        }
        drop(summaries);
        let more = page.more || read < page.locks.len();
        after = read
            .checked_sub(1)
            .map(|last| page.locks[last].clone())
            .or(after);
        if !more || found.len() == list.limit || deps.now() >= deadline {
            let next = after.filter(|_| more).map(|lock| lock.to_string());
            return Ok(ListResponse { locks: found, next });
        }
    }
}

/// The summary of `lock`; `None` if it has no record any more.
async fn summary<P: Ports>(deps: &Deps<P>, lock: &LockKey) -> Result<Option<LockSummary>, Error> {
    match deps.store().load(lock).await {
        Ok(record) => Ok(record.map(|record| LockSummary::of(lock, &record, deps.now()))),
        // One damaged record must not hide all others.
        Err(error @ StoreError::Corrupt { .. }) => {
            Ok(Some(LockSummary::unreadable(lock, error.to_string())))
        }
        Err(error) => Err(error.into()),
    }
}
