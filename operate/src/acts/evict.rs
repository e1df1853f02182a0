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
//! If the permit were freed while the work continues, the next run would start beside it. So the work is
//! stopped first, and the permit is free once the work has stopped, as for a stale holder. Without `force`, a
//! state that cannot be read never counts as an end.
//!
//! ECS may never show a task as STOPPED whose host is gone. For such a task `abandon` frees the permit,
//! because the operator says so. From then on only the fencing token protects the resource, and the history
//! records this.

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

/// The eviction of a holder.
struct Eviction {
    lock: LockKey,
    holder: HolderId,
    /// Whether to evict the holder even if it is alive, or if that cannot be read.
    force: bool,
    audit: AuditNote,
}

/// Reason for refusing the eviction of a holder that renewed its lease after it was judged.
const RENEWED: &str = "it renewed its lease while it was being evicted";

/// Evicts the holder or the waiter that the request names.
///
/// # Errors
/// - `Lockstep.LockHeld`, without `force`, if the holder is alive, or if it cannot be read whether it is; also with
///   `force`, if the lease of the holder changed after it was judged.
/// - `Lockstep.InvalidRequest` if no holder or waiter has the name.
/// - `Lockstep.InvalidRequest` for `abandon` before an eviction has committed the stop of the holder.
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
                let rule = format!("the full name with `abandon`: {holder}");
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
        // No work is known that could be stopped, so there is no end to wait for.
        Life::Silent | Life::Hidden(_) => {
            let reason = evict.audit.signed();
            free(deps, &evict, lease, reason).await?;
            Ok(response(lock, holder, EvictStatus::Evicted))
        }
        // The end of a dead holder is judged as the reaper judges it: a run that succeeded keeps its run key,
        // and the eviction waits for work that is still stopping.
        Life::Alive(_) | Life::Ended => stop(deps, &evict, lease).await,
    }
}

/// Frees the permit of a holder that an earlier eviction is stopping. The heartbeats of that holder are
/// refused, so only its work can still be running.
///
/// The earlier eviction is required: it has sent every call that may stop the work, and none of them has
/// shown its end.
async fn free_abandoned<P: Ports>(
    deps: &Deps<P>,
    evict: &Eviction,
    lease: &Lease,
) -> Result<EvictResponse, Error> {
    let Eviction { lock, holder, .. } = evict;
    if lease.exit.evicted().is_none() {
        let rule = format!(
            "left out until {holder} is being stopped: evict it with `force` first, without `abandon`"
        );
        return Err(InvalidRequest::new("abandon", "true", rule).into());
    }
    let reason = format!("{}; {}", evict.audit.signed(), protection(lease.token));
    free(deps, evict, lease, reason).await?;
    let message = format!(
        "{holder} no longer holds a permit of lock {lock}; {}",
        protection(lease.token)
    );
    Ok(EvictResponse {
        message,
        ..response(lock, holder, EvictStatus::Abandoned)
    })
}

/// Describes what protects a resource from work that may continue under `token` without a permit.
fn protection(token: FencingToken) -> String {
    format!(
        "abandoned: its work may still run, and only a resource that refuses fencing token {token} after a larger \
         token is protected from it"
    )
}

/// Frees the permit of a holder because an operator says so, and publishes an event.
///
/// # Errors
/// `Lockstep.LockHeld` if the lease of the holder changed after it was judged.
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

/// Commits the stop of a holder, stops its execution and its work, and waits for their end. A repetition
/// continues the same stop; without a repetition the sweep does.
///
/// Returns the status `stopping` if the work takes longer than [`ACT_TIME`] to stop. The stop stays
/// committed, and the sweep frees the permit once the work has stopped.
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
        // Without force, a renewal after the holder was judged voids the stop.
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
        // The holder renewed its lease before the commit, so the commit was void. Nothing was stopped.
        if lease.exit.evicted().is_none() {
            return Err(Error::still_alive(lock, holder, RENEWED));
        }
        let verdict = judge(deps, lock, holder, &lease).await?;
        let runs = verdict.evidence.execution.is_running() || verdict.evidence.is_at_work();
        // A check of work that is running sends the stop again and publishes an event. So after the first
        // round, the holder is checked only when nothing of it is running any more.
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

/// Removes a waiter from the queue, even if its side item is missing or damaged.
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

/// Returns the subject of an event that is about no grant.
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
            format!("{holder} no longer holds a permit of lock {lock}")
        }
        EvictStatus::Stopping => format!(
            "{holder} is being stopped; its permit of lock {lock} is free once its work has stopped, without another call"
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
