//! Pauses and resumes locks: one, those of a prefix, or all.
//!
//! A prefix may have thousands of locks, and a call has a minute. So the locks are changed page by
//! page in the order of their names, and an answer with `next` is continued behind the last one.
//! Repeating the whole is as good.

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

/// Longest time that a start takes from its read to its write: a function has six seconds for it, and a process eight for
/// each request.
const STARTS_END: Duration = Duration::from_secs(10);

/// Most held locks that a response names.
const HELD_MAX: usize = 100;

/// What became of one lock.
enum Changed {
    Done,
    Unchanged,
    /// Left as it is.
    Frozen,
}

/// Executes `command` on the locks of `act`.
///
/// A call that ends in between has changed some of the locks; its repetition leaves these as they
/// are.
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

/// Closes the locks that have no record yet, or opens them, before the order goes to those that have one.
///
/// A start that has read how new locks begin a moment ago may write its record after this. So the locks are listed only when
/// each such start has ended and the index shows its lock.
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
        deps.clock().sleep(STARTS_END).await;
    }
    Ok(match mode {
        Some(_) => NewLocks::Paused,
        None => NewLocks::Open,
    })
}

/// The locks of a prefix, in the order of their names, and those among them that are as requested
/// now.
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
            .map(|lock| unless_frozen(deps, command, lock));
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
        // An empty page leaves the place as it is.
        after = page.locks.last().cloned().or(after);
        if !page.more || deps.now() >= deadline {
            response.next = after.filter(|_| page.more).map(|lock| lock.to_string());
            return Ok((response, as_requested));
        }
    }
}

/// Waits until nothing holds the `locks`, or `deadline`. Returns those that are held.
///
/// Runs finish by themselves: a pause stops none. Each round reads only the locks that were still
/// held.
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

/// One lock by its name: a frozen one too.
async fn one<P: Ports>(
    deps: &Deps<P>,
    command: &Command,
    audit: &AuditNote,
    lock: &LockKey,
) -> Result<ModeResponse, Error> {
    let changed = carry_out(deps, command, lock).await?;
    if matches!((command, &changed), (Command::Open(..), Changed::Unchanged)) {
        // The name may have a typo, and the lock that was meant stay closed.
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

/// A frozen lock is left alone: the run that it froze for has to be checked, so only an act that names
/// the lock changes it.
async fn unless_frozen<P: Ports>(
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

/// Executes the command on one lock. Nothing to do is no failure: an earlier call has done it.
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

/// A lock that failed is named in the response, and the others are changed all the same.
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
