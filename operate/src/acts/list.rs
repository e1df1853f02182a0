//! Lists locks.
//!
//! The names come from the index of all locks, and each record is then read from the table. So each row is
//! consistent, but the index may not show a lock yet that was acquired for the first time a moment ago.

use super::show::in_a_row;
use super::{TIME_MAX, concurrently};
use crate::contract::{CheckedList, ListResponse, LockSummary, NewLocksView};
use futures_util::future::join;
use futures_util::stream::StreamExt;
use lockstep::contract::{EventKind, parse_time};
use lockstep::error::Error;
use lockstep::events::HistoryScope;
use lockstep::events::{EventQuery, Events};
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{LockKey, Seconds, Timestamp};
use lockstep_core::store::{LOCKS_PAGE, LockIndex, LockStore, StoreError};
use std::collections::BTreeMap;

/// How far back skipped starts are counted.
const SKIPS_OF: Seconds = Seconds::of(86_400);

pub(super) async fn run<P: Ports>(deps: &Deps<P>, list: CheckedList) -> Result<ListResponse, Error>
where
    P::Store: LockIndex,
{
    let scope = HistoryScope::Prefix(list.prefix.clone());
    let new_locks = match list.after {
        None => deps.store().new_locks().await?,
        Some(_) => None,
    };
    let (listed, skips) = join(page(deps, list), skips(deps, &scope)).await;
    let mut listed = listed?;
    listed.new_locks = NewLocksView::of(new_locks.as_ref(), deps.now());
    if let Some(skips) = skips {
        for lock in &mut listed.locks {
            let granted = lock.granted_at.as_deref();
            let granted = granted.and_then(|at| parse_time("grantedAt", at).ok());
            let own = skips.get(&lock.lock).map(Vec::as_slice);
            let row = in_a_row(own.unwrap_or_default(), granted.unwrap_or_default());
            lock.skipped_in_a_row = Some(row);
        }
    }
    Ok(listed)
}

/// Returns the times at which starts of the locks of `scope` were skipped, by the names of the locks; `None`
/// if the function reads no log of events.
///
/// Also returns `None` if reading the log failed or ended early, because the numbers would be too small.
async fn skips<P: Ports>(
    deps: &Deps<P>,
    scope: &HistoryScope,
) -> Option<BTreeMap<String, Vec<Timestamp>>> {
    let now = deps.now();
    let query = EventQuery {
        scope,
        kinds: &[EventKind::RunSkipped],
        from: Timestamp::from_millis(now.millis().saturating_sub(SKIPS_OF.millis())),
        before: Timestamp::MAX,
    };
    let logged = deps.events.logged(&query).await?;
    let mut skips = BTreeMap::<String, Vec<Timestamp>>::new();
    for event in logged.complete()? {
        skips
            .entry(event.lock.to_string())
            .or_default()
            .push(event.at);
    }
    Some(skips)
}

/// Returns one page. After [`TIME_MAX`] the page ends with what was found so far, and `next` leads to the
/// rest.
async fn page<P: Ports>(deps: &Deps<P>, list: CheckedList) -> Result<ListResponse, Error>
where
    P::Store: LockIndex,
{
    let deadline = deps.now().plus(TIME_MAX);
    // With a filter, it is not known how many locks have to be read to fill the page.
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
            return Ok(ListResponse {
                locks: found,
                new_locks: None,
                next,
            });
        }
    }
}

/// Returns the summary of `lock`; `None` if its record is gone.
async fn summary<P: Ports>(deps: &Deps<P>, lock: &LockKey) -> Result<Option<LockSummary>, Error> {
    match deps.store().load(lock).await {
        Ok(record) => Ok(record.map(|record| LockSummary::of(lock, &record, deps.now()))),
        // A damaged record is one row of the list, and hides no other lock.
        Err(error @ StoreError::Corrupt { .. }) => {
            Ok(Some(LockSummary::unreadable(lock, error.to_string())))
        }
        Err(error) => Err(error.into()),
    }
}
