//! Checks whether the run key of a start is free.

use crate::acts::clear::waiter_of_run;
use lockstep::contract::InvalidRequest;
use lockstep::error::Error;
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{LockKey, LockRecord, RunId, RunKey};
use lockstep_core::store::LockStore;

/// Returns `key` if it has had its success, which has to be forgotten before the start; `None` if the key is
/// free. `asked` is whether the request names the key by `again`.
///
/// # Errors
/// See [`run`](super::run).
pub(super) async fn taken_key<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    record: Option<&LockRecord>,
    key: &RunKey,
    asked: bool,
) -> Result<Option<RunKey>, Error> {
    if let Some(record) = record {
        if let Some((holder, _)) = record.holder_of_run(key) {
            return Err(Error::run_key_held(lock, key, holder));
        }
        check_waiters(deps, lock, record, key).await?;
    }
    let (id, now) = (RunId::Key(key.clone()), deps.now());
    let Some(marker) = deps.store().load_run(lock, &id).await? else {
        return Ok(None);
    };
    if marker.runs_on(deps.retention, now) {
        return Err(Error::run_key_held(lock, key, &marker.holder));
    }
    match (marker.is_success(now), asked) {
        (false, _) => Ok(None),
        (true, true) => Ok(Some(key.clone())),
        (true, false) => {
            let rule = format!(
                "given, because run key {} has had its success: without `again`, the new run would be a duplicate",
                key.as_str()
            );
            Err(InvalidRequest::new("again", "missing", rule).into())
        }
    }
}

/// Checks that no waiter has the run key `key`.
///
/// # Errors
/// `Lockstep.LockHeld` with the name of the waiter.
pub(super) async fn check_waiters<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    record: &LockRecord,
    key: &RunKey,
) -> Result<(), Error> {
    match waiter_of_run(deps, lock, record, key).await? {
        Some(waiter) => Err(Error::run_key_waits(lock, key, &waiter)),
        None => Ok(()),
    }
}
