//! Starts a run of a lock: its workflow, with the input of an earlier execution or of a schedule.
//!
//! ```text
//!  the latest run, that of a run key, or a schedule ─▶ what is started ─▶ does it name the lock?
//!    ─▶ was it started under this id before? ─▶ is its run key free? ─▶ may it be started?
//!    ─▶ the success of the run key is forgotten ─▶ StartExecution ─▶ an entry in the history
//! ```
//!
//! The new execution acquires the lock by itself, so its overlap policy holds, and a pause. The input is that of an
//! execution of this lock, or of a schedule that somebody has deployed for it, and never text of the caller: who may
//! start a run may not start anything else.
//!
//! A success is forgotten last, when nothing but StartExecution itself can fail: a key without its success is free for
//! any delivery of its trigger.

mod key;
mod origin;

use self::key::taken_key;
use self::origin::Origin;
use super::clear;
use crate::contract::{CheckedForget, CheckedStart, StartResponse, StartStatus};
use crate::schedules::Schedules;
use lockstep::contract::{ErrorName, InvalidRequest};
use lockstep::error::Error;
use lockstep::executions::{Executions, Start};
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{
    AuditNote, Command, ExecutionArn, Forget, RunKey, rfc3339, start_name,
};
use lockstep_core::store::LockIndex;

/// Starts the run, or says which it would be.
///
/// # Errors
/// `Lockstep.InvalidRequest` for a lock whose latest run is no whole execution, for a run key that no run of the latest
/// 1,000 has, for a schedule that starts nothing for the lock, without `again` for a run whose run key has had its
/// success, as the new one would be a duplicate, and for an `id` of another start. `LockHeld` where a holder, a waiter or
/// a run that goes on without its permit has the run key. `Unavailable` and `Denied` of Step Functions and EventBridge.
pub(super) async fn run<P: Ports>(
    deps: &Deps<P>,
    schedules: &impl Schedules,
    request: CheckedStart,
) -> Result<StartResponse, Error>
where
    P::Store: LockIndex,
{
    let CheckedStart { lock, again, .. } = &request;
    let id = request.id.clone();
    let id = id.unwrap_or_else(|| deps.now().millis().to_string());
    let name = start_name(lock, &id);
    let origin = Origin::of(deps, schedules, &request, &name).await?;
    let response = would_start(&request, &origin);
    if let Some(started) = started_before(deps, &request, &origin.start, &name).await? {
        if !request.dry_run {
            note(deps, &request, &started).await?;
        }
        let message = format!("{started} was started by an earlier request with this id");
        return Ok(answered(response, &started, message));
    }
    let taken = match &origin.run_key {
        Some(key) => taken_key(deps, lock, origin.record.as_ref(), key, again.is_some()).await?,
        None => None,
    };
    // A caller chooses the name of its holder, and could have named any execution; and any schedule.
    if !deps.executions.check_start(&origin.start, lock).await? {
        let (from, machine) = (&origin.from, &origin.start.state_machine);
        let rule =
            format!("a lock that the input from {from}, or the definition of {machine}, names");
        return Err(InvalidRequest::new("lock", format!("\"{lock}\""), rule).into());
    }
    if request.dry_run {
        return Ok(response);
    }
    let started = start(deps, &request, &origin.start, &name, taken).await?;
    let message = response.message.replacen("would start", "started", 1);
    let message = format!("{message}: {started}");
    Ok(answered(response, &started, message))
}

fn would_start(request: &CheckedStart, origin: &Origin) -> StartResponse {
    let (machine, time) = (&origin.start.state_machine, origin.at.map(rfc3339));
    let at = time
        .as_ref()
        .map_or_else(String::new, |time| format!(" at {time}"));
    StartResponse {
        lock: request.lock.to_string(),
        status: StartStatus::WouldStart,
        state_machine_arn: machine.to_string(),
        message: format!(
            "would start {machine} with the input of {}{at}",
            origin.from
        ),
        from: origin.from.clone(),
        scheduled_time: time,
        execution_arn: None,
        run_key: origin.run_key.as_ref().map(|key| key.as_str().to_owned()),
    }
}

/// Frees the run key that a success has `taken`, and starts the execution under `name`.
async fn start<P: Ports>(
    deps: &Deps<P>,
    request: &CheckedStart,
    start: &Start,
    name: &str,
    taken: Option<RunKey>,
) -> Result<ExecutionArn, Error>
where
    P::Store: LockIndex,
{
    let CheckedStart { lock, audit, .. } = request;
    if let Some(run_key) = taken {
        let (lock, audit) = (lock.clone(), audit.clone());
        let key = run_key.as_str().to_owned();
        let forget = Forget { run_key, audit };
        let freed = clear::forget(deps, CheckedForget { lock, forget }).await;
        if freed
            .as_ref()
            .is_err_and(|error| error.name() == ErrorName::InvalidRequest)
        {
            let text = format!(
                "another request is starting run key {key} again; the same request is safe to repeat"
            );
            return Err(Error::new(ErrorName::Contended, text));
        }
        freed?;
    }
    let started = deps.executions.start(start, name).await?;
    note(deps, request, &started).await?;
    Ok(started)
}

/// Notes the start in the history, once: the request that has started the execution may have got no answer.
async fn note<P: Ports>(
    deps: &Deps<P>,
    request: &CheckedStart,
    started: &ExecutionArn,
) -> Result<(), Error>
where
    P::Store: LockIndex,
{
    let CheckedStart { lock, audit, .. } = request;
    let note = format!("{started}: {}", audit.note);
    let of_start = format!("{started}: ");
    let acts = deps.store().acts(lock).await?;
    let mut notes = acts.iter().filter_map(|act| act.note.as_ref());
    if notes.any(|note| note.starts_with(&of_start)) {
        return Ok(());
    }
    let noted = AuditNote {
        note,
        ..audit.clone()
    };
    deps.carry_out(lock, &Command::NoteStart(noted)).await?;
    Ok(())
}

fn answered(response: StartResponse, started: &ExecutionArn, message: String) -> StartResponse {
    StartResponse {
        status: StartStatus::Started,
        message,
        execution_arn: Some(started.to_string()),
        ..response
    }
}

/// The execution that an earlier request with the same id has started. Its run may have ended since, and its success
/// must not be forgotten by the repetition.
///
/// # Errors
/// `Lockstep.InvalidRequest` where the execution with that name is none of the lock.
async fn started_before<P: Ports>(
    deps: &Deps<P>,
    request: &CheckedStart,
    start: &Start,
    name: &str,
) -> Result<Option<ExecutionArn>, Error> {
    let earlier = start.execution(name)?;
    if deps.executions.describe(&earlier).await?.is_none() {
        return Ok(None);
    }
    if deps.executions.names_lock(&earlier, &request.lock).await? {
        return Ok(Some(earlier));
    }
    let id = request.id.as_deref().unwrap_or_default();
    let rule = format!("new: {earlier} is an execution of something else");
    Err(InvalidRequest::new("id", format!("\"{id}\""), rule).into())
}
