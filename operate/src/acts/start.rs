//! Starts a run of a lock again: its workflow, with the input of an earlier execution.
//!
//! ```text
//!  the latest run, or that of the run key ─▶ its execution ─▶ names it the lock?
//!    ─▶ the success of the run key is forgotten ─▶ StartExecution ─▶ an entry in the history
//! ```
//!
//! The new execution acquires the lock by itself, so its overlap policy holds, and a pause. The input is that of an
//! execution of this lock, and never text of the caller: who may start a run again may not start anything else.

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

/// Most pages of the history that are searched.
const PAGES_MAX: usize = 10;

/// The run that is started again.
struct Source {
    execution: ExecutionArn,
    run_key: Option<RunKey>,
    /// Whether a success has taken the run key.
    is_taken: bool,
}

/// Starts the run again, or says which it would be.
///
/// # Errors
/// `Lockstep.InvalidRequest` for a lock without an execution among its latest runs, for a run key that none of them has,
/// and without `again` for a run whose run key has had its success: the new one would be a duplicate. `LockHeld` where a
/// holder or a waiter has the run key. `Unavailable` and `Denied` of Step Functions.
pub(super) async fn run<P: Ports>(
    deps: &Deps<P>,
    start: CheckedStart,
) -> Result<StartResponse, Error>
where
    P::Store: LockIndex,
{
    let CheckedStart {
        lock,
        again,
        dry_run,
        id,
        audit,
    } = start;
    let record = existing(deps, &lock).await?;
    let mut source = source(deps, &lock, &record, again.as_ref()).await?;
    if let Some(key) = &source.run_key {
        let marker = deps
            .store()
            .load_run(&lock, &RunId::Key(key.clone()))
            .await?;
        source.is_taken = marker.is_some_and(|run| run.is_success(deps.now()));
    }
    let source = checked(source, again.as_ref())?;
    let execution = &source.execution;
    // A caller chooses the name of its holder, and could have named any execution.
    if !deps.executions.names_lock(execution, &lock).await? {
        let rule = format!("a lock that the input or the definition of {execution} names");
        return Err(InvalidRequest::new("lock", format!("\"{lock}\""), rule).into());
    }
    let mut response = StartResponse {
        lock: lock.to_string(),
        status: StartStatus::WouldStart,
        state_machine_arn: execution.state_machine(),
        from: execution.to_string(),
        execution_arn: None,
        run_key: source.run_key.as_ref().map(|key| key.as_str().to_owned()),
        message: format!(
            "would start {} with the input of {execution}",
            execution.state_machine()
        ),
    };
    if dry_run {
        return Ok(response);
    }
    if source.is_taken
        && let Some(run_key) = source.run_key.clone()
    {
        let audit = audit.clone();
        let lock = lock.clone();
        let forget = Forget { run_key, audit };
        super::clear::forget(deps, CheckedForget { lock, forget }).await?;
    }
    let id = id.unwrap_or_else(|| deps.now().millis().to_string());
    let name = format!("started-{id}");
    let Some(started) = deps.executions.start_again(execution, &name).await? else {
        let rule =
            format!("a lock whose latest execution Step Functions knows, and not {execution}");
        return Err(InvalidRequest::new("lock", format!("\"{lock}\""), rule).into());
    };
    note(deps, &lock, audit, &started).await?;
    response.status = StartStatus::Started;
    response.message = format!("{started} is started with the input of {execution}");
    response.execution_arn = Some(started.to_string());
    Ok(response)
}

/// Leaves an entry in the history, which names the new execution.
async fn note<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    audit: AuditNote,
    started: &ExecutionArn,
) -> Result<(), Error> {
    let audit = AuditNote {
        note: format!("{started}: {}", audit.note),
        ..audit
    };
    deps.carry_out(lock, &Command::NoteStart(audit)).await?;
    Ok(())
}

/// The run to start again: the one with the run key, or the latest of which an execution is known.
async fn source<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    record: &LockRecord,
    again: Option<&RunKey>,
) -> Result<Source, Error> {
    let mut holders = record.oldest_first();
    holders.reverse();
    let running = holders.into_iter().find_map(|(holder, lease)| {
        let is_asked_for = again.is_none_or(|key| lease.run_key.as_ref() == Some(key));
        let execution = is_asked_for.then(|| execution(&holder)).flatten()?;
        Some(Source {
            execution,
            run_key: lease.run_key.clone(),
            is_taken: false,
        })
    });
    if let Some(running) = running {
        return Ok(running);
    }
    let mut after: Option<FencingToken> = None;
    for _ in 0..PAGES_MAX {
        let page = deps.store().history(lock, after, LOCKS_PAGE).await?;
        let is_asked_for = |run: &&Run| again.is_none_or(|key| run.run_key.as_ref() == Some(key));
        let found = page.runs.iter().filter(is_asked_for).find_map(|run| {
            Some(Source {
                execution: execution(&run.holder)?,
                run_key: run.run_key.clone(),
                is_taken: false,
            })
        });
        match (found, page.next) {
            (Some(source), _) => return Ok(source),
            (None, Some(next)) => after = Some(next),
            (None, None) => break,
        }
    }
    Err(match again {
        Some(key) => {
            let rule = format!("the run key of an execution among the latest runs of lock {lock}");
            InvalidRequest::new("again", format!("\"{}\"", key.as_str()), rule)
        }
        None => {
            let rule = "a lock with an execution of Step Functions among its latest runs";
            InvalidRequest::new("lock", format!("\"{lock}\""), rule)
        }
    }
    .into())
}

/// A run of the same input has the same run key, and would be a duplicate of a success.
fn checked(source: Source, again: Option<&RunKey>) -> Result<Source, Error> {
    match (&source.run_key, again) {
        (Some(key), None) if source.is_taken => {
            let rule = format!(
                "given: run key {} has had its success, so the same input would be a duplicate",
                key.as_str()
            );
            Err(InvalidRequest::new("again", "missing", rule).into())
        }
        _ => Ok(source),
    }
}

fn execution(holder: &HolderId) -> Option<ExecutionArn> {
    ExecutionArn::of_holder(holder)
}
