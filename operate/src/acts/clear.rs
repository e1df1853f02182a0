//! Ends the rest of a lock, and forgets a run key.

use super::concurrently;
use super::show::existing;
use crate::contract::{CheckedClearRest, CheckedForget, ClearResponse, ClearStatus};
use futures_util::stream::TryStreamExt;
use lockstep::contract::{EventKind, InvalidRequest};
use lockstep::error::Error;
use lockstep::events::Events;
use lockstep::service::alerts::operated;
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{
    AuditNote, Command, HolderId, LockKey, LockRecord, Opening, Outcome, RunKey,
};
use lockstep_core::store::LockStore;

/// Ends the rest of a lock, so that it grants permits at once. A lock that is not resting stays unchanged.
pub(super) async fn rest<P: Ports>(
    deps: &Deps<P>,
    clear: CheckedClearRest,
) -> Result<ClearResponse, Error> {
    let CheckedClearRest { lock, audit } = clear;
    existing(deps, &lock).await?;
    let command = Command::Open(Opening::Rest, audit.clone());
    let status = match deps.carry_out(&lock, &command).await? {
        Outcome::Done => {
            let event = operated(&lock, EventKind::RestCleared, &audit, deps.now());
            deps.events.publish(vec![event]).await;
            ClearStatus::Cleared
        }
        _ => ClearStatus::Unchanged,
    };
    let message = match status {
        ClearStatus::Unchanged => format!("lock {lock} is not resting"),
        _ => format!("the rest of lock {lock} is over: it grants permits again"),
    };
    Ok(ClearResponse {
        lock: lock.to_string(),
        status,
        message,
    })
}

/// Forgets the success of a run key. A waiter that joins the queue during this call is granted a permit under
/// the key, as if it had come after the call.
///
/// # Errors
/// `Lockstep.LockHeld` while a holder or a waiter has the key, and `Lockstep.InvalidRequest` for a key
/// without a success.
pub(super) async fn forget<P: Ports>(
    deps: &Deps<P>,
    request: CheckedForget,
) -> Result<ClearResponse, Error> {
    let CheckedForget { lock, forget } = request;
    let (key, audit) = (forget.run_key.clone(), forget.audit.clone());
    let record = existing(deps, &lock).await?;
    if let Some(waiter) = waiter_of_run(deps, &lock, &record, &key).await? {
        return Err(Error::run_key_waits(&lock, &key, &waiter));
    }
    let key = key.as_str();
    if deps.carry_out(&lock, &Command::Forget(forget)).await? == Outcome::Unchanged {
        let rule = format!(
            "the run key of a run of lock {lock} that has succeeded within RunKeyRetentionDays"
        );
        return Err(InvalidRequest::new("runKey", format!("\"{key}\""), rule).into());
    }
    let note = AuditNote {
        note: format!("run key {key} is free: {}", audit.note),
        ..audit
    };
    let event = operated(&lock, EventKind::RunForgotten, &note, deps.now());
    deps.events.publish(vec![event]).await;
    Ok(ClearResponse {
        message: format!(
            "run key {key} is free: a run of lock {lock} with this key can start again"
        ),
        lock: lock.to_string(),
        status: ClearStatus::Forgotten,
    })
}

/// Returns the waiter that has the run key `key`. The queue contains only short names, so this reads the item
/// of each waiter.
pub(super) async fn waiter_of_run<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    record: &LockRecord,
    key: &RunKey,
) -> Result<Option<HolderId>, Error> {
    let store = deps.store();
    let items = record.queue.keys().map(|id| store.load_waiter(lock, id));
    let items: Vec<_> = concurrently(items).try_collect().await?;
    let mut terms = items.into_iter().flatten().map(|waiter| waiter.terms);
    let waits = terms.find(|terms| terms.run_key.as_ref() == Some(key));
    Ok(waits.map(|terms| terms.holder))
}
