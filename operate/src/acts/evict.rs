//! Evicts holders and waiters.
//!
//! ```text
//!  a waiter ─────────────────────────────▶ leaves the queue
//!  a holder that has ended, or is alive,
//!  with force ───────────────────────────▶ its stop is committed ─▶ its work is stopped, as the
//!                                          reaper stops stale work ─▶ its permit is free
//!  a holder with nothing but its lease,
//!  which is over ────────────────────────▶ its permit is free at once
//!  a holder that cannot be read, with
//!  force, once its lease is over ────────▶ its permit is free at once
//!  a holder that is evicted already, and
//!  whose end does not show, with abandon ▶ its permit is free at once
//! ```
//!
//! A permit that is taken from work that goes on has the next run start beside it. So the work is
//! stopped first, and the permit is free when it has stopped, as for a stale holder. What cannot be
//! read is never taken for an end without `force`.
//!
//! ECS may never show the end of a task whose host is gone. `abandon` frees the permit then, on the word of the operator.
//! The fencing token is the only protection from there on, and the history says so.

use super::find::{Found, find, only_holder};
use super::holder::judge;
use super::show::existing;
use super::{ACT_TIME, POLL_INTERVAL};
use crate::contract::{CheckedDropWaiter, CheckedEvict, CheckedWaiter, EvictResponse, EvictStatus};
use lockstep::clock::Clock;
use lockstep::contract::InvalidRequest;
use lockstep::error::Error;
use lockstep::events::Events;
use lockstep::service::alerts::About;
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{
    AuditNote, Command, DropWaiter, ExitStep, FencingToken, HolderId, Lease, LockKey, Mark,
    Outcome, Recover, RecoveryBasis, RunOutcome, WaiterId,
};
use lockstep_core::recovery::{Inspection, Life};
use lockstep_core::store::{LockStore, StoreError};

/// A holder that is evicted.
struct Eviction {
    lock: LockKey,
    holder: HolderId,
    /// Also if it is alive.
    force: bool,
    audit: AuditNote,
}

/// Why an eviction is refused whose holder has shown a sign of life since it was judged.
const RENEWED: &str = "it has renewed its lease meanwhile";

/// Evicts the holder, or the waiter, of that name.
///
/// # Errors
/// `Lockstep.LockHeld` where the holder shows a sign of life, or whether it does cannot be read,
/// without `force`; `Lockstep.InvalidRequest` where nothing of that name holds or waits, or for `abandon` before the
/// stop is committed.
pub(super) async fn run<P: Ports>(
    deps: &Deps<P>,
    evict: CheckedEvict,
) -> Result<EvictResponse, Error> {
    let CheckedEvict {
        lock,
        holder,
        force,
        abandon,
        audit,
    } = evict;
    let record = existing(deps, &lock).await?;
    let holder = match &holder {
        None => only_holder(deps, &lock, &record)?,
        Some(called) => match find(deps, &lock, &record, called).await? {
            Found::Waiter(waiter, _) => return drop_one(deps, &lock, &waiter, &audit).await,
            Found::Holder(holder) if abandon && called.whole().as_ref() != Some(&holder) => {
                let rule = format!("a whole name, where `abandon` is given: {holder}");
                return Err(InvalidRequest::new("holder", format!("\"{called}\""), rule).into());
            }
            Found::Holder(holder) => holder,
        },
    };
    let lease = &record.holders[&holder];
    let evict = Eviction {
        lock,
        holder,
        force,
        audit,
    };
    let Eviction { lock, holder, .. } = &evict;
    if abandon {
        return free_abandoned(deps, &evict, lease).await;
    }
    match judge(deps, lock, holder, lease).await?.life(deps.now()) {
        Life::Alive(why) if !evict.force => Err(Error::still_alive(lock, holder, &why)),
        Life::Hidden(why) if !evict.force => Err(Error::not_seen(lock, holder, &why)),
        // Nothing to stop is known, so there is no end to wait for.
        Life::Silent | Life::Hidden(_) => {
            let reason = evict.audit.signed();
            free(deps, &evict, lease, reason).await?;
            Ok(response(lock, holder, EvictStatus::Evicted))
        }
        // The end of a dead holder is judged as the reaper judges it: work that has succeeded keeps its
        // run key, and work that still stops is waited for.
        Life::Alive(_) | Life::Ended => stop(deps, &evict, lease).await,
    }
}

/// Frees the permit of a holder that an earlier eviction is stopping. Its heartbeats are refused, so nothing but its
/// work is left of it.
///
/// An eviction has to come first: it has all calls made that may stop the work, and proof that none of them helped.
async fn free_abandoned<P: Ports>(
    deps: &Deps<P>,
    evict: &Eviction,
    lease: &Lease,
) -> Result<EvictResponse, Error> {
    let Eviction { lock, holder, .. } = evict;
    if lease.exit.evicted().is_none() {
        let rule = format!("left out until {holder} is being stopped: evict it with `force` first");
        return Err(InvalidRequest::new("abandon", "true", rule).into());
    }
    let reason = format!("{}; {}", evict.audit.signed(), protection(lease.token));
    free(deps, evict, lease, reason).await?;
    let message = format!(
        "{holder} has no permit of lock {lock} any more; {}",
        protection(lease.token)
    );
    Ok(EvictResponse {
        message,
        ..response(lock, holder, EvictStatus::Abandoned)
    })
}

/// What protects the resource of a lock from work that may go on under `token` without a permit.
fn protection(token: FencingToken) -> String {
    format!(
        "abandoned: its work may still run, and only a resource that refuses fencing token {token} after a larger one \
         is protected from it"
    )
}

/// Frees the permit of a holder on the word of an operator, with an event.
///
/// # Errors
/// `Lockstep.LockHeld` where the holder has changed since it was judged.
async fn free<P: Ports>(
    deps: &Deps<P>,
    evict: &Eviction,
    lease: &Lease,
    reason: String,
) -> Result<(), Error> {
    let Eviction { lock, holder, .. } = evict;
    let command = Command::Recover(Recover {
        holder: holder.clone(),
        token: lease.token,
        seen: lease.version(),
        basis: RecoveryBasis::Evicted,
        succeeded: false,
        evidence: reason.clone(),
        retention: evict.audit.retention,
    });
    if let Outcome::Freed { .. } = deps.carry_out(lock, &command).await? {
        let about = About {
            token: Some(lease.token),
            ..about(lock, holder, deps.now())
        };
        let event = about.freed(RunOutcome::Evicted, &reason);
        deps.events.publish(vec![event]).await;
        return Ok(());
    }
    let record = deps.store().load(lock).await?;
    let holds = record.is_some_and(|record| record.lease(holder, lease.token).is_some());
    match holds {
        true => Err(Error::still_alive(lock, holder, RENEWED)),
        false => Ok(()),
    }
}

/// Commits the stop of a holder, has what runs of it stopped, and waits for its end. A
/// repetition goes on with the same stop; the sweep does, if there is none.
///
/// Answers `stopping` if the work takes longer than [`ACT_TIME`]. The stop is committed and goes on
/// all the same.
async fn stop<P: Ports>(
    deps: &Deps<P>,
    evict: &Eviction,
    lease: &Lease,
) -> Result<EvictResponse, Error> {
    let Eviction {
        lock,
        holder,
        audit,
        ..
    } = evict;
    let command = Command::Mark(Mark {
        holder: holder.clone(),
        token: lease.token,
        // Without force, a sign of life since then voids what was seen of the holder.
        seen: (!evict.force).then(|| lease.version()),
        step: ExitStep::Evict(audit.clone()),
    });
    deps.carry_out(lock, &command).await?;
    let deadline = deps.now().plus(ACT_TIME);
    let mut asked = false;
    loop {
        let record = deps.store().load(lock).await?;
        let Some(lease) = record.and_then(|record| record.lease(holder, lease.token).cloned())
        else {
            return Ok(response(lock, holder, EvictStatus::Evicted));
        };
        // The commit was void, because the holder showed a sign of life first. Nothing was stopped.
        if lease.exit.evicted().is_none() {
            return Err(Error::still_alive(lock, holder, RENEWED));
        }
        let verdict = judge(deps, lock, holder, &lease).await?;
        let runs = verdict.evidence.execution.is_running() || verdict.evidence.is_at_work();
        // Each check of work that runs stops it again, and raises an event.
        if !asked || !runs {
            asked = true;
            let checked = deps.recovery().check(lock, holder, &lease, None).await;
            let checked = checked.map_err(|error| Error::of_command(lock, error))?;
            if matches!(checked, Inspection::Freed(_)) {
                return Ok(response(lock, holder, EvictStatus::Evicted));
            }
        }
        if deps.now() >= deadline {
            return Ok(response(lock, holder, EvictStatus::Stopping));
        }
        deps.clock().sleep(POLL_INTERVAL).await;
    }
}

/// Takes a waiter out of the queue, also one whose side item is missing or damaged.
pub(super) async fn drop_waiter<P: Ports>(
    deps: &Deps<P>,
    drop: CheckedDropWaiter,
) -> Result<EvictResponse, Error> {
    let CheckedDropWaiter {
        lock,
        waiter,
        audit,
    } = drop;
    let waiter = match waiter {
        CheckedWaiter::Id(id) => id,
        CheckedWaiter::Called(called) => {
            let record = existing(deps, &lock).await?;
            match find(deps, &lock, &record, &called).await? {
                Found::Waiter(id, _) => id,
                Found::Holder(_) => {
                    let rule = format!("a waiter of lock {lock}");
                    let given = format!("\"{called}\"");
                    return Err(InvalidRequest::new("holder", given, rule).into());
                }
            }
        }
    };
    drop_one(deps, &lock, &waiter, &audit).await
}

async fn drop_one<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    waiter: &WaiterId,
    audit: &AuditNote,
) -> Result<EvictResponse, Error> {
    let item = match deps.store().load_waiter(lock, waiter).await {
        Err(StoreError::Corrupt { .. }) => None,
        item => item?,
    };
    let holder = item.map(|item| item.terms.holder);
    let command = Command::DropWaiter(DropWaiter {
        waiter: waiter.clone(),
        holder: holder.clone(),
        audit: audit.clone(),
    });
    if deps.carry_out(lock, &command).await? == Outcome::Unchanged {
        let rule = format!("a waiter of lock {lock}");
        return Err(InvalidRequest::new("id", format!("\"{waiter}\""), rule).into());
    }
    let named = holder
        .clone()
        .or_else(|| HolderId::new(waiter.as_str()).ok());
    if let Some(named) = &named {
        let event = about(lock, named, deps.now()).freed(RunOutcome::Evicted, &audit.signed());
        deps.events.publish(vec![event]).await;
    }
    let name = holder.map_or_else(|| waiter.to_string(), |holder| holder.to_string());
    Ok(EvictResponse {
        message: format!("{name} has left the queue of lock {lock}"),
        lock: lock.to_string(),
        holder: name,
        status: EvictStatus::Dropped,
    })
}

/// The subject of an event without a grant.
fn about<'a>(
    lock: &'a LockKey,
    holder: &'a HolderId,
    at: lockstep_core::domain::Timestamp,
) -> About<'a> {
    About {
        lock,
        holder,
        token: None,
        at,
    }
}

fn response(lock: &LockKey, holder: &HolderId, status: EvictStatus) -> EvictResponse {
    let message = match status {
        EvictStatus::Evicted | EvictStatus::Abandoned => {
            format!("{holder} has no permit of lock {lock} any more")
        }
        EvictStatus::Stopping => format!(
            "{holder} is being stopped; its permit of lock {lock} is free once its work has stopped"
        ),
        EvictStatus::Dropped => format!("{holder} has left the queue of lock {lock}"),
    };
    EvictResponse {
        lock: lock.to_string(),
        holder: holder.to_string(),
        status,
        message,
    }
}
