//! Finds the holder or the waiter that an operator names.

use super::concurrently;
use crate::contract::Called;
use futures_util::stream::StreamExt;
use lockstep::contract::InvalidRequest;
use lockstep::error::Error;
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{HolderId, LockKey, LockRecord, Seconds, WaiterId};
use lockstep_core::store::LockStore;

/// Maximum number of names that an error lists.
const LISTED_MAX: usize = 5;

/// Time after its grant in which even the only holder has to be named. The holder that the operator saw may
/// have ended since, and this may be the next one.
const NAME_REQUIRED_FOR: Seconds = Seconds::of(60);

/// The holder or the waiter that a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A holder.
    Holder(HolderId),
    /// A waiter, and its name.
    Waiter(WaiterId, HolderId),
}

/// Returns the only holder or waiter of `lock` whose name is `called` or contains it.
///
/// # Errors
/// `Lockstep.InvalidRequest` if `called` fits no name, or fits several, which the message lists.
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
                    "the name of a holder or a waiter of lock {lock}, or 4 characters or more of it; none has this name \
                     (`lockstep show {lock}` lists them)"
                ),
                false => format!(
                    "a part of only one name; it is a part of {}",
                    listed(&named)
                ),
            };
            Err(InvalidRequest::new("holder", format!("\"{called}\""), rule).into())
        }
    }
}

/// Returns the only holder of `lock`, if it has held its permit for a minute.
///
/// # Errors
/// `Lockstep.InvalidRequest` if the lock has no holder, several holders, or one that was granted its permit
/// less than a minute ago.
pub(super) fn only_holder<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    record: &LockRecord,
) -> Result<HolderId, Error> {
    let mut holders = record.oldest_first().into_iter();
    let rule = match (holders.next(), holders.next()) {
        (None, _) => format!("the name of a waiter of lock {lock}, which has no holder"),
        (Some((holder, lease)), None) => {
            let age = deps.now().millis_since(lease.token.granted_at());
            if age >= NAME_REQUIRED_FOR.millis() {
                return Ok(holder.clone());
            }
            format!(
                "given, because {holder} was granted lock {lock} only {} s ago",
                age / 1000
            )
        }
        (Some(_), Some(_)) => {
            let all = record.holders.keys().cloned().map(Found::Holder);
            format!("one of the holders {}", listed(&all.collect::<Vec<_>>()))
        }
    };
    Err(InvalidRequest::new("holder", "missing", rule).into())
}

/// Returns the waiters whose items can be read.
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
