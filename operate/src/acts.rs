//! The acts of the functions operate and view: what operators see of locks, and what they do to locks.
//!
//! Both functions run this code. view refuses acts that write, and its role does not allow it to write.

mod clear;
mod evict;
mod find;
mod frees;
mod history;
mod holder;
mod list;
mod mode;
mod show;
mod start;

use crate::contract::{ActRequest, ActResponse, CheckedAct, Surface, VersionResponse};
use crate::schedules::Schedules;
use futures_util::stream::{self, Buffered, StreamExt};
use lockstep::error::Error;
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{Command, Opening, Seconds};
use lockstep_core::store::LockIndex;
use serde_json::Value;
use std::time::Duration;

/// Maximum number of requests to the table that are under way at once.
const AT_ONCE: usize = 16;

/// Time after which an act that reads returns what it has found so far, with a `next`.
const TIME_MAX: Seconds = Seconds::of(10);

/// Time after which an act that writes returns what it has done so far. The function times out after a
/// minute.
const ACT_TIME: Seconds = Seconds::of(20);

/// Time between two reads of the record that an act waits for.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Returns the results of `calls` in their order, and runs up to [`AT_ONCE`] of them at once.
fn concurrently<F: Future>(
    calls: impl IntoIterator<Item = F>,
) -> Buffered<stream::Iter<std::vec::IntoIter<F>>> {
    // Collected into a list: a stream over a closure that borrows locks would keep the whole use case from
    // being `Send`.
    let calls: Vec<_> = calls.into_iter().collect();
    stream::iter(calls).buffered(AT_ONCE)
}

/// Checks the JSON `event` that the function `surface` received, and handles it.
///
/// # Errors
/// `Lockstep.InvalidRequest` for an event that breaks a rule of the contract, and the errors of [`run`].
pub async fn handle<P: Ports>(
    deps: &Deps<P>,
    schedules: &impl Schedules,
    surface: Surface,
    event: Value,
) -> Result<ActResponse, Error>
where
    P::Store: LockIndex,
{
    let act = ActRequest::read(event, surface, deps.retention, deps.now())?;
    run(deps, schedules, act).await
}

/// Handles one act. `schedules` looks up the schedules of the account.
///
/// # Errors
/// - `Lockstep.InvalidRequest` for a lock, a holder, a waiter or a run key that does not exist.
/// - `LockHeld` for the eviction of a living holder without `force`, and for a run key that a holder or a
///   waiter has.
/// - `LockFrozen` for the pause of a frozen lock.
/// - `Contended`, `Unavailable`, `Denied` or `Corrupt` if a request to the table failed.
pub async fn run<P: Ports>(
    deps: &Deps<P>,
    schedules: &impl Schedules,
    act: CheckedAct,
) -> Result<ActResponse, Error>
where
    P::Store: LockIndex,
{
    Ok(match act {
        CheckedAct::List(list) => ActResponse::List(list::run(deps, list).await?),
        CheckedAct::Show(lock) => ActResponse::Show(show::run(deps, &lock).await?.into()),
        CheckedAct::History(history) => ActResponse::History(history::run(deps, history).await?),
        CheckedAct::Pause(pause) => {
            let command = Command::Pause(pause.audit.clone(), pause.until);
            ActResponse::Pause(mode::run(deps, &command, pause).await?)
        }
        CheckedAct::Resume(resume) => {
            let command = Command::Open(Opening::Resume, resume.audit.clone());
            ActResponse::Resume(mode::run(deps, &command, resume).await?)
        }
        CheckedAct::Evict(evict) => ActResponse::Evict(evict::run(deps, evict).await?),
        CheckedAct::DropWaiter(drop) => {
            ActResponse::DropWaiter(evict::drop_waiter(deps, drop).await?)
        }
        CheckedAct::ClearRest(rest) => ActResponse::ClearRest(clear::rest(deps, rest).await?),
        CheckedAct::Forget(forget) => ActResponse::Forget(clear::forget(deps, forget).await?),
        CheckedAct::Start(start) => ActResponse::Start(start::run(deps, schedules, start).await?),
        CheckedAct::Version => ActResponse::Version(VersionResponse::OWN),
    })
}
