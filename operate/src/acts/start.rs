//! Starts a run of a lock again: its workflow, with the input of an earlier execution.
//!
//! ```text
//!  the latest run, or that of the run key ─▶ its execution ─▶ names it the lock?
//!    ─▶ was it started under this id before? ─▶ is its run key free? ─▶ may it be started?
//!    ─▶ the success of the run key is forgotten ─▶ StartExecution ─▶ an entry in the history
//! ```
//!
//! The new execution acquires the lock by itself, so its overlap policy holds, and a pause. The input is that of an
//! execution of this lock, and never text of the caller: who may start a run again may not start anything else.
//!
//! A success is forgotten last, when nothing but StartExecution itself can fail: a key without its success is free for
//! any delivery of its trigger.

use super::clear::{forget, waiter_of_run};
use super::show::existing;
use crate::contract::{CheckedForget, CheckedStart, StartResponse, StartStatus};
use lockstep::contract::InvalidRequest;
use lockstep::error::Error;
use lockstep::executions::Executions;
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{
    AuditNote, Command, ExecutionArn, FencingToken, Forget, HolderId, LockKey, LockRecord, Run,
    RunId, RunKey,
};
use lockstep_core::store::{LOCKS_PAGE, LockIndex, LockStore};

/// Most pages of the history that are searched for a run key.
const PAGES_MAX: usize = 10;

/// Starts the run again, or says which it would be.
///
/// # Errors
/// `Lockstep.InvalidRequest` for a lock whose latest run is no whole execution, for a run key that no run of the latest
/// 1,000 has, without `again` for a run whose run key has had its success, as the new one would be a duplicate, and for
/// an `id` of another start. `LockHeld` where a holder, a waiter or a run that goes on without its permit has the run
/// key. `Unavailable` and `Denied` of Step Functions.
pub(super) async fn run<P: Ports>(
    deps: &Deps<P>,
    start: CheckedStart,
) -> Result<StartResponse, Error>
where
    P::Store: LockIndex,
{
    let CheckedStart { lock, again, .. } = &start;
    let record = existing(deps, lock).await?;
    if let Some(key) = again {
        check_waiters(deps, lock, &record, key).await?;
    }
    let (holder, run_key) = source(deps, lock, &record, again.as_ref()).await?;
    let execution = &whole_execution(lock, &holder)?;
    // A caller chooses the name of its holder, and could have named any execution.
    if !deps.executions.names_lock(execution, lock).await? {
        let rule = format!("a lock that the input or the definition of {execution} names");
        return Err(InvalidRequest::new("lock", format!("\"{lock}\""), rule).into());
    }
    let response = StartResponse {
        lock: lock.to_string(),
        status: StartStatus::WouldStart,
        state_machine_arn: execution.state_machine(),
        from: execution.to_string(),
        execution_arn: None,
        run_key: run_key.as_ref().map(|key| key.as_str().to_owned()),
        message: format!(
            "would start {} with the input of {execution}",
            execution.state_machine()
        ),
    };
    let id = start.id.clone();
    let name = format!(
        "started-{}",
        id.unwrap_or_else(|| deps.now().millis().to_string())
    );
    if let Some(started) = started_before(deps, lock, execution, &name).await? {
        return Ok(answered(response, &started));
    }
    let taken = match &run_key {
        Some(key) => taken_key(deps, lock, &record, key, again.is_some()).await?,
        None => None,
    };
    deps.executions.check_start(execution).await?;
    if start.dry_run {
        return Ok(response);
    }
    let started = start_again(deps, &start, execution, &name, taken).await?;
    Ok(answered(response, &started))
}

/// Frees the run key that a success has `taken`, and starts the execution again under `name`.
async fn start_again<P: Ports>(
    deps: &Deps<P>,
    start: &CheckedStart,
    execution: &ExecutionArn,
    name: &str,
    taken: Option<RunKey>,
) -> Result<ExecutionArn, Error> {
    let CheckedStart { lock, audit, .. } = start;
    if let Some(run_key) = taken {
        let success = Forget {
            run_key,
            audit: audit.clone(),
        };
        let lock = lock.clone();
        forget(
            deps,
            CheckedForget {
                lock,
                forget: success,
            },
        )
        .await?;
    }
    let Some(started) = deps.executions.start_again(execution, name).await? else {
        let rule =
            format!("a lock whose latest execution Step Functions knows, and not {execution}");
        return Err(InvalidRequest::new("lock", format!("\"{lock}\""), rule).into());
    };
    let noted = AuditNote {
        note: format!("{started}: {}", audit.note),
        ..audit.clone()
    };
    deps.carry_out(lock, &Command::NoteStart(noted)).await?;
    Ok(started)
}

fn answered(response: StartResponse, started: &ExecutionArn) -> StartResponse {
    StartResponse {
        status: StartStatus::Started,
        message: format!("{started} is started with the input of {}", response.from),
        execution_arn: Some(started.to_string()),
        ..response
    }
}

/// The execution that an earlier request with the same id has started. Its run may have ended since, and its success
/// must not be forgotten by the repetition.
///
/// # Errors
/// `Lockstep.InvalidRequest` for the id of a start of another lock.
async fn started_before<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    execution: &ExecutionArn,
    name: &str,
) -> Result<Option<ExecutionArn>, Error> {
    let Some(earlier) = execution.sibling(name) else {
        return Ok(None);
    };
    if deps.executions.describe(&earlier).await?.is_none() {
        return Ok(None);
    }
    if deps.executions.names_lock(&earlier, lock).await? {
        return Ok(Some(earlier));
    }
    let rule = format!("new: {earlier} is a start of another lock");
    Err(InvalidRequest::new("id", format!("\"{name}\""), rule).into())
}

/// The run key, if a success has taken it. `asked` is whether the request names it.
///
/// # Errors
/// See [`run`].
async fn taken_key<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    record: &LockRecord,
    key: &RunKey,
    asked: bool,
) -> Result<Option<RunKey>, Error> {
    if let Some((holder, _)) = record.holder_of_run(key) {
        return Err(Error::run_key_held(lock, key, holder));
    }
    if !asked {
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
                "given: run key {} has had its success, so the same input would be a duplicate",
                key.as_str()
            );
            Err(InvalidRequest::new("again", "missing", rule).into())
        }
    }
}

async fn check_waiters<P: Ports>(
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

/// The holder and the run key of the run to start again: the one with the run key `again`, or the latest one.
async fn source<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    record: &LockRecord,
    again: Option<&RunKey>,
) -> Result<(HolderId, Option<RunKey>), Error> {
    let fits = |key: Option<&RunKey>| again.is_none_or(|asked| key == Some(asked));
    let mut holders = record.oldest_first();
    holders.retain(|(_, lease)| fits(lease.run_key.as_ref()));
    if let Some((holder, lease)) = holders.pop() {
        return Ok((holder, lease.run_key));
    }
    let mut after: Option<FencingToken> = None;
    for _ in 0..PAGES_MAX {
        let page = deps.store().history(lock, after, LOCKS_PAGE).await?;
        let found = page.runs.into_iter().find(|run| fits(run.run_key.as_ref()));
        match (found, page.next) {
            (
                Some(Run {
                    holder, run_key, ..
                }),
                _,
            ) => return Ok((holder, run_key)),
            (None, Some(next)) => after = Some(next),
            (None, None) => break,
        }
    }
    Err(match again {
        Some(key) => {
            let rule = format!("the run key of one of the latest runs of lock {lock}");
            InvalidRequest::new("again", format!("\"{}\"", key.as_str()), rule)
        }
        None => {
            let rule = "a lock with a run in its history";
            InvalidRequest::new("lock", format!("\"{lock}\""), rule)
        }
    }
    .into())
}

/// The execution that `holder` is as a whole.
///
/// # Errors
/// For a process, for one of several holders of an execution, and for a child of a Distributed Map, whose ARN has the map
/// run behind the state machine: none of these can be started by itself
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/state-map-distributed.html>).
fn whole_execution(lock: &LockKey, holder: &HolderId) -> Result<ExecutionArn, InvalidRequest> {
    let execution = ExecutionArn::of_holder(holder)
        .filter(|arn| arn.as_str() == holder.as_str() && !arn.state_machine().contains('/'));
    execution.ok_or_else(|| {
        let rule = format!(
            "a lock whose run is an execution of Step Functions as a whole, and not {holder}"
        );
        InvalidRequest::new("lock", format!("\"{lock}\""), rule)
    })
}
