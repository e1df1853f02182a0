//! Pauses and resumes locks: one lock, all locks with a prefix, or all locks.
//!
//! A prefix may match thousands of locks, and a call times out after a minute. So the locks are changed page
//! by page in the order of their names, and the request that follows a response with `next` continues after
//! the last lock. It is safe to repeat the whole act instead.

use super::show::existing;
use super::{ACT_TIME, AT_ONCE, POLL_INTERVAL, concurrently};
use crate::contract::{CheckedMode, FailedLock, ModeResponse, NewLocks, Scope};
use futures_util::stream::{StreamExt, TryStreamExt};
use lockstep::clock::Clock;
use lockstep::contract::EventKind;
use lockstep::error::Error;
use lockstep::events::{Event, Events};
use lockstep::service::alerts::operated;
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{AuditNote, Command, LockKey, LockRecord, Mode, Outcome, Timestamp};
use lockstep_core::store::{LockIndex, LockStore};
use std::time::Duration;

/// Longest time that an acquire takes from its read of the pause of new locks to the write of its record: a
/// function has 6 s for the acquire, and a process 8 s for each request.
const ACQUIRES_END_WITHIN: Duration = Duration::from_secs(10);

/// Maximum number of held locks that a response names.
const HELD_MAX: usize = 100;

/// The effect of the command on one lock.
enum Changed {
    Done,
    Unchanged,
    /// The lock is frozen, and was not changed.
    Frozen,
}

/// Executes `command` on the locks of `act`.
///
/// A call that fails halfway has changed some of the locks. A repetition does not change those again.
pub(super) async fn run<P: Ports>(
    deps: &Deps<P>,
    command: &Command,
    act: CheckedMode,
) -> Result<ModeResponse, Error>
where
    P::Store: LockIndex,
{
    let new_locks = match &act.scope {
        Scope::Prefix(prefix, None) if prefix.is_empty() => Some(new_locks(deps, command).await?),
        _ => None,
    };
    let deadline = deps.now().plus(ACT_TIME);
    let (mut response, locks) = match &act.scope {
        Scope::Lock(lock) => {
            let response = one(deps, command, &act.audit, lock).await?;
            (response, vec![lock.clone()])
        }
        Scope::Prefix(prefix, after) => {
            let after = after.clone();
            several(deps, command, &act.audit, prefix, after, deadline).await?
        }
    };
    response.new_locks = new_locks;
    if act.drain {
        let held = drain(deps, locks, deadline).await?;
        response.drained = Some(held.is_empty());
        let named = held.iter().take(HELD_MAX);
        response.held = named.map(ToString::to_string).collect();
    }
    Ok(response)
}

/// Pauses or opens the locks that have no record yet. The caller then changes the locks that have one.
///
/// An acquire that read the earlier state of new locks may write its record after this call. So this function
/// waits for [`ACQUIRES_END_WITHIN`], until each such acquire has ended and the index shows its lock, before the
/// caller lists the locks. It does not wait if new locks are in this mode already. If an earlier call ended during
/// its wait, its repetition may miss such a lock.
async fn new_locks<P: Ports>(deps: &Deps<P>, command: &Command) -> Result<NewLocks, Error>
where
    P::Store: LockIndex,
{
    let mode = match command {
        Command::Pause(audit, until) => Some(Mode::Paused {
            note: audit.signed(),
            until: *until,
        }),
        _ => None,
    };
    let before = deps.store().close_new_locks(mode.as_ref()).await?;
    if before != mode {
        deps.clock().sleep(ACQUIRES_END_WITHIN).await;
    }
    Ok(match mode {
        Some(_) => NewLocks::Paused,
        None => NewLocks::Open,
    })
}

/// Changes the locks of a prefix, in the order of their names. Returns the response, and the locks that are
/// now as requested.
async fn several<P: Ports>(
    deps: &Deps<P>,
    command: &Command,
    audit: &AuditNote,
    prefix: &str,
    mut after: Option<LockKey>,
    deadline: Timestamp,
) -> Result<(ModeResponse, Vec<LockKey>), Error>
where
    P::Store: LockIndex,
{
    let (mut response, mut as_requested) = (ModeResponse::default(), Vec::new());
    loop {
        let page = deps.store().locks(prefix, after.as_ref(), AT_ONCE).await?;
        let changes = page
            .locks
            .iter()
            .map(|lock| change_unless_frozen(deps, command, lock));
        let changes: Vec<_> = concurrently(changes).collect().await;
        let mut events = Vec::new();
        for (lock, changed) in page.locks.iter().zip(changes) {
            count(&mut response, lock, &changed);
            if matches!(changed, Ok(Changed::Done)) {
                events.push(event(deps, command, audit, lock));
            }
            if matches!(changed, Ok(Changed::Done | Changed::Unchanged)) {
                as_requested.push(lock.clone());
            }
        }
        if !events.is_empty() {
            deps.events.publish(events).await;
        }
        // After an empty page, the next one starts at the same place.
        after = page.locks.last().cloned().or(after);
        if !page.more || deps.now() >= deadline {
            response.next = after.filter(|_| page.more).map(|lock| lock.to_string());
            return Ok((response, as_requested));
        }
    }
}

/// Waits until no run holds any of the `locks`, or until `deadline`. Returns the locks that are still held.
///
/// A pause stops no run, so the wait is for runs to finish. Each round reads only the locks that were held in
/// the round before.
async fn drain<P: Ports>(
    deps: &Deps<P>,
    mut locks: Vec<LockKey>,
    deadline: Timestamp,
) -> Result<Vec<LockKey>, Error> {
    loop {
        let records = locks.iter().map(|lock| deps.store().load(lock));
        let records: Vec<_> = concurrently(records).try_collect().await?;
        let is_held = |record: &Option<LockRecord>| {
            let holders = record.as_ref().map(|record| &record.holders);
            holders.is_some_and(|holders| !holders.is_empty())
        };
        let held = locks
            .into_iter()
            .zip(&records)
            .filter(|(_, record)| is_held(record));
        locks = held.map(|(lock, _)| lock).collect();
        if locks.is_empty() || deps.now() >= deadline {
            return Ok(locks);
        }
        deps.clock().sleep(POLL_INTERVAL).await;
    }
}

/// Changes one lock that is given by its name, also if it is frozen.
async fn one<P: Ports>(
    deps: &Deps<P>,
    command: &Command,
    audit: &AuditNote,
    lock: &LockKey,
) -> Result<ModeResponse, Error> {
    let changed = carry_out(deps, command, lock).await?;
    if matches!((command, &changed), (Command::Open(..), Changed::Unchanged)) {
        // A name with a typo must be an error: the lock that the operator meant would stay closed.
        existing(deps, lock).await?;
    }
    if matches!(changed, Changed::Done) {
        let event = event(deps, command, audit, lock);
        deps.events.publish(vec![event]).await;
    }
    let mut response = ModeResponse::default();
    count(&mut response, lock, &Ok(changed));
    Ok(response)
}

/// Changes a lock unless it is frozen. An operator has to check the run that a lock froze for, so only an act
/// that names the lock changes a frozen one.
async fn change_unless_frozen<P: Ports>(
    deps: &Deps<P>,
    command: &Command,
    lock: &LockKey,
) -> Result<Changed, Error> {
    let record = deps.store().load(lock).await?;
    if record.is_some_and(|record| record.gate.is_frozen()) {
        return Ok(Changed::Frozen);
    }
    carry_out(deps, command, lock).await
}

/// Executes the command on one lock. A lock that is already as requested is no error: an earlier call changed
/// it.
async fn carry_out<P: Ports>(
    deps: &Deps<P>,
    command: &Command,
    lock: &LockKey,
) -> Result<Changed, Error> {
    Ok(match deps.carry_out(lock, command).await? {
        Outcome::Done => Changed::Done,
        _ => Changed::Unchanged,
    })
}

/// Counts the result for one lock in the response. A lock whose change failed is named there, and does not
/// keep the other locks from being changed.
fn count(response: &mut ModeResponse, lock: &LockKey, changed: &Result<Changed, Error>) {
    match changed {
        Ok(Changed::Done) => response.done += 1,
        Ok(Changed::Unchanged) => response.unchanged += 1,
        Ok(Changed::Frozen) => response.frozen.push(lock.to_string()),
        Err(error) => response.failed.push(FailedLock {
            lock: lock.to_string(),
            error: error.name().to_string(),
            message: error.message().to_owned(),
        }),
    }
}

fn event<P: Ports>(deps: &Deps<P>, command: &Command, audit: &AuditNote, lock: &LockKey) -> Event {
    let kind = match command {
        Command::Pause(..) => EventKind::LockPaused,
        _ => EventKind::LockResumed,
    };
    operated(lock, kind, audit, deps.now())
}
