//! Finds the holder or the waiter that a person means.

use super::concurrently;
use crate::contract::Called;
use futures_util::stream::StreamExt;
use lockstep::contract::InvalidRequest;
use lockstep::error::Error;
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{HolderId, LockKey, LockRecord, Seconds, WaiterId};
use lockstep_core::store::LockStore;

/// Most names that an error lists.
const LISTED_MAX: usize = 5;

/// For how long after its grant a holder has to be named, although it is the only one: the one that the operator has
/// seen may have ended since.
const YOUNG: Seconds = Seconds::of(60);

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A holder.
    Holder(HolderId),
    /// A waiter, and its name.
    Waiter(WaiterId, HolderId),
}

/// The only holder or waiter of `lock` that `called` is the name of, or a part of its name.
///
/// # Errors
/// `Lockstep.InvalidRequest` if it is of none or of several, which the message lists.
pub(super) async fn find<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    record: &LockRecord,
    called: &Called,
) -> Result<Found, Error> {
    if let Some(holder) = called.whole() {
        if record.holders.contains_key(&holder) {
            return Ok(Found::Holder(holder));
        }
        let waiter = WaiterId::of(&holder);
        if record.queue.contains_key(&waiter) {
            return Ok(Found::Waiter(waiter, holder));
        }
    }
    let holders = record.holders.keys().cloned().map(Found::Holder);
    let mut named: Vec<_> = holders.collect();
    named.extend(waiters(deps, lock, record).await);
    let whole = |found: &Found| called.is_own_part_of(found.name().as_str());
    match named.iter().filter(|found| whole(found)).count() {
        1 => named.retain(whole),
        _ => named.retain(|found| called.is_part_of(found.name().as_str())),
    }
    match <[Found; 1]>::try_from(named) {
        Ok([found]) => Ok(found),
        Err(named) => {
            let rule = match named.is_empty() {
                true => format!(
                    "a holder or a waiter of lock {lock}: its name, or 4 characters or more of it; nothing there is called so"
                ),
                false => format!("a part of one name; it is in {}", listed(&named)),
            };
            Err(InvalidRequest::new("holder", format!("\"{called}\""), rule).into())
        }
    }
}

/// The only holder of `lock`, if it has held its permit for a minute.
///
/// # Errors
/// `Lockstep.InvalidRequest` if the lock has no holder or several, or one that has just come.
pub(super) fn only_holder<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    record: &LockRecord,
) -> Result<HolderId, Error> {
    let mut holders = record.oldest_first().into_iter();
    let rule = match (holders.next(), holders.next()) {
        (None, _) => format!("a holder of lock {lock}, which has none"),
        (Some((holder, lease)), None) => {
            let age = deps.now().millis_since(lease.token.granted_at());
            if age >= YOUNG.millis() {
                return Ok(holder.clone());
            }
            format!(
                "given: lock {lock} is held by {holder} since {} s ago only",
                age / 1000
            )
        }
        (Some(_), Some(_)) => {
            let all = record.holders.keys().cloned().map(Found::Holder);
            format!("one of {}", listed(&all.collect::<Vec<_>>()))
        }
    };
    Err(InvalidRequest::new("holder", "missing", rule).into())
}

/// The waiters whose items can be read.
async fn waiters<P: Ports>(deps: &Deps<P>, lock: &LockKey, record: &LockRecord) -> Vec<Found> {
    let items = record.queue.keys().map(async |id| {
        let item = deps.store().load_waiter(lock, id).await.ok()?;
        Some(Found::Waiter(id.clone(), item?.terms.holder))
    });
    concurrently(items)
        .filter_map(async |found| found)
        .collect()
        .await
}

impl Found {
    fn name(&self) -> &HolderId {
        match self {
            Self::Holder(holder) | Self::Waiter(_, holder) => holder,
        }
    }
}

fn listed(found: &[Found]) -> String {
    let names = found.iter().map(|found| found.name().as_str());
    let mut names: Vec<_> = names.collect();
    let more = names.len().saturating_sub(LISTED_MAX);
    names.truncate(LISTED_MAX);
    match more {
        0 => names.join(", "),
        _ => format!("{} and {more} more", names.join(", ")),
    }
}
